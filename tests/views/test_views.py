"""The views of one conversation: what is in each, and what must not be."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.timeline import Timeline, TimelineSnapshot
from acp_notebook.views import frame, html, markdown, text, words
from acp_notebook.views.prose import prose_html
from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    folded,
    message,
    output,
    permission,
    plan,
    snapshot,
    thought,
    update,
    user,
)
from tests.timeline.updates import text as block

PNG = "iVBORw0KGgo="
ME = "/home/me"


def rich():
    """Return the snapshot of a conversation with one of everything."""
    timeline = Timeline(SESSION)
    timeline.apply_response("initialize", {"agentInfo": {"name": "a", "title": "An Agent"}})
    timeline.begin_prompt(
        [block("Look at /home/me/x"), {"type": "resource_link", "uri": "file:///x", "name": "x"}],
        at=10.0,
    )
    timeline.apply(
        [
            thought("I wonder", "m1"),
            message("See **this** <b>.\n\n```py\nx = 1\n```", "m1"),
            update(
                "agent_message_chunk",
                messageId="m1",
                content={"type": "image", "data": PNG, "mimeType": "image/png"},
            ),
            update(
                "agent_message_chunk",
                messageId="m1",
                content={"type": "image", "uri": "https://e.org/a.png"},
            ),
            update("agent_message_chunk", messageId="m1", content={"type": "audio", "data": PNG}),
            update("agent_message_chunk", messageId="m1", content={"type": "hologram"}),
            update(
                "agent_message_chunk",
                messageId="m1",
                content={"type": "resource_link", "uri": "https://e.org/d.pdf", "name": "d[1].pdf"},
            ),
            call(
                title="Run `ls`",
                name="Bash",
                kind="execute",
                status="completed",
                rawInput={"command": "ls"},
                locations=[{"path": "/home/me/a.py"}],
                content=[
                    output("```console\n\x1b[31mred\x1b[0m\n```"),
                    {"type": "diff", "path": "/home/me/a.py", "oldText": "a\n", "newText": "b\n"},
                    {"type": "terminal", "terminalId": "t"},
                    {"type": 5},
                ],
            ),
            call(
                "t2",
                title="Read",
                kind="read",
                status="failed",
                error="no such file",
                rawOutput={"stdout": "raw"},
            ),
            plan("one <i>", "two"),
            update("notice", severity="warning", title="careful"),
        ],
        at=11.0,
    )
    timeline.terminal_output("t", "10%\r99%\n")
    timeline.request_permission(1, permission("t1"))
    timeline.resolve_permission(1, {"outcome": "selected", "optionId": "allow_once"}, "user")
    timeline.settle_prompt("max_tokens", usage={"totalTokens": 7}, at=14.0)
    return timeline.snapshot()


TEXT = """\
> Look at ~/x
> [x]

See **this** <b>.

```py
x = 1
```
[image: image/png, 8 bytes]

[a.png: image]

[audio]

[content of type hologram]

[d[1].pdf]

[Run `ls`: completed]
    red
    --- ~/a.py
    +++ ~/a.py
    @@ -1 +1 @@
    -a
    +b
    99%
    This tool output could not be read.

[Read: failed]
    no such file

[plan]
    [ ] one <i>
    [ ] two

[warning: careful]

[permission: Run `ls`: allow_once (user)]

! The agent stopped at its token limit.
"""

MARKDOWN = """\
> Look at ~/x
>
> \\[x\\]

See **this** &lt;b>.

```py
x = 1
```

![image](data:image/png;base64,iVBORw0KGgo=)

\\[a.png: image\\]

\\[audio\\]

\\[content of type hologram\\]

[d\\[1\\].pdf](<https://e.org/d.pdf>)

**Run `ls`** (completed)

```text
red
```

```diff
--- ~/a.py
+++ ~/a.py
@@ -1 +1 @@
-a
+b
```

```text
99%
```

This tool output could not be read.

**Read** (failed)

no such file

**Plan**

- [ ] one &lt;i>
- [ ] two

**warning:** careful

**Permission:** Run `ls`: allow_once (user)

**The agent stopped at its token limit.**
"""


class TestText:
    """Plain text, for a terminal or a log."""

    def test_the_whole(self):
        """Prompts behind a mark, tools in brackets, output indented."""
        assert text.to_text(rich(), home=ME) == TEXT

    def test_thoughts_when_asked_for(self):
        """Behind a mark of their own."""
        assert "~ I wonder\n" in text.to_text(rich(), thoughts=True)

    def test_nothing_is_nothing(self):
        """No turn, no text."""
        assert text.to_text(Timeline(SESSION).snapshot()) == ""
        assert snapshot(message("a")).to_text() == "a\n"

    def test_output_that_does_not_run_shows_its_escapes(self):
        """A file's content is no terminal."""
        shot = snapshot(call(kind="read", content=[output("a\x1b[31mb")]))
        assert "a\u241b[31mb" in shot.to_text()


class TestMarkdown:
    """Markdown that is safe in any renderer."""

    def test_the_whole(self):
        """Raw HTML escaped, pictures from elsewhere in words."""
        assert markdown.to_markdown(rich(), home=ME) == MARKDOWN

    def test_thoughts_when_asked_for(self):
        """As a quote; blank ones not."""
        assert "> *Thought:*\n>\n> I wonder" in markdown.to_markdown(rich(), thoughts=True)
        assert snapshot(thought("\n\n")).to_markdown(thoughts=True) == ""

    def test_turns_have_a_rule_between(self):
        """And prompts are quotes."""
        shot = snapshot(user("a", "u1"), message("b"), user("c", "u2"))
        assert shot.to_markdown() == "> a\n\nb\n\n---\n\n> c\n"
        assert Timeline(SESSION).snapshot().to_markdown() == ""

    def test_a_turn_in_a_cell_shows_its_answer(self):
        """And how it ended, when that must be told."""
        turn = rich().turns[0]
        shown = turn._repr_markdown_()
        assert shown.startswith("See **this** &lt;b>.")
        assert shown.endswith("**The agent stopped at its token limit.**")
        assert snapshot(message("a")).turns[0]._repr_markdown_() == "a"
        assert snapshot(message("a"))._repr_markdown_() == "a\n"

    def test_a_markdown_plan_is_markdown(self):
        """Escaped like a message; a file is named."""
        shot = snapshot(
            update("plan_update", plan={"planId": "p", "type": "markdown", "content": "# x <b>"}),
            update("plan_update", plan={"planId": "q", "type": "file", "uri": "file:///p.md"}),
        )
        assert shot.to_markdown() == "**Plan**\n\n# x &lt;b>\n\n**Plan**\n\n- See file:///p.md\n"
        assert shot.to_text() == "[plan]\n    # x <b>\n\n[plan]\n    See file:///p.md\n"

    @pytest.mark.parametrize(
        ("uri", "found"),
        [
            ("https://e.org/a b>\"'`\\c", "https://e.org/abc"),
            ("HTTP://x", "HTTP://x"),
            ("javascript:x", None),
            ("file:///x", None),
            (None, None),
        ],
    )
    def test_only_web_addresses_are_linked(self, uri, found):
        """Without what could end the link."""
        assert markdown.web_uri(uri) == found

    @pytest.mark.parametrize("mime_type", ["image/svg+xml", "text/html", None])
    def test_only_pictures_are_put_in(self, mime_type):
        """An SVG may hold a script."""
        shot = snapshot(
            update(
                "agent_message_chunk", content={"type": "image", "data": PNG, "mimeType": mime_type}
            )
        )
        assert "data:" not in shot.to_markdown() + re.sub("img-src data:", "", shot.to_html())

    def test_large_pictures_are_named_only(self):
        """A megabyte of text helps nobody."""
        large = {"type": "image", "data": "AAAA" * 400_000, "mimeType": "image/png"}
        shot = snapshot(update("agent_message_chunk", content=large))
        assert shot.to_markdown() == "\\[image: image/png, 1,200,000 bytes\\]\n"


class Page(HTMLParser):
    """Collects what a page has."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.open = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in ("meta", "br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


SAFE_TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "h5", "h6", "section", "p", "br",
    "hr", "pre", "code", "details", "summary", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr",
    "th", "td", "a", "strong", "em", "del", "img",
}  # fmt: skip
SAFE_ATTRIBUTES = {
    ("html", "lang"), ("meta", "charset"), ("meta", "http-equiv"), ("meta", "content"), ("meta", "name"),
    ("section", "class"), ("section", "aria-label"), ("details", "class"), ("ul", "class"), ("p", "class"),
    ("code", "class"), ("ol", "start"), ("a", "href"), ("a", "rel"), ("img", "src"), ("img", "alt"),
}  # fmt: skip


def assert_inert(page):
    """Hold a page against what may be in one: nothing loads or runs."""
    found = Page(page)
    assert set(found.tags) <= SAFE_TAGS
    assert not found.open
    for tag, name, value in found.attributes:
        assert (tag, name) in SAFE_ATTRIBUTES
        if name == "href":
            assert value.lower().startswith(("http://", "https://", "mailto:"))
        if name == "src":
            assert re.match(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$", value)


class TestHtml:
    """One self-contained page."""

    def test_the_whole(self):
        """Everything is there, and the page is inert."""
        page = html.to_html(rich(), home=ME)
        assert_inert(page)
        for words_ in (
            "<title>A chat with An Agent</title>",
            "Look at ~/x",
            "<summary>Thought</summary>\n<p>I wonder</p>",
            "<p>See <strong>this</strong> &lt;b&gt;.</p>",
            '<pre><code class="language-py">x = 1</code></pre>',
            f'<img src="data:image/png;base64,{PNG}" alt="image">',
            '<li><a href="https://e.org/d.pdf" rel="noopener noreferrer">d[1].pdf</a></li>',
            "<li>x</li>",
            "<summary>Run `ls` (completed)</summary>\n<pre>red</pre>",
            "<li>[ ] one &lt;i&gt;</li>",
            '<p class="note">careful</p>',
            "Permission: Run `ls`: allow_once (user)",
            '<p class="note">The agent stopped at its token limit.</p>',
            "default-src &#x27;none&#x27;",
        ):
            assert words_ in page
        assert "<script" not in page
        assert "https://e.org/a.png" not in page

    def test_thoughts_can_be_left_out(self):
        """They are folded otherwise."""
        assert "I wonder" not in html.to_html(rich(), thoughts=False)

    def test_a_title_of_the_session_is_the_pages(self):
        """Escaped."""
        page = snapshot(update("session_info_update", title="<b>")).to_html()
        assert "<title>&lt;b&gt;</title>" in page
        assert "<title>A chat with the agent</title>" in Timeline(SESSION).snapshot().to_html()

    def test_a_markdown_plan(self):
        """As prose."""
        shot = snapshot(
            update("plan_update", plan={"planId": "p", "type": "markdown", "content": "# x"})
        )
        assert "<h3>x</h3>" in shot.to_html()

    def test_a_nameless_attachment(self):
        """It has some name."""
        shot = snapshot(
            update("agent_message_chunk", content={"type": "resource", "resource": {"text": "x"}})
        )
        assert "<li>attachment</li>" in shot.to_html()


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


class TestFrame:
    """One row per item."""

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_the_whole(self, library):
        """The columns of the design, in order, with their types."""
        found = frame.to_frame(rich(), library, home=ME)
        assert list(found.columns) == [
            "turn", "index", "kind", "role", "tool", "tool_kind", "status", "path", "text", "started",
            "duration_s", "tokens",
        ]  # fmt: skip
        rows = found.to_dict("records") if library == "pandas" else found.to_dicts()
        assert [row["index"] for row in rows] == list(range(8))
        assert [row["kind"] for row in rows] == [
            "message-segment", "thought", "message-segment", "tool-call", "tool-call", "plan", "notice", "permission",
        ]  # fmt: skip
        assert (rows[0]["role"], rows[0]["text"], rows[0]["started"]) == (
            "user",
            "Look at ~/x",
            10.0,
        )
        assert (rows[0]["duration_s"], rows[0]["tokens"]) == (4.0, 7)
        tool = rows[3]
        assert (tool["tool"], tool["tool_kind"], tool["status"], tool["path"]) == (
            "Bash",
            "execute",
            "completed",
            "~/a.py",
        )
        assert tool["text"].startswith("red\n--- ~/a.py")
        assert (tool["started"], tool["duration_s"]) == (11.0, 0.0)
        assert rows[4]["tool"] == "Read"
        assert rows[5]["text"] == "[ ] one <i>\n[ ] two"
        assert (rows[6]["status"], rows[7]["text"]) == ("warning", "Run `ls`: allow_once (user)")

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_an_empty_session_has_its_columns(self, library):
        """With the same types as a full one."""
        empty = frame.to_frame(Timeline(SESSION).snapshot(), library)
        full = frame.to_frame(rich(), library)
        assert list(empty.dtypes) == list(full.dtypes)
        assert len(empty) == 0

    def test_what_is_installed_is_taken(self, monkeypatch):
        """The first of the two."""
        assert type(rich().to_frame()).__module__.startswith("pandas")
        monkeypatch.setattr(frame, "find_spec", lambda name: name == "polars" or None)
        assert type(rich().to_frame()).__module__.startswith("polars")

    def test_what_is_not_installed_says_what_to_do(self, monkeypatch):
        """And an unknown library is the caller's fault."""
        monkeypatch.setattr(frame, "import_module", lambda name: __import__("no_such_module_here"))
        with pytest.raises(ImportError, match="pip install polars"):
            rich().to_frame("polars")
        with pytest.raises(ValueError, match="not of 'numpy'"):
            rich().to_frame("numpy")

    def test_a_turn_without_items_has_no_row(self):
        """Work that has shown nothing yet."""
        shot = folded(update("state_update", state="running"), version=2).snapshot()
        assert len(shot.turns) == 1
        assert len(shot.to_frame()) == 0

    def test_times_of_a_turn_stand_once(self):
        """So that a column can be summed; unknown ones are null."""
        timeline = folded(prompt="a")
        timeline.apply(message("b"))
        timeline.settle_prompt("end_turn", usage={"totalTokens": 3})
        assert list(timeline.snapshot().to_frame()["tokens"].dropna()) == [3]


class TestWords:
    """What the views say, the same in each."""

    @pytest.mark.parametrize(
        ("reason", "said"),
        [
            ("end_turn", None),
            ("max_tokens", "The agent stopped at its token limit."),
            ("max_turn_requests", "The agent stopped at its limit of requests in a turn."),
            ("refusal", "The agent refused to go on."),
            ("cancelled", "Stopped."),
            ("on_holiday", "The agent stopped: on_holiday"),
        ],
    )
    def test_the_end_of_a_turn(self, reason, said):
        """An unknown reason is shown as it is."""
        timeline = folded(message("a"), prompt="x")
        timeline.settle_prompt(reason)
        assert words.turn_note(timeline.snapshot().turns[0]) == said

    def test_a_silent_turn_and_a_failed_one(self):
        """Both say so; a replayed one of which nothing is known does not."""
        silent, failed = folded(prompt="x"), folded(prompt="x")
        silent.settle_prompt("end_turn")
        failed.settle_prompt(error={"message": "boom"})
        assert (
            words.turn_note(silent.snapshot().turns[0])
            == "The agent ended the turn without a word."
        )
        assert words.turn_note(failed.snapshot().turns[0]) == "Error: boom"
        assert words.turn_note(snapshot(user("x", "u"), historical=True).turns[0]) is None

    @pytest.mark.parametrize(
        ("raw", "said"),
        [
            (None, ""),
            ("", ""),
            ({}, ""),
            ("out", "out"),
            ({"output": "", "stdout": "so"}, "so"),
            ({"aggregated_output": "ag", "stdout": "so"}, "ag"),
            ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
            ({"exit_code": 3}, '{\n "exit_code": 3\n}'),
            ([1], "[\n 1\n]"),
            (5, "5"),
        ],
    )
    def test_raw_output_stands_in(self, raw, said):
        """Quirk 19: what is text in it, else its JSON."""
        (found,) = snapshot(call(rawOutput=raw)).tool_calls
        assert "".join(shown for _, shown in words.output_of(found)) == said

    def test_a_change_in_lines(self):
        """New files, patches, and changes without texts."""
        new = {"type": "diff", "path": "/a", "oldText": None, "newText": "n"}
        patch = {"type": "diff", "changes": [], "patch": {"text": "@@ p"}}
        names = {"type": "diff", "changes": [{"operation": "delete", "path": "/b"}]}
        (found,) = snapshot(call(content=[new, patch, names])).tool_calls
        assert [shown for _, shown in words.output_of(found)] == [
            "--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n+n",
            "@@ p",
            "delete /b",
        ]

    def test_an_empty_terminal_shows_nothing(self):
        """What stands beside it is enough."""
        (found,) = snapshot(
            call(content=[{"type": "terminal", "terminalId": "t"}, output("x")])
        ).tool_calls
        assert words.output_of(found) == [("text", "x")]

    def test_statuses(self):
        """In words; what has no result is not called success."""
        timeline = folded(call("a", status="in_progress"), call("b", status="odd"), prompt="x")
        shot = timeline.snapshot()
        assert [words.status_of(c) for c in shot.tool_calls] == ["in progress", "odd"]
        timeline.settle_prompt("end_turn")
        assert words.status_of(timeline.snapshot().tool_calls[0]) == "no result reported"
        gone = folded(call("a"), prompt="x")
        gone.settle_all("gone")
        assert words.status_of(gone.snapshot().tool_calls[0]) == "cancelled"

    def test_decisions(self):
        """By name; else by id; and who decided."""
        timeline = folded()
        timeline.request_permission(1, permission())
        timeline.request_permission(2, permission())
        timeline.request_permission(3, permission())
        timeline.resolve_permission(1, {"outcome": "selected", "optionId": "gone"})
        timeline.resolve_permission(2, {"outcome": "cancelled"}, "rule")
        assert [words.decision_of(p) for p in timeline.snapshot().permissions] == [
            "gone",
            "cancelled (rule)",
            "waiting for an answer",
        ]

    def test_names_of_what_is_no_text(self):
        """Each has some words."""
        contents = [
            {"type": "image", "uri": "https://e.org/a.png", "name": "pic"},
            {"type": "audio", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "", "mimeType": "text/x"},
            {"type": "resource_link"},
        ]
        parts = [
            snapshot(update("agent_message_chunk", content=c)).items[0].parts[0] for c in contents
        ]
        assert [words.note_of(part) for part in parts] == [
            "[pic: image]",
            "[audio/wav]",
            "[text/x]",
            "[attachment]",
        ]
        (diff,) = (
            snapshot(call(content=[{"type": "diff", "path": "/a", "newText": "n"}]))
            .items[0]
            .output_parts
        )
        assert words.note_of(diff) == "[content of type diff]"


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/x.png)",
    "[x](javascript:alert(1))",
    "\x1b]0;title\x07",
]


@pytest.mark.parametrize("words_", HOSTILE)
def test_hostile_words_are_inert_wherever_they_stand(words_):
    """In every field that an agent fills, in every view."""
    timeline = Timeline(SESSION)
    timeline.apply_response("initialize", {"agentInfo": {"title": words_}})
    timeline.begin_prompt([block(words_)])
    timeline.apply(
        [
            message(words_, "m"),
            thought(words_),
            call(title=words_, kind=words_, status=words_, content=[output(words_)], error=words_),
            plan(words_),
            update("notice", severity=words_, title=words_),
            update("session_info_update", title=words_),
            update("agent_message_chunk", content={"type": words_}),
            update(
                "agent_message_chunk",
                content={"type": "image", "uri": words_, "name": words_, "mimeType": words_},
            ),
            update(
                "agent_message_chunk",
                content={"type": "resource_link", "uri": words_, "name": words_},
            ),
        ]
    )
    timeline.request_permission(
        1, {"title": words_, "options": [{"optionId": words_, "name": words_}]}
    )
    timeline.resolve_permission(1, {"outcome": "selected", "optionId": words_}, words_)
    timeline.settle_prompt(error={"message": words_})
    shot = timeline.snapshot()
    assert_inert(shot.to_html())
    shown = shot.to_markdown(thoughts=True)
    prose = re.sub(r"(?ms)^(`{3,})[^\n]*\n.*?^\1$", "", shown)
    assert not re.search(r"<[A-Za-z/!?]", re.sub(r"\(<https?:[^>]*>\)", "", prose))
    assert "![" not in prose
    assert "](javascript:" not in prose
    for view in (shown, shot.to_text(thoughts=True), shot.to_html()):
        assert "\x1b" not in view
    assert TimelineSnapshot.from_dict(shot.to_dict()) == shot
    assert call_update()["update"]["toolCallId"] == "t1"
