"""Agents' Markdown for other renderers: nothing in it loads or runs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.views.escaping import fenced, safe_line, safe_markdown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain *words* and **more**",
        "a `code <b>` b",
        "# Heading\n\n- item\n  - sub\n\n1. one",
        "```html\n<script>x</script>\n```",
        "a < b and 3 > 2 & c",
        "[link](https://e.org/x)",
        "| a | b |\n|---|---|\n| `x` | 2 |",
        "``a ` b``",
        r"\`not code\`",
        "a &lt; b &amp; c",
        "$x < 5$",
        "costs $5 `x` [y](https://e.org)",
        "$$\nx\n$$\n\n`$HOME` and `$PATH`",
        r"\begin{a} x \end{a} and $y$ `<b>`",
    ],
)
def test_harmless_text_stays_as_it_is(text):
    """Code, lists, tables and comparisons among it."""
    assert safe_markdown(text) == text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("<script>x</script>", "&lt;script>x&lt;/script>"),
        ("<img src=x onerror=y>", "&lt;img src=x onerror=y>"),
        ("<!-- x --> <?php ?>", "&lt;!-- x --> &lt;?php ?>"),
        ("![alt](https://e.org/a.png)", "[alt](https://e.org/a.png)"),
        ("wow!![alt](https://e.org/a.png)", "wow[alt](https://e.org/a.png)"),
        ("![alt][ref]\n\n[ref]: https://e.org/a", "[alt][ref]\n\n[ref]: https://e.org/a"),
        ("<https://e.org/x> <mailto:a@b>", "https://e.org/x mailto:a@b"),
        ("[x](javascript:y)", "[x](unsafe:javascript:y)"),
        ("[x]( <JavaScript:y>)", "[x]( &lt;JavaScript:y>)"),
        ("[x]: vbscript:y", "[x]: unsafe:vbscript:y"),
        ("[x](data:text/html,y)", "[x](unsafe:data:text/html,y)"),
        ("[x](java&#115;cript:y)", "[x](java&amp;#115;cript:y)"),
        ("[x](javascript&colon;y)", "[x](javascript&amp;colon;y)"),
        (r"[x](javascript\:y)", r"[x](unsafe:javascript\:y)"),
        ("[x](\njavascript:y)", "[x](\nunsafe:javascript:y)"),
        ("> [x]:\n>  data:y", "> [x]:\n>  unsafe:data:y"),
        ("[x]\njavascript: a language", "[x]\njavascript: a language"),
        ("a ` b <i>", "a &#96; b &lt;i>"),
        ("``a` <i>", "&#96;&#96;a&#96; &lt;i>"),
        ("`a | <i> b`", "&#96;a | &lt;i> b&#96;"),
        ("| `![x](u) | b` |", "| &#96;[x](u) | b&#96; |"),
        ("https://e.org/x`<b>` `<i>`", "https://e.org/x&#96;&lt;b>&#96; `<i>`"),
        ("a $`$<b>`", "a &#36;`$<b>`"),
        ("a $ `x$`\n`<b>`", "a &#36; `x$`\n`<b>`"),
        ("echo $$", "echo &#36;&#36;"),
        (r"\\![x", "&#92;[x"),
        ("`echo $$`", "&#96;echo &#36;&#36;&#96;"),
        ("$a$$b$\n```\n$$ <b>\n```", "&#36;a&#36;&#36;b&#36;\n\n```\n$$ <b>\n```"),
        (r"\begin{a} \\[ \\(", r"&#92;begin{a} &#92;[ &#92;("),
        ("| ` | ` `![x](u)` |", "| &#96; | ` `[x](u)&#96; |"),
        (r"\`a` <i>", r"\`a&#96; &lt;i>"),
        (r"\\`a <i>`", r"\\`a <i>`"),
        (r"\``<i>`", r"\``<i>`"),
        ("a\n```\n<b>\n```", "a\n\n```\n<b>\n```"),
        ("- a\n  ```\n  <b>\n<img src=x>", "- a\n\n```\n<b>\n<img src=x>\n```"),
        ('~~~ py"><script>\nx\n~~~', "```py\nx\n```"),
        ("~~~\n```\nx\n~~~", "````\n```\nx\n````"),
    ],
)
def test_what_loads_or_runs_is_taken_away(text, safe):
    """The reader sees what was meant."""
    assert safe_markdown(text) == safe


@pytest.mark.parametrize("code", ["", "a", "```", "a\n````\nb", "`` ` ``"])
def test_a_fence_is_longer_than_any_in_the_code(code):
    """The code cannot end it."""
    lines = fenced(code).split("\n")
    assert lines[0] == lines[-1]
    assert lines[0] not in lines[1:-1]
    assert lines[1:-1] == code.split("\n")


pieces = st.lists(
    st.sampled_from(
        ["<img src=x>", "<script>", "`", "``", "```", "~~~", "\n", "\n\n", "  ", "    ", "- ", "> ", "|", "\\",
         "![a](http://x)", "a", "[x]:", "<", "$", "&#60;", "html", "<!--", "1. "]
    ),
    max_size=25,
).map("".join)  # fmt: skip


def outside_of_code(markdown):
    """Return the lines that are in no fenced block, and the line before each block."""
    fence, outside, before, last = None, [], [], ""
    for line in markdown.split("\n"):
        opened = re.match(r"^(`{3,})[^`]*$", line)
        if fence is not None:
            fence, last = (None, "") if line == fence else (fence, last)
        elif opened:
            before.append(last)
            fence = opened[1]
        else:
            outside.append(line)
            last = line
    assert fence is None
    return outside, before


def visible_tags(line):
    """Return what could begin a tag, by a reading that believes only in spans that pair in the line."""
    spans = r"(?<!`)(`+)(?!`)[^|]*?(?<!`)\1(?!`)"
    return re.findall(r"<[A-Za-z/!?]", re.sub(spans, "(code)", line))


@settings(deadline=None, max_examples=300)
@given(pieces)
def test_no_tag_is_left_outside_of_code(text):
    """Fences stand at the margin, with a blank line before them, and end."""
    outside, before = outside_of_code(safe_markdown(text))
    assert [tag for line in outside for tag in visible_tags(line)] == []
    assert [line for line in before if line.strip()] == []
    assert [line for line in outside if "![" in line and "`" not in line] == []


@given(st.text(alphabet="`|<a !["))
def test_every_backtick_that_is_left_begins_a_span_that_ends(line):
    """So that every renderer pairs them as we do; one line stays one line."""
    rest = safe_line(line)
    assert "\n" not in rest
    while opened := re.search(r"`+", rest):
        inside = rest[opened.end() :]
        closed = next((m for m in re.finditer(r"`+", inside) if m[0] == opened[0]), None)
        assert closed is not None
        rest = inside[closed.end() :]
