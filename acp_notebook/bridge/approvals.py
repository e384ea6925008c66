"""
Exec approvals of the gateway as permission requests of ACP.

One relay an approval: ask the gateway for its details, the client for an outcome, and tell the
gateway the decision. The rules:

- an approval belongs to the one pending prompt of its session key, or is none of ours;
- it names the tool call that it is about when exactly one open call can be meant;
- the options are what the gateway allows, `deny` when nothing was chosen in time;
- when the approval ends elsewhere (another operator, the run's end) the client's dialog is
  withdrawn with `$/cancel_request`;
- a decision that the gateway did not get is forgotten, so that the approval can be asked for
  again; one that was made without a link is told when the link is back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from acp_notebook.bridge.protocol import GatewayClosed, GatewayError

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_notebook.bridge.gateway import Gateway
    from acp_notebook.bridge.options import BridgeOptions
    from acp_notebook.bridge.pending import Prompt

_log = logging.getLogger(__name__)

_OPTIONS = {
    "allow-once": {"optionId": "allow-once", "name": "Allow once", "kind": "allow_once"},
    "allow-always": {"optionId": "allow-always", "name": "Allow always", "kind": "allow_always"},
    "deny": {"optionId": "deny", "name": "Deny", "kind": "reject_once"},
}
Outcome = Literal["told", "refused", "unheard"]

_FALLBACK = ("allow-once", "deny")


class Asker(Protocol):
    """The client, as far as permissions go. A cancelled `ask` withdraws its request."""

    async def ask(self, params: dict[str, Any]) -> Any:
        """Return the result of `session/request_permission`."""


@dataclass(slots=True, eq=False)
class Relay:
    """One approval on its way."""

    id: str
    prompt: Prompt
    event: dict[str, Any]
    decision: str | None = None
    call_id: str | None = None
    replayed: dict[str, Any] | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class Approvals:
    """All relays of this process, by approval id."""

    def __init__(
        self,
        gateway: Gateway,
        options: BridgeOptions,
        client: Asker,
        owner_of: Callable[[str], Prompt | None],
    ) -> None:
        self._gateway = gateway
        self._options = options
        self._client = client
        self._owner_of = owner_of
        self._relays: dict[str, Relay] = {}
        self._telling: set[asyncio.Task[Outcome]] = set()

    def requested(self, payload: dict[str, Any]) -> None:
        """Take an `exec.approval.requested` event, or an entry of `exec.approval.list`."""
        request = payload.get("request")
        request = request if isinstance(request, dict) else {}
        prompt = self._owner_of(_text(request.get("sessionKey")) or "")
        approval_id = _text(payload.get("id"))
        if prompt is None or approval_id is None:
            return
        event = {
            "command": _text(request.get("command")) or _text(request.get("commandPreview")),
            "host": _text(request.get("host")),
            "allowedDecisions": request.get("allowedDecisions"),
            "expiresAtMs": payload.get("expiresAtMs"),
        }
        self._begin(approval_id, prompt, event)

    def announced(self, prompt: Prompt, data: dict[str, Any]) -> None:
        """Take the same as an agent event: stream `approval`, phase requested."""
        approval_id = _text(data.get("approvalId"))
        shape = (data.get("phase"), data.get("kind"), data.get("status"))
        if approval_id is None or shape != ("requested", "exec", "pending"):
            return
        event = {key: _text(data.get(key)) for key in ("command", "host", "title", "toolCallId")}
        self._begin(approval_id, prompt, event)

    def resolved(self, payload: dict[str, Any]) -> None:
        """Take an `exec.approval.resolved` event: nobody has to answer any more."""
        relay = self._relays.get(str(payload.get("id")))
        if relay is not None and relay.decision is None:
            self._forget(relay)

    def end(self, prompt: Prompt) -> None:
        """The prompt has ended or is cancelled: what is open is denied and withdrawn."""
        for relay in [r for r in self._relays.values() if r.prompt is prompt]:
            undecided = relay.decision is None
            self._forget(relay)
            if undecided:
                self._tell_soon(relay.id, "deny")

    async def refresh(self) -> None:
        """After a lost link: ask for what is open at the gateway, withdraw what is not any more."""
        if "exec.approval.list" not in self._gateway.methods:
            return
        try:
            listed = await self._gateway.request("exec.approval.list", {})
        except (GatewayError, GatewayClosed, TimeoutError) as error:
            _log.warning("open approvals could not be listed: %s", error)
            return
        entries = listed.get("approvals") if isinstance(listed, dict) else listed
        pending = {
            str(entry.get("id")): entry
            for entry in (entries if isinstance(entries, list) else ())
            if isinstance(entry, dict)
        }
        for relay in list(self._relays.values()):
            if relay.id not in pending:
                self._forget(relay)
            elif relay.decision is not None and (relay.task is None or relay.task.done()):
                self._forget(relay)
                self._tell_soon(relay.id, relay.decision)
        for approval_id, entry in pending.items():
            if approval_id not in self._relays:
                self.requested(entry)

    def close(self) -> None:
        """The bridge ends; the gateway keeps what is open."""
        for relay in list(self._relays.values()):
            self._forget(relay)

    def _begin(self, approval_id: str, prompt: Prompt, event: dict[str, Any]) -> None:
        known = self._relays.get(approval_id)
        if known is not None:
            # It may come again before we know that our decision was not taken.
            known.replayed = event if known.decision is not None else None
            return
        relay = Relay(approval_id, prompt, event)
        self._relays[approval_id] = relay
        relay.task = asyncio.create_task(self._relay(relay), name=f"approval {approval_id}")

    def _forget(self, relay: Relay) -> None:
        if self._relays.get(relay.id) is relay:
            del self._relays[relay.id]
        if relay.task is not None:
            relay.task.cancel()

    async def _relay(self, relay: Relay) -> None:
        details = await self._details(relay)
        decisions = _decisions(details.get("allowedDecisions"))
        params = self._request(relay, details, decisions)
        relay.prompt.flush()
        try:
            async with asyncio.timeout(self._time_left(details)):
                outcome = await self._client.ask(params)
        except TimeoutError:
            _log.warning("approval %s was not answered in time", relay.id)
            outcome = None
        except ConnectionError:
            return  # the client is gone; the gateway keeps the question for the next one
        except Exception as error:  # noqa: BLE001  # a client's error means no
            _log.warning("approval %s was not answered: %s", relay.id, error)
            outcome = None
        relay.decision = _decision(outcome, decisions)
        await self._tell(relay)

    async def _details(self, relay: Relay) -> dict[str, Any]:
        """The event's own facts, and over them what the gateway answers."""
        told: Any = None
        try:
            told = await self._gateway.request("exec.approval.get", {"id": relay.id})
        except (GatewayError, GatewayClosed, TimeoutError) as error:
            _log.info("no details of approval %s: %s", relay.id, error)
        known = {key: value for key, value in relay.event.items() if value is not None}
        if isinstance(told, dict):
            command = _text(told.get("commandText")) or _text(told.get("commandPreview"))
            facts = {**told, "command": command, "host": _text(told.get("host"))}
            known.update((key, value) for key, value in facts.items() if value is not None)
        return known

    def _request(
        self, relay: Relay, details: dict[str, Any], decisions: tuple[str, ...]
    ) -> dict[str, Any]:
        command, host = details.get("command"), details.get("host")
        raw_input = {"name": "exec", "approvalId": relay.id}
        raw_input.update((k, v) for k, v in (("command", command), ("host", host)) if v)
        tool_call: dict[str, Any] = {
            "toolCallId": f"exec:{relay.id}",
            "title": details.get("title") or "Command approval requested",
            "kind": "execute",
            "status": "pending",
            "rawInput": raw_input,
            "_meta": {"toolName": "exec", "approvalId": relay.id},
        }
        relay.call_id = details.get("toolCallId") or self._call_of(relay, command)
        call = relay.prompt.output.calls.get(relay.call_id or "")
        if relay.call_id is not None:
            tool_call["toolCallId"] = relay.call_id
        if call is not None:
            # The card's own words: the request must not rename the call that it is about.
            tool_call["title"] = call.title
            tool_call["rawInput"] = call.raw_input or raw_input
        return {
            "sessionId": relay.prompt.session.id,
            "toolCall": tool_call,
            "options": [_OPTIONS[decision] for decision in decisions],
        }

    def _call_of(self, relay: Relay, command: Any) -> str | None:
        """The one open call that can be meant: same command, else the only one that executes."""
        taken = {other.call_id for other in self._relays.values() if other is not relay}
        calls = [
            (ident, call)
            for ident, call in relay.prompt.output.open_calls()
            if call.kind == "execute" and ident not in taken
        ]
        same = [
            ident for ident, call in calls if command and call.raw_input.get("command") == command
        ]
        if not same:
            same = [ident for ident, _ in calls]
        return same[0] if len(same) == 1 else None

    def _time_left(self, details: dict[str, Any]) -> float | None:
        """Seconds until an answer is too late; None: there is no such time."""
        limits = [self._options.approval_timeout_s]
        expires = details.get("expiresAtMs")
        if isinstance(expires, int | float) and not isinstance(expires, bool):
            limits.append(max(0.0, expires / 1000 - time.time()))
        known = [limit for limit in limits if limit is not None]
        return min(known) if known else None

    def _tell_soon(self, approval_id: str, decision: str) -> None:
        task = asyncio.create_task(self._resolve(approval_id, decision))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, relay: Relay) -> None:
        """Tell the gateway; without a link the relay stays and `refresh` tells."""
        assert relay.decision is not None
        outcome = await self._resolve(relay.id, relay.decision)
        if outcome == "unheard" or self._relays.get(relay.id) is not relay:
            return
        del self._relays[relay.id]
        if outcome == "refused" and relay.replayed is not None and not relay.prompt.is_ended:
            self._begin(relay.id, relay.prompt, relay.replayed)

    async def _resolve(self, approval_id: str, decision: str) -> Outcome:
        """Tell the gateway a decision and return what came of it."""
        try:
            await self._gateway.request(
                "exec.approval.resolve", {"id": approval_id, "decision": decision}
            )
        except GatewayClosed:
            return "unheard"
        except (GatewayError, TimeoutError) as error:
            _log.warning("approval %s could not be resolved: %s", approval_id, error)
            return "refused"
        return "told"


def _decisions(allowed: Any) -> tuple[str, ...]:
    """The known decisions that are allowed, in the order in which they are offered."""
    named = allowed if isinstance(allowed, list) else []
    return tuple(name for name in _OPTIONS if name in named) or _FALLBACK


def _decision(outcome: Any, decisions: tuple[str, ...]) -> str:
    chosen = outcome.get("outcome") if isinstance(outcome, dict) else None
    if not isinstance(chosen, dict) or chosen.get("outcome") != "selected":
        return "deny"
    option = chosen.get("optionId")
    return option if isinstance(option, str) and option in decisions else "deny"


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None
