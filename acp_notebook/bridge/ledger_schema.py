"""
The ledger's tables, as named steps that are each applied once.

`sessions` holds a row a session with its counters, `events` a row an update, and `totals` one
row with the sums over all sessions, so that no write ever counts anything. What must hold,
and what `ledger_read.verify` proves by a recount:

- `event_count` and `byte_count` of a session are those of its events, `totals` those of all;
- `next_seq` is above every `seq` of the session;
- a session is *whole* (`complete` 1, no open mark), *open* (`complete` 0, a mark for each
  prompt that was accepted and not settled) or *lost* (`complete` 0, no mark), and lost is for good.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable


class ForeignDatabase(Exception):
    """The file is a good database that is not ours, or a newer version's: it is left alone."""


def _sessions_and_events(db: sqlite3.Connection) -> None:
    # No foreign key: events are deleted here by their counters, and the check of each row costs.
    db.execute(
        """
        CREATE TABLE sessions (
            session_id TEXT PRIMARY KEY,
            session_key TEXT NOT NULL,
            cwd TEXT NOT NULL,
            complete INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            next_seq INTEGER NOT NULL,
            event_count INTEGER NOT NULL,
            byte_count INTEGER NOT NULL,
            open_marks TEXT NOT NULL DEFAULT '[]',
            CHECK (complete = 0 OR open_marks = '[]')
        ) WITHOUT ROWID
        """
    )
    # Only those that have something to give up: what was emptied is not walked over again.
    db.execute(
        "CREATE INDEX sessions_by_age ON sessions(updated_at, session_id) WHERE event_count > 0"
    )
    db.execute("CREATE INDEX sessions_by_key ON sessions(session_key, updated_at)")
    db.execute(
        """
        CREATE TABLE events (
            session_id TEXT NOT NULL,
            seq INTEGER NOT NULL,
            at INTEGER NOT NULL,
            session_key TEXT NOT NULL,
            run_id TEXT,
            update_json TEXT NOT NULL,
            PRIMARY KEY (session_id, seq)
        ) WITHOUT ROWID
        """
    )
    db.execute(
        """
        CREATE TABLE totals (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            sessions INTEGER NOT NULL,
            events INTEGER NOT NULL,
            bytes INTEGER NOT NULL
        )
        """
    )
    db.execute("INSERT INTO totals VALUES (1, 0, 0, 0)")


MIGRATIONS: tuple[tuple[str, Callable[[sqlite3.Connection], None]], ...] = (
    ("0001_sessions_and_events", _sessions_and_events),
)


def prepare(db: sqlite3.Connection) -> None:
    """
    Bring a database to the newest schema, in one transaction.

    Raises:
        ForeignDatabase: it holds other tables, or steps that this version does not know.
        sqlite3.Error: it cannot be read or written.
    """
    if _applied(db) == {name for name, _ in MIGRATIONS}:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        applied = _applied(db)
        db.execute(
            "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL)"
        )
        for name, step in MIGRATIONS:
            if name not in applied:
                step(db)
                db.execute(
                    "INSERT INTO migrations VALUES (?, ?)", (name, time.time_ns() // 1_000_000)
                )
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _applied(db: sqlite3.Connection) -> set[str]:
    """The names of the steps that the database has; refuses one that is not ours."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return set()
    if "migrations" not in tables:
        raise ForeignDatabase("it is a database of another program")
    applied = {name for (name,) in db.execute("SELECT name FROM migrations")}
    unknown = applied - {name for name, _ in MIGRATIONS}
    if unknown:
        raise ForeignDatabase(f"a newer version wrote it ({', '.join(sorted(unknown))})")
    return applied
