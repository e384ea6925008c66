"""
The ledger: what each session sent, kept so that it can be replayed after a restart.

It never raises into a prompt. Writes wait in memory and go to disk in batches, one transaction
each; what keeps a batch from the disk decides what happens to it:

| the write met               | what waits  | the sessions in it       | the file              |
| --------------------------- | ----------- | ------------------------ | --------------------- |
| a lock of another process   | goes on     | nothing is lost          | stays                 |
| a lock, and memory is full  | is dropped  | incomplete for good      | stays                 |
| a full disk, an I/O error   | is dropped  | incomplete for good      | stays                 |
| damage                      | goes on     | incomplete, history gone | set aside, a new one  |
| another program's database  | is dropped  | not recorded             | stays                 |

Writes happen on the thread that calls; two threads take turns. Two processes on one file are
safe: each write reads its session's row in its own transaction.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from acp_notebook.bridge import ledger_read, ledger_write
from acp_notebook.bridge.ledger_limits import LedgerLimits
from acp_notebook.bridge.ledger_ops import Accept, Begin, Lose, Recover, Row, Settle, row
from acp_notebook.bridge.ledger_queue import WriteQueue
from acp_notebook.bridge.ledger_read import LedgerEvent, LedgerSession, Problem

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence


@dataclass(frozen=True, slots=True)
class OpenMark:
    """
    A prompt that was accepted and not settled.

    `alive`: the process that accepted it still runs, or that cannot be told; `own`: it is this one.
    """

    run_id: str
    at: int
    alive: bool
    own: bool


class Ledger:
    """The event store of the bridge. All times (`at`) are milliseconds since 1970."""

    def __init__(self, queue: WriteQueue, limits: LedgerLimits) -> None:
        self._queue = queue
        self._limits = limits

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        limits: LedgerLimits | None = None,
        *,
        warn: Callable[[str], None] | None = None,
        call_later: Callable[[float, Callable[[], None]], Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Ledger:
        """
        Open the ledger of that file, which is made when there is none. Never raises.

        `warn` is told once what a person should know (a file set aside, a full disk); without it
        a line goes to stderr. `call_later` is an event loop's: with it updates are written
        `flush_after_s` after the first without anybody's doing, without it at the next call.
        """
        limits = limits or LedgerLimits()
        queue = WriteQueue(
            Path(path), limits, warn=warn or _say_on_stderr, call_later=call_later, clock=clock
        )
        # Looked at now, so that damage shows at the start.
        queue.look(lambda _db: None, None)
        queue.take_notes()
        return cls(queue, limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def begin_session(
        self,
        session_id: str,
        session_key: str,
        cwd: str,
        at: int,
        *,
        complete: bool = True,
        reset: bool = False,
    ) -> None:
        """
        Note that a session exists under this key; again, with the new key, when that is adopted.

        A session that is here keeps its events and its completeness. For a new one `complete`
        says whether all of it will be recorded: False when it had a life before, and then it
        never replays. With `reset` what was recorded goes.
        """
        begin = Begin(_text(session_key), _text(cwd), at, complete, reset)
        self._queue.add(_text(session_id), begin)

    def accept_prompt(
        self, session_id: str, run_id: str, updates: Iterable[dict[str, Any]], at: int
    ) -> None:
        """Record a prompt's own updates, and that it is not settled yet, at once."""
        rows = self._rows(updates, run_id, at)
        if rows is None:
            self._queue.lose(_text(session_id))
        else:
            size = sum([row.size for row in rows])
            self._queue.add(_text(session_id), Accept(_text(run_id), at, rows), size)

    def append(
        self, session_id: str, update: dict[str, Any], *, run_id: str | None, at: int
    ) -> None:
        """
        Record one update that was sent to the client; it is written within 50 ms.

        Call `flush` where it must not wait: a permission is asked, a tool call has ended.
        """
        if not (session_id.isascii() and (run_id is None or run_id.isascii())):
            session_id, run_id = _text(session_id), None if run_id is None else _text(run_id)
        self._queue.append(session_id, update, run_id, at)

    def settle_prompt(self, session_id: str, run_id: str, at: int) -> None:
        """Note that a prompt was settled, with the updates before it, at once."""
        self._queue.add(_text(session_id), Settle(_text(run_id), at))

    def mark_incomplete(self, session_id: str) -> None:
        """Note that something of the session is missing: it never replays from here."""
        self._queue.add(_text(session_id), Lose())

    def clear_mark(
        self,
        session_id: str,
        run_id: str,
        updates: Iterable[dict[str, Any]] | None,
        *,
        at: int,
    ) -> None:
        """
        Settle a prompt of a dead process by what the transcript has of it.

        `updates` is what followed the prompt; it replaces what was recorded of the run. None
        when that is not known: the session is then incomplete for good.
        """
        rows = None if updates is None else self._rows(updates, run_id, at)
        size = sum([row.size for row in rows or ()])
        self._queue.add(_text(session_id), Recover(_text(run_id), at, rows), size)

    def flush(self) -> bool:
        """Write what waits; tells whether all is on disk. Never raises."""
        with self._queue.lock:
            self._queue.boundary()
            return self._queue.empty

    def close(self) -> None:
        """Write what waits, with a little more patience for a lock, and end. Never raises."""
        self._queue.close()

    def replay(self, session_id: str) -> list[dict[str, Any]] | None:
        """The session's updates in order; None unless all of them are here."""
        session_id = _text(session_id)
        with self._queue.lock:
            self._queue.take_notes()
            found = self.session(session_id)
            if found is None or not found.complete or self._queue.waits(session_id):
                return None
            return self._queue.look(
                lambda db: [event.update for event in ledger_read.events(db, session_id)], None
            )

    def events(self, session_id: str) -> list[LedgerEvent]:
        """What is recorded of a session, complete or not."""
        return self._queue.look(lambda db: list(ledger_read.events(db, _text(session_id))), [])

    def open_marks(self, session_id: str) -> list[OpenMark]:
        """The prompts of a session that were accepted and not settled, oldest first."""
        none: list[dict[str, Any]] = []
        with self._queue.lock:
            self._queue.take_notes()
            marks = self._queue.look(lambda db: ledger_read.open_marks(db, _text(session_id)), none)
            owner = self._queue.owner
            return [
                OpenMark(
                    mark["run_id"],
                    mark["at"],
                    alive=owner.alive(mark["owner"]),
                    own=mark["owner"] == owner.token,
                )
                for mark in marks
            ]

    def session(self, session_id: str) -> LedgerSession | None:
        """The session's row."""
        return self._queue.look(lambda db: ledger_read.session(db, _text(session_id)), None)

    def find(self, session_key: str) -> LedgerSession | None:
        """The newest session of a key: one that replays, else one with an open mark, else any."""
        return self._queue.look(lambda db: ledger_read.find(db, _text(session_key)), None)

    def sessions(self) -> list[LedgerSession]:
        """All sessions, the last written first."""
        return self._queue.look(ledger_read.sessions, [])

    def verify(self) -> list[Problem]:
        """Prove that the counters equal a recount; an empty list means that all holds."""
        unreadable = [Problem(None, "the ledger cannot be read")]
        return self._queue.look(ledger_read.verify, unreadable)

    def import_session(
        self, session_id: str, begin: Begin, rows: Sequence[Row], updated_at: int
    ) -> bool | None:
        """Take a session over from another store; False: it is here already, None: not now."""
        return self._queue.write_now(
            lambda db: ledger_write.import_session(
                db, _text(session_id), begin, rows, updated_at=updated_at, limits=self._limits
            )
        )

    def _rows(
        self, updates: Iterable[dict[str, Any]], run_id: str, at: int
    ) -> tuple[Row, ...] | None:
        """The updates as rows; None when they cannot be stored."""
        try:
            rows = tuple(row(update, _text(run_id), at) for update in updates)
        except (ValueError, TypeError, RecursionError):
            return None
        return rows if sum([row.size for row in rows]) <= self._limits.max_total_bytes else None


def _text(value: str) -> str:
    """The string as SQLite can store it: a lone surrogate has no UTF-8."""
    return value.encode("utf-8", "replace").decode()


def _say_on_stderr(text: str) -> None:
    print(f"acp-notebook bridge: {text}", file=sys.stderr)  # noqa: T201  # stderr is the bridge's log
