"""
Who of several processes on one ledger still lives, and what a dead one could not write.

Each process holds a lock on a file of its own in `ledger.sqlite-owners`. The lock ends with the
process, whatever its end was, so a token whose file is not locked is a dead process's. The file
has room for the ids of the sessions whose updates wait for the disk: room that was taken at the
start, so that a full disk cannot refuse it. Whoever finds such a note of a dead process marks
those sessions incomplete, and a replay is never silently short.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import uuid
from typing import TYPE_CHECKING

from acp_notebook.bridge.ledger_file import try_lock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

# Room for the ids of some 400 sessions; a ledger keeps 200.
_NOTE_BYTES = 16 * 1024


class Owner:
    """The present process, as others can see it by its `token`."""

    def __init__(self, folder: Path) -> None:
        self.token = uuid.uuid4().hex
        self._folder = folder
        self._descriptor: int | None = None
        self._noted = False

    def claim(self) -> None:
        """Take this process's file, once. Raises `OSError`."""
        if self._descriptor is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._folder / f".{self.token}"
        descriptor = os.open(fresh, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, b" " * _NOTE_BYTES, 0)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Locked before it has its name: nobody ever sees it unlocked while we live.
            fresh.rename(self._folder / self.token)
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def note(self, session_ids: Collection[str]) -> None:
        """Note the sessions whose updates wait for the disk; nothing when none do. Never raises."""
        if self._descriptor is None or not (session_ids or self._noted):
            return
        text = json.dumps(list(session_ids)).encode() if session_ids else b""
        with contextlib.suppress(OSError):
            os.pwrite(self._descriptor, text.ljust(_NOTE_BYTES), 0)
            self._noted = bool(session_ids)

    def release(self) -> None:
        """End the claim; a note stays for the next process."""
        if self._descriptor is None:
            return
        if not self._noted:
            self.forget([self.token])
        os.close(self._descriptor)
        self._descriptor = None

    def alive(self, token: str) -> bool:
        """Whether the process of that token lives; True also when that cannot be told."""
        if token == self.token:
            return True
        if not token.isalnum():
            return False
        try:
            descriptor = os.open(self._folder / token, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            # Shared, so that two who ask at once do not take each other for the owner.
            return not try_lock(descriptor, fcntl.LOCK_SH)
        except OSError:
            return True
        finally:
            os.close(descriptor)

    def left_behind(self) -> dict[str, list[str]]:
        """The dead processes that noted something: token to session ids. Never raises."""
        notes: dict[str, list[str]] = {}
        with contextlib.suppress(OSError):
            for file in self._folder.iterdir():
                if file.name.startswith(".") or self.alive(file.name):
                    continue
                noted = _read_note(file)
                if noted:
                    notes[file.name] = noted
                else:
                    self.forget([file.name])
        return notes

    def forget(self, tokens: Iterable[str]) -> None:
        """Remove the files of processes whose notes are dealt with. Never raises."""
        for token in tokens:
            with contextlib.suppress(OSError):
                (self._folder / token).unlink()


def _read_note(file: Path) -> list[str]:
    try:
        noted = json.loads(file.read_text() or "[]")
    except (OSError, ValueError):
        return []
    return [item for item in noted if isinstance(item, str)] if isinstance(noted, list) else []
