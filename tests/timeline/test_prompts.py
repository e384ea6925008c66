"""Prompts and turns: rules 8, 12, 13, 19 to 21 of timeline.md."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import Timeline, TurnError, Usage
from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    folded,
    ids,
    message,
    permission,
    snapshot,
    text,
    texts,
    thought,
    update,
    user,
)

LINK = {"type": "resource_link", "uri": "file:///w/a.txt", "name": "a.txt"}


class TestEcho:
    """Rule 8: what is sent shows at once, and its echo makes no second bubble."""

    def test_a_prompt_shows_at_once(self):
        """The bubble is optimistic until the agent says something."""
        timeline = Timeline(SESSION)
        assert timeline.begin_prompt([text("hi")], at=5.0) == ("user:1",)
        bubble = timeline.snapshot()["user:1"]
        assert (bubble.text, bubble.optimistic, bubble.message_id) == ("hi", True, None)

    @pytest.mark.parametrize("message_id", ["u1", None])
    @pytest.mark.parametrize("pieces", [["hello world"], ["hel", "lo ", "world"], ["expanded!"]])
    def test_the_echo_confirms_it(self, pieces, message_id):
        """In one piece or many, with or without id, whatever its text."""
        timeline = folded(*(user(piece, message_id) for piece in pieces), prompt="hello world")
        shot = timeline.snapshot()
        assert ids(shot) == ["user:1"]
        bubble = shot["user:1"]
        assert (bubble.text, bubble.optimistic, bubble.message_id) == (
            "hello world",
            False,
            message_id,
        )

    def test_an_echo_may_get_its_id_late(self):
        """A first piece without id and a second with one are the same echo."""
        shot = folded(user("a"), user("b", "u1"), user("c"), prompt="abc").snapshot()
        assert [item.message_id for item in shot.items] == ["u1"]

    def test_attachments_that_the_echo_leaves_out_stay(self):
        """The bubble keeps what was sent, and what the host found out about it."""
        timeline = Timeline(SESSION)
        timeline.begin_prompt([text("see"), LINK])
        timeline.resolve_attachment("user:1/0", {"state": "available", "identity": "i"})
        timeline.apply(
            [user("see", "u1"), update("user_message_chunk", content=LINK, messageId="u1")]
        )
        shot = timeline.snapshot()
        assert [part.kind for part in shot["user:1"].parts] == ["markdown", "attachment"]
        assert shot.attachments == {"user:1/0": {"state": "available", "identity": "i"}}

    def test_another_message_id_is_a_message_of_its_own(self):
        """It ends the echo."""
        shot = folded(user("hi", "u1"), user("more", "u2"), user("x", "u1"), prompt="hi").snapshot()
        assert texts(shot) == {"user:1": "hi", "msg:user:u2:0": "more", "msg:user:u1:0": "x"}

    def test_an_agents_item_ends_the_echo(self):
        """A user chunk after that is a message of its own, and begins a turn."""
        timeline = folded(user("hi", "u1"), message("a"), user("hi", "u1"), prompt="hi")
        assert list(texts(timeline.snapshot()).values()) == ["hi", "a", "hi"]

    def test_an_answer_confirms_a_prompt_that_is_never_echoed(self):
        """An agent that never echoes is normal."""
        timeline = folded(prompt="hi")
        assert timeline.apply(message("a", "m")) == ("msg:assistant:m:0", "user:1")
        assert not timeline.snapshot()["user:1"].optimistic

    def test_metadata_confirms_nothing(self):
        """It is no word about the prompt."""
        timeline = folded(update("usage_update", used=1, size=2), prompt="hi")
        assert timeline.snapshot()["user:1"].optimistic

    def test_a_notice_is_no_answer(self):
        """codex2 sends one before the echo."""
        timeline = folded(
            update("notice", title="n"), user("hi", "u1"), message("a", "m"), prompt="hi"
        )
        shot = timeline.snapshot()
        assert ids(shot) == ["user:1", "notice:1", "msg:assistant:m:0"]
        assert (shot["user:1"].message_id, len(shot.turns)) == ("u1", 1)

    def test_two_prompts_at_once_have_an_echo_each(self):
        """Two equal prompts stay two bubbles."""
        timeline = folded(prompt="hi")
        timeline.begin_prompt([text("hi")])
        timeline.apply([user("hi", "u1"), user("hi", "u2")])
        assert [item.message_id for item in timeline.snapshot().items] == ["u1", "u2"]

    def test_a_failed_prompt_stays_and_is_marked(self):
        """Nothing came back: its text is offered again."""
        timeline = folded(prompt="hi")
        assert timeline.settle_prompt(error={"code": -32603, "message": "no"}) == ("user:1",)
        bubble = timeline.snapshot()["user:1"]
        assert (bubble.failed, bubble.optimistic) == (True, False)

    def test_a_late_echo_takes_the_mark_away(self):
        """Once the agent has echoed, it is an ordinary bubble whatever the end."""
        timeline = folded(prompt="hi")
        timeline.settle_prompt(error={"message": "no"})
        timeline.apply(user("hi", "u1"))
        bubble = timeline.snapshot()["user:1"]
        assert (bubble.failed, bubble.message_id) == (False, "u1")

    @pytest.mark.parametrize("came", [user("hi"), message("a"), thought("a"), call()])
    def test_a_prompt_that_was_answered_is_not_marked(self, came):
        """The error stands in the turn."""
        timeline = folded(came, prompt="hi")
        timeline.settle_prompt(error={"message": "no"})
        shot = timeline.snapshot()
        assert not shot["user:1"].failed
        assert shot.turns[0].state == "failed"

    def test_a_second_prompt_after_a_failed_one_takes_the_next_echo(self):
        """A bubble whose turn is over waits for no echo once another is sent."""
        timeline = folded(prompt="one")
        timeline.settle_prompt(error={"message": "no"})
        timeline.begin_prompt([text("two")])
        timeline.apply(user("two", "u2"))
        assert [item.message_id for item in timeline.snapshot().items] == [None, "u2"]


class TestSettlement:
    """Rules 12, 19 and 20: how a turn ends."""

    def test_a_turn_runs_from_prompt_to_settlement(self):
        """It records times, stop reason and usage."""
        timeline = Timeline(SESSION)
        timeline.begin_prompt([text("hi")], at=10.0)
        assert timeline.snapshot().turns[0].state == "running"
        timeline.apply(message("a", "m"), at=11.0)
        usage = {"totalTokens": 5, "inputTokens": 3, "outputTokens": 2, "cachedReadTokens": None}
        timeline.settle_prompt("end_turn", usage=usage, at=12.5)
        turn = timeline.snapshot().turns[0]
        assert (turn.state, turn.stop_reason, turn.error) == ("idle", "end_turn", None)
        assert (turn.started_at, turn.ended_at, turn.duration) == (10.0, 12.5, 2.5)
        assert turn.usage == Usage(5, 3, 2)
        assert (turn.prompt_item_id, turn.item_ids) == ("user:1", ("user:1", "msg:assistant:m:0"))

    @pytest.mark.parametrize("usage", [None, [], "x", {"totalTokens": "x"}])
    def test_usage_that_cannot_be_read_is_none(self, usage):
        """Nothing raises, nothing is invented."""
        timeline = folded(prompt="hi")
        timeline.settle_prompt("end_turn", usage=usage)
        assert timeline.snapshot().turns[0].usage in {None, Usage()}

    def test_usage_may_be_given_read(self):
        """A host may have read it."""
        timeline = folded(prompt="hi")
        timeline.settle_prompt("end_turn", usage=Usage(1))
        assert timeline.snapshot().turns[0].usage == Usage(1)

    def test_an_unknown_stop_reason_is_kept(self):
        """It is shown as it is."""
        timeline = folded(prompt="hi")
        timeline.settle_prompt("on_holiday")
        assert timeline.snapshot().turns[0].stop_reason == "on_holiday"

    def test_settling_without_an_open_turn_changes_nothing(self):
        """Rule 19."""
        timeline = folded(message("a"))
        before = timeline.snapshot()
        assert timeline.settle_prompt("end_turn") == ()
        assert timeline.snapshot() is before

    def test_of_two_open_turns_the_oldest_settles(self):
        """Rule 19."""
        timeline = folded(prompt="one")
        timeline.begin_prompt([text("two")])
        timeline.settle_prompt("refusal")
        assert [turn.state for turn in timeline.snapshot().turns] == ["idle", "running"]

    def test_updates_after_the_response_land_and_do_not_run(self):
        """Rule 20."""
        timeline = folded(message("The ", "m"), prompt="hi")
        timeline.settle_prompt("end_turn")
        timeline.apply(message("END", "m"))
        shot = timeline.snapshot()
        assert (shot.turns[0].text, shot.turns[0].state) == ("The END", "idle")
        assert shot.streaming_segments == ()

    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            ({"code": 1, "message": "boom"}, TurnError("boom", 1)),
            ({"code": -32603, "message": "Internal error", "data": {"details": "why"}}, "why"),
            ({"message": "Internal error", "data": {"message": "why"}}, "why"),
            ({"message": "Internal error", "data": "why"}, "why"),
            ({"message": "Internal error"}, "Internal error"),
            ({"message": '{"error": {"message": "why", "code": 400}}'}, "why"),
            ({"message": '{"broken'}, '{"broken'),
            ({"message": '{"code": 5}'}, '{"code": 5}'),
            ({"message": "Internal error", "data": {"code": 5}}, "Internal error"),
            ({"message": None, "data": {"error": {"message": "why"}}}, "why"),
            ({}, "The agent gave no reason."),
            ("just words", "just words"),
            (TurnError("made"), "made"),
            ({"message": "x\ud800"}, "x\ufffd"),
        ],
    )
    def test_an_error_is_told_in_the_agents_words(self, error, expected):
        """Quirk 9: they stand in `message`, in `data`, or as JSON inside either."""
        timeline = folded(prompt="hi")
        timeline.settle_prompt(error=error)
        found = timeline.snapshot().turns[0].error
        assert expected in (found, found.message)

    def test_deep_json_in_a_message_is_left_as_text(self):
        """A message is read four levels deep at most, and never raises."""
        timeline = folded(prompt="hi")
        timeline.settle_prompt(error={"message": '{"message":' * 20_000})
        assert timeline.snapshot().turns[0].error.message.startswith('{"message":')

    def test_stop_ends_open_calls_at_once(self):
        """Rule 12: finished ones keep their status."""
        timeline = folded(
            call("a"), call("b", status="in_progress"), call("c", status="completed"), prompt="hi"
        )
        assert timeline.cancel_prompt(at=7.0) == ("tool:a", "tool:b")
        shot = timeline.snapshot()
        assert [c.status for c in shot.tool_calls] == ["cancelled", "cancelled", "completed"]
        assert shot["tool:a"].ended_at == 7.0
        assert shot.turns[0].stopped_by_user
        assert shot.turns[0].state == "running"

    def test_a_final_status_after_stop_is_kept_apart(self):
        """Rule 12: content and output are taken, the status stays `cancelled`."""
        timeline = folded(call("a"), prompt="hi")
        timeline.cancel_prompt()
        timeline.apply(call_update("a", status="completed", rawOutput="User aborted"))
        found = timeline.snapshot()["tool:a"]
        assert (found.status, found.agent_status, found.raw_output) == (
            "cancelled",
            "completed",
            "User aborted",
        )

    @pytest.mark.parametrize("status", ["pending", "in_progress", "exotic"])
    def test_a_closed_card_is_not_reopened(self, status):
        """Rule 12."""
        timeline = folded(call("a"), prompt="hi")
        timeline.cancel_prompt()
        timeline.apply(call_update("a", status=status))
        found = timeline.snapshot()["tool:a"]
        assert (found.status, found.agent_status) == ("cancelled", None)

    def test_an_error_after_stop_settles_as_cancelled(self):
        """Rule 19: the person asked for it; no error is shown."""
        timeline = folded(prompt="hi")
        timeline.cancel_prompt()
        timeline.settle_prompt(error={"message": "aborted"})
        turn = timeline.snapshot().turns[0]
        assert (turn.state, turn.stop_reason, turn.error) == ("idle", "cancelled", None)
        assert not timeline.snapshot()["user:1"].failed

    def test_end_turn_after_stop_keeps_its_reason(self):
        """Rule 19."""
        timeline = folded(prompt="hi")
        timeline.cancel_prompt()
        timeline.settle_prompt("end_turn")
        turn = timeline.snapshot().turns[0]
        assert (turn.stop_reason, turn.stopped_by_user) == ("end_turn", True)

    def test_stop_without_an_open_turn_changes_nothing(self):
        """There is nothing to stop."""
        timeline = folded(call("a"))
        assert timeline.cancel_prompt() == ()

    def test_an_open_call_at_the_end_has_no_result(self):
        """Rule 12: it keeps its last status and is not shown as success."""
        timeline = folded(call("a", status="in_progress"), prompt="hi")
        assert timeline.settle_prompt("end_turn") == ("tool:a",)
        found = timeline.snapshot()["tool:a"]
        assert (found.status, found.no_result, found.is_open) == ("in_progress", True, False)

    def test_an_error_counts_as_otherwise(self):
        """Rule 12: no card is called cancelled when nobody cancelled it."""
        timeline = folded(call("a"), prompt="hi")
        timeline.settle_prompt(error={"message": "x"})
        assert timeline.snapshot()["tool:a"].no_result

    def test_a_final_status_after_no_result_is_taken(self):
        """Rule 12: and clears it."""
        timeline = folded(call("a"), prompt="hi")
        timeline.settle_prompt("end_turn")
        timeline.apply(call_update("a", status="in_progress"))
        assert timeline.snapshot()["tool:a"].no_result
        timeline.apply(call_update("a", status="failed"))
        found = timeline.snapshot()["tool:a"]
        assert (found.status, found.no_result) == ("failed", False)

    def test_a_cancelled_turn_cancels_its_open_calls(self):
        """Rule 12: also when the agent alone said so."""
        timeline = folded(call("a"), prompt="hi")
        timeline.settle_prompt("cancelled")
        found = timeline.snapshot()
        assert found["tool:a"].status == "cancelled"
        assert not found.turns[0].stopped_by_user

    def test_calls_of_other_turns_are_left_alone(self):
        """Background work of a settled turn goes on."""
        timeline = folded(prompt="one")
        timeline.settle_prompt("end_turn")
        timeline.apply(call("bg", status="in_progress"))
        timeline.begin_prompt([text("two")])
        timeline.settle_prompt("cancelled")
        assert timeline.snapshot()["tool:bg"].is_open

    def test_when_the_agent_is_gone_everything_ends(self):
        """Rule 12: open calls are cancelled without result, the turn has failed."""
        timeline = folded(call("a"), prompt="hi")
        timeline.request_permission(1, permission("a"))
        timeline.settle_all("The agent has ended.", at=9.0)
        shot = timeline.snapshot()
        assert (shot["tool:a"].status, shot["tool:a"].no_result) == ("cancelled", True)
        assert shot["perm:1"].status == "cancelled"
        assert (shot.turns[0].state, shot.turns[0].error) == (
            "failed",
            TurnError("The agent has ended."),
        )
        assert shot.turns[0].ended_at == 9.0

    def test_a_result_after_the_end_clears_no_result(self):
        """What the agent said in the end stands beside the client's word."""
        timeline = folded(call("a"), prompt="hi")
        timeline.settle_all("gone")
        timeline.apply(call_update("a", status="completed"))
        found = timeline.snapshot()["tool:a"]
        assert (found.status, found.agent_status, found.no_result) == (
            "cancelled",
            "completed",
            False,
        )

    def test_background_work_ends_too(self):
        """Also in turns that were over."""
        timeline = folded(prompt="hi")
        timeline.settle_prompt("end_turn")
        timeline.apply(call("bg"))
        timeline.request_permission("p", permission("bg"))
        timeline.settle_all("gone")
        shot = timeline.snapshot()
        assert (shot["tool:bg"].status, shot['perm:"p"'].status) == ("cancelled", "cancelled")
        assert shot.turns[0].state == "idle"

    def test_a_stopped_turn_is_cancelled_when_the_agent_goes(self):
        """The person asked for the end."""
        timeline = folded(prompt="hi")
        timeline.cancel_prompt()
        timeline.settle_all("gone")
        turn = timeline.snapshot().turns[0]
        assert (turn.state, turn.stop_reason, turn.error) == ("idle", "cancelled", None)

    def test_a_turn_without_output_says_so(self):
        """Rule 19: `silent` is what the views tell."""
        timeline = folded(message("  \n", "m"), prompt="hi")
        assert not timeline.snapshot().turns[0].silent
        timeline.settle_prompt("end_turn")
        assert timeline.snapshot().turns[0].silent


class TestTurns:
    """Rule 21 and the contract: what is a turn."""

    def test_a_loaded_session_has_turns_by_user_boundaries(self):
        """Items before the first user item are a turn without a prompt."""
        shot = snapshot(
            message("banner"),
            user("a", "u1"),
            user("b", "u2"),
            message("x"),
            user("c"),
            historical=True,
        )
        assert [(t.prompt_item_id, len(t.items)) for t in shot.turns] == [
            (None, 1),
            ("msg:user:u1:0", 3),
            ("msg:user:~3:0", 1),
        ]
        assert {(t.state, t.stop_reason, t.started_at, t.duration) for t in shot.turns} == {
            ("idle", None, None, None)
        }

    def test_background_updates_belong_to_the_last_turn(self):
        """Quirk 6: an update is never dropped because no prompt is open."""
        timeline = folded(message("banner"))
        timeline.begin_prompt([text("hi")])
        timeline.settle_prompt("end_turn")
        timeline.apply(message("later", "m"))
        assert [turn.text for turn in timeline.snapshot().turns] == ["banner", "later"]

    def test_a_user_message_in_mid_turn_begins_a_turn(self):
        """Turns and groups agree; the prompt that runs on covers both (quirk 7)."""
        timeline = folded(message("a", "m1"), user("queued", "u2"), call("t"), prompt="one")
        shot = timeline.snapshot()
        assert [(t.state, t.prompt_item_id) for t in shot.turns] == [
            ("running", "user:1"),
            ("running", "msg:user:u2:0"),
        ]
        timeline.settle_prompt("end_turn", at=3.0)
        shot = timeline.snapshot()
        assert [(t.state, t.stop_reason) for t in shot.turns] == [
            ("idle", "end_turn"),
            ("idle", None),
        ]
        assert shot["tool:t"].no_result

    def test_stop_reaches_both(self):
        """Calls after the boundary end at once too."""
        timeline = folded(message("a", "m1"), user("queued", "u2"), call("t"), prompt="one")
        assert timeline.cancel_prompt() == ("tool:t",)

    def test_a_user_message_after_a_settled_prompt_begins_a_turn(self):
        """Another client's prompt, after one that was never answered."""
        timeline = folded(user("hi", "u1"), prompt="hi")
        timeline.settle_prompt("end_turn")
        timeline.apply([user("other", "u2"), message("x")])
        assert [(t.prompt_item_id, t.text) for t in timeline.snapshot().turns] == [
            ("user:1", ""),
            ("msg:user:u2:0", "x"),
        ]

    def test_a_turn_names_who_answered(self):
        """Agent, model and mode as they were when it began."""
        timeline = Timeline(SESSION)
        timeline.apply_response("initialize", {"agentInfo": {"name": "a", "version": "1"}})
        timeline.apply_response("session/new", {"modes": {"currentModeId": "plan"}})
        timeline.apply(
            update(
                "config_option_update", configOptions=[{"category": "model", "currentValue": "m"}]
            )
        )
        timeline.begin_prompt([text("hi")])
        timeline.apply(update("current_mode_update", currentModeId="code"))
        agent = timeline.snapshot().turns[0].agent
        assert (agent.name, agent.version, agent.model, agent.mode) == ("a", "1", "m", "plan")

    def test_an_empty_prompt_is_a_bubble_without_parts(self):
        """And nothing raises, whatever the blocks."""
        timeline = Timeline(SESSION)
        timeline.begin_prompt([5, {"type": "text"}, None])
        shot = timeline.snapshot()
        assert shot["user:1"].parts == ()
        assert shot.metadata.unrecognized == {"prompt.content": 3}


class TestStateUpdate:
    """Rule 20: in protocol v2 `state_update` carries the state."""

    def test_the_response_only_acknowledges(self):
        """`idle` ends the turn, with stop reason and usage."""
        timeline = folded(prompt="hi", version=2)
        timeline.settle_prompt()
        assert timeline.snapshot().turns[0].state == "running"
        timeline.apply(update("state_update", state="running"))
        timeline.apply(update("state_update", state="requires_action"))
        timeline.apply(
            update("state_update", state="idle", stopReason="refusal", usage={"totalTokens": 1}),
            at=2.0,
        )
        turn = timeline.snapshot().turns[0]
        assert (turn.state, turn.stop_reason, turn.usage, turn.ended_at) == (
            "idle",
            "refusal",
            Usage(1),
            2.0,
        )

    def test_an_error_response_settles(self):
        """There the turn has ended."""
        timeline = folded(prompt="hi", version=2)
        timeline.settle_prompt(error={"message": "no"})
        assert timeline.snapshot().turns[0].state == "failed"

    @pytest.mark.parametrize("before", [[], [message("banner")]])
    def test_work_that_no_prompt_asked_for_runs(self, before):
        """It belongs to the open turn without a prompt, or to a new one."""
        timeline = folded(*before, version=2)
        timeline.apply(update("state_update", state="running"), at=1.0)
        shot = timeline.snapshot()
        assert shot.running
        assert [(t.prompt_item_id, t.started_at) for t in shot.turns] == [(None, 1.0)]
        timeline.apply([message("x", "m"), update("state_update", state="idle")])
        assert [t.state for t in timeline.snapshot().turns] == ["idle"]

    def test_work_after_a_settled_prompt_is_a_turn_of_its_own(self):
        """A user message that comes then is its prompt."""
        timeline = folded(prompt="hi", version=2)
        timeline.apply(update("state_update", state="idle", stopReason="end_turn"))
        timeline.apply(
            [update("state_update", state="running"), user("other", "u2"), message("x", "m")]
        )
        turns = timeline.snapshot().turns
        assert [(t.prompt_item_id, t.state) for t in turns] == [
            ("user:1", "idle"),
            ("msg:user:u2:0", "running"),
        ]

    def test_an_unknown_state_is_counted(self):
        """Rule 17."""
        shot = snapshot(update("state_update", state="asleep"), version=2)
        assert shot.metadata.unrecognized == {"state_update.state": 1}


class TestStreaming:
    """Contract: the segments that the running turn may still grow."""

    def test_open_segments_of_the_running_turn(self):
        """With and without ids, messages and thoughts, never the user's."""
        timeline = folded(
            user("hi", "u1"), user("x", "u2"), message("a", "m1"), message("b"), prompt="hi"
        )
        assert timeline.snapshot().streaming_segments == (
            "msg:assistant:m1:0",
            "msg:assistant:~1:0",
        )

    def test_not_those_of_earlier_turns(self):
        """A straggler's segment has no caret."""
        timeline = folded(message("a", "m1"), message("b"), prompt="one")
        timeline.settle_prompt("end_turn")
        timeline.begin_prompt([text("two")])
        assert timeline.snapshot().streaming_segments == ()

    def test_none_when_nothing_runs(self):
        """A segment with an id stays open, but there is no caret."""
        assert snapshot(message("a", "m1")).streaming_segments == ()
