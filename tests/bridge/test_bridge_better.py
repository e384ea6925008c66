"""
Each numbered point of *Better than the original* in the bridge's design, on the gateway double.

Link losses (points 3, 11, 12, 13) have files of their own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.double import GatewayDouble
from tests.bridge.driver import BridgeClient, open_calls, story

# 1. Every prompt request is answered


async def test_a_replaced_prompt_is_aborted_and_answered(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """A newer prompt aborts the older one's run at the gateway before it is sent itself."""
    session = await bridge.new_session()
    first = bridge.prompt(session, "one")
    old = await gateway.next_run()
    await old.say("never ending")
    second = bridge.prompt(session, "two")
    new = await gateway.next_run()
    await new.say("two")
    await new.end()
    assert await bridge.stop_reason(first) == "cancelled"
    assert await bridge.stop_reason(second) == "end_turn"
    methods = [m for m, _ in gateway.requests if m in {"chat.send", "chat.abort"}]
    assert methods == ["chat.send", "chat.abort", "chat.send"]
    assert gateway.asked("chat.abort") == [{"sessionKey": old.key, "runId": old.id}]


async def test_a_bare_stop_phrase_ends_its_prompt(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """`/stop` alone starts no run: the gateway's answer without a run id ends the prompt."""
    session = await bridge.new_session()
    asked = bridge.prompt(session, "/stop", prefixCwd=False)
    assert await bridge.stop_reason(asked) == "end_turn"
    assert [p["message"] for p in gateway.asked("chat.send")] == ["/stop"]


async def test_an_identical_text_follows_the_run_that_has_it(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The gateway answers with the other run's id; both prompts get its text and its end."""
    one = await bridge.new_session(sessionKey="agent:main:same")
    two = await bridge.new_session(sessionKey="agent:main:same")
    first = bridge.prompt(one, "same")
    run = await gateway.next_run()
    await run.say("shared")
    second = bridge.prompt(two, "same")
    await gateway.until(lambda: len(gateway.asked("agent.wait")) == 1)
    await run.say(" text")
    await run.end()
    assert await bridge.stop_reason(first) == "end_turn"
    assert await bridge.stop_reason(second) == "end_turn"
    assert (bridge.texts(one), bridge.texts(two)) == ("shared text", "shared text")


async def test_an_identical_text_whose_run_ended_meanwhile_is_answered(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """A run that was over before the answer named it is looked up and told from the transcript."""
    one = await bridge.new_session(sessionKey="agent:main:same")
    two = await bridge.new_session(sessionKey="agent:main:same")
    first = bridge.prompt(one, "same")
    run = await gateway.next_run()
    held = gateway.hold("agent.wait")
    second = bridge.prompt(two, "same")
    await gateway.until(lambda: len(gateway.asked("agent.wait")) == 1)
    run.think_silently("told later")
    gateway.links[0].seq += 5
    await run.end(silent=True)
    held.set()
    assert await bridge.stop_reason(first) == "end_turn"
    assert await bridge.stop_reason(second) == "end_turn"
    assert (bridge.texts(one), bridge.texts(two)) == ("told later", "told later")


async def test_a_run_without_a_chat_end_is_looked_up(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """An aborted run that starts elsewhere settles our prompt like one that starts here."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("half")
    await run.abort("stop")
    assert await bridge.stop_reason(asked) == "cancelled"
    assert gateway.asked("chat.abort") == []


async def test_a_prompt_refused_by_the_gateway_is_an_error(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The gateway's own words are the error's details, and the session goes on."""
    session = await bridge.new_session()
    params = {"sessionId": session, "prompt": [], "_meta": {"prefixCwd": False}}
    error = await bridge.error_of("session/prompt", params)
    assert error["data"] == {"details": "message or attachment required"}
    asked = bridge.prompt(session)
    await (await gateway.next_run()).end()
    assert await bridge.stop_reason(asked) == "end_turn"


# 2. Every tool call ends


@pytest.mark.parametrize("how", ["end", "abort", "fail", "cancel"])
async def test_an_open_call_is_closed_when_the_run_ends(
    gateway: GatewayDouble, bridges: Callable[..., Any], how: str
) -> None:
    """No call stays open, live and in the replay, however the run ends."""
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.tool("call_1")
    await bridge.until_update("tool_call", toolCallId="call_1")
    if how == "cancel":
        bridge.notify("session/cancel", {"sessionId": session})
    else:
        await {"end": run.end, "abort": run.abort, "fail": lambda: run.fail("broken")}[how]()
    await bridge.stop_reason(asked)
    assert open_calls(bridge.updates()) == set()
    await bridge.stop()
    replayed = await (await bridges()).load(session)
    assert [u["status"] for u in replayed if u.get("toolCallId") == "call_1"] == [
        "in_progress",
        "failed",
    ]


# 4. A model failure is seen


async def test_a_model_failure_is_a_message(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """The error's text goes out before the answer, apart from what was said."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("partial")
    await run.fail("LLM request failed: bad request")
    assert await bridge.stop_reason(asked) == "end_turn"
    assert bridge.texts() == "partial\n\nLLM request failed: bad request"


@pytest.mark.parametrize(
    ("kind", "stop", "expected"),
    [("refusal", None, "refusal"), (None, "length", "max_tokens"), ("timeout", None, "end_turn")],
)
async def test_stop_reason_of_a_failed_run(
    gateway: GatewayDouble, bridge: BridgeClient, kind: str | None, stop: str | None, expected: str
) -> None:
    """`length` becomes max_tokens, `refusal` stays, other failures end the turn."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.fail("no", kind=kind, stop=stop)
    assert await bridge.stop_reason(asked) == expected


@pytest.mark.parametrize(
    ("stop", "expected"),
    [("length", "max_tokens"), ("max_tokens", "max_tokens"), ("stop", "end_turn")],
)
async def test_stop_reason_of_a_run_that_ended(
    gateway: GatewayDouble, bridge: BridgeClient, stop: str, expected: str
) -> None:
    """The model's own stop reason decides."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("cut")
    await run.end(stop=stop)
    assert await bridge.stop_reason(asked) == expected


async def test_a_prompt_right_after_a_failure_waits(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The gateway steers what comes within a moment into the run that ends: the bridge waits."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    await (await gateway.next_run()).fail("no")
    await bridge.stop_reason(asked)
    failed_at = time.monotonic()
    asked = bridge.prompt(session)
    await (await gateway.next_run()).end()
    assert time.monotonic() - failed_at > 0.5
    assert await bridge.stop_reason(asked) == "end_turn"


# 5. Permissions name their call


async def test_a_permission_names_its_tool_call(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The one open call with that command is named; the card keeps its words."""
    bridge.permission = lambda _params: "allow-once"
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.tool("call_a", "exec", {"command": "date"})
    await run.tool("call_b", "exec", {"command": "uname"})
    ident = await gateway.approval(run, "uname")
    await gateway.until(lambda: gateway.asked("exec.approval.resolve"))
    request = bridge.asked()[0]["params"]
    assert request["toolCall"] == {
        "toolCallId": "call_b",
        "title": "exec: command: uname",
        "kind": "execute",
        "status": "pending",
        "rawInput": {"command": "uname"},
        "_meta": {"toolName": "exec", "approvalId": ident},
    }
    assert gateway.asked("exec.approval.resolve") == [{"id": ident, "decision": "allow-once"}]
    await run.end()
    await bridge.stop_reason(asked)


async def test_an_ambiguous_permission_keeps_its_own_id(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """Two open calls with the same command: no guess is made."""
    bridge.permission = lambda _params: "deny"
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.tool("call_a", "exec", {"command": "date"})
    await run.tool("call_b", "exec", {"command": "date"})
    ident = await gateway.approval(run, "date")
    await gateway.until(lambda: gateway.asked("exec.approval.resolve"))
    tool_call = bridge.asked()[0]["params"]["toolCall"]
    assert (tool_call["toolCallId"], tool_call["title"]) == (
        f"exec:{ident}",
        "Command approval requested",
    )
    assert tool_call["rawInput"] == {
        "name": "exec",
        "approvalId": ident,
        "command": "date",
        "host": "gateway",
    }
    await run.end()
    await bridge.stop_reason(asked)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (["allow-once", "deny"], ["allow-once", "deny"]),
        (["deny", "allow-always", "allow-once"], ["allow-once", "allow-always", "deny"]),
        ([], ["allow-once", "deny"]),
    ],
)
async def test_options_are_what_is_allowed(
    gateway: GatewayDouble, bridge: BridgeClient, allowed: list[str], expected: list[str]
) -> None:
    """`allow-always` is offered only if the gateway allows it."""
    bridge.permission = lambda _params: {"outcome": "cancelled"}
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    ident = await gateway.approval(run, "date", allowed=allowed)
    await gateway.until(lambda: gateway.asked("exec.approval.resolve"))
    assert [o["optionId"] for o in bridge.asked()[0]["params"]["options"]] == expected
    assert gateway.asked("exec.approval.resolve") == [{"id": ident, "decision": "deny"}]
    await run.end()
    await bridge.stop_reason(asked)


async def test_an_approval_answered_elsewhere_is_withdrawn(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """Another operator decides: our client's dialog is withdrawn, and nothing is resolved twice."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    ident = await gateway.approval(run, "date")
    await bridge.until(bridge.asked)
    entry = gateway.approvals.pop(ident)
    await gateway.broadcast("exec.approval.resolved", {"id": ident, "decision": "deny", **entry})
    await bridge.until(bridge.withdrawn)
    assert bridge.withdrawn() == [bridge.asked()[0]["id"]]
    await run.end()
    await bridge.stop_reason(asked)
    assert gateway.asked("exec.approval.resolve") == []


async def test_an_approval_open_at_the_end_is_denied_once(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """Cancel denies the open approval at the gateway; the client's late answer denies no more."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    ident = await gateway.approval(run, "date")
    await bridge.until(bridge.asked)
    bridge.notify("session/cancel", {"sessionId": session})
    assert await bridge.stop_reason(asked) == "cancelled"
    bridge.answer(bridge.asked()[0], "allow-once")
    await bridge.error_of("no/such", {})
    assert gateway.asked("exec.approval.resolve") == [{"id": ident, "decision": "deny"}]


async def test_an_approval_of_another_session_is_none_of_ours(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """Only an approval of a pending prompt's own session is asked for."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    key, run.key = run.key, "agent:main:somebody-else"
    await gateway.approval(run, "date")
    run.key = key
    await run.end()
    await bridge.stop_reason(asked)
    assert bridge.asked() == []


# 6. Media


async def test_media_lines_become_links(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """A whole MEDIA: line outside a fence is a resource_link; all else stays text."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    for piece in (
        "See:\nMED",
        "IA:/tmp/a b.png\nMEDIA:/tmp/pla",
        "in.png\n```\nMEDIA:/tmp/x\n```\n",
    ):
        await run.say(piece)
    await run.say("media: https://example.org/c.mp3")
    await run.end()
    await bridge.stop_reason(asked)
    chunks = [u["content"] for u in story(bridge.updates()) if u["sessionUpdate"].endswith("chunk")]
    assert chunks == [
        {"type": "text", "text": "See:\nMEDIA:/tmp/a b.png\n"},
        {
            "type": "resource_link",
            "uri": "file:///tmp/plain.png",
            "name": "plain.png",
            "mimeType": "image/png",
        },
        {"type": "text", "text": "```\nMEDIA:/tmp/x\n```\n"},
        {
            "type": "resource_link",
            "uri": "https://example.org/c.mp3",
            "name": "c.mp3",
            "mimeType": "audio/mpeg",
        },
    ]


async def test_media_that_the_gateway_took_out_of_the_text(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The gateway drops MEDIA: lines from live text and names them beside it; each goes out once."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("Here it is:\nand more")
    await run.agent("assistant", {"text": run.text, "delta": "", "mediaUrls": ["/ws/a.png", 5]})
    await run.agent("assistant", {"text": run.text, "delta": "", "mediaUrls": ["/ws/a.png"]})
    await run.end()
    await bridge.stop_reason(asked)
    contents = [u["content"] for u in story(bridge.updates()) if "content" in u]
    assert [c.get("uri", c.get("text")) for c in contents] == [
        "Here it is:\nand more",
        "file:///ws/a.png",
    ]


async def test_media_facts_and_images_go_out(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """Media facts become links, once; images with their bytes become images."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    image = {"type": "image", "mimeType": "image/png", "data": "aGk="}
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Here."}, image],
        "__openclaw": {"media": [{"path": "/tmp/a.png"}, "/tmp/a.png"]},
    }
    await run.chat("delta", message=message)
    await run.chat("final", stopReason="stop", message=message)
    await bridge.stop_reason(asked)
    contents = [
        u["content"] for u in bridge.updates() if u["sessionUpdate"] == "agent_message_chunk"
    ]
    assert contents == [
        {"type": "text", "text": "Here."},
        image,
        {
            "type": "resource_link",
            "uri": "file:///tmp/a.png",
            "name": "a.png",
            "mimeType": "image/png",
        },
    ]


# 7. The canonical key, and titles


async def test_the_canonical_key_is_adopted_from_patch(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """After set_mode the mode is right before the first prompt, and stays so."""
    session = await bridge.new_session()
    await bridge.call("session/set_mode", {"sessionId": session, "modeId": "low"})
    options = await bridge.call(
        "session/set_config_option",
        {"sessionId": session, "configId": "verbose_level", "value": "on"},
    )
    assert [u["currentModeId"] for u in bridge.updates() if "currentModeId" in u] == ["low", "low"]
    values = {o["id"]: o["currentValue"] for o in options["configOptions"]}
    assert (values["thought_level"], values["verbose_level"]) == ("low", "on")
    info = [u for u in bridge.updates() if u["sessionUpdate"] == "session_info_update"][-1]
    assert info["_meta"]["sessionKey"] == f"agent:main:acp-bridge:{session}"


async def test_a_title_never_begins_with_the_directory_line(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The derived title loses the line; where it was cut inside the line the prompt stands in."""
    session = await bridge.new_session()
    asked = bridge.prompt(session, "Plot the sales of the last quarter by region")
    run = await gateway.next_run()
    await run.end()
    await bridge.stop_reason(asked)
    await bridge.call("session/list", {})
    titles = [u["title"] for u in bridge.updates() if "title" in u]
    listed = bridge.messages[-1]["result"]["sessions"][0]["title"]
    assert not any(title.startswith("[Working directory") for title in [*titles, listed])
    assert titles[-1].startswith("Plot the sales")


# 8. What is not ours touches nothing


async def test_events_of_others_and_late_ones_touch_nothing(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """Runs of other sessions are dropped; an error after the end changes nothing."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    other = type(run)(gateway, run.link, "another-run", run.key, "x")
    await other.say("not ours")
    await other.tool("call_x")
    await run.say("ours")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"
    before = len(bridge.messages)
    await run.chat("error", errorMessage="too late")
    await bridge.error_of("no/such", {})
    assert bridge.texts() == "ours"
    assert len(bridge.messages) == before + 1


async def test_a_fault_in_one_event_ends_nothing(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """Events of a strange shape are dropped, and the next one is taken."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    strange: list[Any] = [
        {"runId": run.id, "state": "delta", "message": {"content": [None, 1, {"type": "text"}]}},
        {"runId": run.id, "state": "delta", "message": {"content": {"a": 1}}, "sessionKey": 5},
        {"runId": [run.id], "state": "final"},
    ]
    for payload in strange:
        await gateway.broadcast("chat", payload)
    for data in ({"phase": "start", "toolCallId": 5}, {"phase": "result", "toolCallId": ""}, {}):
        await run.agent("tool", data)
    await run.agent("tool", {"phase": "start", "toolCallId": "c", "name": 7, "args": "text"})
    await run.say("fine")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"
    assert bridge.texts() == "fine"


# 9. The end of stdin


async def test_end_of_stdin_ends_the_bridge(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """Within two seconds, exit code 0, the link closed in order, a running prompt or not."""
    session = await bridge.new_session()
    bridge.prompt(session)
    await (await gateway.next_run()).say("on it")
    await bridge.until_text("on it")
    began = time.monotonic()
    assert await bridge.stop() == 0
    assert time.monotonic() - began < 6  # two seconds on an ordinary machine
    await gateway.until(lambda: not gateway.links)


async def test_what_was_asked_before_the_end_is_answered(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """Requests and the end of stdin in one write: the answers still come."""
    bridge = await bridges()
    first = bridge.request("initialize", {"protocolVersion": 1})
    second = bridge.request("session/new", {"cwd": bridge.cwd, "mcpServers": []})
    assert await bridge.stop() == 0
    assert bridge.response(first) is not None
    answer = bridge.response(second)
    assert answer is not None
    assert "sessionId" in answer["result"]


# 10. The ledger never fails a prompt


@pytest.mark.parametrize("harm", ["corrupt", "directory", "unwritable-folder"])
async def test_a_broken_ledger_fails_no_prompt(
    gateway: GatewayDouble, bridges: Callable[..., Any], state_dir: Path, harm: str
) -> None:
    """A ledger that is damaged, or cannot be made, is said on stderr; the prompt runs."""
    home = state_dir / "acp-notebook"
    home.mkdir()
    if harm == "corrupt":
        (home / "ledger.sqlite").write_bytes(b"not a database, and long enough to be read" * 100)
    elif harm == "directory":
        (home / "ledger.sqlite").mkdir()
    else:
        (home / "ledger.sqlite-lock").mkdir()
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("works")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"
    assert bridge.texts() == "works"
    assert "ledger" in bridge.stderr


async def test_two_bridges_share_a_ledger(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """Two processes write at once; each replays the other's session whole."""
    one, two = await asyncio.gather(bridges(), bridges())
    sessions = [await one.new_session(), await two.new_session()]
    asked = [one.prompt(sessions[0], "a"), two.prompt(sessions[1], "b")]
    for run in (await gateway.next_run(), await gateway.next_run()):
        for word in ("some ", "words ", "more"):
            await run.say(word)
        await run.end()
    await one.stop_reason(asked[0])
    await two.stop_reason(asked[1])
    replayed = [story(await two.load(sessions[0])), story(await one.load(sessions[1]))]
    assert [s[-1]["content"]["text"] for s in replayed] == ["some words more"] * 2
    assert gateway.asked("sessions.get") == []
