"""
The trace: the last messages of a connection, in memory only, for finding out what happened.

Best effort, and never changes behaviour. Secrets and long strings are taken out when it is read; a
large message is reduced when it is noted, so that the ring stays small. `counts` counts what was
ignored, by reason, for as long as the connection lives.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any, Literal

from acp_notebook.host.redact import redact, shorten

Direction = Literal["client->agent", "agent->client"]

_KEPT_WHOLE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """One message (or bad line) that passed. `at` is seconds since the epoch, `size` bytes."""

    seq: int
    at: float
    direction: Direction
    kind: str
    size: int
    reason: str = ""
    message: Any = None


class Trace:
    """A ring of the last `limit` messages."""

    def __init__(self, limit: int = 500) -> None:
        # Plain tuples: a note is taken for every message that passes, an entry is made when asked for.
        self._ring: deque[tuple[int, float, Direction, str, int, str, Any]] = deque(maxlen=limit)
        self._seq = 0
        self.counts: Counter[str] = Counter()

    def note(
        self, direction: Direction, kind: str, message: Any, size: int, reason: str = ""
    ) -> None:
        """Keep a message; with a `reason`, it was ignored or refused for that."""
        self._seq += 1
        if size > _KEPT_WHOLE_BYTES:
            message = shorten(redact(message))
        if reason:
            self.counts[reason] += 1
        self._ring.append((self._seq, time.time(), direction, kind, size, reason, message))

    def entries(self) -> list[TraceEntry]:
        """Return what is kept, oldest first, without secrets and long strings."""
        return [
            TraceEntry(*entry[:6], message=shorten(redact(entry[6]))) for entry in list(self._ring)
        ]
