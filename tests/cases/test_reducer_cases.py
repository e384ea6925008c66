"""The handed cases of level `reducer`, and the timelines of every `updates` case."""

from __future__ import annotations

import json

import pytest

from acp_notebook.timeline import MessageSegment, Timeline, TimelineSnapshot, group_timeline
from tests.cases.case import Played, Sentences, assert_expected, cases
from tests.cases.reducer_player import all_messages, play

REDUCER = cases("reducer")
# Cases of other levels whose stream can be folded as it stands.
UPDATES = [case for case in cases(mode="updates") if case.level != "reducer"]

sentence = Sentences()


@sentence("unknown kinds split the text into several segments")
def text_is_one_segment(played: Played) -> None:
    """All of the agent's text is in one item."""
    assert len([i for i in played.snapshot.items if getattr(i, "role", "") == "assistant"]) == 1


@sentence("a new empty assistant item")
def no_empty_item(played: Played) -> None:
    """Each message has something to show."""
    assert all(not item.blank for item in played.snapshot.items if isinstance(item, MessageSegment))


@sentence(
    "tool card is not spinning after the turn",
    "no running indicator for replayed items",
    "no running indicator after the turn settles; state is shown as 'no result reported' or similar,"
    " not as success",
)
def nothing_runs(played: Played) -> None:
    """No call is open, none that was left open counts as completed, and the views say so."""
    shot = played.snapshot
    assert shot.tool_calls
    assert not shot.running
    assert not [call for call in shot.tool_calls if call.is_open]
    for call in shot.tool_calls:
        if call.no_result:
            assert call.status != "completed"
            assert "no result reported" in shot.to_text()


@sentence("both plan rows visible")
def plan_rows(played: Played) -> None:
    """Each step is in every view."""
    for view in (
        played.snapshot.to_text(),
        played.snapshot.to_html(),
        played.snapshot.to_markdown(),
    ):
        assert all(f"] {entry.content}" in view for entry in played.snapshot.plan.entries)


@sentence("live and replayed views are the same")
def replay_is_the_same(played: Played) -> None:
    """The same updates as a replay, after the prompt's own chunk, read the same in every view."""
    replayed = Timeline("sess-1")
    prompt = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hello"}}
    replayed.apply({"sessionId": "sess-1", "update": prompt}, historical=True)
    replayed.apply([m["params"] for m in all_messages(played.case)], historical=True)
    shot = replayed.snapshot()
    assert shot.to_text() == played.snapshot.to_text()
    assert shot.to_html() == played.snapshot.to_html()
    assert [g.copy_text for g in group_timeline(shot)] == [
        g.copy_text for g in group_timeline(played.snapshot)
    ]


@sentence(
    "one assistant turn with one copy action giving 'Copy to disk' (line breaks between the two are"
    " accepted)"
)
def one_copy(played: Played) -> None:
    """One group of the agent, with one copy text."""
    (turn,) = [g for g in group_timeline(played.snapshot) if g.kind == "assistant-turn"]
    assert "".join(turn.copy_text.split("\n")) == "Copy to disk"


@sentence("a card is made from the update (title falls back to the id or a generic word)")
def card_from_update(played: Played) -> None:
    """There was a card from the first update on; without a title it has its id."""
    assert played.prefixes[0].tool_calls[0].tool_call_id == "ghost"
    bare = Timeline("sess-1")
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "ghost"}
    bare.apply({"sessionId": "sess-1", "update": update})
    assert bare.snapshot().tool_calls[0].title == "ghost"


@sentence("bytes sent to one open view stay under 4x the final size (coalesced or deltas)")
def few_bytes(played: Played) -> None:
    """Each look sends what was added, when the text only grew."""
    sent, shown = 0, None
    for shot in played.prefixes:
        for call in shot.tool_calls:
            for part in call.output_parts:
                grew = shown is not None and shown.origin is part.origin
                sent += len(part.since(shown.length) if grew else part.text)
                shown = part
    final = len(played.snapshot.tool_calls[0].text)
    assert final <= sent < 4 * final


@sentence("turn shown as running again")
def not_running_again(played: Played) -> None:
    """Once it has ended, it does not run in any later look."""
    states = [shot.turns[-1].state for shot in played.prefixes if shot.turns]
    assert "running" not in states[states.index("idle") :]


@sentence("raw id is shown as text or ignored; no crash")
def raw_id(played: Played) -> None:
    """The id is kept as it came; the page with it holds no tag."""
    assert played.snapshot.metadata.current_mode_id == "yolo<script>"
    assert "<script" not in played.snapshot.to_html()


@pytest.mark.parametrize("case", REDUCER, ids=lambda case: case.name)
def test_a_reducer_case_comes_out_as_it_must(case):
    """Timeline, turn and session as told, every sentence by its check."""
    played = play(case)
    assert_expected(played)
    sentence.assert_all(played)


@pytest.mark.parametrize(
    "case", [c for c in UPDATES if "timeline" in c.expect], ids=lambda case: case.name
)
def test_the_stream_of_another_level_gives_its_timeline(case):
    """What a host or a page is to show stands in the timeline already."""
    assert_expected(play(case))


@pytest.mark.parametrize("case", [*REDUCER, *UPDATES], ids=lambda case: case.name)
def test_each_prefix_is_sound(case):
    """After each line: nothing raises, it can be written and read, and no text is lost again."""
    said = ""
    for shot in play(case).prefixes[-200:]:
        assert TimelineSnapshot.from_dict(json.loads(json.dumps(shot.to_dict()))) == shot
        now = "".join(turn.text for turn in shot.turns)
        if case.mode == "updates" and len(case.given.get("sessions", ["one"])) == 1:
            assert now.startswith(said)
        said = now


@pytest.mark.parametrize(
    "case", [c for c in UPDATES if "attachments" in c.expect], ids=lambda case: case.name
)
def test_attachments_are_named_as_told(case):
    """In order; what cannot be read or has no uri is unavailable without any host."""
    shot = play(case).snapshot
    found = []
    for item in shot.items:
        for part in getattr(item, "parts", ()):
            if part.kind == "attachment":
                found.append((part.name, shot.attachments[part.ref_id]["state"]))
            elif part.kind == "image":
                found.append((None, "available" if part.blob else "unavailable"))
    for expected, (name, state) in zip(case.expect["attachments"], found, strict=False):
        assert expected.get("name", name) == name
        assert state in (expected["state"], "pending")
    for name, state in found[len(case.expect["attachments"]) :]:
        assert (name, state) == ("", "unavailable")


def test_an_unbound_sentence_fails():
    """A case cannot gain a sentence that nothing checks."""
    case = next(case for case in REDUCER if case.sentences)
    with pytest.raises(AssertionError, match="not bound to a check"):
        Sentences().assert_all(play(case))
    with pytest.raises(AssertionError, match="bound twice"):
        sentence(*case.sentences)(None)


def test_every_bound_sentence_is_some_cases():
    """The table holds nothing that no case says."""
    told = {text for case in REDUCER for text in case.sentences}
    assert set(sentence.checks) == told
