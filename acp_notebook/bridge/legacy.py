"""
The file ledger of older OpenClaw versions, taken over once.

`event-ledger.json` is one JSON document: `{"version": 1, "sessions": {id: {sessionId, sessionKey,
cwd, complete, createdAt, updatedAt, nextSeq, events: [{seq, at, sessionId, sessionKey, runId,
update}]}}}`. The ledger's own sessions win over those of the file. A session with a torn entry,
or one of another session, comes over incomplete and does not stop the others. Nothing is
ever deleted: a file that was taken over is renamed `.migrated`, one that cannot be parsed is
renamed too and its name said, one of another version stays.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acp_notebook.bridge.ledger_file import free_name
from acp_notebook.bridge.ledger_ops import Begin, Row, row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from acp_notebook.bridge.ledger import Ledger

VERSION = 1

# OpenClaw's own lock on the file, so that its bridge and ours take turns.
_LOCK_TRIES = 8
_LOCK_FIRST_S = 0.05
_LOCK_FACTOR = 2
_LOCK_MAX_S = 5.0
_LOCK_STALE_S = 15.0

_MAX_INT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Migration:
    """What was taken over: session ids by what became of them."""

    complete: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class _Locked(Exception):
    """Another process works on the file."""


def migrate_file_ledger(
    path: Path,
    ledger: Ledger,
    *,
    warn: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Migration | None:
    """
    Take the sessions of a file ledger over and rename the file; None when there was nothing to do.

    Never raises. What keeps it from being taken over is said to `warn`, and the file stays for
    the next start. May wait some 10 s for another process's lock: call it on a thread.
    """
    if not path.exists():
        return None
    try:
        with _lock(path.with_name(path.name + ".lock"), sleep):
            return _migrate(path, ledger, warn) if path.exists() else None
    except _Locked:
        warn(f"the old ledger {path} is locked by another process; it is taken over next time")
    except OSError as error:
        warn(f"the old ledger {path} cannot be taken over: {error}")
    return None


def _migrate(path: Path, ledger: Ledger, warn: Callable[[str], None]) -> Migration | None:
    try:
        document = json.loads(path.read_bytes())
        sessions = _sessions(document)
    except (ValueError, RecursionError):
        kept = free_name(path, "corrupt")
        path.rename(kept)
        warn(f"the old ledger {path} cannot be parsed; it was kept as {kept}")
        return None
    if sessions is None:
        version = document.get("version")
        warn(f"the old ledger {path} is of the unknown version {version!r}; it stays where it is")
        return None
    done: dict[str, list[str]] = {"complete": [], "incomplete": [], "kept": []}
    for session_id, record in sorted(sessions.items(), key=lambda item: _updated_at(item[1])):
        begin, rows = _session(session_id, record)
        taken = ledger.import_session(session_id, begin, rows, _updated_at(record))
        if taken is None:
            warn(f"the old ledger {path} cannot be taken over now; it stays for the next start")
            return None
        done["kept" if not taken else "complete" if begin.whole else "incomplete"].append(
            session_id
        )
    path.rename(free_name(path, "migrated"))
    return Migration(**{name: tuple(ids) for name, ids in done.items()})


def _sessions(document: Any) -> dict[str, Any] | None:
    """The document's sessions; None when its version is not ours. Raises `ValueError`."""
    if not isinstance(document, dict):
        raise ValueError("the document is no object")  # noqa: TRY004  # a fault of the data
    if document.get("version") != VERSION:
        return None
    sessions = document.get("sessions")
    if not isinstance(sessions, dict):
        raise ValueError("there are no sessions")  # noqa: TRY004  # a fault of the data
    return sessions


def _session(session_id: str, record: Any) -> tuple[Begin, list[Row]]:
    """A session as the ledger takes it; whatever is wrong with it makes it incomplete."""
    record = record if isinstance(record, dict) else {}
    entries = record.get("events")
    rows: list[Row] = []
    whole = (
        record.get("complete") is True
        and record.get("sessionId") == session_id
        and isinstance(record.get("sessionKey"), str)
        and isinstance(entries, list)
    )
    last = 0
    for entry in entries if isinstance(entries, list) else ():
        new = _entry(session_id, entry, last)
        if new is None:
            whole = False
        else:
            last = entry["seq"]
            rows.append(new)
    begin = Begin(
        _string(record.get("sessionKey")),
        _string(record.get("cwd")),
        _number(record.get("createdAt")),
        whole,
        reset=False,
    )
    return begin, rows


def _entry(session_id: str, entry: Any, last: int) -> Row | None:
    """The entry as a row; None when it is torn, out of order or another session's."""
    if not isinstance(entry, dict) or entry.get("sessionId") != session_id:
        return None
    update, seq, run_id = entry.get("update"), entry.get("seq"), entry.get("runId")
    if not isinstance(update, dict) or not isinstance(update.get("sessionUpdate"), str):
        return None
    if not isinstance(seq, int) or isinstance(seq, bool) or seq <= last:
        return None
    try:
        return row(
            update, _string(run_id) if run_id is not None else None, _number(entry.get("at"))
        )
    except (ValueError, TypeError, RecursionError):
        return None


def _updated_at(record: Any) -> int:
    return _number(record.get("updatedAt")) if isinstance(record, dict) else 0


def _number(value: Any) -> int:
    """A time that SQLite can hold; 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MAX_INT else 0


def _string(value: Any) -> str:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


@contextlib.contextmanager
def _lock(path: Path, sleep: Callable[[float], None]) -> Iterator[None]:
    """
    Hold the lock file, which is there as long as somebody works.

    Raises:
        _Locked: somebody else's stayed for 8 tries.
        OSError: it cannot be made.
    """
    delay = _LOCK_FIRST_S
    for attempt in range(_LOCK_TRIES + 1):
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            break
        except FileExistsError:
            if _stale(path):
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
            if attempt == _LOCK_TRIES:
                raise _Locked from None
            sleep(delay)
            delay = min(delay * _LOCK_FACTOR, _LOCK_MAX_S)
    try:
        os.write(descriptor, json.dumps({"pid": os.getpid()}).encode())
        os.close(descriptor)
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def _stale(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _LOCK_STALE_S
    except FileNotFoundError:
        return False
