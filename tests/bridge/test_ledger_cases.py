"""
The handed cases of class ledger, played on a real bridge and its ledger.

Every step and sentence is bound by its exact words to what does or checks it; one that is
not bound fails the case.
"""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import sys
import time
from asyncio.subprocess import PIPE
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.bridge import ledger_read
from acp_notebook.bridge.ledger import Ledger
from acp_notebook.bridge.ledger_file import open_for_reading
from tests.bridge.double import GatewayDouble
from tests.bridge.driver import BridgeClient, story, text_of
from tests.source import REPOSITORY

CASES = REPOSITORY / "tests" / "cases"


def ledger_cases() -> list[str]:
    """The names of all cases of class ledger."""
    return sorted(
        path.parent.name
        for path in CASES.glob("*/case.json")
        if json.loads(path.read_text(encoding="utf-8"))["class"] == "ledger"
    )


@pytest.mark.parametrize("name", ledger_cases())
async def test_case(name: str, gateway: GatewayDouble, state_dir: Path) -> None:
    """The case's outcome is the bridge's."""
    await Player(name, gateway, state_dir).play()


class Player:
    """One case, on one double and one state directory."""

    def __init__(self, name: str, gateway: GatewayDouble, state_dir: Path) -> None:
        self.folder = CASES / name
        case = json.loads((self.folder / "case.json").read_text(encoding="utf-8"))
        self.given, self.expect = case["given"], case["expect"]
        self.gateway, self.state_dir = gateway, state_dir
        self.path = state_dir / "acp-notebook" / "ledger.sqlite"
        self.old = state_dir / "acp" / "event-ledger.json"
        self.bridge = BridgeClient(gateway.url, state_dir)
        self.session = ""
        self.stop_reason = ""
        self.damaged = b""
        self.loaded: list[dict[str, Any]] = []
        self.times: list[float] = []

    async def play(self) -> None:
        """Lay the files, do the steps, then look."""
        assert self.given.keys() <= {"mode", "files", "setup", "inject", "steps"}
        assert self.expect.keys() <= {"must", "must_not", "after_load", "maxSeconds"}
        for name, source in self.given.get("files", {}).items():
            self.lay(name, source)
        self.began = time.monotonic()
        for step in self.given["steps"]:
            await getattr(self, STEPS[step])()
        took_s = time.monotonic() - self.began
        if hasattr(self.bridge, "process"):
            await self.bridge.stop()
        assert took_s <= self.expect.get("maxSeconds", 60)
        for session_id, lines in self.expect.get("after_load", {}).items():
            assert session_id == self.session
            assert lines == self.said()
        for sentence in self.expect.get("must", []):
            assert getattr(self, MUST[sentence])(), sentence
        for sentence in self.expect.get("must_not", []):
            assert not getattr(self, MUST_NOT[sentence])(), sentence

    def lay(self, name: str, source: str) -> None:
        target = {"ledger.db": self.path, "event-ledger.json": self.old}[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        assert source.startswith("file:")
        shutil.copy(self.folder / source.removeprefix("file:"), target)
        if target is self.path:
            self.damaged = target.read_bytes()
        else:
            target.write_text(target.read_text().replace("{CWD}", self.bridge.cwd))

    # Steps

    async def start(self) -> None:
        await self.bridge.start()
        await self.bridge.initialize()
        # A busy machine takes its time to start Python; the case is about what comes then.
        self.began = time.monotonic()

    async def start_again(self) -> None:
        """A second start; what the first one took over is remembered."""
        await self.bridge.stop()
        self.first = self.rows()
        self.bridge = BridgeClient(self.gateway.url, self.state_dir)
        await self.start()

    async def new_session(self) -> None:
        self.session = await self.bridge.new_session()

    async def prompt(self) -> None:
        if not hasattr(self.bridge, "process"):
            await self.start()
            await self.new_session()
        failing = self.given.get("inject")
        if failing:
            assert failing == "disk error on the first write of a prompt"
            self.limit(self.path.with_name("ledger.sqlite-wal").stat().st_size)
        await self.talk("hello" * 2000)
        if failing:
            self.limit(resource.RLIM_INFINITY)

    async def talk(self, text: str) -> None:
        asked = self.bridge.prompt(self.session, text)
        run = await self.gateway.next_run()
        await run.say("Hi there.")
        await run.end()
        self.stop_reason = await self.bridge.stop_reason(asked)
        self.live = text_of(self.bridge.updates(self.session))

    def limit(self, size: int) -> None:
        """The bridge's files cannot grow past that size: the disk refuses."""
        resource.prlimit(self.bridge.process.pid, resource.RLIMIT_FSIZE, (size, -1))

    async def load(self) -> None:
        await self.bridge.stop()
        self.told = self.bridge.stderr
        self.bridge = BridgeClient(self.gateway.url, self.state_dir)
        await self.bridge.start()
        self.loaded = await self.bridge.load(self.session)

    async def load_s1(self) -> None:
        self.session = "s1"
        self.loaded = await self.bridge.load("s1")

    async def append_during_the_lock(self) -> None:
        """20 updates of a prompt while another process holds the ledger for 2 s."""
        assert self.given["setup"] == "second process holds BEGIN EXCLUSIVE for 2 s"
        await self.start()
        await self.new_session()
        command = (sys.executable, "-m", "tests.bridge.holder", self.path)
        holder = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, cwd=REPOSITORY
        )
        assert await holder.stdout.readline() == b"held\n"
        held_until = time.monotonic() + 2
        asked = self.bridge.prompt(self.session)
        run = await self.gateway.next_run()
        for number in range(10):
            await run.tool(f"t{number}")
            await run.result(f"t{number}", f"out {number}")
        await run.end()
        self.stop_reason = await self.bridge.stop_reason(asked)
        await asyncio.sleep(held_until - time.monotonic())
        holder.stdin.close()
        await holder.wait()

    async def append_many(self) -> None:
        """5,000 small updates, the time of each noted."""
        with Ledger.open(self.path) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            for number in range(5000):
                update = {"sessionUpdate": "tool_call", "toolCallId": f"t{number}"}
                began = time.process_time()
                ledger.append("s", update, run_id="r", at=2)
                self.times.append(time.process_time() - began)
            assert len(ledger.replay("s")) == 5000

    # Facts

    def rows(self) -> list[tuple[Any, ...]]:
        with closing(open_for_reading(self.path)) as db:
            assert ledger_read.verify(db) == []
            return db.execute(
                "SELECT session_id, seq, update_json FROM events ORDER BY 1, 2"
            ).fetchall()

    def recorded(self) -> list[dict[str, Any]]:
        with closing(open_for_reading(self.path)) as db:
            return [event.update for event in ledger_read.events(db, self.session)]

    def is_complete(self, session_id: str) -> bool:
        with closing(open_for_reading(self.path)) as db:
            return ledger_read.session(db, session_id).complete

    def said(self) -> list[str]:
        names = {"user_message_chunk": "user", "agent_message_chunk": "assistant"}
        return [
            f"{names[update['sessionUpdate']]} {update['content']['text']}"
            for update in story(self.loaded)
        ]

    def kept(self) -> list[bytes]:
        files = list(self.path.parent.glob("ledger.sqlite.corrupt-*"))
        assert all(str(file) in self.told for file in files)
        return [file.read_bytes() for file in files]

    def all_20_stored(self) -> bool:
        tools = [update for update in self.recorded() if "toolCallId" in update]
        statuses = [update["status"] for update in tools]
        calls = [update["toolCallId"] for update in tools]
        return (
            statuses == ["in_progress", "completed"] * 10
            and calls == [f"t{number // 2}" for number in range(20)]
            and self.is_complete(self.session)
        )

    def prompt_is_answered(self) -> bool:
        return self.stop_reason == "end_turn"

    def bridge_starts(self) -> bool:
        return bool(self.session)

    def damaged_is_kept(self) -> bool:
        return self.kept() == [self.damaged]

    def damaged_is_gone(self) -> bool:
        return self.damaged not in self.kept()

    def new_ledger_works(self) -> bool:
        texts = text_of(self.loaded, "user_message_chunk"), text_of(self.loaded)
        return texts == ("hello" * 2000, "Hi there.") and self.is_complete(self.session)

    def nothing_twice(self) -> bool:
        taken = [row for row in self.first if row[0] in {"s1", "s2"}]
        return len(taken) == 3 and [row for row in self.rows() if row in taken] == taken

    def source_is_archived(self) -> bool:
        archived = self.old.with_name("event-ledger.json.migrated")
        return archived.exists() and not self.old.exists()

    def s2_is_incomplete(self) -> bool:
        return not self.is_complete("s2")

    def s1_has_text_of_s2(self) -> bool:
        return "not of this session" in json.dumps([self.loaded, self.recorded()])

    def not_reported_complete(self) -> bool:
        return not self.is_complete(self.session)

    def live_turn_unaffected(self) -> bool:
        texts = (self.live, text_of(self.loaded))
        return self.prompt_is_answered() and texts == ("Hi there.", "Hi there.")

    def cost_is_flat(self) -> bool:
        return sum(self.times[-500:]) < 3 * sum(self.times[:500])


STEPS = {
    "start the bridge": "start",
    "start (migrates)": "start",
    "start again": "start_again",
    "new session": "new_session",
    "prompt": "prompt",
    "session/load": "load",
    "session/load s1": "load_s1",
    "append 20 updates during the lock": "append_during_the_lock",
    "append 5000 small updates to one session": "append_many",
}
MUST = {
    "all 20 stored after the lock ends": "all_20_stored",
    "prompt isn't failed by the ledger": "prompt_is_answered",
    "bridge starts": "bridge_starts",
    "damaged file kept under another name": "damaged_is_kept",
    "new ledger works": "new_ledger_works",
    "second start imports nothing twice": "nothing_twice",
    "source archived, not deleted": "source_is_archived",
    "s2 marked incomplete": "s2_is_incomplete",
    "session not reported complete": "not_reported_complete",
    "live turn unaffected": "live_turn_unaffected",
    "time of the last 500 appends is under 3x that of the first 500": "cost_is_flat",
}
MUST_NOT = {
    "overwrite or delete the damaged file": "damaged_is_gone",
    "the text of s2's third entry in s1": "s1_has_text_of_s2",
}


def test_every_binding_is_used() -> None:
    """Each bound step and sentence is one of a case."""
    cases = [json.loads((CASES / name / "case.json").read_text()) for name in ledger_cases()]
    used = {
        "steps": {step for case in cases for step in case["given"]["steps"]},
        "must": {line for case in cases for line in case["expect"].get("must", [])},
        "must_not": {line for case in cases for line in case["expect"].get("must_not", [])},
    }
    assert {"steps": set(STEPS), "must": set(MUST), "must_not": set(MUST_NOT)} == used
    assert len(cases) == 5
