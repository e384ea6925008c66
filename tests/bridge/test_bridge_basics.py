"""What the bridge does as the original does it, on the gateway double."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bridge.double import GatewayDouble, Refused
from tests.bridge.driver import BridgeClient, open_calls, story


async def test_a_prompt_streams_and_ends(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """Cumulative text becomes chunks, tools become calls, and the answer comes after all of it."""
    session = await bridge.new_session()
    asked = bridge.prompt(session, "hello")
    run = await gateway.next_run()
    assert run.message == f"[Working directory: {bridge.cwd}]\n\nhello"
    await run.begin()
    await run.say("Running.")
    await run.tool("call_1", "exec", {"command": "date"})
    await run.progress("call_1", "Mon")
    await run.result("call_1", "Monday")
    await run.say("It is Monday.")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"
    assert story(bridge.updates(session))[:5] == [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Running."}},
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "call_1",
            "title": "exec: command: date",
            "status": "in_progress",
            "rawInput": {"command": "date"},
            "kind": "execute",
        },
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "call_1",
            "status": "in_progress",
            "rawOutput": {
                "content": [{"type": "text", "text": "Mon"}],
                "details": {"status": "running"},
            },
            "content": [{"type": "content", "content": {"type": "text", "text": "Mon"}}],
        },
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "call_1",
            "status": "completed",
            "rawOutput": {
                "content": [{"type": "text", "text": "Monday"}],
                "details": {"status": "completed", "exitCode": 0},
            },
            "content": [{"type": "content", "content": {"type": "text", "text": "Monday"}}],
        },
        {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "It is Monday."},
        },
    ]
    kinds = [u["sessionUpdate"] for u in bridge.updates(session)]
    assert kinds[-2:] == ["session_info_update", "usage_update"]
    assert bridge.messages[-1]["result"] == {"stopReason": "end_turn"}


async def test_a_session_is_replayed_as_it_was_live(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """A new process replays from the ledger what the old one sent, the prompt before it."""
    first = await bridges()
    session = await first.new_session()
    asked = first.prompt(session, "hello")
    run = await gateway.next_run()
    await run.say("Hi")
    await run.say(" there.")
    await run.tool("call_1")
    await run.result("call_1")
    await run.end()
    await first.stop_reason(asked)
    live = story(first.updates(session))
    await first.stop()
    second = await bridges()
    replayed = story(await second.load(session))
    prompt = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hello"}}
    assert [prompt, *live] == replayed
    assert gateway.asked("sessions.get") == []


async def test_cancel_aborts_the_run(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """session/cancel becomes chat.abort, and the prompt is answered cancelled."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("slow")
    await bridge.until_text("slow")
    bridge.notify("session/cancel", {"sessionId": session})
    assert await bridge.stop_reason(asked) == "cancelled"
    assert gateway.asked("chat.abort") == [{"sessionKey": run.key, "runId": run.id}]
    assert open_calls(bridge.updates()) == set()


async def test_initialize_says_what_the_original_says(bridge: BridgeClient) -> None:
    """Capabilities and name are the original's."""
    answer = await bridge.call("initialize", {"protocolVersion": 1})
    assert answer["agentCapabilities"] == {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
        "mcpCapabilities": {"http": False, "sse": False},
        "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
    }
    assert (answer["protocolVersion"], answer["agentInfo"]["name"]) == (1, "openclaw-acp")
    assert await bridge.call("authenticate", {"methodId": "any"}) == {}


async def test_stdout_holds_frames_only(bridge: BridgeClient) -> None:
    """Every line on stdout is one JSON object, whatever is logged."""
    await bridge.new_session()
    bridge.write_bytes(b"this is not json\n")
    await bridge.error_of("no/such_method", {})
    await bridge.stop()
    assert all(isinstance(json.loads(line), dict) for line in bridge.raw.splitlines())


async def test_sigterm_ends_in_order(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """SIGTERM closes the gateway link and exits with 0."""
    await bridge.new_session()
    bridge.process.send_signal(signal.SIGTERM)
    assert await bridge.stop() == 0
    await gateway.until(lambda: not gateway.links)


async def test_early_requests_wait_for_the_gateway(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """A gateway whose sidecars still start is waited for, unreported; then stdin is read."""
    starting = Refused(
        "UNAVAILABLE", "starting", retryAfterMs=50, details={"reason": "startup-sidecars"}
    )
    gateway.connect_errors += [starting, starting]
    bridge = await bridges()
    await bridge.new_session()
    assert bridge.stderr == ""


async def test_device_key_is_private(bridge: BridgeClient, state_dir: Path) -> None:
    """Key and token are ours, beside the ledger, readable by their owner alone."""
    await bridge.new_session()
    files = {
        p.name: p.stat().st_mode & 0o777
        for p in (state_dir / "acp-notebook").iterdir()
        if p.is_file()
    }
    assert (files["device.pem"], files["device-tokens.json"]) == (0o600, 0o600)
    assert "ledger.sqlite" in files
