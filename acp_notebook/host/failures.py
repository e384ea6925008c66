"""
What an agent's error means, in words for a person.

Agents put the reason where they like (seen in thirteen of them): in `message`, in `data.message` or
`data.details`, in `data` as text, or as JSON inside a message; "Internal error" alone says nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from acp_notebook.errors import (
    STDERR_HEAD,
    AcpNotebookError,
    AgentNotFound,
    AgentStartError,
    AuthRequired,
    RequestFailed,
    SessionError,
    UnknownSession,
    WorkspaceMissing,
)
from acp_notebook.host.state import Action, ChatError

AUTH_REQUIRED = -32000
"""ACP: the agent wants `authenticate` before this."""
METHOD_NOT_FOUND = -32601
REQUEST_CANCELLED = -32800
"""ACP: the answer to a request that `$/cancel_request` has withdrawn."""

_SAYS_NOTHING = re.compile(
    r"(internal( server)? error|error|invalid (params|request)|request failed|unknown error)?[.:]?\s*",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"^Internal error:\s*", re.IGNORECASE)
_KINDS = {
    "rate_limit": "The model's rate limit is reached.",
    "max_output_tokens": "The answer reached the model's limit of output tokens.",
    "overloaded": "The model's service is overloaded.",
    "authentication": "The agent is not logged in.",
}


@dataclass(frozen=True, slots=True)
class AgentError:
    """A JSON-RPC error of the agent; `message` is what a person reads, `data` the agent's own."""

    message: str
    code: int | None = None
    data: Any = None

    @property
    def wants_login(self) -> bool:
        """Whether it is ACP's *authentication required*."""
        return self.code == AUTH_REQUIRED and "too many requests" not in self.message.lower()


def read_error(error: Any) -> AgentError:
    """Return what a JSON-RPC error object says; reads every shape, never raises."""
    if not isinstance(error, dict):
        return AgentError(_unpacked(str(error)) or "The agent answered with an error.")
    code = error.get("code")
    data = error.get("data")
    said = _unpacked(error.get("message"))
    more = _from_data(data)
    if _SAYS_NOTHING.fullmatch(said):
        said = more or _kind_words(data) or said or "The agent answered with an error."
    elif more and more not in said and _about_limits(more):
        said = f"{said}: {more}"
    return AgentError(_PREFIX.sub("", said), code if isinstance(code, int) else None, data)


def as_exception(
    method: str, error: AgentError, auth_methods: tuple[Any, ...] = ()
) -> AcpNotebookError:
    """Return the exception that stands for an error answer to one of our requests."""
    if error.wants_login:
        own = error.data.get("authMethods") if isinstance(error.data, dict) else None
        methods = own if isinstance(own, list) and own else auth_methods
        return AuthRequired([m for m in methods if isinstance(m, dict)], error.message)
    if method in {"session/load", "session/resume"} and _names_no_session(error):
        return UnknownSession(f"The agent does not know this session: {error.message}")
    return RequestFailed(method, error.code, error.message, error.data)


def describe_failure(
    error: AcpNotebookError,
    title: str,
    *,
    loading: str | None = None,
    login_tried: bool,
    has_login: bool,
) -> ChatError:
    """Return what a chat shows when its agent, or its session (`loading`), could not be opened."""
    head, actions = f"{title} could not be started", ["retry"]
    if isinstance(error, AgentNotFound):
        head = f"{title} is not installed"
    elif isinstance(error, AuthRequired):
        head = f"{title} wants a login"
        actions = ["login", "restart"] if login_tried else ["login"]
    elif isinstance(error, WorkspaceMissing):
        head = "The folder is missing"
    elif isinstance(error, AgentStartError) and error.phase.startswith("session/"):
        head = f"{title} does not open a session"
        actions = ["retry", "login", "restart"] if has_login else ["retry", "restart"]
    elif loading is not None and isinstance(error, RequestFailed | UnknownSession):
        head, actions = f"The session {loading} could not be loaded", ["new", "retry", "restart"]
    elif isinstance(error, RequestFailed | SessionError):
        head, actions = "The session could not be opened", ["retry", "restart"]
    text = str(error).partition(STDERR_HEAD)[0]
    tail = getattr(error, "stderr_tail", "")
    return ChatError(
        head, text, stderr_tail=tail, actions=cast("tuple[Action, ...]", tuple(actions))
    )


def _names_no_session(error: AgentError) -> bool:
    text = error.message.lower()
    return error.code == -32002 or "not found" in text or "no such" in text or "unknown" in text


def _from_data(data: Any) -> str:
    if isinstance(data, str):
        return _unpacked(data)
    if not isinstance(data, dict):
        return ""
    for key in ("message", "details", "detail", "error", "reason"):
        found = _unpacked(data.get(key))
        if found:
            return found
    return ""


def _kind_words(data: Any) -> str:
    kind = data.get("errorKind") if isinstance(data, dict) else None
    return _KINDS.get(kind, kind) if isinstance(kind, str) else ""


def _about_limits(text: str) -> bool:
    return bool(re.search(r"limit|quota|reset|429|retry", text, re.IGNORECASE))


def _unpacked(value: Any, depth: int = 4) -> str:
    """Return text as it is, and the message inside JSON that stands for a text."""
    if isinstance(value, dict):
        inner = value.get("message") or value.get("details") or value.get("error")
        return _unpacked(inner, depth - 1) if depth and inner else ""
    if not isinstance(value, str):
        return ""
    text = value.strip()
    start = text.find("{")
    if depth and start >= 0 and text.endswith("}"):
        try:
            inside = _unpacked(json.loads(text[start:]), depth - 1)
        except (ValueError, RecursionError):
            return text
        if inside:
            before = text[:start].strip()
            return f"{before} {inside}" if before else inside
    return text
