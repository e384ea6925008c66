"""
What `session/load` replays: the ledger if it has all of it, else the gateway's transcript.

The ledger is asked in three ways: by the exact ACP id; by the id taken as a session key, which
is what `session/list` gives; by id and resolved key together. A session with a prompt that a
dead bridge left open is first made whole from the transcript.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from acp_notebook.bridge import mapping, records
from acp_notebook.bridge.gateway import NO_TIMEOUT
from acp_notebook.bridge.protocol import BadParams, GatewayClosed, GatewayError
from acp_notebook.bridge.records import after_prompt
from acp_notebook.bridge.recovery import run_state
from acp_notebook.bridge.transcript import transcript_updates
from acp_notebook.bridge.updates import now_ms

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_notebook.bridge.gateway import Gateway
    from acp_notebook.bridge.history import History
    from acp_notebook.bridge.ledger import Ledger
    from acp_notebook.bridge.ledger_read import LedgerSession
    from acp_notebook.bridge.sessions import Session
    from acp_notebook.bridge.updates import Updates

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """
    What the ledger has for a load.

    `updates` is None unless all of the session is there. `running` are its runs that still go
    on: of this bridge, of another one, or of one that is dead.
    """

    ledger_id: str | None = None
    key: str | None = None
    updates: list[dict[str, Any]] | None = None
    running: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Running:
    """A run that goes on while its session is loaded, and what was replayed of it."""

    run_id: str
    after: list[records.Record]


class Loader:
    """Finds and makes whole what a load replays."""

    def __init__(
        self,
        gateway: Gateway,
        ledger: Ledger,
        updates: Updates,
        history: History,
        link: Callable[[str, str], dict[str, Any] | None],
    ) -> None:
        self._gateway = gateway
        self._ledger = ledger
        self._updates = updates
        self._history = history
        self._link = link

    async def find(self, ident: str, *, explicit: bool) -> Found:
        """Return the ledger's session of that id or key; nothing when another key was asked for."""
        if explicit:
            return Found()
        exact = await self._replay(ident)
        if exact.updates is not None:
            return exact
        listed = self._ledger.find(ident)
        if listed is not None:
            by_key = await self._replay(listed.session_id)
            if by_key.updates is not None or exact.key is None:
                return by_key
        return exact

    def fitting(self, found: Found, ident: str, key: str) -> Found:
        """Return what was found if it is of the resolved key, else what the ledger has of both."""
        if found.key == key:
            return found
        row = self._ledger.session(ident)
        if row is None or row.session_key != key:
            return Found()
        return Found(ident, key, self._ledger.replay(ident))

    async def _replay(self, ident: str) -> Found:
        row = self._ledger.session(ident)
        if row is None:
            return Found()
        found = Found(ident, row.session_key)
        running = await self._make_whole(ident, row)
        return replace(found, updates=self._ledger.replay(ident), running=running)

    async def _make_whole(self, ident: str, row: LedgerSession) -> tuple[str, ...]:
        """Settle what dead bridges left open; return the runs that still go on, theirs and others'."""
        marks = self._ledger.open_marks(ident)
        alive = tuple(mark.run_id for mark in marks if mark.alive or mark.own)
        marks = [mark for mark in marks if mark.run_id not in alive]
        if not marks:
            return alive
        try:
            transcript = await self._history.read(row.session_key)
            states = {mark.run_id: await self._state(mark.run_id) for mark in marks}
        except GatewayClosed:
            return alive
        running = tuple(run_id for run_id, state in states.items() if state == "running")
        for mark in marks:
            if mark.run_id not in running:
                after = after_prompt(transcript, mark.run_id)
                rest = self._rest(ident, mark.run_id, after, partial(self._link, row.cwd))
                self._updates.record(self._ledger.clear_mark, ident, mark.run_id, rest, at=now_ms())
        return alive + running

    async def _state(self, run_id: str) -> str:
        try:
            params = {"runId": run_id, "timeoutMs": 0}
            answer = await self._gateway.request("agent.wait", params, timeout_s=NO_TIMEOUT)
        except (GatewayError, BadParams):
            return "unknown"
        return run_state(answer)

    def _rest(
        self,
        ident: str,
        run_id: str,
        after: list[records.Record] | None,
        link: Callable[[str], dict[str, Any] | None],
    ) -> list[dict[str, Any]] | None:
        """What followed the prompt: the transcript's word, else what was recorded, calls closed."""
        if after is not None:
            return transcript_updates(after, link=link)
        try:
            events = self._ledger.events(ident)
        except ValueError:
            return None
        mine = [e.update for e in events if e.run_id == run_id]
        mine = [u for u in mine if u.get("sessionUpdate") != "user_message_chunk"]
        status = {
            u["toolCallId"]: u.get("status", "in_progress")
            for u in mine
            if isinstance(u.get("toolCallId"), str)
        }
        return mine + [
            mapping.tool_update(call, "failed", None)
            for call, last in status.items()
            if last not in {"completed", "failed"}
        ]

    async def from_transcript(
        self, session: Session, running: tuple[str, ...]
    ) -> tuple[list[dict[str, Any]], Running | None]:
        """Return the gateway's transcript as updates, and the run that goes on behind it."""
        try:
            found = await self._history.read(session.key)
        except GatewayClosed as error:
            _log.warning("no transcript of %s: %s", session.key, error)
            return [], None
        goes_on = None
        for run_id in running:
            after = after_prompt(found, run_id)
            if after is not None:
                goes_on = Running(run_id, after)
        updates = transcript_updates(
            found, link=partial(self._link, session.cwd), ended=goes_on is None
        )
        return updates, goes_on
