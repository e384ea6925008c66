"""Lost links: nothing is lost, every prompt is answered, every tool call ends, replay equals live."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.bridge.double import GatewayDouble, Refused
from tests.bridge.driver import BridgeClient, open_calls, story


async def replay_equals_live(
    bridges: Callable[..., Any], bridge: BridgeClient, session: str, prompt: str = "hello"
) -> None:
    """End the bridge, load in a new one, compare."""
    said = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": prompt}}
    live = [said, *story(bridge.updates(session))]
    await bridge.stop()
    again = await bridges()
    assert live == story(await again.load(session))
    assert open_calls(live) == set()


async def test_a_short_cut_loses_no_text(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """What was said while the link was down comes with the next cumulative text, once."""
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("one ")
    await bridge.until_text("one")
    await gateway.cut()
    await run.say("two ")
    gateway.restore()
    await gateway.until(lambda: gateway.asked("agent.wait"))
    await run.say("three")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"
    assert bridge.texts() == "one two three"
    assert len(gateway.asked("chat.send")) == 1
    await replay_equals_live(bridges, bridge, session)


async def test_a_long_cut_settles_nothing(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """Failed reconnects, longer than the original's five seconds: the accepted prompt still waits."""
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("before ")
    await bridge.until_text("before")
    await gateway.cut()
    await asyncio.sleep(6)  # the original rejects here; there is no event to wait for
    assert bridge.response(asked) is None
    gateway.restore()
    await gateway.until(lambda: gateway.links)
    await run.say("after")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"
    assert bridge.texts() == "before after"
    await replay_equals_live(bridges, bridge, session)


async def test_a_run_that_ended_meanwhile_is_told_whole(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """Text, new tools and results of the time without a link come from the transcript, in order."""
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("First I look. ")
    await run.tool("call_1")
    await bridge.until_update("tool_call")
    await gateway.cut()
    await run.result("call_1", "Monday")
    await run.say("Now I write. ")
    await run.tool("call_2", "write", {"path": "/tmp/a"})
    await run.result("call_2", "written")
    await run.say("Done.")
    await run.end()
    gateway.restore()
    assert await bridge.stop_reason(asked) == "end_turn"
    told = story(bridge.updates(session))
    assert [(u["sessionUpdate"], u.get("toolCallId"), u.get("status")) for u in told] == [
        ("agent_message_chunk", None, None),
        ("tool_call", "call_1", "in_progress"),
        ("tool_call_update", "call_1", "completed"),
        ("agent_message_chunk", None, None),
        ("tool_call", "call_2", "in_progress"),
        ("tool_call_update", "call_2", "completed"),
        ("agent_message_chunk", None, None),
    ]
    assert bridge.texts() == "First I look.Now I write. Done."
    await replay_equals_live(bridges, bridge, session)


async def test_media_of_the_time_without_a_link(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The transcript still has the MEDIA: lines that live text lost: links once, text once."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("One\n")
    await run.agent("assistant", {"mediaUrls": ["/ws/a.png"]})
    await bridge.until(lambda: "resource_link" in str(bridge.updates()))
    await gateway.cut()
    run._call_text = "One\nMEDIA:/ws/a.png\nTwo\nMEDIA:/ws/b.png\nThree"
    await run.end()
    gateway.restore()
    assert await bridge.stop_reason(asked) == "end_turn"
    contents = [u["content"] for u in story(bridge.updates()) if "content" in u]
    shown = [c.get("uri", c.get("text", "")).strip() for c in contents]
    assert shown == ["One", "file:///ws/a.png", "Two", "file:///ws/b.png", "Three"]


async def test_a_run_aborted_meanwhile_is_cancelled(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The gateway knows nothing of an aborted run, but its transcript does: cancelled, text whole."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("half ")
    await bridge.until_text("half")
    await gateway.cut()
    await run.say("an answer")
    await run.abort("stop")
    gateway._terminal.clear()
    gateway.restore()
    assert await bridge.stop_reason(asked) == "cancelled"
    assert bridge.texts() == "half an answer"


@pytest.mark.parametrize("subscribes", [True, False], ids=["subscribed", "by-items"])
async def test_a_tool_that_ends_after_the_cut_is_closed(
    gateway: GatewayDouble, bridges: Callable[..., Any], subscribes: bool
) -> None:
    """Tool frames come again where the gateway can be subscribed to; else item frames close the call."""
    if not subscribes:
        gateway.methods.remove("sessions.subscribe")
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.tool("call_1")
    await bridge.until_update("tool_call")
    await gateway.cut()
    gateway.restore()
    await gateway.until(lambda: gateway.asked("agent.wait"))
    await run.progress("call_1", "step 1")
    await run.result("call_1", "step 1\nstep 2")
    done = await bridge.until_update("tool_call_update", status="completed")
    await run.say("The tool is done.")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"
    assert done["toolCallId"] == "call_1"
    last = [u for u in bridge.updates() if u.get("toolCallId") == "call_1"][-1]
    assert last["content"][0]["content"]["text"] == "step 1\nstep 2"
    assert gateway.asked("sessions.messages.subscribe") == [{"key": run.key}]
    order = [m for m, _ in gateway.requests]
    assert order.index("sessions.messages.subscribe") < order.index("agent.wait")
    await replay_equals_live(bridges, bridge, session)


async def test_an_open_approval_survives_the_cut(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """One that was asked stays asked once; one that came meanwhile is asked; an ended one goes."""
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("x")
    kept = await gateway.approval(run, "date")
    gone = await gateway.approval(run, "uname")
    await bridge.until(lambda: len(bridge.asked()) == 2)
    await gateway.cut()
    del gateway.approvals[gone]
    fresh = await gateway.approval(run, "whoami")
    gateway.restore()
    await bridge.until(lambda: len(bridge.asked()) == 3)
    ids = [r["params"]["toolCall"]["_meta"]["approvalId"] for r in bridge.asked()]
    assert ids == [kept, gone, fresh]
    assert bridge.withdrawn() == [bridge.asked()[1]["id"]]
    bridge.answer(bridge.asked()[0], "allow-once")
    bridge.answer(bridge.asked()[2], "deny")
    await gateway.until(lambda: not gateway.approvals)
    assert {p["id"]: p["decision"] for p in gateway.asked("exec.approval.resolve")} == {
        kept: "allow-once",
        fresh: "deny",
    }
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"


async def test_a_decision_without_a_link_is_told_later(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The person answers while the link is down: the gateway hears it when it is back."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("x")
    ident = await gateway.approval(run, "date")
    await bridge.until(bridge.asked)
    await gateway.cut()
    bridge.answer(bridge.asked()[0], "allow-once")
    await bridge.error_of("no/such", {})
    gateway.restore()
    await gateway.until(lambda: not gateway.approvals)
    assert gateway.asked("exec.approval.resolve") == [{"id": ident, "decision": "allow-once"}]
    assert len(bridge.asked()) == 1
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"


async def test_an_unacknowledged_prompt_that_arrived_runs_once(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The link is cut before the acknowledgement: the run is found and followed, not sent again."""
    session = await bridge.new_session()
    gateway.cuts_before_ack = True
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await gateway.until(lambda: gateway.asked("agent.wait"))
    await run.say("once")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"
    assert bridge.texts() == "once"
    assert len(gateway.asked("chat.send")) == 1


async def test_an_unacknowledged_prompt_that_did_not_arrive_is_sent_again(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The gateway knows nothing of it: it is sent again with the same key."""
    session = await bridge.new_session()
    held = gateway.hold("chat.send")
    asked = bridge.prompt(session)
    await gateway.until(lambda: gateway.asked("chat.send"))
    await gateway.restart()
    gateway.holds.clear()
    held.clear()
    run = await gateway.next_run()
    await run.say("second try")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"
    keys = [p["idempotencyKey"] for p in gateway.asked("chat.send")]
    assert keys == [run.id, run.id]


async def test_an_unacknowledged_prompt_without_a_link_fails(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """Five seconds after the close the person is told, and a run that did arrive is aborted later."""
    session = await bridge.new_session()
    held = gateway.hold("chat.send")
    asked = bridge.prompt(session)
    await gateway.until(lambda: gateway.asked("chat.send"))
    await gateway.cut()
    answer = await bridge.response_to(asked)
    assert answer["error"]["code"] == -32603
    assert answer["error"]["data"]["details"].startswith("Gateway disconnected: 1006")
    assert "Send it again" in bridge.texts()
    gateway.restore()
    held.set()
    await gateway.until(lambda: gateway.asked("chat.abort"))
    assert [p["runId"] for p in gateway.asked("chat.abort")] == [
        gateway.asked("chat.send")[0]["idempotencyKey"]
    ]


async def test_a_prompt_without_a_link_waits_for_one(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """A prompt that begins while the link is down is sent as soon as it is back."""
    session = await bridge.new_session()
    await gateway.cut()
    asked = bridge.prompt(session)
    await bridge.error_of("no/such", {})
    gateway.restore()
    run = await gateway.next_run()
    await run.say("late but there")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"


async def test_the_grace_ends_with_one_notice(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """After the recovery grace: one notice in stream and ledger, no advice to send again, an error."""
    bridge = await bridges("--recovery-grace", "1")
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.tool("call_1")
    await bridge.until_update("tool_call")
    await gateway.cut()
    answer = await bridge.response_to(asked)
    assert answer["error"]["code"] == -32603
    assert bridge.texts().count("connection to the gateway was lost") == 1
    assert "again" not in bridge.texts().replace("load the session again", "")
    gateway.restore()
    await replay_equals_live(bridges, bridge, session)


async def test_cancel_without_a_link_is_answered_and_aborts_later(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The person's Stop is answered at once; the run is aborted when the link is back."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("x")
    await bridge.until_text("x")
    await gateway.cut()
    bridge.notify("session/cancel", {"sessionId": session})
    assert await bridge.stop_reason(asked) == "cancelled"
    gateway.restore()
    await gateway.until(lambda: run.ended)
    assert gateway.asked("chat.abort") == [{"sessionKey": run.key, "runId": run.id}]


async def test_a_restarted_run_is_followed(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """An event whose resumedFromRunId is ours moves the prompt; text and cancel are the new run's."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("half an ans")
    await run.tool("call_1")
    await bridge.until_update("tool_call")
    await gateway.restart()
    await gateway.until(lambda: gateway.asked("agent.wait"))
    again = type(run)(gateway, gateway.links[0], "run-2", run.key, run.message)
    gateway.runs["run-2"] = again
    await again.agent("lifecycle", {"phase": "start"}, resumedFromRunId=run.id)
    await again.say("whole answer")
    await bridge.until_text("whole answer")
    assert open_calls(bridge.updates()) == set()
    bridge.notify("session/cancel", {"sessionId": session})
    assert await bridge.stop_reason(asked) == "cancelled"
    assert gateway.asked("chat.abort")[-1]["runId"] == "run-2"
    assert bridge.texts() == "half an ans\n\nwhole answer"


async def test_the_session_key_alone_moves_nothing(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """A run of the same session that does not name ours is not followed."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    other = type(run)(gateway, run.link, "run-2", run.key, "x")
    await other.say("another")
    await run.say("mine")
    await run.end()
    assert await bridge.stop_reason(asked) == "end_turn"
    assert bridge.texts() == "mine"


async def test_a_restarted_gateway_that_finished_is_believed(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The gateway forgot the run but its transcript has the last answer: the prompt ends with it."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("The ans")
    await bridge.until_text("The ans")
    await gateway.cut()
    await run.say("wer.")
    await run.end()
    await gateway.restart()
    gateway.restore()
    assert await bridge.stop_reason(asked) == "end_turn"
    assert bridge.texts() == "The answer."


@pytest.mark.parametrize(("status", "reason"), [("failed", "end_turn"), ("killed", "cancelled")])
async def test_a_restarted_gateway_that_gave_up_is_believed(
    gateway: GatewayDouble, bridge: BridgeClient, status: str, reason: str
) -> None:
    """Its session row says that the run is over: nobody waits for the end of the grace."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("half")
    await bridge.until_text("half")
    await gateway.restart()
    await gateway.until(lambda: gateway.asked("agent.wait"))
    await bridge.error_of("no/such", {})
    assert bridge.response(asked) is None
    row = {"status": status, "hasActiveRun": False, "endedAt": time.time() * 1000 + 1000}
    gateway.stored(run.key).fields |= row
    assert await bridge.stop_reason(asked) == reason
    assert ("did not take it up again" in bridge.texts()) == (status == "failed")


async def test_a_bridge_killed_in_mid_run_is_made_whole(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """The next load takes the rest from the transcript, records it, and replays from the ledger."""
    bridge = await bridges()
    session = await bridge.new_session()
    bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("Before the kill. ")
    await run.tool("call_1")
    await bridge.until_update("tool_call")
    await bridge.kill()
    await run.result("call_1", "Monday")
    await run.say("After it.")
    await run.end()
    second = await bridges()
    told = story(await second.load(session))
    assert [(u["sessionUpdate"], u.get("status")) for u in told] == [
        ("user_message_chunk", None),
        ("agent_message_chunk", None),
        ("tool_call", "in_progress"),
        ("tool_call_update", "completed"),
        ("agent_message_chunk", None),
    ]
    transcripts = len(gateway.asked("sessions.get"))
    await second.stop()
    third = await bridges()
    assert story(await third.load(session)) == told
    assert len(gateway.asked("sessions.get")) == transcripts


async def test_a_run_that_outlives_its_bridge_goes_on_after_the_load(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """A session is loaded while its run goes on: what is said after that still reaches the client."""
    bridge = await bridges()
    session = await bridge.new_session()
    bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("Said before. ")
    await run.tool("call_1")
    await bridge.until_update("tool_call")
    await bridge.kill()
    second = await bridges()
    await second.load(session)
    await run.result("call_1", "Monday")
    await run.say("Said after.")
    await run.end()
    await second.until_text("Said after.")
    assert second.texts() == "Said before. Said after."
    await second.until(lambda: not open_calls(second.updates()))
    await second.stop()
    third = await bridges()
    told = story(await third.load(session))
    assert told[-1]["content"]["text"] == "Said after."
    assert open_calls(told) == set()


async def test_an_approval_outlives_its_bridge(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """The client goes away with an open permission: it stays open, and the next load asks again."""
    bridge = await bridges()
    session = await bridge.new_session()
    bridge.prompt(session)
    run = await gateway.next_run()
    await run.tool("call_1")
    ident = await gateway.approval(run, "date")
    await bridge.until(bridge.asked)
    await bridge.stop()
    assert gateway.asked("exec.approval.resolve") == []
    second = await bridges()
    second.permission = lambda _params: "allow-once"
    told = story(await second.load(session))
    assert [u.get("status") for u in told if "toolCallId" in u] == ["in_progress"]
    await gateway.until(lambda: not gateway.approvals)
    assert gateway.asked("exec.approval.resolve") == [{"id": ident, "decision": "allow-once"}]
    assert second.asked()[0]["params"]["toolCall"]["toolCallId"] == "call_1"
    await run.result("call_1", "Monday")
    await run.end()
    await second.until(lambda: not open_calls(second.updates()))


async def test_a_load_beside_a_running_bridge(
    gateway: GatewayDouble, bridges: Callable[..., Any]
) -> None:
    """A session whose prompt runs in another bridge: its call stays open, its text goes on here too."""
    one, two = await bridges(), await bridges()
    session = await one.new_session()
    asked = one.prompt(session)
    run = await gateway.next_run()
    await run.say("Both see this. ")
    await run.tool("call_1")
    await one.until_update("tool_call")
    assert open_calls(await two.load(session)) == {"call_1"}
    await run.result("call_1", "Monday")
    await run.say("And this.")
    await run.end()
    assert await one.stop_reason(asked) == "end_turn"
    await two.until_text("And this.")
    assert one.texts() == two.texts()
    await two.until(lambda: not open_calls(two.updates()))
    await one.stop()
    assert story(await two.load(session))[1:] == story(one.updates(session))


async def test_a_dead_link_is_noticed(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """Nothing heard for two ticks and nothing asked: the link is closed with 4000 and made anew."""
    await bridge.initialize()
    gateway.tick_ms = 200
    await gateway.drop()
    await gateway.until(lambda: len(gateway.asked("connect")) == 2)
    await gateway.until(lambda: len(gateway.asked("connect")) == 3)


async def test_wrong_credentials_later_end_the_waiting(
    gateway: GatewayDouble, bridge: BridgeClient
) -> None:
    """The gateway's token was changed: no link will come, so the prompt is answered now."""
    session = await bridge.new_session()
    asked = bridge.prompt(session)
    run = await gateway.next_run()
    await run.say("x")
    await bridge.until_text("x")
    refusal = {"details": {"code": "AUTH_PASSWORD_MISMATCH"}}
    gateway.connect_errors.append(Refused("INVALID_REQUEST", "unauthorized: password", **refusal))
    await gateway.drop()
    answer = await bridge.response_to(asked)
    assert answer["error"]["data"]["details"] == "unauthorized: password"
