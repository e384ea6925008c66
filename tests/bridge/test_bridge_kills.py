"""Random kills of bridges and gateway, two bridges on one ledger; and a long run in steady memory."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.bridge.ledger import Ledger
from acp_notebook.bridge.transcript import transcript_updates
from tests.bridge.double import GatewayDouble
from tests.bridge.driver import BridgeClient, open_calls, story, text_of
from tests.bridge.runs import Run

STEPS = 12


def agents_part(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The story without the user's own words, which are not sent live."""
    return story([u for u in updates if u["sessionUpdate"] != "user_message_chunk"])


def solid(text: str) -> str:
    """The text without blanks: what ends a message may lose its last one."""
    return "".join(text.split())


class Side:
    """One bridge with one session, and what may still be compared of it."""

    def __init__(self, gateway: GatewayDouble, start: Callable[[], Any]) -> None:
        self.gateway, self.start = gateway, start
        self.session = ""
        self.run: Run | None = None
        self.asked: int | None = None
        self.call: str | None = None
        self.count = 0
        self.was_killed = False
        self.lost_a_run = False
        self.live: list[dict[str, Any]] = []

    async def begin(self) -> None:
        self.bridge: BridgeClient = await self.start()
        self.session = await self.bridge.new_session()

    async def prompt(self) -> None:
        if self.run is None:
            self.count += 1
            self.asked = self.bridge.prompt(self.session, f"prompt {self.count}")
            self.run = await self.gateway.next_run()

    async def say(self) -> None:
        if self.run is not None:
            self.count += 1
            await self.run.say(f"word-{self.count} ")

    async def tool(self) -> None:
        if self.run is None:
            return
        if self.call is None:
            self.count += 1
            self.call = f"call_{self.session[:4]}_{self.count}"
            await self.run.tool(self.call)
        else:
            await self.run.result(self.call, "out")
            self.call = None

    async def end(self) -> None:
        if self.run is None:
            return
        if self.call is not None:
            await self.tool()
        run, self.run = self.run, None
        await run.end()
        await self.answered()

    async def answered(self) -> None:
        if self.asked is not None:
            await self.bridge.response_to(self.asked)
            self.asked = None

    async def kill(self) -> None:
        await self.bridge.kill()
        self.was_killed = True
        self.asked = None
        self.bridge = await self.start()
        await self.bridge.load(self.session)
        if self.run is not None:
            # A new prompt would be steered into the run of the dead bridge: let that one end.
            await self.end()

    async def lose_run(self) -> None:
        """The gateway was killed: its row tells that the run is over."""
        if self.run is not None:
            self.lost_a_run = True
            over = {"status": "failed", "hasActiveRun": False, "endedAt": time.time() * 1000 + 5000}
            self.gateway.stored(self.run.key).fields |= over
            self.run, self.call = None, None


async def cut(gateway: GatewayDouble, sides: list[Side], random_: random.Random) -> None:
    """The link is down for all, and something is said meanwhile."""
    await gateway.cut()
    for side in sides:
        if random_.random() < 0.5:
            await side.say()
    gateway.restore()
    await gateway.until(lambda: len(gateway.links) == len(sides))


async def restart(gateway: GatewayDouble, sides: list[Side]) -> None:
    """The gateway is killed and comes back."""
    for side in sides:
        await side.lose_run()
    await gateway.cut()
    gateway.runs.clear()
    gateway._terminal.clear()
    gateway.restore()
    for side in sides:
        await side.answered()


async def play(
    seed: int, gateway: GatewayDouble, start: Callable[[], Any], state_dir: Path
) -> None:
    chance = random.Random(seed)
    sides = [Side(gateway, start), Side(gateway, start)]
    for side in sides:
        await side.begin()
    for _ in range(STEPS):
        side = chance.choice(sides)
        match chance.choices(["talk", "kill", "cut", "restart"], [20, 2, 2, 1])[0]:
            case "talk":
                await side.prompt()
                await chance.choice([side.say, side.say, side.tool, side.end])()
            case "kill":
                await side.kill()
            case "cut":
                await cut(gateway, sides, chance)
            case "restart":
                await restart(gateway, sides)
    for side in sides:
        await side.end()
        side.live = side.bridge.updates(side.session)
        await side.bridge.stop()
    await look(gateway, sides, start, state_dir)


async def look(
    gateway: GatewayDouble, sides: list[Side], start: Callable[[], Any], state_dir: Path
) -> None:
    ledger = Ledger.open(state_dir / "acp-notebook" / "ledger.sqlite")
    assert ledger.verify() == []
    ledger.close()
    loader = await start()
    for side in sides:
        told = await loader.load(side.session)
        assert open_calls(told) == set()
        assert agents_part(told) == agents_part(await loader.load(side.session))
        if not side.was_killed:
            assert agents_part(told) == agents_part(side.live)
        elif not side.lost_a_run:
            records = gateway.stored(f"acp-bridge:{side.session}").records
            stored = transcript_updates(records)
            assert solid(text_of(told)) == solid(text_of(stored))
            calls = [u["toolCallId"] for u in stored if u["sessionUpdate"] == "tool_call"]
            assert [u["toolCallId"] for u in told if u["sessionUpdate"] == "tool_call"] == calls
    ledger = Ledger.open(state_dir / "acp-notebook" / "ledger.sqlite")
    assert ledger.verify() == []
    ledger.close()


@pytest.mark.parametrize("seed", range(20))
async def test_random_kills(
    seed: int, gateway: GatewayDouble, bridges: Callable[[], Any], state_dir: Path
) -> None:
    """Counters hold, no call stays open, and what is replayed is what was live or is stored."""
    await play(seed, gateway, bridges, state_dir)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(20, 200))
async def test_more_random_kills(
    seed: int, gateway: GatewayDouble, bridges: Callable[[], Any], state_dir: Path
) -> None:
    """The same, two hundred in all."""
    await play(seed, gateway, bridges, state_dir)


def resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_memory_is_flat(gateway: GatewayDouble, bridge: BridgeClient) -> None:
    """50 sessions of 200 prompts: after the first fifth the process does not grow."""
    sessions = [await bridge.new_session() for _ in range(50)]
    early = 0
    for turn in range(200):
        for session in sessions:
            asked = bridge.prompt(session, f"prompt {turn}")
            run = await gateway.next_run()
            await run.say("an answer ")
            await run.tool(f"call_{turn}")
            await run.result(f"call_{turn}", "x" * 500)
            await run.end()
            await bridge.response_to(asked)
            bridge.messages.clear()
        gateway.requests.clear()
        gateway.sent.clear()
        for stored in gateway.sessions.values():
            del stored.records[2:]
        if turn == 40:
            early = resident_kib(bridge.process.pid)
        await asyncio.sleep(0)
    grown = resident_kib(bridge.process.pid) / early
    print(f"\nmemory: {early} KiB after 41 turns, {grown:.3f}x after 200")
    assert grown < 1.1
