"""The link: handshake refusals, pairing, reconnects, requests. Against the double, in process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.bridge import protocol
from acp_notebook.bridge.gateway import Gateway
from acp_notebook.bridge.options import BridgeOptions
from tests.bridge.double import TOKEN, GatewayDouble, Refused


class Listener:
    """Notes what the link tells."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    def on_hello(self, hello: dict[str, Any]) -> None:
        self.told.put_nowait(("hello", hello["type"]))

    def on_event(self, event: protocol.Event) -> None:
        self.told.put_nowait(("event", event.name))

    def on_close(self, code: int, reason: str) -> None:
        self.told.put_nowait(("close", code))

    def on_connect_error(self, error: Exception, *, fatal: bool) -> None:
        self.told.put_nowait(("fatal" if fatal else "error", str(error)))

    async def next(self) -> tuple[str, Any]:
        return await asyncio.wait_for(self.told.get(), 60)


class Link:
    """A running link and its listener."""

    def __init__(self, url: str, home: Path, **fields: Any) -> None:
        self.listener = Listener()
        options = BridgeOptions(url=url, state_dir=home, reconnect_first_s=0.05, **fields)
        self.gateway = Gateway(options, self.listener)
        self.task = asyncio.create_task(self.gateway.run())

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@pytest.fixture
async def links(gateway: GatewayDouble, tmp_path: Path) -> AsyncIterator[Any]:
    made: list[Link] = []

    def make(**fields: Any) -> Link:
        url = fields.pop("url", gateway.url)
        made.append(Link(url, tmp_path, **{"token": TOKEN, **fields}))
        return made[-1]

    yield make
    for link in made:
        await link.close()


def refusal(code: str, message: str = "refused", **details: Any) -> Refused:
    return Refused("INVALID_REQUEST", message, details={"code": code, **details})


@pytest.mark.parametrize("code", sorted(protocol.FATAL_AUTH_CODES - {"PAIRING_REQUIRED"}))
async def test_what_only_a_person_can_mend_ends_the_attempts(
    gateway: GatewayDouble, links: Any, code: str
) -> None:
    """One attempt, one report, no loop."""
    gateway.connect_errors.append(refusal(code, "because"))
    link = links()
    assert await link.listener.next() == ("fatal", "because")
    await link.task
    assert gateway.asked("connect") == []


async def test_pairing_is_asked_for_twice(gateway: GatewayDouble, links: Any) -> None:
    """The error names the device and the command that approves it; there is no third attempt."""
    for _ in range(3):
        gateway.connect_errors.append(
            refusal("PAIRING_REQUIRED", "pairing required", requestId="req-7")
        )
    link = links()
    kind, text = await link.listener.next()
    assert kind == "fatal"
    assert "openclaw devices approve req-7" in text
    assert link.gateway._device.id in text
    assert len(gateway.connect_errors) == 1


async def test_pairing_approved_between_the_attempts(gateway: GatewayDouble, links: Any) -> None:
    """The second attempt succeeds when somebody approved meanwhile."""
    gateway.connect_errors.append(refusal("PAIRING_REQUIRED"))
    assert await links().listener.next() == ("hello", "hello-ok")


async def test_a_changed_token_falls_back_to_the_device_token(
    gateway: GatewayDouble, links: Any
) -> None:
    """On this machine the token that the gateway issued to the device is tried once."""
    first = links()
    await first.listener.next()
    await first.close()
    second = links(token="outdated")
    assert await second.listener.next() == ("hello", "hello-ok")
    assert gateway.asked("connect")[-1]["auth"] == {"token": "issued-device-token"}


async def test_no_secret_uses_the_device_token(gateway: GatewayDouble, links: Any) -> None:
    """A paired device needs no shared secret."""
    first = links()
    await first.listener.next()
    second = links(token=None)
    assert await second.listener.next() == ("hello", "hello-ok")


async def test_nobody_there_is_an_error_and_tried_again(gateway: GatewayDouble, links: Any) -> None:
    """Each failed attempt is reported, none is fatal."""
    await gateway.close()
    link = links()
    assert [(await link.listener.next())[0] for _ in range(2)] == ["error", "error"]
    await gateway.open()
    told = await link.listener.next()
    while told[0] == "error":
        told = await link.listener.next()
    assert told == ("hello", "hello-ok")


async def test_a_lost_link_is_told_once_and_made_again(gateway: GatewayDouble, links: Any) -> None:
    """close, then hello; requests in between fail with code and reason."""
    link = links()
    await link.listener.next()
    held = gateway.hold("agent.wait")
    waiting = asyncio.create_task(link.gateway.request("agent.wait", {"runId": "r"}))
    await gateway.until(lambda: gateway.asked("agent.wait"))
    await gateway.drop()
    with pytest.raises(protocol.GatewayClosed, match="1006"):
        await waiting
    assert await link.listener.next() == ("close", 1006)
    assert await link.listener.next() == ("hello", "hello-ok")
    held.set()


async def test_restart_code_is_told(gateway: GatewayDouble, links: Any) -> None:
    """A service restart closes with 1012."""
    link = links()
    await link.listener.next()
    await gateway.restart()
    assert await link.listener.next() == ("close", protocol.CLOSE_RESTART)


async def test_a_request_without_a_link_fails_at_once(gateway: GatewayDouble, links: Any) -> None:
    """There is nothing to wait for."""
    await gateway.close()
    link = links()
    await link.listener.next()
    with pytest.raises(protocol.GatewayClosed):
        await link.gateway.request("agent.wait", {"runId": "r"})


async def test_a_request_times_out(gateway: GatewayDouble, links: Any) -> None:
    """It fails after its time; the link stays."""
    link = links(request_timeout_s=0.2)
    await link.listener.next()
    gateway.hold("agent.wait")
    with pytest.raises(TimeoutError, match=r"agent\.wait"):
        await link.gateway.request("agent.wait", {"runId": "r"})
    assert link.gateway.is_connected


async def test_what_is_too_big_is_not_sent(gateway: GatewayDouble, links: Any) -> None:
    """The gateway would close the link with 1009."""
    link = links()
    await link.listener.next()
    params = {"sessionKey": "k", "message": "é" * 14_000_000, "idempotencyKey": "r"}
    with pytest.raises(protocol.BadParams, match="maximum frame"):
        await link.gateway.request("chat.send", params)
    assert gateway.asked("chat.send") == []


async def test_refusals_keep_the_gateways_words(gateway: GatewayDouble, links: Any) -> None:
    """Message and details are the gateway's."""
    link = links()
    await link.listener.next()
    with pytest.raises(protocol.GatewayError, match="unknown or expired approval id") as caught:
        await link.gateway.request("exec.approval.get", {"id": "nope"})
    assert caught.value.reason == "APPROVAL_NOT_FOUND"


async def test_secrets_are_not_shown() -> None:
    """Neither token nor password is in the options' text."""
    options = BridgeOptions(url="ws://x", token="secret-1", password="secret-2")
    assert "secret" not in repr(options)
