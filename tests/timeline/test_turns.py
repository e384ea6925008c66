"""What is a turn, and what streams: rules 20 and 21 of timeline.md."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import Timeline, Usage
from tests.timeline.updates import (
    SESSION,
    call,
    folded,
    message,
    snapshot,
    text,
    update,
    user,
)


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
        timeline.begin_prompt([5, {"type": "text"}, None, text("")])
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
