"""
When a view is flushed: values in, values out, no clock and no timer.

A comm message costs more than the update in it, and a kernel shares a budget of some 1,000
messages a second with all its outputs. So changes are sent together:

- the first change after quiet at once;
- while changes stream, one message each `INTERVAL_S`;
- an urgent change at once, too;
- and never more than `MAX_SENDS` in any `WINDOW_S`, urgent or not.

The interval leaves room below the maximum, so that an urgent change in a stream need not wait.
"""

from __future__ import annotations

from collections import deque

INTERVAL_S = 0.04
WINDOW_S = 1.0
MAX_SENDS = 30


class Pace:
    """Remembers when was sent; tells when to send next."""

    def __init__(self) -> None:
        self._sent: deque[float] = deque(maxlen=MAX_SENDS)

    def due(self, now: float, *, urgent: bool) -> float:
        """The earliest time, not before `now`, at which a change may be sent."""
        at = now
        if not self._sent:
            return at
        if not urgent:
            at = max(at, self._sent[-1] + INTERVAL_S)
        if len(self._sent) == MAX_SENDS:
            at = max(at, self._sent[0] + WINDOW_S)
        return at

    def sent(self, now: float) -> None:
        """Note that a message was sent."""
        self._sent.append(now)
