"""OpenClaw by its gateway's address: our bridge as the agent of a chat, on the gateway double."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_notebook import Chat, agents
from tests.bridge.double import TOKEN, GatewayDouble


def test_the_address_becomes_the_bridge() -> None:
    """Secrets are in the environment, the command line holds the URL only."""
    spec = agents.resolve("openclaw+wss://host:1", secrets={"token": "t", "password": "p"})
    assert (spec.command, spec.args) == (
        sys.executable,
        ("-P", "-m", "acp_notebook.bridge", "--url", "wss://host:1"),
    )
    assert spec.env["OPENCLAW_GATEWAY_TOKEN"] == "t"
    assert spec.env["OPENCLAW_GATEWAY_PASSWORD"] == "p"
    assert "OPENCLAW_GATEWAY_TOKEN" not in agents.resolve("openclaw+ws://host").env


@pytest.mark.parametrize("address", ["openclaw+ws://user:secret@host", "openclaw+ws://t@host/x"])
def test_no_secret_in_the_address(address: str) -> None:
    """It would stand in a command line; the message does not repeat it."""
    with pytest.raises(ValueError, match="must not hold") as caught:
        agents.resolve(address)
    assert "secret" not in str(caught.value)


def test_secrets_are_for_a_gateway() -> None:
    """A token for another agent is a mistake, not an option that is ignored."""
    with pytest.raises(ValueError, match="only for an openclaw"):
        Chat("explorer", token="t")


@pytest.fixture
def gateway() -> Iterator[tuple[GatewayDouble, asyncio.AbstractEventLoop]]:
    """A double on a thread of its own: the chat blocks this one."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    double = GatewayDouble()
    asyncio.run_coroutine_threadsafe(double.open(), loop).result(10)
    yield double, loop
    asyncio.run_coroutine_threadsafe(double.close(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_chat_with_a_gateway(
    gateway: tuple[GatewayDouble, asyncio.AbstractEventLoop],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Prompts go through the bridge to the gateway, a command without the directory line."""
    double, loop = gateway
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path / "state"))

    async def answer() -> None:
        for _ in range(2):
            run = await double.next_run()
            await run.say("Hello from the gateway.")
            await run.end()

    playing = asyncio.run_coroutine_threadsafe(answer(), loop)
    chat = Chat(f"openclaw+{double.url}", token=TOKEN, cwd=str(tmp_path), policy="deny")
    try:
        turn = chat.ask("hello")
        assert chat.ask("/status").ok
        playing.result(10)
        assert turn.ok
        assert turn.text == "Hello from the gateway."
        first, second = (sent["message"] for sent in double.asked("chat.send"))
        assert first.endswith("]\n\nhello")
        assert second == "/status"
    finally:
        chat.close()
