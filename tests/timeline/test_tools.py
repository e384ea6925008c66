"""Tool calls and terminals: rules 10 to 12 and 16 of timeline.md, quirks 10 to 20."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import Diff, Error, Location, Terminal, Unsupported
from tests.timeline.updates import (
    call,
    call_update,
    folded,
    ids,
    message,
    output,
    snapshot,
    text,
    update,
)


def one(*updates, **options):
    """Return the only tool call after these updates."""
    (found,) = snapshot(*updates, **options).tool_calls
    return found


class TestUpsert:
    """Rule 10: `tool_call` and `tool_call_update` patch the card of their id."""

    def test_a_call_has_its_fields(self):
        """Field words are ACP's."""
        found = one(
            call(
                title="Read a.py",
                name="Read",
                kind="read",
                status="in_progress",
                rawInput={"path": "a.py"},
                rawOutput=0,
                content=[output("x")],
                locations=[{"path": "/a.py", "line": 3}, {"path": "/b.py"}],
            ),
            at=4.0,
        )
        assert (found.id, found.tool_call_id, found.title, found.name) == (
            "tool:t1",
            "t1",
            "Read a.py",
            "Read",
        )
        assert (found.tool_kind, found.status, found.raw_input) == (
            "read",
            "in_progress",
            {"path": "a.py"},
        )
        assert (found.raw_output, found.text, found.started_at) == (0, "x", 4.0)
        assert found.locations == (Location("/a.py", 3), Location("/b.py", None))

    def test_what_is_omitted_is_unchanged(self):
        """And rawInput is replaced whole (quirk 10)."""
        found = one(
            call(title="T", kind="edit", rawInput={}, content=[output("x")]),
            call_update(rawInput={"a": 1}),
            call_update(rawInput={"b": 2}),
        )
        assert (found.title, found.tool_kind, found.raw_input, found.text) == (
            "T",
            "edit",
            {"b": 2},
            "x",
        )

    def test_null_is_omitted_in_v1(self):
        """A `null` never blanks a card."""
        fields = (
            "title",
            "kind",
            "name",
            "status",
            "content",
            "locations",
            "rawInput",
            "rawOutput",
        )
        full = {
            "title": "T",
            "kind": "read",
            "name": "R",
            "status": "completed",
            "content": [output("x")],
            "locations": [{"path": "/a"}],
            "rawInput": 1,
            "rawOutput": 2,
        }
        assert one(call(**full)) == one(call(**full), call_update(**dict.fromkeys(fields)))

    def test_null_clears_in_v2(self):
        """The title falls back to the id; a finished card stays finished."""
        full = {
            "title": "T",
            "kind": "read",
            "name": "R",
            "status": "in_progress",
            "content": [output("x")],
            "locations": [{"path": "/a"}],
            "rawInput": 1,
            "rawOutput": 2,
        }
        found = one(call_update(**full), call_update(**dict.fromkeys(full)), version=2)
        assert (found.title, found.tool_kind, found.name, found.status) == (
            "t1",
            None,
            None,
            "pending",
        )
        assert (found.output_parts, found.locations, found.raw_input, found.raw_output) == (
            (),
            (),
            None,
            None,
        )
        done = one(call_update(status="completed"), call_update(status=None, foo=None), version=2)
        assert done.status == "completed"

    def test_an_update_for_an_unknown_id_makes_the_card(self):
        """Quirk 12: the title falls back to the id."""
        found = one(call_update("ghost", status="completed", content=[output("body")]))
        assert (found.title, found.status, found.text) == ("ghost", "completed", "body")

    def test_a_late_announcement_does_not_reopen(self):
        """Rule 10: what it says beside the status is taken."""
        found = one(
            call_update(status="completed", content=[output("3 hits")]),
            call(title="grep", kind="search", status="pending"),
        )
        assert (found.status, found.title, found.text) == ("completed", "grep", "3 hits")

    def test_a_final_status_may_change_to_another(self):
        """The agent has the last word on what it has closed itself."""
        assert one(call(status="completed"), call_update(status="failed")).status == "failed"

    def test_a_reused_id_in_a_later_turn_is_a_new_call(self):
        """Quirk 16: and later updates go to the newest."""
        timeline = folded(call(status="completed", title="one"), prompt="a")
        timeline.settle_prompt("end_turn")
        timeline.begin_prompt([text("b")])
        timeline.apply([call(title="two"), call_update(status="failed")])
        shot = timeline.snapshot()
        assert [(c.id, c.title, c.status) for c in shot.tool_calls] == [
            ("tool:t1", "one", "completed"),
            ("tool:t1#2", "two", "failed"),
        ]

    def test_an_id_that_was_left_open_is_reused_too(self):
        """A call without result has ended with its turn."""
        timeline = folded(call(), prompt="a")
        timeline.settle_prompt("end_turn")
        timeline.begin_prompt([text("b")])
        timeline.apply(call())
        assert ids(timeline)[-1] == "tool:t1#2"

    def test_an_update_in_a_later_turn_goes_to_the_old_card(self):
        """Quirk 6: output of a cancelled command comes through the next turns."""
        timeline = folded(call(), prompt="a")
        timeline.settle_prompt("cancelled")
        timeline.begin_prompt([text("b")])
        timeline.apply(call_update(content=[output("tick")]))
        assert timeline.snapshot()["tool:t1"].text == "tick"

    def test_an_open_call_announced_again_in_a_later_turn_is_the_same(self):
        """Only a final id begins anew."""
        timeline = folded(prompt="a")
        timeline.settle_prompt("end_turn")
        timeline.apply(call())
        timeline.begin_prompt([text("b")])
        timeline.apply(call(title="again"))
        assert timeline.snapshot()["tool:t1"].title == "again"

    def test_calls_with_equal_arguments_stay_apart(self):
        """Rule 11."""
        assert ids(snapshot(call("a", title="x"), call("b", title="x"))) == ["tool:a", "tool:b"]

    @pytest.mark.parametrize("status", ["canceled", "cancelled"])
    def test_cancelled_has_one_spelling(self, status):
        """Rule 12."""
        assert one(call(status=status)).status == "cancelled"

    def test_what_is_not_known_is_kept_as_text(self):
        """Rule 11: an unknown status counts as open until the turn settles."""
        timeline = folded(call(kind="memory", status="thinking"), prompt="a")
        found = timeline.snapshot()["tool:t1"]
        assert (found.tool_kind, found.status, found.is_open) == ("memory", "thinking", True)
        timeline.settle_prompt("end_turn")
        assert timeline.snapshot()["tool:t1"].no_result

    def test_a_replayed_open_call_is_inert(self):
        """Rule 12."""
        assert not one(call(status="in_progress"), historical=True).is_open

    @pytest.mark.parametrize(
        ("fields", "counted"),
        [
            ({"toolCallId": 5}, "toolCallId"),
            ({"toolCallId": ""}, "toolCallId"),
            ({"toolCallId": "x", "status": 5}, "status"),
            ({"toolCallId": "x", "content": {}}, "content"),
            ({"toolCallId": "x", "title": 5}, "title"),
            ({"toolCallId": "x", "kind": []}, "kind"),
            ({"toolCallId": "x", "name": {}}, "name"),
            ({"toolCallId": "x", "error": True}, "error"),
            ({"toolCallId": "x", "locations": 5}, "locations"),
            ({"toolCallId": "x", "locations": [5, {"path": 3}]}, "locations"),
        ],
    )
    def test_malformed_fields_are_counted(self, fields, counted):
        """Rule 17."""
        shot = snapshot(update("tool_call", **fields))
        assert set(shot.metadata.unrecognized) == {f"tool_call.{counted}"}

    def test_malformed_fields_leave_what_was_known(self):
        """A later update cannot spoil a card."""
        known = call(title="T", kind="edit", name="n", error="e", locations=[{"path": "/x"}])
        spoilt = call_update(title=5, kind=5, name=5, error=5, locations={}, content=5, status=5)
        assert one(known, spoilt) == one(known)

    def test_an_update_without_an_id_is_counted(self):
        """It is about no card."""
        assert snapshot(update("tool_call_update")).metadata.unrecognized == {
            "tool_call_update.toolCallId": 1
        }

    def test_times_are_those_of_the_first_and_the_final_update(self):
        """They come in as arguments."""
        timeline = folded(call(), at=1.0)
        timeline.apply(call_update(status="completed"), at=3.5)
        timeline.apply(call_update(status="completed"), at=9.0)
        found = timeline.snapshot()["tool:t1"]
        assert (found.started_at, found.ended_at, found.duration) == (1.0, 3.5, 2.5)
        assert one(call()).duration is None

    def test_meta_names_the_tool_and_its_parent(self):
        """Seen from claude; nothing else of `_meta` is kept."""
        meta = {"claudeCode": {"toolName": "Bash", "parentToolUseId": "t0", "token": "s"}}
        found = one(call(_meta=meta, rawInput={"_meta": meta, "a": 1}))
        assert (found.name, found.parent_tool_call_id, found.raw_input) == ("Bash", "t0", {"a": 1})

    def test_a_field_wins_over_meta(self):
        """And the first name stays."""
        found = one(call(name="R", _meta={"toolName": "x"}), call_update(_meta={"toolName": "y"}))
        assert found.name == "R"

    def test_a_parent_stays(self):
        """The first that was named."""
        first, second = ({"parentToolCallId": parent} for parent in "ab")
        assert one(call(_meta=first), call_update(_meta=second)).parent_tool_call_id == "a"

    def test_an_error_text_is_kept(self):
        """Some agents send one beside the status."""
        assert one(call(status="failed", error="why")).error == "why"
        assert one(call(error="why"), call_update(error=5)).error == "why"


class TestContent:
    """Rules 10 and 17: tool content in block order."""

    def test_content_replaces_content(self):
        """Each list is the whole."""
        found = one(call(content=[output("a"), output("b")]), call_update(content=[output("c")]))
        assert [part.text for part in found.output_parts] == ["c"]
        assert one(call(content=[output("a")]), call_update(content=[])).output_parts == ()

    def test_output_that_grows_keeps_its_origin(self):
        """A progress that repeats all so far costs a view only the rest."""
        timeline = folded(call(content=[output("a")]))
        old = timeline.snapshot()["tool:t1"].output_parts[0]
        timeline.apply(call_update(content=[output("ab")]))
        new = timeline.snapshot()["tool:t1"].output_parts[0]
        assert new.origin is old.origin
        assert new.since(old.length) == "b"
        timeline.apply(call_update(content=[output("ab")]))
        assert timeline.snapshot()["tool:t1"].output_parts[0] is new

    def test_every_form_of_content_is_a_part(self):
        """Diffs of both versions, terminals, unknown types."""
        found = one(
            call(
                content=[
                    {"type": "diff", "path": "/a", "oldText": None, "newText": "n"},
                    {"type": "diff", "path": "/a", "oldText": "o", "newText": "n"},
                    {
                        "type": "diff",
                        "changes": [5, {"operation": "add", "path": "/b", "_meta": {}}],
                        "patch": {"format": "git_patch", "text": "p"},
                    },
                    {"type": "diff", "changes": [], "patch": None},
                    {"type": "terminal", "terminalId": "x"},
                    {"type": "hologram"},
                    {"type": "content", "content": {"type": "hologram"}},
                    output(""),
                ]
            )
        )
        assert found.output_parts == (
            Diff("/a", None, "n"),
            Diff("/a", "o", "n"),
            Diff("/b", patch="p", changes=({"operation": "add", "path": "/b"},)),
            Diff(None, changes=()),
            Terminal("x", found.output_parts[4].body, None, False),
            Unsupported("hologram"),
            Unsupported("hologram"),
        )
        assert found.paths == ("/a", "/b")

    @pytest.mark.parametrize(
        "broken",
        [
            5,
            {},
            {"type": 5},
            {"type": "content"},
            {"type": "content", "content": 5},
            {"type": "content", "content": {"type": "text"}},
            {"type": "diff", "path": 5},
            {"type": "diff", "path": "/a"},
            {"type": "terminal"},
            {"type": "terminal", "terminalId": ""},
        ],
    )
    def test_what_cannot_be_read_leaves_an_error_at_its_place(self, broken):
        """Rule 17: and what is around it stays."""
        shot = snapshot(call(content=[output("a"), broken, output("b")]))
        parts = shot["tool:t1"].output_parts
        assert [type(part) for part in parts[1:2]] == [Error]
        assert (parts[0].text, parts[2].text) == ("a", "b")
        assert shot.metadata.unrecognized == {"tool_call.content": 1}

    def test_chunks_append(self):
        """Rule 10, v2: neighbouring text coalesces."""
        shot = snapshot(
            update("tool_call_content_chunk", toolCallId="t1", content=output("a")),
            update("tool_call_content_chunk", toolCallId="t1", content=output("b")),
            update("tool_call_content_chunk", toolCallId="t1", content=output("")),
            update(
                "tool_call_content_chunk",
                toolCallId="t1",
                content={"type": "diff", "path": "/a", "newText": "n"},
            ),
            update("tool_call_content_chunk", toolCallId="t1", content=output("c")),
            update("tool_call_content_chunk", toolCallId="t1", content=5),
            update("tool_call_content_chunk", content=output("x")),
            version=2,
        )
        parts = shot["tool:t1"].output_parts
        assert [part.kind for part in parts] == ["markdown", "diff", "markdown", "error"]
        assert shot["tool:t1"].text == "abc"
        assert shot.metadata.unrecognized == {
            "tool_call_content_chunk.content": 1,
            "tool_call_content_chunk.toolCallId": 1,
        }

    @pytest.mark.parametrize("end", ["status", "settle"])
    def test_half_a_character_is_given_up_when_the_call_ends(self, end):
        """Text stays valid UTF-8."""
        timeline = folded(
            update("tool_call_content_chunk", toolCallId="t1", content=output("a\ud83d")),
            prompt="x",
            version=2,
        )
        assert timeline.snapshot()["tool:t1"].text == "a"
        if end == "status":
            timeline.apply(call_update(status="completed"))
        else:
            timeline.settle_prompt("end_turn")
        assert timeline.snapshot()["tool:t1"].text == "a\ufffd"


def test_message_text_goes_on_beside_updates_of_an_older_command():
    """Quirk 4: a `tool_call_update` between two chunks of one message splits nothing."""
    shot = snapshot(
        call("a"),
        message("Hel", "m"),
        call_update("a", content=[output("tick")]),
        message("lo", "m"),
    )
    assert shot["msg:assistant:m:0"].text == "Hello"


def test_tool_calls_can_be_narrowed():
    """By kind, status, name and path."""
    shot = snapshot(
        call("a", kind="edit", name="Edit", status="completed", locations=[{"path": "/w/a.py"}]),
        call("b", kind="read", status="failed"),
    )
    calls = shot.tool_calls
    assert [c.id for c in calls.where(kind="edit", status="completed")] == ["tool:a"]
    assert [c.id for c in calls.where(name="Edit", path="a.py")] == ["tool:a"]
    assert [c.id for c in calls.where(status="failed")] == ["tool:b"]
    assert calls.where(path="/w") == ()
