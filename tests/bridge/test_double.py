"""The double against the recordings: what it sends is of the shape that the real gateway sent."""

from __future__ import annotations

from typing import Any

import pytest

from acp_notebook.bridge import protocol
from tests.bridge import traces
from tests.bridge.double import GatewayDouble
from tests.bridge.driver import BridgeClient

# Not in the recordings, from the reference: what the double adds knowingly.
_KNOWN = {
    ("res", "sessions.subscribe", "ok"),
    ("res", "sessions.messages.subscribe", "ok"),
    ("res", "exec.approval.list", "ok"),
    ("res", "chat.history", "ok"),
    ("session.tool", "tool", "update"),
    ("session.tool", "tool", "result"),
}


async def test_frames_have_recorded_shapes(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """Each kind of frame was recorded, and no path of ours is missing there."""
    bridge.permission = lambda _params: "allow-once"
    session = await bridge.new_session()
    await bridge.call("session/set_mode", {"sessionId": session, "modeId": "low"})
    for ending in ("end", "abort", "fail"):
        asked = bridge.prompt(session)
        run = await gateway.next_run()
        await run.begin()
        await run.say("Hello. ")
        await run.tool(f"call_{ending}")
        await gateway.approval(run, "date")
        await gateway.until(lambda: not gateway.approvals)
        await run.progress(f"call_{ending}", "Mon")
        await run.result(f"call_{ending}", "Monday")
        await run.say("Bye.")
        await {"end": run.end, "abort": run.abort, "fail": lambda: run.fail("broken")}[ending]()  # noqa: B023  # called at once
        await bridge.stop_reason(asked)
    known = traces.recorded()
    checked = 0
    for frame in gateway.sent:
        kind = traces.kind_of(
            {"type": "event", **frame} if "event" in frame else frame, frame.get("method")
        )
        if kind in _KNOWN:
            continue
        assert kind in known, kind
        missing = {p for p in traces.shape(frame["payload"]) if not _fits(p, known[kind])}
        assert missing == set(), kind
        checked += 1
    assert checked > 40


def _fits(path: str, known: set[str]) -> bool:
    """A null was recorded where another time stands a value, and the other way round."""
    bare = path.rsplit(":", 1)[0]
    return path in known or any(k.rsplit(":", 1)[0] == bare for k in known) or path.endswith("[]")


def test_every_recorded_frame_is_understood() -> None:
    """The frame module parses all that the gateway sent, and loses no event."""
    names = {"event": protocol.Event, "res": protocol.Response}
    for message in traces.lines("gateway->bridge"):
        import json

        frame = protocol.parse(json.dumps(message))
        assert isinstance(frame, names[message["type"]])


def test_every_recorded_request_passes_the_check() -> None:
    """The original's own requests fit the parameter shapes."""
    checked: set[str] = set()
    for message in traces.lines("bridge->gateway"):
        protocol.check_params(message["method"], message["params"])
        checked.add(message["method"])
    assert checked >= {"connect", "chat.send", "chat.abort", "sessions.list", "sessions.patch"}


@pytest.mark.parametrize("method", sorted({"connect", *traces.methods().values()}))
def test_our_requests_look_like_the_originals(method: str) -> None:
    """An unknown key, which the gateway would refuse, is refused here."""
    example: dict[str, Any] = next(
        m["params"] for m in traces.lines("bridge->gateway") if m["method"] == method
    )
    with pytest.raises(protocol.BadParams, match="unexpected property 'foo'"):
        protocol.check_params(method, {**example, "foo": 1})
