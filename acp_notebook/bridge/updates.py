"""Session updates: sent to the client, then recorded."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from acp_notebook.bridge.ledger import Ledger
    from acp_notebook.bridge.sessions import Session

_log = logging.getLogger(__name__)


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Updates:
    """
    Where every `session/update` passes. `write` takes one message and never waits.

    The ledger never fails a prompt: what it cannot take is logged, and the session is then
    incomplete there.
    """

    def __init__(self, write: Callable[[dict[str, Any]], None], ledger: Ledger) -> None:
        self._write = write
        self._ledger = ledger

    def send(
        self,
        session: Session,
        update: dict[str, Any],
        *,
        run_id: str | None = None,
        record: bool = True,
    ) -> None:
        """Send one update; `record` it under the run that it belongs to."""
        self._write(
            {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {"sessionId": session.id, "update": update},
            }
        )
        if record:
            self.record(self._ledger.append, session.ledger_id, update, run_id=run_id, at=now_ms())

    def send_all(self, session: Session, updates: Iterable[dict[str, Any]], **how: Any) -> None:
        """Send several updates; see `send`."""
        for update in updates:
            self.send(session, update, **how)

    @staticmethod
    def record(write: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        """Write to the ledger; whatever goes wrong there stays there."""
        try:
            write(*arguments, **named)
        except Exception:  # noqa: BLE001  # a ledger never fails a prompt
            _log.exception("the ledger failed")
