"""ACP methods one by one: routing of sessions, listing, options, limits, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.bridge.double import GatewayDouble, Refused
from tests.bridge.driver import BridgeClient, story, updates_of


async def test_new_session_by_key_label_and_flags(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """The request's label wins, then its key, then the flags."""
    gateway.stored("named").fields["label"] = "Lab"
    bridge = await bridges("--session", "agent:main:flagged")
    asked = {
        "agent:main:flagged": {},
        "agent:main:named": {"sessionLabel": "Lab", "sessionKey": "ignored"},
        "agent:main:told": {"sessionKey": "agent:main:told"},
    }
    for key, meta in asked.items():
        session = await bridge.new_session(**meta)
        info = [u for u in bridge.updates(session) if u["sessionUpdate"] == "session_info_update"]
        assert info[0]["_meta"]["sessionKey"] == key


async def test_what_does_not_resolve_is_an_error(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The gateway's own words come first."""
    await bridge.initialize()
    params: dict[str, Any] = {"cwd": bridge.cwd, "mcpServers": []}
    for meta in ({"sessionLabel": "none"}, {"sessionKey": "none", "requireExisting": True}):
        error = await bridge.error_of("session/new", {**params, "_meta": meta})
        assert error["data"]["details"] == "No session found: none"
    gateway.answers["sessions.resolve"] = {"ok": True}
    error = await bridge.error_of("session/new", {**params, "_meta": {"label": "L"}})
    assert error["data"]["details"] == "Unable to resolve session label: L"


async def test_a_session_is_reset_on_demand(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """ResetSession in the request asks the gateway to reset the key first."""
    await bridge.new_session(sessionKey="agent:main:a", resetSession=True)
    assert gateway.asked("sessions.reset") == [{"key": "agent:main:a"}]


async def test_mcp_servers_are_refused(bridge: BridgeClient) -> None:
    """In the original's words."""
    await bridge.initialize()
    server = {"name": "x", "command": "true", "args": [], "env": []}
    error = await bridge.error_of("session/new", {"cwd": "/", "mcpServers": [server]})
    assert error["data"]["details"].startswith("ACP bridge mode does not support per-session MCP")


async def test_bad_parameters_are_told(bridge: BridgeClient) -> None:
    """Missing and ill-typed ones are -32602, unknown methods -32601, ids may be strings."""
    await bridge.initialize()
    assert (await bridge.error_of("session/new", {"cwd": "/"}))["code"] == -32602
    assert (await bridge.error_of("session/prompt", {"sessionId": 5}))["code"] == -32602
    unknown = await bridge.error_of("no/such_method", {})
    assert (unknown["code"], unknown["data"]) == (-32601, {"method": "no/such_method"})
    bridge.notify("no/such_notification", {})
    bridge.write({"jsonrpc": "2.0", "id": "text", "method": "session/list", "params": {}})
    answer = await bridge.until(
        lambda: next((m for m in bridge.messages if m.get("id") == "text"), None)
    )
    assert answer["result"]["nextCursor"] is None


async def test_unknown_sessions(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """Prompt, mode, option and close name it; cancel ignores it; load binds it."""
    await bridge.initialize()
    params: dict[str, Any] = {"sessionId": "nope"}
    for method, more in {
        "session/prompt": {"prompt": []},
        "session/set_mode": {"modeId": "low"},
        "session/set_config_option": {"configId": "timeout", "value": "1"},
        "session/close": {},
    }.items():
        error = await bridge.error_of(method, {**params, **more})
        assert error["data"]["details"] == "Session nope not found", method
    bridge.notify("session/cancel", params)
    assert story(await bridge.load("nope")) == []
    asked = bridge.prompt("nope", "hi")
    run = await gateway.next_run()
    assert run.key == "agent:main:nope"
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"


async def test_load_by_the_listed_key_goes_on_in_the_same_ledger(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """An id from session/list replays the first session, and new turns are appended to it."""
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session, "one")
    run = await gateway.next_run()
    await run.say("first")
    await run.end()
    await bridge.stop_reason(asked)
    (listed,) = (await bridge.call("session/list", {}))["sessions"]
    await bridge.stop()
    second = await bridges()
    replayed = story(await second.load(listed["sessionId"]))
    assert [u["content"]["text"] for u in replayed] == ["one", "first"]
    asked = second.prompt(listed["sessionId"], "two")
    run = await gateway.next_run()
    await run.say("second")
    await run.end()
    await second.stop_reason(asked)
    await second.stop()
    third = await bridges()
    replayed = story(await third.load(session))
    assert [u["content"]["text"] for u in replayed] == ["one", "first", "two", "second"]
    assert gateway.asked("sessions.get") == []


async def test_load_without_a_ledger_reads_the_transcript(
    gateway: GatewayDouble, bridges: Callable[..., Any], tmp_path: Any
) -> None:
    """Another machine's ACP id: text, thinking and tools come from the gateway, the line cut."""
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session, "hello")
    run = await gateway.next_run()
    await run.say("Looking. ")
    await run.tool("call_1")
    await run.result("call_1", "Monday")
    await run.say("Monday.")
    await run.end()
    await bridge.stop_reason(asked)
    other = tmp_path / "other"
    other.mkdir()
    second = await bridges(state_dir=other)
    told = story(await second.load(session))
    assert told[0] == {
        "sessionUpdate": "user_message_chunk",
        "content": {"type": "text", "text": "hello"},
    }
    assert [u["sessionUpdate"] for u in told] == [
        "user_message_chunk",
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
    ]


async def test_updates_come_before_the_answer(bridge: BridgeClient) -> None:
    """State and commands are there when session/new is answered."""
    await bridge.new_session()
    kinds = [u["sessionUpdate"] for u in updates_of(bridge.messages[:-1])]
    assert kinds == ["session_info_update", "available_commands_update"]
    assert len(bridge.updates()[-1]["availableCommands"]) == 25


async def test_list_pages_and_filters(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """Cursor, limit and cwd; a relative cwd and a cursor of another filter are refused."""
    await bridge.initialize()
    for n in range(5):
        gateway.stored(f"s{n}").fields |= {"spawnedCwd": "/w"} if n % 2 else {}
    first = await bridge.call("session/list", {"_meta": {"limit": 2}})
    keys = [s["sessionId"] for s in first["sessions"]]
    rest = await bridge.call(
        "session/list", {"cursor": first["nextCursor"], "_meta": {"pageSize": 99}}
    )
    keys += [s["sessionId"] for s in rest["sessions"]]
    assert keys == [f"agent:main:s{n}" for n in (4, 3, 2, 1, 0)]
    assert rest["nextCursor"] is None
    filtered = await bridge.call("session/list", {"cwd": "/w", "_meta": {"limit": 1}})
    assert [(s["sessionId"], s["cwd"]) for s in filtered["sessions"]] == [("agent:main:s3", "/w")]
    for params, said in (
        ({"cwd": "relative"}, "requires an absolute cwd"),
        ({"cursor": filtered["nextCursor"]}, "does not match the cwd filter"),
        ({"cursor": "garbage"}, "Invalid ACP session list cursor"),
    ):
        error = await bridge.error_of("session/list", params)
        assert said in error["data"]["details"]


async def test_resume_binds_without_a_replay(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """The session must exist at the gateway, the cwd be absolute; what follows never replays."""
    gateway.stored("agent:main:there")
    bridge = await bridges()
    await bridge.initialize()
    params = {"sessionId": "agent:main:there", "cwd": bridge.cwd}
    answer = await bridge.call("session/resume", params)
    assert answer["modes"]["currentModeId"] == "adaptive"
    asked = bridge.prompt("agent:main:there", "x")
    await (await gateway.next_run()).end()
    await bridge.stop_reason(asked)
    for more, said in (
        ({"cwd": "relative"}, "requires an absolute cwd"),
        ({"sessionId": "not-there"}, "Session not-there not found"),
    ):
        error = await bridge.error_of("session/resume", {**params, **more})
        assert said in error["data"]["details"]
    await bridge.stop()
    second = await bridges()
    await second.load("agent:main:there")
    assert len(gateway.asked("sessions.get")) > 0


async def test_close_cancels_and_forgets(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """A running prompt is aborted and answered; the session is not known any more."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("x")
    await bridge.until_text("x")
    assert await bridge.call("session/close", {"sessionId": session}) == {}
    assert await bridge.stop_reason(asked) == "cancelled"
    assert run.ended
    await bridge.error_of("session/close", {"sessionId": session})


async def test_options_are_set_and_shown(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """Each is patched at the gateway; refusals and unknown ones are errors."""
    session = await bridge.new_session()
    for ident, value in (("fast_mode", "on"), ("response_usage", "full"), ("timeout", "60")):
        params = {"sessionId": session, "configId": ident, "value": value}
        await bridge.call("session/set_config_option", params)
    key = f"agent:main:acp-bridge:{session}"
    assert gateway.asked("sessions.patch") == [
        {"key": f"acp-bridge:{session}", "fastMode": True},
        {"key": key, "responseUsage": "full"},
    ]
    for value, ident in (("x", "nope"), (5, "fast_mode")):
        params = {"sessionId": session, "configId": ident, "value": value}
        error = await bridge.error_of("session/set_config_option", params)
        assert "ACP bridge" in error["data"]["details"]
    error = await bridge.error_of("session/set_mode", {"sessionId": session, "modeId": "bad"})
    assert error["data"]["details"] == "invalid thinkingLevel (use off)"
    assert await bridge.call("session/set_mode", {"sessionId": session, "modeId": ""}) == {}


async def test_creations_are_limited(bridge: BridgeClient) -> None:
    """The 121st in ten seconds is refused."""
    await bridge.initialize()
    ids = [bridge.request("session/new", {"cwd": "/", "mcpServers": []}) for _ in range(121)]
    answers = [await bridge.response_to(ident) for ident in ids]
    assert [("error" in answer) for answer in answers] == [False] * 120 + [True]
    assert "rate limit exceeded for session/new" in answers[-1]["error"]["data"]["details"]


async def test_provenance_without_the_scope_is_left_out(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """The gateway refuses it for lack of the admin scope: the prompt is sent without."""
    bridge = await bridges("--provenance", "meta+receipt", "--no-prefix-cwd")
    session = await bridge.new_session()
    text = "system provenance fields require admin scope"
    gateway.errors["chat.send"].append(Refused("INVALID_REQUEST", text))
    asked = bridge.prompt(session, "x")
    await (await gateway.next_run()).end()
    assert await bridge.stop_reason(asked) == "end_turn"
    first, second = gateway.asked("chat.send")
    assert "systemInputProvenance" in first
    assert second.keys() == {"sessionKey", "message", "idempotencyKey"}


async def test_a_snapshot_that_cannot_be_read_fails_nothing(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """session/new has the default one; a prompt ends without one."""
    gateway.errors["sessions.list"].append(Refused("UNAVAILABLE", "not now"))
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    gateway.errors["sessions.list"].append(Refused("UNAVAILABLE", "not now"))
    await (await gateway.next_run()).end()
    assert await bridge.stop_reason(asked) == "end_turn"
    infos = [u for u in bridge.updates() if u["sessionUpdate"] == "session_info_update"]
    assert [info["title"] for info in infos] == [f"acp-bridge:{session}"]
