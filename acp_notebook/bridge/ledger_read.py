"""Looking into the ledger: sessions, events, and the proof that its counters are right."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from acp_notebook.bridge.ledger_limits import ROW_OVERHEAD_BYTES

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class LedgerSession:
    """
    One session's row. Times are milliseconds since 1970.

    `complete`: it replays. `open_runs`: prompts that were accepted and not settled. Neither:
    something of it is missing, and it never replays.
    """

    session_id: str
    session_key: str
    cwd: str
    complete: bool
    created_at: int
    updated_at: int
    event_count: int
    byte_count: int
    open_runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """One recorded update, and when and for which run it was recorded."""

    seq: int
    at: int
    run_id: str | None
    update: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that `verify` found wrong; `session_id` is None when it is about the whole."""

    session_id: str | None
    text: str

    def __str__(self) -> str:
        return f"session {self.session_id}: {self.text}" if self.session_id else self.text


_COLUMNS = (
    "session_id, session_key, cwd, complete, created_at, updated_at, event_count, byte_count,"
    " open_marks"
)


def sessions(db: sqlite3.Connection) -> list[LedgerSession]:
    """All sessions, the last written first."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM sessions ORDER BY updated_at DESC, session_id")  # noqa: S608
    return [_session(row) for row in rows]


def session(db: sqlite3.Connection, session_id: str) -> LedgerSession | None:
    """The session of that id."""
    row = db.execute(
        f"SELECT {_COLUMNS} FROM sessions WHERE session_id = ?",  # noqa: S608
        (session_id,),
    ).fetchone()
    return _session(row) if row else None


def find(db: sqlite3.Connection, session_key: str) -> LedgerSession | None:
    """The newest session of that key: one that replays, else one with an open mark, else any."""
    row = db.execute(
        f"SELECT {_COLUMNS} FROM sessions WHERE session_key = ?"  # noqa: S608
        " ORDER BY complete DESC, open_marks <> '[]' DESC, updated_at DESC, session_id LIMIT 1",
        (session_key,),
    ).fetchone()
    return _session(row) if row else None


def open_marks(db: sqlite3.Connection, session_id: str) -> list[dict[str, Any]]:
    """The open marks of a session, oldest first."""
    row = db.execute(
        "SELECT open_marks FROM sessions WHERE session_id = ?", (session_id,)
    ).fetchone()
    found: list[dict[str, Any]] = json.loads(row[0]) if row else []
    return found


def events(db: sqlite3.Connection, session_id: str) -> Iterator[LedgerEvent]:
    """
    The session's events in order.

    Raises:
        ValueError: one of them cannot be read.
    """
    for seq, at, run_id, body in db.execute(
        "SELECT seq, at, run_id, update_json FROM events WHERE session_id = ? ORDER BY seq",
        (session_id,),
    ):
        yield LedgerEvent(seq, at, run_id, _update(body))


def verify(db: sqlite3.Connection) -> list[Problem]:
    """
    Prove that the counters equal a recount and that every row can be read.

    Reads the whole ledger, in one transaction; an empty list means that all holds.
    """
    db.execute("BEGIN")
    try:
        return [*_file_problems(db), *_session_problems(db), *_totals_problems(db)]
    finally:
        db.execute("ROLLBACK")


def _file_problems(db: sqlite3.Connection) -> Iterator[Problem]:
    for (text,) in db.execute("PRAGMA integrity_check"):
        if text != "ok":
            yield Problem(None, text)


def _session_problems(db: sqlite3.Connection) -> Iterator[Problem]:
    counted: dict[str, list[int]] = {}
    for session_id, seq, body in db.execute("SELECT session_id, seq, update_json FROM events"):
        count = counted.setdefault(session_id, [0, 0, 0])
        count[0] += 1
        count[1] += len(body.encode()) + ROW_OVERHEAD_BYTES
        count[2] = max(count[2], seq)
        try:
            _update(body)
        except ValueError:
            yield Problem(session_id, f"event {seq} cannot be read")
    for session_id, complete, next_seq, event_count, byte_count, open_marks in db.execute(
        "SELECT session_id, complete, next_seq, event_count, byte_count, open_marks FROM sessions"
    ):
        found, size, last = counted.pop(session_id, [0, 0, 0])
        if event_count != found:
            yield Problem(session_id, f"event_count is {event_count}, there are {found}")
        if byte_count != size:
            yield Problem(session_id, f"byte_count is {byte_count}, there are {size}")
        if next_seq <= last:
            yield Problem(session_id, f"next_seq is {next_seq}, an event has {last}")
        if complete not in {0, 1} or (complete and open_marks != "[]"):
            yield Problem(session_id, "complete, with an open mark")
        if any(mark["seq"] >= next_seq for mark in json.loads(open_marks)):
            yield Problem(session_id, "an open mark is after the last event")
    for session_id in counted:
        yield Problem(session_id, "there are events but no session")


def _totals_problems(db: sqlite3.Connection) -> Iterator[Problem]:
    totals = db.execute("SELECT sessions, events, bytes FROM totals").fetchone()
    found = db.execute(
        "SELECT count(*), coalesce(sum(event_count), 0), coalesce(sum(byte_count), 0) FROM sessions"
    ).fetchone()
    if totals != found:
        yield Problem(None, f"totals are {totals}, there are {found} (sessions, events, bytes)")


def _session(row: tuple[Any, ...]) -> LedgerSession:
    session_id, key, cwd, complete, created_at, updated_at, events, size, marks = row
    open_runs = tuple(mark["run_id"] for mark in json.loads(marks))
    return LedgerSession(
        session_id, key, cwd, bool(complete), created_at, updated_at, events, size, open_runs
    )


def _update(body: str) -> dict[str, Any]:
    try:
        update = from_json(body)
    except ValueError:
        # The Rust parser refuses an escaped lone surrogate, which `ledger_ops.row` may write.
        update = json.loads(body)
    if not isinstance(update, dict):
        raise ValueError("an update is an object")  # noqa: TRY004  # a fault of the data
    return update
