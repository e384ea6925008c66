"""
The ledger's connection, and what each way to fail means.

Whatever SQLite or the file system raises becomes one of two: `Locked`, the same again later
can succeed, or `Unwritable`, what was to be written is lost. A damaged file is set aside
and a new one serves at once; a file that was moved or removed under us is left and the
name's present one opened.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, TypeVar

from acp_notebook.bridge import ledger_file
from acp_notebook.bridge.ledger_schema import ForeignDatabase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from acp_notebook.bridge.ledger_owner import Owner

T = TypeVar("T")


class Locked(Exception):
    """Another process holds the database."""


class Unwritable(Exception):
    """The disk, the file or its folder refuses. `final`: it will in this process."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        self.final = final
        super().__init__(message)


class Store:
    """One connection to the ledger's file, opened when it is needed."""

    def __init__(self, path: Path, owner: Owner, warn: Callable[[str], None]) -> None:
        self._path = path
        self._owner = owner
        self._warn = warn
        self._db: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._wait_s = 0.0
        self._refused: str | None = None

    def write(self, work: Callable[[sqlite3.Connection], T], wait_s: float) -> T:
        """
        Do the work in a transaction that no other process shares.

        Raises:
            Locked: another process held the lock for `wait_s` seconds.
            Unwritable: nothing of it was written.
        """

        def transaction(db: sqlite3.Connection) -> T:
            db.execute("BEGIN IMMEDIATE")
            try:
                result = work(db)
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
            return result

        return self.read(transaction, wait_s)

    def read(self, work: Callable[[sqlite3.Connection], T], wait_s: float) -> T:
        """Do the work on the connection. Raises what `write` raises."""
        try:
            try:
                return work(self._ready(wait_s))
            except sqlite3.DatabaseError as error:
                if not ledger_file.is_corrupt(error):
                    raise
                self._open(wait_s, corrupt=self._inode)
                return work(self._ready(wait_s))
        except ForeignDatabase as error:
            self._refused = f"the ledger {self._path} is left alone: {error}"
            raise Unwritable(self._refused, final=True) from error
        except (sqlite3.Error, OSError) as error:
            if ledger_file.is_busy(error):
                raise Locked from error
            # The next attempt begins with a fresh look at the file.
            self.close()
            raise Unwritable(f"the ledger {self._path} cannot be written: {error}") from error
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise Unwritable(f"the ledger {self._path} holds something odd: {error!r}") from error

    def close(self) -> None:
        """Close the connection."""
        if self._db is not None:
            db, self._db = self._db, None
            db.close()

    def _ready(self, wait_s: float) -> sqlite3.Connection:
        if self._refused:
            raise Unwritable(self._refused, final=True)
        if self._db is None or ledger_file.inode(self._path) != self._inode:
            return self._open(wait_s)
        if wait_s != self._wait_s:
            self._db.execute(f"PRAGMA busy_timeout = {int(wait_s * 1000)}")
            self._wait_s = wait_s
        return self._db

    def _open(self, wait_s: float, corrupt: int | None = None) -> sqlite3.Connection:
        self.close()
        self._db = ledger_file.open_database(
            self._path, wait_s=wait_s, warn=self._warn, corrupt=corrupt
        )
        self._inode, self._wait_s = ledger_file.inode(self._path), wait_s
        self._owner.claim()
        return self._db
