"""The copies of a chat that stay in the notebook file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.host.state import ChatState, QueuedPrompt
from acp_notebook.timeline import Timeline
from acp_notebook.widget.saved import trait
from acp_notebook.widget.written import MAX_BYTES, TOO_LONG, WrittenTurns


def update(**fields: Any) -> dict[str, Any]:
    return {"sessionId": "s", "update": fields}


def say(text: str) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return update(sessionUpdate="agent_message_chunk", content=content)


def session_of(*answers: str) -> Timeline:
    """A session with a turn for each answer."""
    timeline = Timeline("s")
    for number, answer in enumerate(answers):
        timeline.begin_prompt([{"type": "text", "text": f"question {number}"}])
        timeline.apply(say(answer))
        timeline.settle_prompt("end_turn")
    return timeline


def size(bundle: dict[str, str]) -> int:
    return sum(len(text.encode()) for text in bundle.values())


def test_a_copy_is_html_and_markdown_and_a_constant():
    """The copy says what was asked and answered; its plain text is constant and free of addresses."""
    bundle = WrittenTurns().bundle(session_of("an *answer* <script>alert(1)</script>").snapshot())

    assert {"text/plain", "text/html", "text/markdown"} == bundle.keys()
    assert "ACP chat" == bundle["text/plain"]
    for form in ("text/html", "text/markdown"):
        assert "question 0" in bundle[form]
        assert "<script" not in bundle[form]
    assert 'class="acp-saved"' in bundle["text/html"]


def test_a_chat_without_a_turn_says_so():
    """The copy of an empty chat is a sentence."""
    bundle = WrittenTurns().bundle(Timeline("s").snapshot())

    assert "Nothing has been said yet." in bundle["text/html"]
    assert "*Nothing has been said yet.*" == bundle["text/markdown"]


def test_a_long_chat_keeps_its_newest_turns():
    """At most 200 KB stay: the newest turns, and a word about the others."""
    bundle = WrittenTurns().bundle(session_of(*("ä" * 5000 for _ in range(60))).snapshot())

    assert 0.8 * MAX_BYTES < size(bundle) <= MAX_BYTES
    assert "question 59" in bundle["text/html"]
    assert "question 0" not in bundle["text/html"]
    assert "Earlier turns are not kept here." in bundle["text/html"]
    assert "Earlier turns are not kept here." in bundle["text/markdown"]


def test_a_turn_that_is_too_long_is_shortened():
    """Of one huge turn the tools' output goes first, then the ends of its texts."""
    timeline = session_of("x" * 300_000)
    timeline.begin_prompt([{"type": "text", "text": "next"}])
    output = [{"type": "content", "content": {"type": "text", "text": "y" * 300_000}}]
    timeline.apply(
        update(sessionUpdate="tool_call", toolCallId="t", title="a tool", content=output)
    )
    timeline.apply(say("the answer"))
    timeline.settle_prompt("end_turn")
    bundle = WrittenTurns().bundle(timeline.snapshot())

    assert size(bundle) <= MAX_BYTES
    assert "the answer" in bundle["text/html"]
    assert "a tool" in bundle["text/html"]
    assert "yyy" not in bundle["text/html"]
    shortened = WrittenTurns().bundle(session_of("x" * 300_000).snapshot())
    assert "x" * 10_000 + "…" in shortened["text/html"]


def test_a_turn_that_cannot_be_shortened_is_a_sentence():
    """A turn of thousands of tool calls is not kept, and that is said."""
    timeline = Timeline("s")
    for number in range(3000):
        timeline.apply(update(sessionUpdate="tool_call", toolCallId=str(number), title="t" * 100))
    bundle = WrittenTurns().bundle(timeline.snapshot())

    assert TOO_LONG in bundle["text/html"]
    assert f"*{TOO_LONG}*" == bundle["text/markdown"]


def test_a_settled_turn_is_written_once(monkeypatch: pytest.MonkeyPatch):
    """A later copy writes only the turns that are new."""
    from acp_notebook.widget import written

    wrote: list[int] = []
    real = written.turn_html
    monkeypatch.setattr(
        written, "turn_html", lambda turn, **k: (wrote.append(turn.index), real(turn, **k))[1]
    )
    timeline = session_of("one", "two")
    copies = WrittenTurns()
    copies.bundle(timeline.snapshot())
    timeline.begin_prompt([{"type": "text", "text": "next"}])
    copies.bundle(timeline.snapshot())

    assert [1, 0, 2] == wrote


def test_the_same_chat_gives_the_same_copy():
    """Two runs of one conversation give equal copies, whatever the times were."""
    bundles = []
    for at in (1.0, 99.0):
        timeline = Timeline("s")
        timeline.begin_prompt([{"type": "text", "text": "hi"}], at=at)
        timeline.apply(say("hello"), at=at)
        timeline.settle_prompt("end_turn", at=at + at)
        bundles.append(WrittenTurns().bundle(timeline.snapshot()))
    assert bundles[0] == bundles[1]


class Session:
    """What the trait is made of."""

    def __init__(self, timeline: Timeline) -> None:
        self.snapshot = timeline.snapshot()
        self.state = ChatState(
            session_key="s",
            draft="a secret thought",
            cwd=str(Path.home() / "work"),
            queue=(QueuedPrompt("1", "a secret plan", ()),),
        )


def test_the_trait_is_a_picture_of_the_newest_items():
    """The trait holds the newest items, groups and turns, and nothing of the composer."""
    saved = trait(Session(session_of(*("x" * 5000 for _ in range(60)))))
    view = json.loads(saved)["view"]

    assert len(saved.encode()) <= MAX_BYTES
    assert "x" * 5000 == view["items"][-1]["parts"][0]["text"]
    assert 59 == view["turns"][-1]["index"]
    assert {item["id"] for item in view["items"]} >= {
        id_ for group in view["groups"] for id_ in group["itemIds"]
    }
    assert "secret" not in saved
    assert "~/work" == view["meta"]["cwd"]
