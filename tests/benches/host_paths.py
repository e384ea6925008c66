"""One receive path, run once in this process; prints what it cost as JSON. See bench_host.py."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

from acp_notebook.host.loop import host_loop
from acp_notebook.host.session import ChatSession
from acp_notebook.host.spec import AgentSpec
from acp_notebook.timeline import Timeline

FLOOD = str(Path(__file__).with_name("flood_agent.py"))
TICK_S = 0.001


class Stall:
    """The longest time between two turns of a loop, beyond the tick."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._task: asyncio.Task[None] | None = None

    async def _watch(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(TICK_S)
            now = time.perf_counter()
            self.longest = max(self.longest, now - last - TICK_S)
            last = now

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._watch())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()


def cpu() -> float:
    """CPU seconds of this process, its children not counted."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def spec(count: int) -> AgentSpec:
    return AgentSpec("flood", sys.executable, (FLOOD, str(count)))


def ours(count: int) -> dict[str, Any]:
    """`ChatSession` with everything on: reducer, trace, published snapshots."""
    stall = Stall()

    async def run() -> dict[str, Any]:
        session = ChatSession(spec(count), cwd=tempfile.mkdtemp())
        await session.life.ensure_connected()
        stall.start()
        began = cpu()
        await session.sessions.load("s")
        used = cpu() - began
        stall.stop()
        items = len(session.snapshot.items)
        await session.close()
        return {"cpu_s": used, "stall_s": stall.longest, "items": items}

    return host_loop().run(run())


async def _spawn(count: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        FLOOD,
        str(count),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=50 * 1024 * 1024,
    )


def sdk(count: int) -> dict[str, Any]:
    """The SDK's own path: `ClientSideConnection`, its models, a handler that folds what it gets."""
    import acp

    timeline = Timeline("s")
    left, folded = count, asyncio.Event()

    class Client:
        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
            body = update.model_dump(mode="json", by_alias=True, exclude_none=True)
            timeline.apply({"sessionId": session_id, "update": body}, historical=True)
            nonlocal left
            left -= 1
            if not left:
                folded.set()

    async def run() -> dict[str, Any]:
        process = await _spawn(count)
        connection = acp.connect_to_agent(Client(), process.stdin, process.stdout)
        await connection.initialize(protocol_version=1)
        stall = Stall()
        stall.start()
        began = cpu()
        await connection.load_session(cwd="/", session_id="s", mcp_servers=[])
        # The SDK answers before its handlers have run; what is measured is all of them.
        await folded.wait()
        used = cpu() - began
        stall.stop()
        items = len(timeline.snapshot().items)
        await connection.close()
        process.stdin.close()
        await process.wait()
        return {"cpu_s": used, "stall_s": stall.longest, "items": items}

    return asyncio.run(run())


def bare(count: int) -> dict[str, Any]:
    """No SDK: read a piece, parse each line with the fast parser, fold it."""
    from pydantic_core import from_json

    timeline = Timeline("s")

    async def run() -> dict[str, Any]:
        process = await _spawn(count)
        await _ask(process, 0, "initialize")
        await process.stdout.readline()
        stall = Stall()
        stall.start()
        began = cpu()
        await _ask(process, 1, "session/load")
        rest, done = b"", False
        while not done:
            data = await process.stdout.read(65536)
            assert data, "the agent has ended"
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                message = from_json(line)
                if "method" in message:
                    timeline.apply(message["params"], historical=True)
                else:
                    done = True
        used = cpu() - began
        stall.stop()
        items = len(timeline.snapshot().items)
        process.stdin.close()
        await process.wait()
        return {"cpu_s": used, "stall_s": stall.longest, "items": items}

    return asyncio.run(run())


async def _ask(process: asyncio.subprocess.Process, number: int, method: str) -> None:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": {}}
    process.stdin.write(json.dumps(request).encode() + b"\n")
    await process.stdin.drain()


def memory(count: int) -> dict[str, int]:
    """The most that our path holds of a replay, and how many bytes that was on the wire."""
    wire = 0

    async def run() -> dict[str, int]:
        nonlocal wire
        session = ChatSession(spec(count), cwd=tempfile.mkdtemp())
        connection = await session.life.connected()
        process = connection.process
        on_data = process._on_data

        def counted(data: bytes) -> None:
            nonlocal wire
            wire += len(data)
            on_data(data)

        process._on_data = counted
        tracemalloc.start()
        await session.sessions.load("s")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        await session.close()
        return {"memory": peak, "wire": wire}

    return host_loop().run(run())


def main() -> None:
    path, count = sys.argv[1], int(sys.argv[2])
    result = {"ours": ours, "sdk": sdk, "bare": bare}[path](count)
    if path == "ours":
        result |= memory(count)
    print(json.dumps(result))


main()
