"""Permission requests: rule 13 of timeline.md, quirks 12 to 14."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import Diff, Location
from tests.timeline.updates import (
    call,
    call_update,
    folded,
    ids,
    output,
    permission,
    text,
)


class TestPermissions:
    """Rule 13 and quirks 12 to 14."""

    def asked(self, *updates, request_id=1, **tool_call):
        timeline = folded(*updates, prompt="a")
        timeline.request_permission(request_id, permission("t1", **tool_call))
        return timeline

    def test_a_request_makes_the_card_first(self):
        """It may be the only announcement; its status counts then."""
        timeline = folded(prompt="a")
        touched = timeline.request_permission(
            0, permission("t1", title="Edit", kind="edit", status="in_progress", rawInput={"a": 1})
        )
        assert touched == ("tool:t1", "user:1", "perm:0")
        shot = timeline.snapshot()
        assert (shot["tool:t1"].title, shot["tool:t1"].status) == ("Edit", "in_progress")
        found = shot["perm:0"]
        assert (found.request_id, found.tool_call_id, found.title) == (0, "t1", "Edit")
        assert (found.raw_input, found.status, found.decided_by) == ({"a": 1}, "pending", None)
        assert [option.kind for option in found.options] == ["allow_once", "reject_once"]

    def test_the_status_of_a_known_card_stays(self):
        """Quirk 13: codex asks with `pending` for a running edit."""
        timeline = self.asked(call(status="in_progress"), status="pending", title="T")
        found = timeline.snapshot()["tool:t1"]
        assert (found.status, found.title) == ("in_progress", "T")

    def test_it_keeps_what_was_asked(self):
        """The result replaces the card's content."""
        diff = {"type": "diff", "path": "/a", "oldText": "o", "newText": "n"}
        timeline = self.asked(
            call(rawInput={"card": 1}, locations=[{"path": "/a"}]), content=[diff]
        )
        timeline.apply(call_update(content=[output("done")], rawInput={"other": 2}))
        found = timeline.snapshot()["perm:1"]
        assert (found.parts, found.raw_input) == ((Diff("/a", "o", "n"),), {"card": 1})
        assert found.locations == (Location("/a", None),)

    def test_ids_are_json(self):
        """1 and "1" are two; an id that is taken is counted on (restarts count anew)."""
        timeline = folded()
        for request_id in (1, "1", 1, None, "a:b#c"):
            timeline.request_permission(request_id, permission())
        assert [i for i in ids(timeline) if i.startswith("perm")] == [
            "perm:1",
            'perm:"1"',
            "perm:1#2",
            "perm:null",
            'perm:"a%3Ab%23c"',
        ]

    def test_an_answer_goes_to_the_newest_of_its_id(self):
        """Once; a second answer changes nothing."""
        timeline = self.asked(call())
        timeline.request_permission(1, permission())
        answer = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
        assert timeline.resolve_permission(1, answer, "user") == ("perm:1#2",)
        assert timeline.resolve_permission(1, {"outcome": "cancelled"}) == ()
        shot = timeline.snapshot()
        assert [p.status for p in shot.permissions] == ["pending", "selected"]
        assert (shot["perm:1#2"].selected.name, shot["perm:1#2"].decided_by) == (
            "allow_once",
            "user",
        )

    def test_an_answer_to_no_request_changes_nothing(self):
        """Rule: nothing raises."""
        assert folded().resolve_permission(5, {}) == ()

    @pytest.mark.parametrize(
        "outcome", [{"outcome": "cancelled"}, None, {"outcome": "selected"}, 5]
    )
    def test_whatever_selects_nothing_cancels(self, outcome):
        """An answer without an option is no approval."""
        timeline = self.asked(call())
        timeline.resolve_permission(1, outcome)
        found = timeline.snapshot()["perm:1"]
        assert (found.status, found.selected_option_id, found.selected) == ("cancelled", None, None)

    @pytest.mark.parametrize(
        ("answer", "status", "no_result"),
        [
            ({"outcome": "selected", "optionId": "reject_once"}, "cancelled", False),
            ({"outcome": "cancelled"}, "cancelled", False),
            ({"outcome": "selected", "optionId": "allow_once"}, "pending", True),
            ({"outcome": "selected", "optionId": "unknown"}, "pending", True),
        ],
    )
    def test_a_rejected_call_is_cancelled_when_the_turn_settles(self, answer, status, no_result):
        """Quirk 12: a rejected call of gemini gets no update at all."""
        timeline = self.asked(call())
        timeline.resolve_permission(1, answer)
        timeline.settle_prompt("end_turn")
        found = timeline.snapshot()["tool:t1"]
        assert (found.status, found.no_result) == (status, no_result)

    def test_a_rejected_call_that_was_closed_keeps_its_status(self):
        """The agent's word stands."""
        timeline = self.asked(call())
        timeline.resolve_permission(1, {"outcome": "selected", "optionId": "reject_once"})
        timeline.apply(call_update(status="failed"))
        timeline.settle_prompt("end_turn")
        assert timeline.snapshot()["tool:t1"].status == "failed"

    def test_stop_cancels_pending_requests(self):
        """At once."""
        timeline = self.asked(call())
        assert timeline.cancel_prompt() == ("perm:1", "tool:t1")
        assert timeline.snapshot()["perm:1"].status == "cancelled"

    def test_pending_requests_end_with_their_turn(self):
        """Quirk 8: nobody waits for an answer then."""
        timeline = self.asked(call())
        timeline.settle_prompt("end_turn")
        shot = timeline.snapshot()
        assert (shot["perm:1"].status, shot["tool:t1"].status) == ("cancelled", "cancelled")

    def test_a_finished_card_of_an_earlier_turn_is_asked_about_anew(self):
        """Quirk 16: the id is used again."""
        timeline = folded(call(status="completed"), prompt="a")
        timeline.settle_prompt("end_turn")
        timeline.begin_prompt([text("b")])
        timeline.request_permission(1, permission())
        assert timeline.snapshot()["tool:t1#2"].status == "pending"

    def test_v2_asks_with_a_subject(self):
        """A tool call, or a command."""
        timeline = folded(version=2)
        timeline.request_permission(
            1,
            {
                "title": "May I?",
                "subject": {"type": "tool_call", "toolCall": {"toolCallId": "t1"}},
                "options": [],
            },
        )
        timeline.request_permission(
            2,
            {
                "title": "Run?",
                "description": "It is safe.",
                "subject": {"type": "command", "command": "ls", "cwd": "/w"},
                "options": [],
            },
        )
        shot = timeline.snapshot()
        assert (shot["perm:1"].title, shot["perm:1"].tool_call_id) == ("May I?", "t1")
        assert (shot["perm:2"].tool_call_id, shot["perm:2"].raw_input) == (
            None,
            {"command": "ls", "cwd": "/w"},
        )
        assert shot["perm:2"].parts[0].text == "It is safe."

    @pytest.mark.parametrize(
        "params", [{}, {"toolCall": 5}, {"subject": 5}, {"subject": {"type": "x"}}, {"options": 5}]
    )
    def test_a_request_that_cannot_be_read_can_still_be_answered(self, params):
        """It is shown without what could not be read."""
        timeline = folded()
        timeline.request_permission(1, params)
        assert timeline.snapshot()["perm:1"].options == ()
        timeline.resolve_permission(1, {"outcome": "cancelled"})
        assert timeline.snapshot()["perm:1"].status == "cancelled"

    def test_options_that_cannot_be_read_are_counted(self):
        """A nameless option is shown by its id."""
        timeline = folded()
        options = [5, {"name": "x"}, {"optionId": "a"}]
        timeline.request_permission(1, {"toolCall": {"toolCallId": 5}, "options": options})
        shot = timeline.snapshot()
        assert [(o.option_id, o.name, o.kind) for o in shot["perm:1"].options] == [("a", "a", "")]
        assert shot.metadata.unrecognized == {
            "request_permission.options": 2,
            "request_permission.toolCallId": 1,
        }

    def test_a_request_of_another_session_changes_nothing(self):
        """Rule 1."""
        timeline = folded()
        assert timeline.request_permission(1, {**permission(), "sessionId": "other"}) == ()
        assert timeline.request_permission(1, 5) == ()
