"""
Sessions that stay in memory behind the one that is shown.

A session keeps its timeline while its prompt runs; after that it is loaded like any other. Where the
agent cannot load, there is no replay to come back to: the newest settled ones stay and are shown from
here. A session that was opened for a chat and never used is closed at the agent.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from acp_notebook.errors import AcpNotebookError
from acp_notebook.host.connection import can

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp_notebook.host.bound import BoundSession
    from acp_notebook.host.lifecycle import Lifecycle

KEPT = 20
"""Settled sessions of an agent that cannot load them."""


class Retained:
    """The sessions of one chat that are not shown, by key, oldest first."""

    def __init__(self, life: Lifecycle) -> None:
        self._life = life
        self._sessions: dict[str, BoundSession] = {}

    def __iter__(self) -> Iterator[BoundSession]:
        return iter(list(self._sessions.values()))

    def get(self, key: str) -> BoundSession | None:
        """Return the session of this key that is shown from memory."""
        return self._sessions.get(key)

    def drop(self, bound: BoundSession) -> None:
        """Take a session out, without ending it."""
        if bound.key is not None and self._sessions.get(bound.key) is bound:
            del self._sessions[bound.key]

    def keep_or_leave(self, bound: BoundSession) -> None:
        """A session is not shown any more: keep it if nothing else could bring it back."""
        only_here = bound.worth_keeping and not self._life.can_load
        if bound.key is None or not (bound.run is not None or bound.queue or only_here):
            self._life.spawn(self._leave(bound))
            return
        older = self._sessions.get(bound.key)
        if older is not None and older is not bound:
            bound.queue[:0], older.queue = older.queue, []
            self._life.spawn(self._leave(older))
        self._sessions[bound.key] = bound
        settled = [key for key, kept in self._sessions.items() if kept.run is None]
        for key in settled[:-KEPT]:
            self._life.spawn(self._leave(self._sessions.pop(key)))

    async def _leave(self, bound: BoundSession) -> None:
        connection, session_id = bound.connection, bound.session_id
        await bound.close()
        if connection is None or session_id is None or bound.worth_keeping or not connection.alive:
            return
        for method, capability in (("session/delete", "delete"), ("session/close", "close")):
            if can(connection.capabilities, "sessionCapabilities", capability):
                with contextlib.suppress(AcpNotebookError):
                    timeout_s = connection.settings.request_timeout_s
                    params = {"sessionId": session_id}
                    await connection.request(method, params, timeout_s=timeout_s)
                return
