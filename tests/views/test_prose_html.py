"""Agents' Markdown as HTML."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.views.prose import prose_html
from tests.views.pages import assert_inert


class TestProse:
    """Agents' Markdown as HTML."""

    @pytest.mark.parametrize(
        ("source", "page"),
        [
            ("a\nb\n\nc", "<p>a<br>b</p>\n<p>c</p>"),
            ("# A #\n###### B", "<h3>A</h3>\n<h6>B</h6>"),
            ("a\n---\nb", "<p>a</p>\n<hr>\n<p>b</p>"),
            (
                "> a\n> > b",
                "<blockquote>\n<p>a</p>\n<blockquote>\n<p>b</p>\n</blockquote>\n</blockquote>",
            ),
            ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
            (
                "- a\n  - b\n  - c\n- d",
                "<ul><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ul>",
            ),
            ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
            ("1) a\n   * b", "<ol><li>a<ul><li>b</li></ul></li></ol>"),
            ("  - a\n- b", "<ul><li>a</li></ul><ul><li>b</li></ul>"),
            (
                "| a | b |\n|---|---|\n| *x* | <i> |",
                (
                    "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td><em>x</em></td>"
                    "<td>&lt;i&gt;</td></tr></tbody></table>"
                ),
            ),
            ("```\n<b>\n```", "<pre><code>&lt;b&gt;</code></pre>"),
            ('~~~ x"y\na\n~~~', '<pre><code class="language-x&quot;y">a</code></pre>'),
            ("**a** *b* _c_ ~~d~~", "<p><strong>a</strong> <em>b</em> <em>c</em> <del>d</del></p>"),
            ("**a *b* c**", "<p><strong>a <em>b</em> c</strong></p>"),
            ("a_b_c 2*3*4 * a *", "<p>a_b_c 2*3*4 * a *</p>"),
            ("`a <b>` `` c`d ``", "<p><code>a &lt;b&gt;</code> <code>c`d</code></p>"),
            ("`  `", "<p><code>  </code></p>"),
            (r"\*a\* \<b>", "<p>*a* &lt;b&gt;</p>"),
            (
                "[a](https://e.org)",
                '<p><a href="https://e.org" rel="noopener noreferrer">a</a></p>',
            ),
            (
                "[](https://e.org)",
                '<p><a href="https://e.org" rel="noopener noreferrer">https://e.org</a></p>',
            ),
            ("[a](javascript:x)", "<p>a (javascript:x)</p>"),
            ("[](x)", "<p>x</p>"),
            ("[a]()", "<p>a</p>"),
            (
                '![a](https://e.org/x.png "t")',
                '<p><a href="https://e.org/x.png" rel="noopener noreferrer">a</a></p>',
            ),
            (
                "see https://e.org/x.",
                '<p>see <a href="https://e.org/x" rel="noopener noreferrer">https://e.org/x</a>.</p>',
            ),
            ('<img src=x onerror="y">', "<p>&lt;img src=x onerror=&quot;y&quot;&gt;</p>"),
        ],
    )
    def test_a_small_subset(self, source, page):
        """Everything else stays as text."""
        assert prose_html(source) == page
        assert_inert(page)

    def test_hostile_nesting_is_bounded(self):
        """Nothing recurses without end."""
        assert_inert(prose_html(">" * 3000 + " a"))
        assert_inert(prose_html("\n".join("  " * n + "- a" for n in range(200))))
        assert_inert(prose_html("*" * 3000 + "a" + "*" * 3000))
        assert_inert(prose_html("".join(f"{m}a " for m in ["**", "*", "_", "~~"] * 50) + "x"))
        assert "[a" in prose_html("[" * 2000 + "a" + "]" * 2000)

    @settings(deadline=None, max_examples=200)
    @given(
        st.lists(
            st.sampled_from(
                [
                    "<img src=x onerror=y>",
                    "<script>",
                    "`",
                    "```",
                    "\n",
                    "\n\n",
                    "- ",
                    "  ",
                    "> ",
                    "| a |",
                    "|---|",
                    "[x](javascript:y)",
                    '[x](https://e.org"onclick=z)',
                    "![a](data:text/html,x)",
                    "**",
                    "*",
                    "_",
                    "~~",
                    "\\",
                    "# ",
                    "1. ",
                    "https://e.org/<b>",
                    "&lt;",
                    "\"'",
                ]
            ),
            max_size=30,
        ).map("".join)
    )
    def test_whatever_the_agent_writes_is_inert(self, source):
        """Only known tags and attributes, all closed."""
        assert_inert(prose_html(source))
