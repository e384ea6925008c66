"""
What the bridge costs: CPU an update sent, and time added before the first token.

Baselines: the SDK's own `session_update` into the same sink, and a child process that only
copies WebSocket messages to its stdout. Both sides take turns within one run.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from acp import text_block, update_agent_message
from acp.agent.connection import AgentSideConnection
from acp.interfaces import Agent
from websockets.asyncio.server import ServerConnection, serve

from acp_notebook.bridge import protocol
from acp_notebook.bridge.ledger import Ledger
from acp_notebook.bridge.mapping import text_chunk
from acp_notebook.bridge.sessions import Session
from acp_notebook.bridge.stdio import StdioTransport
from acp_notebook.bridge.updates import Updates
from tests.bridge.double import GatewayDouble
from tests.bridge.driver import BridgeClient

UPDATES = 2_000
ROUNDS = 7
TOKENS = 40


async def sink() -> asyncio.StreamWriter:
    """A writer whose bytes go nowhere."""
    loop = asyncio.get_running_loop()
    pipe = Path("/dev/null").open("wb", buffering=0)  # noqa: ASYNC230, SIM115  # closed by its transport
    transport, proto = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    return asyncio.StreamWriter(transport, proto, None, loop)


async def cpu_s(work: Callable[[], Awaitable[None]]) -> float:
    """CPU seconds of this thread for one round."""
    began = time.thread_time()
    await work()
    return time.thread_time() - began


async def test_sending_an_update(tmp_path: Path) -> None:
    """An update costs at most a quarter of the SDK's CPU; with the ledger it is still below it."""
    reader = asyncio.StreamReader()
    writers = [await sink(), await sink()]
    sdk = AgentSideConnection(cast("Agent", object()), writers[0], reader)
    transport = StdioTransport(reader, writers[1])
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    updates = Updates(transport.write, ledger)
    session = Session("s", "agent:main:k", "/", "s")
    ledger.begin_session("s", "agent:main:k", "/", 0)

    async def by_sdk() -> None:
        for n in range(UPDATES):
            await sdk.session_update("s", update_agent_message(text_block(f"word {n} ")))

    async def by_us(*, record: bool) -> None:
        for n in range(UPDATES):
            update = text_chunk("agent_message_chunk", f"word {n} ")
            updates.send(session, update, run_id="r", record=record)

    rounds = [
        (
            await cpu_s(by_sdk),
            await cpu_s(lambda: by_us(record=False)),
            await cpu_s(lambda: by_us(record=True)),
        )
        for _ in range(ROUNDS)
    ]
    sdk_s, plain_s, recorded_s = (min(column) for column in zip(*rounds, strict=True))
    print(
        f"\nsending an update: {plain_s / UPDATES * 1e6:.1f} us, SDK {sdk_s / UPDATES * 1e6:.1f} us"
        f" -> {plain_s / sdk_s:.3f}x; with the ledger {recorded_s / sdk_s:.3f}x"
    )
    await sdk.close()
    ledger.close()
    for writer in writers:
        writer.transport.abort()
    assert plain_s / sdk_s <= 0.25
    assert recorded_s / sdk_s <= 1


RELAY = """
import asyncio, sys
from websockets.asyncio.client import connect
async def main():
    async with connect(sys.argv[1], compression=None) as socket:
        async for text in socket:
            sys.stdout.write(text + "\\n")
            sys.stdout.flush()
asyncio.run(main())
"""


async def test_time_before_the_first_token(tmp_path: Path) -> None:
    """
    From the gateway's first word to the client's, and from the prompt to `chat.send`.

    The baseline is a process that copies WebSocket messages: the hops without the bridge's work.
    """
    state = tmp_path / "state"
    state.mkdir()
    async with GatewayDouble() as gateway, BridgeClient(gateway.url, state) as bridge:
        session = await bridge.new_session()
        sent, told = [], []
        for n in range(TOKENS):
            began = time.perf_counter()
            asked = bridge.prompt(session, f"prompt {n}")
            run = await gateway.next_run()
            sent.append(time.perf_counter() - began)
            word = f"word-{n}"
            began = time.perf_counter()
            await run.chat("delta", message={"content": [{"type": "text", "text": word}]})
            await bridge.until_text(word)
            told.append(time.perf_counter() - began)
            await run.end()
            await bridge.response_to(asked)
    copied = await relay_times()
    bridge_ms, relay_ms, prompt_ms = (
        statistics.median(times) * 1000 for times in (told, copied, sent)
    )
    print(
        f"\nfirst token: {bridge_ms:.2f} ms through the bridge, {relay_ms:.2f} ms copied"
        f" -> {bridge_ms - relay_ms:.2f} ms added; prompt to chat.send {prompt_ms:.2f} ms"
    )
    assert bridge_ms / relay_ms <= 4


async def relay_times() -> list[float]:
    """Seconds from a WebSocket send to the line on a copying child's stdout."""
    arrived: asyncio.Queue[ServerConnection] = asyncio.Queue()

    async def keep(socket: ServerConnection) -> None:
        arrived.put_nowait(socket)
        await socket.wait_closed()

    async with serve(keep, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            RELAY,
            f"ws://127.0.0.1:{port}",
            stdout=asyncio.subprocess.PIPE,
        )
        socket = await arrived.get()
        assert child.stdout is not None
        times = []
        for n in range(TOKENS):
            payload: dict[str, Any] = {"runId": "r", "state": "delta", "text": f"word-{n}"}
            began = time.perf_counter()
            await socket.send(protocol.event("chat", payload, n))
            json.loads(await child.stdout.readline())
            times.append(time.perf_counter() - began)
        await socket.close()
        await child.wait()
    return times
