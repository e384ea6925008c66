"""The views of one conversation: what is in each, and what must not be."""

from __future__ import annotations

import re

import pytest

from acp_notebook.timeline import Timeline, TimelineSnapshot
from acp_notebook.views import html, markdown, text
from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    message,
    output,
    plan,
    snapshot,
    thought,
    update,
    user,
)
from tests.timeline.updates import text as block
from tests.views.conversation import ME, PNG, rich
from tests.views.pages import assert_inert

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

    @pytest.mark.parametrize("words_", ["~~~", "# x", "> x", "---", "==="])
    def test_a_note_begins_no_block(self, words_):
        """A fence in it would turn code and prose about behind it."""
        shown = snapshot(call(title="T", error=words_), message("<img src=x>")).to_markdown()
        assert f"\n\n\\{words_}\n\n" in shown

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
