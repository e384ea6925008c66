"""
Permission requests and elicitations of one session: asked, shown, answered, withdrawn.

A request is answered exactly once. The policy is asked first; what it leaves open waits for a person,
unless nobody is there (headless: answered `cancelled`, never allowed). Requests are told apart by their
JSON-RPC id, never by the tool call: two requests may be about one call.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from acp_notebook.host.policy import (
    Action,
    Asked,
    Policy,
    choose_option,
    describe_request,
    remembered_rule,
)
from acp_notebook.host.state import Elicitation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp_notebook.host.transport import AgentRequest

NOBODY = "nobody to ask"
CANCELLED: dict[str, Any] = {"outcome": "cancelled"}


def request_key(request_id: Any) -> str:
    """Return a request id as text that tells 0 from "0"."""
    return json.dumps(request_id)


@dataclass(frozen=True, slots=True)
class Decision:
    """One answered permission request, for audit. `option_kind` is `None` for a cancelled one."""

    at: float
    request_id: Any
    tool_call_id: str | None
    title: str
    option_id: str | None
    option_kind: str | None
    decided_by: str


@dataclass(slots=True, eq=False)
class PendingPermission:
    """A request that waits for a person. `acknowledged`: a view shows it, so a click can come."""

    request: AgentRequest
    asked: Asked
    options: tuple[Mapping[str, Any], ...]
    outcome: asyncio.Future[dict[str, Any]]
    acknowledged: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def title(self) -> str:
        """What is asked for, on one line."""
        return self.asked.title or self.asked.command or "permission"

    def option_kind(self, option_id: str | None) -> str | None:
        """Return the kind of one of its options."""
        for option in self.options:
            if option.get("optionId") == option_id:
                return str(option.get("kind"))
        return None

    def has_option(self, option_id: str) -> bool:
        """Whether the agent offered this option."""
        return any(option.get("optionId") == option_id for option in self.options)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a request is answered at once; `None` in its place means that a person is asked."""

    option_id: str | None
    decided_by: str

    @property
    def outcome(self) -> dict[str, Any]:
        """The `outcome` object of the answer."""
        if self.option_id is None:
            return dict(CANCELLED)
        return {"outcome": "selected", "optionId": self.option_id}


def judge(
    asked: Asked,
    options: tuple[Mapping[str, Any], ...],
    policy: Policy,
    *,
    live: bool,
    headless: bool,
    stopped: bool = False,
) -> Verdict | None:
    """
    Answer a request by rule, or return `None`: a person decides.

    After Stop nothing is allowed any more, by no rule; without options there is nothing to choose;
    without a live prompt nobody asked the agent to do anything; without a person an unmatched request
    is refused.
    """
    if stopped:
        return Verdict(None, "the turn was stopped")
    if not options:
        return Verdict(None, "no options")
    decided = policy.decide(asked)
    if decided is not None and decided[0] != "ask":
        action, rule = decided
        option_id = choose_option(options, action)
        if option_id is not None:
            return Verdict(option_id, rule)
    if policy.otherwise == "cancel":
        return Verdict(None, policy.name)
    if not live:
        return Verdict(None, "no prompt is running")
    if headless:
        return Verdict(None, NOBODY)
    return None


def read_request(
    params: Mapping[str, Any], card: Mapping[str, Any], cwd: str
) -> tuple[Asked, tuple[Mapping[str, Any], ...]]:
    """Return what a request asks (its own fields over those of its tool card) and its usable options."""
    tool_call = params.get("toolCall")
    fields = (
        {k: v for k, v in tool_call.items() if v is not None} if isinstance(tool_call, dict) else {}
    )
    asked = describe_request({**card, **fields}, cwd)
    options = params.get("options")
    usable = tuple(
        option
        for option in (options if isinstance(options, list) else [])
        if isinstance(option, dict) and isinstance(option.get("optionId"), str)
    )
    return asked, usable


def rule_for(pending: PendingPermission, option_id: str | None, policy: Policy) -> Policy:
    """Return the policy with the rule that "remember for this chat" adds to it."""
    kind = pending.option_kind(option_id)
    if kind not in {"allow_once", "allow_always", "reject_once", "reject_always"}:
        return policy
    action: Action = "allow_once" if kind.startswith("allow") else "reject_once"
    rule = remembered_rule(pending.asked, action)
    return policy.with_rule(rule) if rule is not None else policy


def decision(
    request_id: Any,
    asked: Asked,
    tool_call_id: str | None,
    verdict: Verdict,
    options: tuple[Mapping[str, Any], ...],
) -> Decision:
    """Return the audit line of an answer."""
    kind = next((o.get("kind") for o in options if o.get("optionId") == verdict.option_id), None)
    return Decision(
        time.time(),
        request_id,
        tool_call_id,
        asked.title or asked.command or "",
        verdict.option_id,
        str(kind) if kind is not None else None,
        verdict.decided_by,
    )


@dataclass(slots=True, eq=False)
class PendingElicitation:
    """An elicitation that waits for a person."""

    request: AgentRequest
    shown: Elicitation
    answer: asyncio.Future[dict[str, Any]]
    acknowledged: bool = False


def read_elicitation(request: AgentRequest) -> Elicitation:
    """Return what an `elicitation/create` request asks; odd fields are read as absent."""
    params = request.params
    url = params.get("url")
    schema = params.get("requestedSchema")
    return Elicitation(
        request_key(request.id),
        "url" if params.get("mode") == "url" or isinstance(url, str) else "form",
        str(params.get("message") or ""),
        schema if isinstance(schema, dict) else {},
        url if isinstance(url, str) else "",
    )
