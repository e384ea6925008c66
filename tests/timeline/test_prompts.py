"""Prompts and turns: rules 8, 12, 13, 19 to 21 of timeline.md."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import Timeline, TurnError, Usage
from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    folded,
    message,
    permission,
    text,
)


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
        assert timeline.cancel_prompt() == ()

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
