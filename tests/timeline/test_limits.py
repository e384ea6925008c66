"""Limits against a hostile agent: the surplus is dropped with one visible notice."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import Limits, Timeline
from acp_notebook.timeline.text import GAP
from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    ids,
    message,
    output,
    permission,
    plan,
    text,
    thought,
    update,
)


def limited(version=1, **limits):
    """Return an empty timeline with these limits."""
    return Timeline(SESSION, version, limits=Limits(**limits))


def notices(timeline):
    """Return the texts of the notices about limits."""
    return [
        item.text
        for item in timeline.snapshot().items
        if item.kind == "notice" and item.source == "limit"
    ]


def test_items_past_the_limit_are_dropped():
    """Updates of what is there go on, and prompts of ours are never dropped."""
    timeline = limited(max_items=2)
    timeline.apply(
        [call("a"), call("b"), call("c"), call("d"), message("x"), thought("y"), plan("z")]
    )
    timeline.apply(update("agent_message_chunk", content={"type": "image"}))
    timeline.apply(update("plan_update", plan={"planId": "p", "type": "items", "entries": []}))
    timeline.apply([update("notice", title="n"), update("compaction_update", compactionId="c")])
    timeline.request_permission(1, permission("new"))
    timeline.request_permission(2, permission("a"))
    timeline.apply(call_update("a", title="T"))
    timeline.begin_prompt([text("hi")])
    shot = timeline.snapshot()
    assert ids(shot) == ["tool:a", "tool:b", "notice:1", "user:1"]
    assert shot["tool:a"].title == "T"
    assert notices(timeline) == ["The agent sent more than 2 items. The rest is not shown."]


def test_items_of_v2_past_the_limit_are_dropped():
    """Whole messages and content chunks too."""
    timeline = limited(2, max_items=0)
    timeline.apply(
        [
            update("agent_message", messageId="m", content=[text("a")]),
            update("tool_call_content_chunk", toolCallId="t", content=output("a")),
        ]
    )
    assert ids(timeline) == ["notice:1"]


def test_parts_past_the_limit_are_dropped():
    """One by one, and of a whole list."""
    picture = {"type": "image"}
    timeline = limited(max_parts=3)
    timeline.apply([update("agent_message_chunk", content=picture, messageId="m")] * 5)
    timeline.apply([message("dropped", "m"), message("too", "n")])
    timeline.apply(call(content=[output("a")] * 3))
    shot = timeline.snapshot()
    assert len(shot["msg:assistant:m:0"].parts) == 3
    assert shot["msg:assistant:n:0"].parts == ()
    assert shot["tool:t1"].output_parts == ()
    assert notices(timeline) == ["The agent sent more than 3 parts. The rest is not shown."]


def test_parts_that_are_replaced_make_room():
    """What is gone does not count."""
    timeline = limited(max_parts=2)
    for _ in range(5):
        timeline.apply(call(content=[output("a"), output("b")]))
    assert len(timeline.snapshot()["tool:t1"].output_parts) == 2
    assert notices(timeline) == []


def test_long_output_keeps_head_and_tail():
    """With a gap between, and one notice."""
    timeline = limited(max_output_chars=40)
    words = "a" * 30 + "b" * 30
    timeline.apply([call(content=[output(words)], rawOutput=words, rawInput=[words])])
    shot = timeline.snapshot()
    kept = f"{'a' * 10}{GAP}{'b' * 10}"
    assert (shot["tool:t1"].text, shot["tool:t1"].raw_output, shot["tool:t1"].raw_input) == (
        kept,
        kept,
        [kept],
    )
    assert notices(timeline) == [
        "The agent sent more than 40 characters of output in one tool call. Its middle is not shown."
    ]


def test_streamed_output_keeps_head_and_tail():
    """However it is cut; the newest is always there."""
    timeline = limited(2, max_output_chars=40)
    for letter in "abcdefghij":
        timeline.apply(
            update("tool_call_content_chunk", toolCallId="t1", content=output(letter * 9))
        )
    timeline.apply(
        update(
            "tool_call_content_chunk",
            toolCallId="t1",
            content={"type": "content", "content": {"type": "image"}},
        )
    )
    found = timeline.snapshot()["tool:t1"].text
    assert len(found) <= 40
    assert found.startswith("aaaaaaaaab")
    assert found.endswith("jjjjjjjjj")
    assert len(notices(timeline)) == 1


def test_a_long_output_in_many_texts_is_left_alone():
    """Each is short: the limit is of one text."""
    timeline = limited(2, max_output_chars=40)
    picture = {"type": "content", "content": {"type": "image"}}
    for letter in "abcdef":
        for content in (output(letter * 9), picture):
            timeline.apply(update("tool_call_content_chunk", toolCallId="t1", content=content))
    assert timeline.snapshot()["tool:t1"].text == "".join(letter * 9 for letter in "abcdef")


def test_no_room_for_a_streamed_text():
    """Nothing is shown of it, nothing raises."""
    timeline = limited(2, max_parts=0, max_output_chars=4)
    timeline.apply(update("tool_call_content_chunk", toolCallId="t1", content=output("abcdefgh")))
    assert timeline.snapshot()["tool:t1"].output_parts == ()


def test_a_terminal_keeps_head_and_tail():
    """And says that it is truncated; the cost of a byte stays the same."""
    timeline = limited(max_output_chars=100)
    timeline.apply(call(content=[{"type": "terminal", "terminalId": "x"}]))
    for number in range(100):
        timeline.terminal_output("x", f"line {number}\n")
    part = timeline.snapshot()["tool:t1"].output_parts[0]
    assert part.truncated
    assert part.length <= 100
    assert part.output.startswith("line 0\n")
    assert part.output.endswith("line 99\n")
    assert GAP in part.output


def test_terminals_that_nobody_shows_are_bounded():
    """They are forgotten."""
    timeline = limited(max_items=2)
    for number in range(5):
        timeline.terminal_output(str(number), "x")
    assert len(timeline._fold.terminals) == 2


@pytest.mark.parametrize("value", [{"a": {"b": {"c": 1}}}, [[[1]]]])
def test_deep_json_is_cut(value):
    """What is deeper is None."""
    timeline = limited(max_depth=2)
    timeline.apply(call(rawInput=value))
    assert timeline.snapshot()["tool:t1"].raw_input in ({"a": {"b": None}}, [[None]])
