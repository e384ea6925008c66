"""
What it costs to record an update in the ledger.

Baselines: a bare insert of ready rows in transactions of 64, and the ledger itself while it is
empty. Both sides take turns within one run, and the ratio is the median of their rounds'. What is
measured is CPU time: a write in this mode waits for the disk at checkpoints only, and beside
other work the clock on the wall measures that work.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count, repeat
from operator import truediv
from pathlib import Path
from statistics import median

from pydantic_core import to_json

from acp_notebook.bridge.ledger import Ledger
from acp_notebook.bridge.ledger_limits import LedgerLimits
from acp_notebook.bridge.ledger_schema import prepare

BATCH = 64
BATCHES = 10
ROUNDS = 50


def tool_update(number: int) -> dict:
    """An update that joins with no other; 130 characters as JSON."""
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": f"call_{number:08}",
        "status": "in_progress",
        "rawOutput": {"text": "x" * 20},
    }


def text_update(number: int) -> dict:
    """A chunk of a message that is streamed."""
    content = {"type": "text", "text": f"word {number} "}
    return {"sessionUpdate": "agent_message_chunk", "content": content}


class Recorder:
    """
    Appends to a session of a ledger, 64 updates between two flushes.

    Each round goes on with the next of `sessions`, emptied first if `anew`.
    """

    def __init__(
        self,
        ledger: Ledger,
        make: Callable[[int], dict] = tool_update,
        *,
        sessions: Iterator[str] | None = None,
        anew: bool = False,
        batches: int = BATCHES,
    ) -> None:
        self.ledger = ledger
        self.updates = [make(number) for number in range(BATCH * batches)]
        self.sessions = sessions or repeat("s")
        self.anew = anew

    def prepare(self) -> None:
        """Begin the round's session."""
        self.session_id = next(self.sessions)
        self.ledger.begin_session(self.session_id, "k", "/w", 10**9, reset=self.anew)

    def work(self) -> None:
        """Record all updates."""
        ledger, session_id = self.ledger, self.session_id
        for start in range(0, len(self.updates), BATCH):
            for update in self.updates[start : start + BATCH]:
                ledger.append(session_id, update, run_id="run", at=10**9)
            ledger.flush()


class BareInserts:
    """Inserts the rows of the same updates, ready to be written, and updates their session's row."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.bodies = [to_json(tool_update(number)).decode() for number in range(BATCH * BATCHES)]
        self.seq = 0

    def prepare(self) -> None:
        """Nothing comes first."""

    def work(self) -> None:
        """Insert all rows."""
        db = self.db
        for start in range(0, len(self.bodies), BATCH):
            rows = []
            for body in self.bodies[start : start + BATCH]:
                self.seq += 1
                rows.append(("s", self.seq, 10**9, "k", "run", body))
            db.execute("BEGIN IMMEDIATE")
            db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
            db.execute("UPDATE sessions SET updated_at = ?, next_seq = ?", (10**9, self.seq + 1))
            db.execute("COMMIT")


def connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    prepare(db)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("INSERT INTO sessions VALUES ('s', 'k', '/w', 1, 0, 0, 1, 0, 0, '[]')")
    return db


def ratio(
    name: str, ours: Recorder, baseline: Recorder | BareInserts, rounds: int = ROUNDS
) -> float:
    """How many times the baseline's time ours takes; both are printed."""
    spent: dict[Recorder | BareInserts, list[float]] = {ours: [], baseline: []}
    for _ in range(rounds):
        for side in (baseline, ours):
            side.prepare()
            started = time.process_time()
            side.work()
            spent[side].append((time.process_time() - started) * 1e6 / len(ours.updates))
    result = median(map(truediv, spent[ours], spent[baseline]))
    print(
        f"\n{name}: {median(spent[ours]):.2f} us of CPU an update,"
        f" baseline {median(spent[baseline]):.2f} us, ratio {result:.2f}"
    )
    return result


def fill(ledger: Ledger, limits: LedgerLimits) -> None:
    """Other sessions, until each batch that is added may push others out."""
    number, full = 0, limits.max_total_bytes * 31 // 32
    while sum(session.byte_count for session in ledger.sessions()) < full:
        session_id = f"other{number}"
        ledger.begin_session(session_id, "k", "/w", number)
        for event in range(800):
            ledger.append(session_id, tool_update(event), run_id="run", at=number)
        number += 1


# Long sessions of many rounds must not be cut: what is measured is the append.
ROOMY = LedgerLimits(max_session_events=10**9, max_total_bytes=2**40)


def test_append_against_a_bare_insert(tmp_path: Path) -> None:
    """In batches of 64 an append costs at most 2.5 times a bare insert of a ready row."""
    with (
        Ledger.open(tmp_path / "ours", ROOMY) as ledger,
        closing(connect(tmp_path / "bare")) as db,
    ):
        assert ratio("append, batches of 64", Recorder(ledger), BareInserts(db)) <= 2.5
        assert [] == ledger.verify()


def test_streamed_text_against_a_bare_insert(tmp_path: Path) -> None:
    """Streamed text, which is joined before it is written, costs at most 1.5 bare inserts of each."""
    with (
        Ledger.open(tmp_path / "ours", ROOMY) as ledger,
        closing(connect(tmp_path / "bare")) as db,
    ):
        assert ratio("streamed text", Recorder(ledger, text_update), BareInserts(db)) <= 1.5


def test_long_session_against_an_empty_one(tmp_path: Path) -> None:
    """With 5,000 events in the session an append costs at most 1.5 times that of an empty one."""
    with Ledger.open(tmp_path / "long") as long, Ledger.open(tmp_path / "empty") as empty:
        ours = Recorder(long)
        for _ in range(8):
            ours.prepare()
            ours.work()
        assert 5000 == long.session("s").event_count
        assert ratio("5,000 events in the session", ours, Recorder(empty, anew=True)) <= 1.5
        assert 5000 == long.session("s").event_count
        assert [] == long.verify()


def test_full_ledger_against_an_empty_one(tmp_path: Path) -> None:
    """In a ledger of 16 MiB, where each round pushes others out, it costs at most 1.5 times."""
    limits = LedgerLimits()
    with Ledger.open(tmp_path / "full") as full, Ledger.open(tmp_path / "empty") as empty:
        fill(full, limits)
        # A round writes more than a full ledger gives up at once: each one pays for that.
        batches = limits.max_total_bytes // 32 // (BATCH * 165) + 10
        ours = Recorder(full, sessions=(f"s{number}" for number in count()), batches=batches)
        baseline = Recorder(empty, anew=True, batches=batches)
        assert ratio("a ledger of 16 MiB", ours, baseline, 15) <= 1.5
        assert limits.max_total_bytes * 31 // 32 - 2000 <= sum(
            session.byte_count for session in full.sessions()
        )
        assert [] == full.verify()
