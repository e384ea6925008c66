"""Two processes write one ledger and are killed at random points."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from acp_notebook.bridge.ledger import Ledger
from tests.bridge.ledger_writer import LIMITS, SHARED, steps

NAMES = ("a", "b")


class Writer:
    """A writing child, and the last thing that it said of each session."""

    def __init__(self, path: Path, name: str, seed: int) -> None:
        self.name = name
        self.seed = seed
        self.flushed: dict[str, int] = {}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.bridge.ledger_writer", path, name, str(seed)],
            stdout=subprocess.PIPE,
        )

    def read(self, lines: int) -> None:
        for _ in range(lines):
            self.note(self.process.stdout.readline())

    def kill(self) -> None:
        """Kill it where it stands, and read what it said until then."""
        self.process.kill()
        with self.process:
            for line in self.process.stdout:
                self.note(line)

    def note(self, line: bytes) -> None:
        call, session_id, last = line.decode().split()
        if call != "append":
            self.flushed[session_id] = int(last)

    def settled(self, session_id: str, last: int) -> bool:
        """Whether the session is between two prompts of this writer once `last` is recorded."""
        upto = takewhile(
            lambda step: step.last <= last or step.session_id != session_id, self.steps
        )
        calls = [step.call for step in upto if step.session_id == session_id and step.last == last]
        return last == 0 or "settle" in calls

    @property
    def steps(self):
        return steps(self.name, self.seed)

    def following(self, session_id: str, run_id: str) -> list[dict]:
        """What the transcript would have of a run: all that follows its prompt."""
        found: list[dict] = []
        for step in self.steps:
            if step.session_id == session_id and step.run_id == run_id:
                found += step.updates if step.call == "append" else ()
                if step.call == "settle":
                    return found
        raise AssertionError


def numbers(updates: list[dict], name: str) -> list[int]:
    return [int(number) for number in re.findall(rf"<{name}(\d+)>", json.dumps(updates))]


def check_kills(path: Path, seed: int) -> None:
    choose = random.Random(seed)
    writers = [Writer(path, name, seed) for name in NAMES]
    try:
        for writer in writers:
            writer.read(choose.randint(0, 60))
    finally:
        for writer in choose.sample(writers, 2):
            writer.kill()
    said: list[str] = []
    with Ledger.open(path, LIMITS, warn=said.append) as ledger:
        assert [] == ledger.verify()
        for writer in writers:
            for session_id in (writer.name, SHARED):
                check_recorded(ledger, writer, session_id)
        for session_id in (*NAMES, SHARED):
            check_recovery(ledger, writers, session_id)
        assert [] == ledger.verify()
    assert [] == said


def check_recorded(ledger: Ledger, writer: Writer, session_id: str) -> None:
    """Nothing that was flushed is missing, nothing is twice, and complete means between prompts."""
    recorded = [event.update for event in ledger.events(session_id)]
    found = numbers(recorded, writer.name)
    assert list(range(1, len(found) + 1)) == found
    assert writer.flushed.get(session_id, 0) <= len(found)
    session = ledger.session(session_id)
    if session is None:
        assert session_id not in writer.flushed
        return
    own_marks = [run for run in session.open_runs if run.startswith(writer.name)]
    assert writer.settled(session_id, len(found)) or own_marks
    assert (recorded if not session.open_runs else None) == ledger.replay(session_id)


def check_recovery(ledger: Ledger, writers: list[Writer], session_id: str) -> None:
    """Once the dead processes' prompts are taken from the transcript, the session is whole."""
    for mark in ledger.open_marks(session_id):
        assert not mark.alive
        writer = writers[NAMES.index(mark.run_id[0])]
        after = writer.following(session_id, mark.run_id)
        ledger.clear_mark(session_id, mark.run_id, after, at=10**6)
    if ledger.session(session_id) is None:
        return
    replay = ledger.replay(session_id)
    for writer in writers:
        if session_id not in {writer.name, SHARED}:
            continue
        found = numbers(replay, writer.name)
        assert list(range(1, len(found) + 1)) == found
        assert writer.settled(session_id, len(found))


@pytest.mark.parametrize("seed", range(20))
def test_killed_writers(tmp_path: Path, seed: int) -> None:
    """Counters hold, flushed updates are there once, complete sessions replay, marks recover the rest."""
    check_kills(tmp_path / "ledger.sqlite", seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20, 200))
def test_killed_writers_long(tmp_path: Path, seed: int) -> None:
    """The same with more seeds."""
    check_kills(tmp_path / "ledger.sqlite", seed)
