"""The numbers that bound the ledger. `BridgeOptions` carries them beside the flags."""

from __future__ import annotations

from dataclasses import dataclass

# What a row counts for beside its UTF-8 text: OpenClaw's own estimate.
ROW_OVERHEAD_BYTES = 32


@dataclass(frozen=True, slots=True)
class LedgerLimits:
    """
    How much the ledger keeps, and how long it waits for others.

    - `max_sessions`: past it the session that was written to longest ago goes;
    - `max_session_events`: past it a session's oldest events go, and it never replays;
    - `max_total_bytes`: of the whole ledger, UTF-8 bytes of the updates and 32 a row; past it
      the oldest events of the session that was written to longest ago go, until a 32nd is free;
    - `flush_after_s`: the longest that an append waits for company;
    - `flush_rows`: so many waiting rows are written at once;
    - `busy_wait_s`: how long a write waits for another process before it is put off;
    - `close_wait_s`: the same when the ledger is closed;
    - `max_pending_bytes`: what is held while another process locks the ledger; past it the
      sessions are marked incomplete.
    """

    max_sessions: int = 200
    max_session_events: int = 5_000
    max_total_bytes: int = 16 * 1024 * 1024
    flush_after_s: float = 0.05
    flush_rows: int = 64
    busy_wait_s: float = 0.25
    close_wait_s: float = 1.0
    max_pending_bytes: int = 4 * 1024 * 1024
