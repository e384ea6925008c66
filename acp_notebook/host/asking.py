"""
What an agent asks of the person in one session: permissions and elicitations, asked, shown, answered.

Each request is answered exactly once: by a rule, by a person, by the end of its turn, or because the
agent takes it back. Whatever happens to it stands in the timeline and, for permissions, in the audit.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from acp_notebook.host.permissions import (
    CANCELLED,
    PendingElicitation,
    PendingPermission,
    Verdict,
    decision,
    judge,
    read_elicitation,
    read_request,
    request_key,
)
from acp_notebook.timeline import ToolCall

if TYPE_CHECKING:
    from acp_notebook.host.bound import BoundSession
    from acp_notebook.host.transport import AgentRequest


class Asking:
    """The open requests of one session."""

    def __init__(self, session: BoundSession) -> None:
        self._session = session
        self.permissions: dict[str, PendingPermission] = {}
        self.elicitations: dict[str, PendingElicitation] = {}
        self._outcomes: dict[AgentRequest, asyncio.Future[dict[str, Any]]] = {}

    @property
    def waiting(self) -> bool:
        """Whether the agent waits for a person."""
        return bool(self.permissions or self.elicitations)

    def take_permission(self, request: AgentRequest) -> None:
        """Note a permission request; answer it by rule, or let it wait for a person."""
        key = request_key(request.id)
        if (before := self.permissions.pop(key, None)) is not None:
            self._decide(before, Verdict(None, "asked again"))
        touched = list(
            self._session.timeline.request_permission(request.id, request.params, at=time.time())
        )
        tool_call_id = _tool_call_id(request)
        asked, options = read_request(request.params, self._card(tool_call_id), self._session.cwd)
        run = self._session.run
        verdict = judge(
            asked,
            options,
            self._session.owner.policy,
            live=run is not None,
            stopped=run is not None and run.stopped,
            headless=run is not None and run.entry.headless,
        )
        outcome: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._outcomes[request] = outcome
        pending = PendingPermission(request, asked, options, outcome)
        if verdict is not None:
            touched += self._decide(pending, verdict, tell=False)
        else:
            self.permissions[key] = pending
            self._expire(pending)
        self._session.owner.changed(self._session, touched, state=True, urgent=True)

    def withdraw(self, request_id: Any) -> bool:
        """The agent takes a request back: its card becomes inert, the request is answered `cancelled`."""
        key = request_key(request_id)
        pending = self.permissions.pop(key, None)
        if pending is not None:
            self._decide(pending, Verdict(None, "withdrawn by the agent"))
            return True
        return self.answer_elicitation(key, {"action": "cancel"})

    def answer(self, request_id: Any, option_id: str | None, decided_by: str) -> bool:
        """Answer a permission request that waits; False when there is none, or no such option."""
        key = request_key(request_id)
        pending = self.permissions.get(key)
        if pending is None or (option_id is not None and not pending.has_option(option_id)):
            return False
        del self.permissions[key]
        self._decide(pending, Verdict(option_id, decided_by))
        return True

    async def permission_outcome(self, request: AgentRequest) -> dict[str, Any]:
        """Return the outcome of a request once it is decided."""
        outcome = self._outcomes.pop(request, None)
        return await outcome if outcome is not None else dict(CANCELLED)

    async def elicit(self, request: AgentRequest) -> dict[str, Any]:
        """Show an elicitation and return its answer."""
        run = self._session.run
        if run is None or run.stopped or run.entry.headless:
            return {"action": "cancel"}
        shown = read_elicitation(request)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.elicitations[shown.id] = PendingElicitation(request, shown, future)
        self._session.owner.changed(self._session, (), state=True, urgent=True)
        return await future

    def _expire(self, pending: PendingPermission) -> None:
        limit = self._session.owner.settings.permission_timeout_s
        if limit is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(limit, self.answer, pending.request.id, None, "permission_timeout_s")

    def _decide(
        self, pending: PendingPermission, verdict: Verdict, *, tell: bool = True
    ) -> list[str]:
        request = pending.request
        touched = list(
            self._session.timeline.resolve_permission(
                request.id, verdict.outcome, decided_by=verdict.decided_by
            )
        )
        self._session.owner.decisions.append(
            decision(request.id, pending.asked, _tool_call_id(request), verdict, pending.options)
        )
        if not pending.outcome.done():
            pending.outcome.set_result(verdict.outcome)
        if tell:
            self._session.owner.changed(self._session, touched, state=True, urgent=True)
        return touched

    def answer_all(self) -> list[str]:
        """
        Answer what waits for a person: the prompt that it belonged to is over.

        Nothing is published here: the caller has changed more, and tells all of it at once, with the
        ids of the items that are returned. What is published before it is told never reaches a view.
        """
        pending, self.permissions = list(self.permissions.values()), {}
        touched: list[str] = []
        for permission in pending:
            touched += self._decide(permission, Verdict(None, "the turn has ended"), tell=False)
        for key in list(self.elicitations):
            self.answer_elicitation(key, {"action": "cancel"}, tell=False)
        return touched

    def answer_elicitation(self, key: str, answer: dict[str, Any], *, tell: bool = True) -> bool:
        """Answer an elicitation that waits; False when there is none."""
        pending = self.elicitations.pop(key, None)
        if pending is None:
            return False
        if not pending.answer.done():
            pending.answer.set_result(answer)
        if tell:
            self._session.owner.changed(self._session, (), state=True, urgent=True)
        return True

    def _card(self, tool_call_id: str | None) -> dict[str, Any]:
        """Return what is known of a tool call, in the words of the wire."""
        if tool_call_id is None:
            return {}
        for item in reversed(self._session.snapshot().items):
            if isinstance(item, ToolCall) and item.tool_call_id == tool_call_id:
                return {
                    "title": item.title,
                    "name": item.name,
                    "kind": item.tool_kind,
                    "rawInput": item.raw_input,
                    "locations": [{"path": place.path} for place in item.locations],
                }
        return {}


def _tool_call_id(request: AgentRequest) -> str | None:
    tool_call = request.params.get("toolCall")
    found = tool_call.get("toolCallId") if isinstance(tool_call, dict) else None
    return found if isinstance(found, str) else None
