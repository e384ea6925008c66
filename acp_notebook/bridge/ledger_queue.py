"""
What waits for the disk, and when it goes there.

Everything that waits is written in one transaction. When that fails, the next attempts come
after 50 ms, doubled each time up to a second; only the first one may wait for another process's
lock, because the loop that serves prompts stands still meanwhile. While something waits
in vain its sessions are noted with the owner, so that a kill cannot hide that they are short.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

from acp_notebook.bridge import ledger_write
from acp_notebook.bridge.ledger_ops import Lose, Pending
from acp_notebook.bridge.ledger_owner import Owner
from acp_notebook.bridge.ledger_store import Locked, Store, Unwritable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

    from acp_notebook.bridge.ledger_limits import LedgerLimits
    from acp_notebook.bridge.ledger_ops import Op

T = TypeVar("T")
D = TypeVar("D")

_RETRY_S = 0.05
_RETRY_MAX_S = 1.0


class WriteQueue:
    """The waiting operations of all sessions, and the connection that they go through."""

    def __init__(
        self,
        path: Path,
        limits: LedgerLimits,
        *,
        warn: Callable[[str], None],
        call_later: Callable[[float, Callable[[], None]], Any] | None,
        clock: Callable[[], float],
    ) -> None:
        self.lock = threading.RLock()
        self.owner = Owner(path.with_name(path.name + "-owners"))
        self._limits = limits
        self._warn = warn
        self._call_later = call_later
        self._clock = clock
        self._store = Store(path, self.owner, warn)
        self._pending: dict[str, Pending] = {}
        self._left_behind: list[str] = []
        self._rows = 0
        self._oldest_at: float | None = None
        self._retry_s = 0.0
        self._retry_at = 0.0
        self._timer = False
        self._said = ""
        self._closed = False
        self._thread = threading.get_ident()

    def add(self, session_id: str, op: Op, size: int = 0) -> None:
        """Have an operation written at once."""
        with self.lock:
            if self._closed:
                return
            waiting = self._waiting(session_id)
            waiting.ops.append(op)
            waiting.size += size
            self.boundary()

    def append(self, session_id: str, update: dict[str, Any], run_id: str | None, at: int) -> None:
        """Have an update written with others, soon."""
        with self.lock:
            if self._closed:
                return
            waiting = self._waiting(session_id)
            before = waiting.size
            try:
                self._rows += waiting.append(update, run_id, at)
            except (ValueError, TypeError, RecursionError):
                waiting.lose()
            if waiting.size - before > self._limits.max_total_bytes:
                # It would push everything else out and then itself.
                waiting.lose()
            now = self._clock()
            if self._oldest_at is None:
                self._oldest_at = now
            old = now - self._oldest_at >= self._limits.flush_after_s
            if old or self._rows >= self._limits.flush_rows:
                self.boundary()
            else:
                self._arm()

    def lose(self, session_id: str) -> None:
        """Drop what waits of a session and mark it incomplete."""
        with self.lock:
            if self._closed:
                return
            self._waiting(session_id).lose()
            self.boundary()

    def waits(self, session_id: str) -> bool:
        """Whether something of the session is not on disk."""
        return session_id in self._pending

    @property
    def empty(self) -> bool:
        """Whether all is on disk."""
        return not self._pending

    def boundary(self) -> None:
        """Write now, unless a write was put off a moment ago."""
        if self._clock() >= self._retry_at:
            # Only the first of several failures may wait: the loop that serves prompts stands
            # still meanwhile.
            self._write(0.0 if self._retry_s else self._limits.busy_wait_s)
        waiting = sum([waiting.size for waiting in self._pending.values()])
        if waiting > self._limits.max_pending_bytes:
            self._lose_all()
        self._arm()

    def take_notes(self) -> None:
        """Mark incomplete what dead processes could not write."""
        for token, session_ids in self.owner.left_behind().items():
            for session_id in session_ids:
                self._waiting(session_id).ops.append(Lose())
            self._left_behind.append(token)
        self.boundary()

    def look(self, work: Callable[[sqlite3.Connection], T], default: T) -> T:
        """Read, after what waits was written; `default` when it cannot be read now."""
        return self._now(self._store.read, work, default)

    def write_now(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do other writing work, after what waits; None when it cannot be done now."""
        return self._now(self._store.write, work, None)

    def _now(
        self,
        do: Callable[[Callable[[sqlite3.Connection], T], float], T],
        work: Callable[[sqlite3.Connection], T],
        default: D,
    ) -> T | D:
        with self.lock:
            if self._closed:
                return default
            self.boundary()
            try:
                return do(work, self._limits.busy_wait_s)
            except Locked:
                return default
            except Unwritable as error:
                self._say(str(error))
                return default

    def close(self) -> None:
        """Write what waits, with a little more patience for a lock, and end."""
        with self.lock:
            if not self._closed:
                self._write(self._limits.close_wait_s)
                if self._pending and not self._said:
                    self._say("the ledger stayed locked; what was not written will not be replayed")
                self._closed = True
                self._store.close()
                self.owner.release()

    def _waiting(self, session_id: str) -> Pending:
        waiting = self._pending.get(session_id)
        if waiting is None:
            waiting = self._pending[session_id] = Pending()
            if self._retry_s:
                self.owner.note(self._pending)
        return waiting

    def _write(self, wait_s: float) -> None:
        """Write all that waits in one transaction, or put it off."""
        if not self._pending or self._closed:
            return
        pending, limits, token = self._pending, self._limits, self.owner.token
        try:
            self._store.write(lambda db: ledger_write.write(db, pending, limits, token), wait_s)
        except (Locked, Unwritable) as error:
            if isinstance(error, Unwritable):
                self._say(str(error))
                self._lose_all()
                if error.final:
                    self._pending.clear()
                    return
            self._retry_s = min(2 * self._retry_s or _RETRY_S, _RETRY_MAX_S)
            self._retry_at = self._clock() + self._retry_s
            self.owner.note(self._pending)
            return
        self._pending.clear()
        self._rows, self._oldest_at = 0, None
        self._retry_s = self._retry_at = 0.0
        self._said = ""
        self.owner.note(())
        self.owner.forget(self._left_behind)
        self._left_behind.clear()

    def _lose_all(self) -> None:
        for waiting in self._pending.values():
            waiting.lose()
        self._rows, self._oldest_at = 0, None

    def _arm(self) -> None:
        """Have the waiting rows written in time, when there is a loop that can, and it is here."""
        if self._timer or self._call_later is None or not self._pending or self._closed:
            return
        if self._thread == threading.get_ident():
            self._timer = True
            self._call_later(self._retry_s or self._limits.flush_after_s, self._tick)

    def _tick(self) -> None:
        with self.lock:
            self._timer = False
            self.boundary()

    def _say(self, text: str) -> None:
        """Tell a person, once until a write succeeds."""
        if text != self._said:
            self._said = text
            self._warn(text)
