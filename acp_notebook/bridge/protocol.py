"""
The gateway's frames without I/O: version 4 of the OpenClaw Gateway protocol.

Text frames, one JSON object each: `{type: "req", id, method, params}`,
`{type: "res", id, ok, payload | error}`, `{type: "event", event, payload, seq?}`. Both sides
refuse unknown keys in the envelope. A request's parameters are checked here before they are
sent: the gateway closes or refuses what does not fit, and says it late.

The bridge's client and the tests' gateway are both made from this module.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 4
MAX_PAYLOAD_BYTES = 26_214_400
MAX_PRE_HELLO_BYTES = 64 * 1024
TICK_INTERVAL_MS = 30_000

CLIENT = {"id": "cli", "displayName": "ACP", "version": "acp", "mode": "cli"}
ROLE = "operator"
SCOPES = ("operator.admin",)
CAPS = ("tool-events",)

CLOSE_PROTOCOL = 1002
CLOSE_POLICY = 1008
CLOSE_RESTART = 1012
CLOSE_STARTING = 1013
CLOSE_TICK_TIMEOUT = 4000

# Reconnecting cannot mend these: only a person can.
FATAL_AUTH_CODES = frozenset(
    {
        "AUTH_TOKEN_MISSING",
        "AUTH_TOKEN_MISMATCH",
        "AUTH_PASSWORD_MISSING",
        "AUTH_PASSWORD_MISMATCH",
        "AUTH_RATE_LIMITED",
        "AUTH_UNAUTHORIZED",
        "PAIRING_REQUIRED",
        "PROTOCOL_MISMATCH",
    }
)


class GatewayError(Exception):
    """The gateway answered a request with an error; `code` and `details` are its own."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        self.code = str(error.get("code") or "UNAVAILABLE")
        self.message = str(error.get("message") or self.code)
        self.details = error.get("details")
        self.retry_after_s = _number(error.get("retryAfterMs"), 0) / 1000
        super().__init__(self.message)

    @property
    def reason(self) -> str:
        """The machine-readable detail: `details.code`, else `details.reason`, else empty."""
        if isinstance(self.details, dict):
            return str(self.details.get("code") or self.details.get("reason") or "")
        return ""

    @property
    def is_starting(self) -> bool:
        """The gateway is up, its sidecars are not yet: to be tried again, not to be reported."""
        return self.code == "UNAVAILABLE" and self.reason == "startup-sidecars"


class GatewayClosed(Exception):
    """The link closed before the request was answered, or is not there."""

    def __init__(self, code: int | None, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(f"gateway closed ({code if code is not None else 1006}): {reason}")


class BadParams(ValueError):
    """A request's parameters do not fit its method; nothing was sent."""


@dataclass(frozen=True, slots=True)
class Request:
    """A client's request."""

    id: str
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a request."""

    id: str
    ok: bool
    payload: Any
    error: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the gateway tells unasked; `seq` counts per connection, a jump is a loss."""

    name: str
    payload: dict[str, Any]
    seq: int | None


Frame = Request | Response | Event


def parse(text: str | bytes) -> Frame | None:
    """Return the frame, or None for what is none. Never raises."""
    try:
        value = from_json(text)
    except ValueError:
        try:
            value = json.loads(text)  # lone surrogates
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, dict):
        return None
    match value.get("type"):
        case "event" if isinstance(value.get("event"), str):
            seq = value.get("seq")
            return Event(value["event"], _dict(value.get("payload")), seq if _is_int(seq) else None)
        case "res" if isinstance(value.get("id"), str):
            return Response(
                value["id"],
                value.get("ok") is True,
                value.get("payload"),
                _dict(value.get("error")),
            )
        case "req" if isinstance(value.get("id"), str) and isinstance(value.get("method"), str):
            return Request(value["id"], value["method"], _dict(value.get("params")))
    return None


def request(ident: str, method: str, params: dict[str, Any]) -> str:
    """Return the text of a request frame."""
    return _text({"type": "req", "id": ident, "method": method, "params": params})


def success(ident: str, payload: Any) -> str:
    """Return the text of a frame that answers a request."""
    return _text({"type": "res", "id": ident, "ok": True, "payload": payload})


def failure(ident: str, code: str, message: str, **more: Any) -> str:
    """Return the text of a frame that refuses a request."""
    error = {"code": code, "message": message, **more}
    return _text({"type": "res", "id": ident, "ok": False, "error": error})


def event(name: str, payload: dict[str, Any], seq: int | None = None) -> str:
    """Return the text of an event frame."""
    frame = {"type": "event", "event": name, "payload": payload}
    return _text(frame if seq is None else {**frame, "seq": seq})


def signed_text(
    *, device_id: str, client: Mapping[str, Any], signed_at: int, token: str, nonce: str
) -> str:
    """Return what a device signs at `connect`: form v3, its fields joined with `|`."""
    return "|".join(
        (
            "v3",
            device_id,
            client["id"],
            client["mode"],
            ROLE,
            ",".join(SCOPES),
            str(signed_at),
            token,
            nonce,
            str(client.get("platform") or "").lower(),
            str(client.get("deviceFamily") or "").lower(),
        )
    )


_TEXT = str
_ANY: type = object
# Of each method that the bridge calls: its required and its optional parameters.
_SHAPES: dict[str, tuple[dict[str, type], dict[str, type]]] = {
    "connect": (
        {"minProtocol": int, "maxProtocol": int, "client": dict, "role": str, "scopes": list},
        {"caps": list, "auth": dict, "device": dict},
    ),
    "chat.send": (
        {"sessionKey": str, "message": str, "idempotencyKey": str},
        {
            "attachments": list,
            "thinking": str,
            "deliver": bool,
            "timeoutMs": int,
            "systemInputProvenance": dict,
            "systemProvenanceReceipt": str,
        },
    ),
    "chat.abort": ({"sessionKey": str}, {"runId": str}),
    "chat.history": ({"sessionKey": str}, {"limit": int}),
    "sessions.list": (
        {},
        {"limit": int, "offset": int, "search": str, "includeDerivedTitles": bool},
    ),
    "sessions.resolve": ({}, {"key": str, "label": str, "allowMissing": bool}),
    "sessions.reset": ({"key": str}, {}),
    "sessions.patch": (
        {"key": str},
        {
            "thinkingLevel": str,
            "fastMode": _ANY,
            "verboseLevel": str,
            "traceLevel": str,
            "reasoningLevel": str,
            "responseUsage": str,
            "elevatedLevel": str,
        },
    ),
    "sessions.get": ({"key": str}, {"limit": int}),
    "sessions.subscribe": ({}, {}),
    "sessions.messages.subscribe": ({"key": str}, {}),
    "agent.wait": ({"runId": str}, {"timeoutMs": int}),
    "exec.approval.get": ({"id": str}, {}),
    "exec.approval.list": ({}, {}),
    "exec.approval.resolve": ({"id": str, "decision": str}, {}),
}
_MAX_KEY_CHARS = 512


def check_params(method: str, params: Mapping[str, Any]) -> None:
    """
    Check a request's parameters against its method.

    Raises:
        BadParams: the method is none of ours, a parameter is missing, unknown or ill-typed.
    """
    shape = _SHAPES.get(method)
    if shape is None:
        raise BadParams(f"unknown method: {method}")
    required, optional = shape
    for name in required:
        if name not in params:
            raise BadParams(f"invalid {method} params: must have property {name!r}")
    for name, value in params.items():
        kind = required.get(name) or optional.get(name)
        if kind is None:
            raise BadParams(f"invalid {method} params: unexpected property {name!r}")
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise BadParams(f"invalid {method} params: {name} must be {kind.__name__}")
        if name in {"sessionKey", "key"} and not 0 < len(str(value)) <= _MAX_KEY_CHARS:
            raise BadParams(f"invalid {method} params: {name} must have 1 to 512 characters")
        if name in {"id", "idempotencyKey", "runId"} and not value:
            raise BadParams(f"invalid {method} params: {name} must not be empty")


def _text(frame: dict[str, Any]) -> str:
    text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate has no UTF-8; as its escape it is plain JSON.
    return text if text.isascii() or _is_utf8(text) else json.dumps(frame, separators=(",", ":"))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any, default: float) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else default
