"""
The ledger's file: opened, set aside when it is corrupt, never deleted.

Beside `ledger.sqlite` stands `ledger.sqlite-lock`, held while a process opens the file or sets
it aside, so that of two bridges that find it corrupt only one moves it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from typing import TYPE_CHECKING

from acp_notebook.bridge.ledger_schema import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class LockBusy(OSError):
    """Another process holds the file lock for longer than we wait."""


def is_busy(error: BaseException) -> bool:
    """Whether another process holds a lock: the same again later can succeed."""
    return isinstance(error, LockBusy) or _primary_code(error) in _BUSY


def is_corrupt(error: BaseException) -> bool:
    """Whether the file's content is damaged."""
    return _primary_code(error) in _CORRUPT


def _primary_code(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def inode(path: Path) -> int | None:
    """What tells the file from another one of its name; None when there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


def open_database(
    path: Path, *, wait_s: float, warn: Callable[[str], None], corrupt: int | None = None
) -> sqlite3.Connection:
    """
    Open the ledger's database, made when there is none.

    A corrupt file is renamed, its new name is said to `warn`, and a new one begins; `corrupt`
    is the inode of one that was found corrupt while in use.

    Raises:
        ForeignDatabase: the file is not ours; it was left alone.
        sqlite3.Error, OSError: it cannot be opened now; see `is_busy`.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with file_lock(path.with_name(path.name + "-lock"), wait_s):
        if corrupt is not None and inode(path) == corrupt:
            set_aside(path, warn)
        try:
            return _connect(path, wait_s)
        except sqlite3.DatabaseError as error:
            if not is_corrupt(error):
                raise
            set_aside(path, warn)
            return _connect(path, wait_s)


def open_for_reading(path: Path) -> sqlite3.Connection:
    """
    Open an existing ledger for looking at it; nothing is made, moved or changed.

    Raises:
        sqlite3.Error: there is none, or it cannot be read.
    """
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _connect(path: Path, wait_s: float) -> sqlite3.Connection:
    # Prompts are private text: the file is its owner's alone from its first byte.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    db = sqlite3.connect(path, timeout=wait_s, isolation_level=None, check_same_thread=False)
    try:
        # `prepare` reads first: a database of another program is left in its own mode.
        prepare(db)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        _check(db)
    except BaseException:
        db.close()
        raise
    return db


def _check(db: sqlite3.Connection) -> None:
    """Raise what SQLite itself raises for a damaged file, before the damage is met in a prompt."""
    (problem,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        error = sqlite3.DatabaseError(problem)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def set_aside(path: Path, warn: Callable[[str], None]) -> None:
    """Rename a file that cannot be read, with its journal, and say its new name."""
    kept = free_name(path, f"corrupt-{time.strftime('%Y%m%d-%H%M%S')}")
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(kept.with_name(kept.name + suffix))
    path.rename(kept)
    warn(f"the ledger {path} is damaged; it was kept as {kept} and a new one begins")


def free_name(path: Path, word: str) -> Path:
    """A name beside `path` that nothing has: `path.word`, `path.word-2`, …."""
    name, number = path.with_name(f"{path.name}.{word}"), 1
    while name.exists():
        number += 1
        name = path.with_name(f"{path.name}.{word}-{number}")
    return name


@contextlib.contextmanager
def file_lock(path: Path, wait_s: float) -> Iterator[None]:
    """
    Hold an exclusive lock on a file.

    Raises:
        LockBusy: another process has held it for `wait_s` seconds.
        OSError: the file cannot be made.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + wait_s
        while not try_lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                raise LockBusy(f"{path} is locked by another process")
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, kind: int) -> bool:
    """Take a lock (`fcntl.LOCK_EX` or `LOCK_SH`) if nobody stands in its way. Raises `OSError`."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
