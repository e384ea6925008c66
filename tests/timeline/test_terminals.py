"""Terminals: rule 16 of timeline.md, quirk 17."""

from __future__ import annotations

from base64 import b64encode

import pytest

from acp_notebook.timeline import ExitStatus
from tests.timeline.test_tools import one
from tests.timeline.updates import (
    call,
    call_update,
    folded,
    output,
    snapshot,
    update,
)


def meta(**fields):
    """Return the `_meta` of an agent's own terminal `x`."""
    return {key: {"terminal_id": "x", **value} for key, value in fields.items()}


class TestTerminals:
    """Rule 16 and quirk 17."""

    def test_an_agents_terminal_grows_by_meta(self):
        """Both kinds of output are appended; the exit is noted."""
        timeline = folded(call(_meta=meta(terminal_info={"cwd": "/w"})))
        old = timeline.snapshot()["tool:t1"].output_parts[0]
        timeline.apply(
            [
                call_update(_meta=meta(terminal_output={"data": "a"})),
                call_update(_meta=meta(terminal_output_delta={"data": "b"})),
                call_update(_meta=meta(terminal_exit={"exit_code": 3, "signal": None})),
            ]
        )
        new = timeline.snapshot()["tool:t1"].output_parts[0]
        assert (old.output, new.output, new.exit_status) == ("", "ab", ExitStatus(3, None))
        assert new.origin is old.origin
        assert new.since(old.length) == "ab"

    def test_a_terminal_that_content_names_is_not_shown_twice(self):
        """`_meta` then only feeds it."""
        found = one(
            call(content=[{"type": "terminal", "terminalId": "x"}]),
            call_update(_meta=meta(terminal_output={"data": "a"})),
        )
        assert [part.output for part in found.output_parts] == ["a"]

    def test_replacing_content_keeps_a_terminal_with_output(self):
        """And forgets one without."""
        first = call(_meta={**meta(terminal_output={"data": "a"})})
        empty = call_update(content=[{"type": "terminal", "terminalId": "y"}])
        found = one(first, empty, call_update(content=[output("t")]))
        assert [part.kind for part in found.output_parts] == ["markdown", "terminal"]
        assert found.output_parts[1].terminal_id == "x"

    def test_a_forgotten_terminal_touches_its_card_no_more(self):
        """It is not shown there."""
        timeline = folded(
            call(content=[{"type": "terminal", "terminalId": "y"}]),
            call_update(content=[output("t")]),
        )
        assert timeline.terminal_output("y", "late") == ()

    @pytest.mark.parametrize("value", [5, {}, {"terminal_id": 5}])
    def test_meta_that_cannot_be_read_changes_nothing(self, value):
        """Rule 17."""
        assert one(call(_meta={"terminal_output": value})).output_parts == ()

    def test_the_hosts_terminals_feed_their_cards(self):
        """Also before a card names them, and two cards at once."""
        timeline = folded(call("a", content=[{"type": "terminal", "terminalId": "x"}]))
        assert timeline.terminal_output("x", "one\n") == ("tool:a",)
        timeline.apply(call("b", content=[{"type": "terminal", "terminalId": "x"}]))
        assert timeline.terminal_output("x", "two\n", {"exitCode": 0}) == ("tool:a", "tool:b")
        shot = timeline.snapshot()
        assert {c.output_parts[0].output for c in shot.tool_calls} == {"one\ntwo\n"}
        assert shot["tool:a"].output_parts[0].exit_status == ExitStatus(0, None)

    def test_an_exit_code_alone_is_enough(self):
        """For hosts that have nothing more."""
        timeline = folded(call("a", content=[{"type": "terminal", "terminalId": "x"}]))
        timeline.terminal_output("x", "", 7)
        assert timeline.snapshot()["tool:a"].output_parts[0].exit_status == ExitStatus(7, None)

    def test_v2_terminals_are_bytes(self):
        """Base64, cut anywhere; `output` replaces, `exitStatus` ends."""

        def chunk(raw):
            return update("terminal_output_chunk", terminalId="x", data=b64encode(raw).decode())

        emoji = "é".encode()
        timeline = folded(
            call_update(content=[{"type": "terminal", "terminalId": "x"}]),
            chunk(b"a" + emoji[:1]),
            chunk(emoji[1:] + b"b" + emoji[:1]),
            version=2,
        )
        assert timeline.snapshot()["tool:t1"].output_parts[0].output == "aéb"
        timeline.apply(update("terminal_update", terminalId="x", exitStatus={"signal": "SIGTERM"}))
        part = timeline.snapshot()["tool:t1"].output_parts[0]
        assert (part.output, part.exit_status) == ("aéb\ufffd", ExitStatus(None, "SIGTERM"))
        whole = {"data": b64encode(b"new").decode()}
        timeline.apply(update("terminal_update", terminalId="x", output=whole, exitStatus=None))
        part = timeline.snapshot()["tool:t1"].output_parts[0]
        assert (part.output, part.exit_status) == ("new", None)
        timeline.apply(update("terminal_update", terminalId="x", output=None, command="ls"))
        assert timeline.snapshot()["tool:t1"].output_parts[0].output == ""

    @pytest.mark.parametrize(
        ("broken", "counted"),
        [
            (update("terminal_update"), "terminal_update.terminalId"),
            (update("terminal_update", terminalId="x", output=5), "terminal_update.output"),
            (update("terminal_update", terminalId="x", exitStatus=5), "terminal_update.exitStatus"),
            (update("terminal_output_chunk", terminalId=""), "terminal_output_chunk.terminalId"),
            (
                update("terminal_output_chunk", terminalId="x", data="%"),
                "terminal_output_chunk.data",
            ),
            (update("terminal_output_chunk", terminalId="x"), "terminal_output_chunk.data"),
        ],
    )
    def test_malformed_v2_terminals_are_counted(self, broken, counted):
        """Rule 17."""
        assert snapshot(broken, version=2).metadata.unrecognized == {counted: 1}
