"""
One transaction's writes: operations become rows, counters move with them, limits are kept.

Every function runs inside a transaction that its caller began and ends. Cost is that of the
rows written and of those removed for them; nothing is counted and no history is read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from acp_notebook.bridge.ledger_ops import (
    Accept,
    Begin,
    Recover,
    Row,
    Settle,
    TextRun,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Container, Iterable, Mapping

    from acp_notebook.bridge.ledger_limits import LedgerLimits
    from acp_notebook.bridge.ledger_ops import Op, Pending

# A ledger that is full gives up this part of its bytes at once.
_ROOM = 32
# The UTF-8 bytes of a stored text and the overhead of its row (ledger_limits.ROW_OVERHEAD_BYTES).
ROW_BYTES = "length(CAST(update_json AS BLOB)) + 32"


@dataclass(slots=True)
class _Session:
    """A session's row while a transaction works on it."""

    session_id: str
    session_key: str
    cwd: str
    complete: bool
    created_at: int
    updated_at: int = 0
    next_seq: int = 1
    event_count: int = 0
    byte_count: int = 0
    marks: list[dict[str, Any]] = field(default_factory=list)
    new: bool = False

    def lose(self) -> None:
        # A lost session never replays, so nobody has to know which prompts were open in it.
        self.complete, self.marks = False, []

    def open_mark(self, run_id: str, at: int, owner: str) -> None:
        """Note that the run's prompt, which ends at the last row so far, is not settled."""
        if self.complete or self.marks:
            seq = self.next_seq - 1
            self.marks.append({"run_id": run_id, "at": at, "owner": owner, "seq": seq})
            self.complete = False
        self.updated_at = max(self.updated_at, at)

    def close_mark(self, run_id: str, at: int) -> None:
        """Take the run's mark away; the session is whole again when it was the last."""
        rest = [mark for mark in self.marks if mark["run_id"] != run_id]
        if len(rest) < len(self.marks):
            self.marks, self.complete = rest, not rest
        self.updated_at = max(self.updated_at, at)


def write(
    db: sqlite3.Connection, pending: Mapping[str, Pending], limits: LedgerLimits, owner: str
) -> None:
    """Apply all that waits, then keep the limits. Raises `sqlite3.Error`."""
    for session_id, waiting in pending.items():
        session = _read(db, session_id)
        events, size = (session.event_count, session.byte_count) if session else (0, 0)
        session = _apply(db, session_id, session, waiting.ops, owner)
        if session is not None:
            _finish(db, session, limits, events, size)
    _keep_limits(db, limits, pending)


def _finish(
    db: sqlite3.Connection, session: _Session, limits: LedgerLimits, events: int, size: int
) -> None:
    """Keep the session's own limit and store its row; `events`, `size` are what it had before."""
    if session.event_count > limits.max_session_events:
        _drop_oldest(db, session, events=session.event_count - limits.max_session_events)
    _store(db, session)
    _add_totals(db, int(session.new), session.event_count - events, session.byte_count - size)


def import_session(
    db: sqlite3.Connection,
    session_id: str,
    begin: Begin,
    rows: Iterable[Row],
    *,
    updated_at: int,
    limits: LedgerLimits,
) -> bool:
    """Write a whole session of another store unless it is here already; tells whether it did."""
    if _read(db, session_id) is not None:
        return False
    session = _Session(session_id, begin.session_key, begin.cwd, begin.whole, begin.at, new=True)
    _insert(db, session, list(rows))
    session.updated_at = updated_at
    _finish(db, session, limits, 0, 0)
    # It may go at once: what is here and newer is not given up for it.
    _keep_limits(db, limits, ())
    return True


def _apply(
    db: sqlite3.Connection, session_id: str, session: _Session | None, ops: list[Op], owner: str
) -> _Session | None:
    rows: list[Row] = []
    for op in ops:
        if session is None and isinstance(op, Row | TextRun | Accept):
            # What it began with is not here, so it can never replay.
            session = _Session(session_id, "", "", complete=False, created_at=op.at, new=True)
        if isinstance(op, Row):
            rows.append(op)
        elif isinstance(op, TextRun):
            rows.append(op.row())
        elif isinstance(op, Begin):
            session, rows = _begin(db, session_id, session, op, rows)
        elif session is None:
            continue
        elif isinstance(op, Accept):
            _insert(db, session, [*rows, *op.rows])
            rows = []
            session.open_mark(op.run_id, op.at, owner)
        elif isinstance(op, Settle):
            session.close_mark(op.run_id, op.at)
        elif isinstance(op, Recover):
            _insert(db, session, rows)
            rows = []
            _recover(db, session, op)
        else:
            session.lose()
    if session is not None:
        _insert(db, session, rows)
    return session


def _begin(
    db: sqlite3.Connection, session_id: str, session: _Session | None, op: Begin, rows: list[Row]
) -> tuple[_Session, list[Row]]:
    if session is None:
        session = _Session(session_id, op.session_key, op.cwd, op.whole, op.at, op.at, new=True)
        return session, rows
    if op.reset:
        db.execute("DELETE FROM events WHERE session_id = ?", (session_id,))
        session.event_count = session.byte_count = 0
        session.complete, session.marks = op.whole, []
        rows = []
    session.session_key = op.session_key
    session.cwd = op.cwd or session.cwd
    session.updated_at = max(session.updated_at, op.at)
    return session, rows


def _recover(db: sqlite3.Connection, session: _Session, op: Recover) -> None:
    """Put what the transcript has in the place of what a dead process recorded of its run."""
    mark = next((mark for mark in session.marks if mark["run_id"] == op.run_id), None)
    if mark is None:
        return
    if op.rows is None:
        session.lose()
        return
    start = mark["seq"]
    after = db.execute(
        f"SELECT seq, at, run_id, update_json, {ROW_BYTES} FROM events"  # noqa: S608  # a constant
        " WHERE session_id = ? AND seq > ? ORDER BY seq",
        (session.session_id, start),
    ).fetchall()
    db.execute("DELETE FROM events WHERE session_id = ? AND seq > ?", (session.session_id, start))
    session.event_count -= len(after)
    session.byte_count -= sum([size for *_, size in after])
    rows = list(op.rows)
    # What other runs recorded later follows still, and their marks move with their prompts.
    moved = {start: session.next_seq + len(rows) - 1}
    for seq, at, run_id, body, size in after:
        if run_id != op.run_id:
            moved[seq] = session.next_seq + len(rows)
            rows.append(Row(run_id, at, body, size))
    _insert(db, session, rows)
    for other in session.marks:
        if other["seq"] > start:
            other["seq"] = max(new for old, new in moved.items() if old <= other["seq"])
    session.close_mark(op.run_id, op.at)


def _insert(db: sqlite3.Connection, session: _Session, rows: list[Row]) -> None:
    if not rows:
        return
    session_id, key = session.session_id, session.session_key
    db.executemany(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)",
        [
            (session_id, seq, at, key, run_id, body)
            for seq, (run_id, at, body, _) in enumerate(rows, session.next_seq)
        ],
    )
    session.next_seq += len(rows)
    session.event_count += len(rows)
    session.byte_count += sum([row.size for row in rows])
    session.updated_at = max(session.updated_at, rows[-1].at)


def _drop_oldest(
    db: sqlite3.Connection, session: _Session, *, events: int = 0, size: int = 0
) -> None:
    """Remove the session's oldest events, so many or of so many bytes; the rest is not all of it."""
    if size < session.byte_count:
        last, count, freed = (
            _first_rows(db, session.session_id, events)
            if events
            else _rows_holding(db, session.session_id, size)
        )
        db.execute(
            "DELETE FROM events WHERE session_id = ? AND seq <= ?", (session.session_id, last)
        )
        session.event_count -= count
        session.byte_count -= freed
    else:
        db.execute("DELETE FROM events WHERE session_id = ?", (session.session_id,))
        session.event_count = session.byte_count = 0
    session.lose()


def _first_rows(db: sqlite3.Connection, session_id: str, count: int) -> tuple[int, int, int]:
    """The last seq, the number and the bytes of a session's first rows."""
    last, size = db.execute(
        f"SELECT max(seq), sum({ROW_BYTES}) FROM"  # noqa: S608  # a constant
        " (SELECT seq, update_json FROM events WHERE session_id = ? ORDER BY seq LIMIT ?)",
        (session_id, count),
    ).fetchone()
    return last, count, size


def _rows_holding(db: sqlite3.Connection, session_id: str, wanted: int) -> tuple[int, int, int]:
    """The last seq, the number and the bytes of the first rows that hold `wanted` bytes."""
    seq = count = held = 0
    rows = db.execute(
        f"SELECT seq, {ROW_BYTES} FROM events WHERE session_id = ? ORDER BY seq",  # noqa: S608
        (session_id,),
    )
    for seq, size in rows:  # noqa: B007  # the last one is returned
        count += 1
        held += size
        if held >= wanted:
            break
    rows.close()
    return seq, count, held


def _keep_limits(db: sqlite3.Connection, limits: LedgerLimits, written: Container[str]) -> None:
    sessions, size = db.execute("SELECT sessions, bytes FROM totals").fetchone()
    while sessions > limits.max_sessions:
        oldest = _oldest(db, "", written)
        db.execute("DELETE FROM events WHERE session_id = ?", (oldest.session_id,))
        db.execute("DELETE FROM sessions WHERE session_id = ?", (oldest.session_id,))
        _add_totals(db, -1, -oldest.event_count, -oldest.byte_count)
        sessions, size = sessions - 1, size - oldest.byte_count
    if size <= limits.max_total_bytes:
        return
    # Room for the next writes too: fewer pages change than when each of them drops a few rows.
    enough = limits.max_total_bytes - limits.max_total_bytes // _ROOM
    while size > enough:
        oldest = _oldest(db, "WHERE event_count > 0", written)
        events, before = oldest.event_count, oldest.byte_count
        _drop_oldest(db, oldest, size=size - enough)
        _store(db, oldest)
        _add_totals(db, 0, oldest.event_count - events, oldest.byte_count - before)
        size += oldest.byte_count - before


_COLUMNS = (
    "session_id, session_key, cwd, complete, created_at, updated_at, next_seq, event_count,"
    " byte_count, open_marks"
)


def _read(db: sqlite3.Connection, session_id: str) -> _Session | None:
    found = db.execute(
        f"SELECT {_COLUMNS} FROM sessions WHERE session_id = ?",  # noqa: S608
        (session_id,),
    ).fetchone()
    return _session(found) if found else None


def _oldest(db: sqlite3.Connection, where: str, spare: Container[str]) -> _Session:
    """
    The session that was written to longest ago.

    One that this transaction writes goes last: a clock that was set back must not cost it.
    """
    rows = db.execute(f"SELECT {_COLUMNS} FROM sessions {where} ORDER BY updated_at, session_id")  # noqa: S608
    first = found = rows.fetchone()
    while found is not None and found[0] in spare:
        found = rows.fetchone()
    return _session(found or first)


def _session(found: tuple[Any, ...]) -> _Session:
    session = _Session(*found[:-1])
    session.complete = bool(session.complete)
    session.marks = json.loads(found[-1])
    return session


def _store(db: sqlite3.Connection, session: _Session) -> None:
    values = (
        session.session_key,
        session.cwd,
        int(session.complete),
        session.created_at,
        session.updated_at,
        session.next_seq,
        session.event_count,
        session.byte_count,
        json.dumps(session.marks) if session.marks else "[]",
        session.session_id,
    )
    if session.new:
        db.execute(
            "INSERT INTO sessions (session_key, cwd, complete, created_at, updated_at, next_seq,"
            " event_count, byte_count, open_marks, session_id) VALUES (?,?,?,?,?,?,?,?,?,?)",
            values,
        )
    else:
        db.execute(
            "UPDATE sessions SET session_key = ?, cwd = ?, complete = ?, created_at = ?,"
            " updated_at = ?, next_seq = ?, event_count = ?, byte_count = ?, open_marks = ?"
            " WHERE session_id = ?",
            values,
        )


def _add_totals(db: sqlite3.Connection, sessions: int, events: int, size: int) -> None:
    if sessions or events or size:
        db.execute(
            "UPDATE totals SET sessions = sessions + ?, events = events + ?, bytes = bytes + ?",
            (sessions, events, size),
        )
