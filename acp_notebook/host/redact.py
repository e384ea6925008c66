"""
What is taken out of a message before anybody keeps it.

Secrets stand in known places of ACP: `authenticate` params, `env` and `headers` of MCP servers, user
and password of a URL, and anything in `_meta` (agents put keys there), of which only what the timeline
reads is let through.
"""

from __future__ import annotations

import re
from typing import Any

from acp_notebook.timeline.records import KEPT_META

REDACTED = "[redacted]"

_SECRET_LISTS = frozenset({"env", "headers"})
_URL_CREDENTIALS = re.compile(r"(?<=://)[^/@\s:]+(?::[^/@\s]*)?@")
_TEXT_LIMIT = 200
_LIST_LIMIT = 50


def redact(message: Any) -> Any:
    """Return a copy of a JSON-RPC message without its secrets."""
    if isinstance(message, dict) and message.get("method") == "authenticate":
        params = message.get("params")
        kept = {"methodId": params.get("methodId")} if isinstance(params, dict) else {}
        return {**message, "params": kept}
    return _redact(message)


def _redact(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _redact_field(key, child) for key, child in value.items()}
    if isinstance(value, list):
        return [_redact(child) for child in value]
    if isinstance(value, str) and "://" in value:
        return _URL_CREDENTIALS.sub("", value)
    return value


def _redact_field(key: str, value: Any) -> Any:
    if key == "_meta" and isinstance(value, dict):
        return {k: _redact(v) if k in KEPT_META else _kept_of(v) for k, v in value.items()}
    if key in _SECRET_LISTS and isinstance(value, list):
        return [
            {**item, "value": REDACTED} if isinstance(item, dict) and "value" in item else REDACTED
            for item in value
        ]
    if key in _SECRET_LISTS and isinstance(value, dict):
        return dict.fromkeys(value, REDACTED)
    return _redact(value)


def _kept_of(value: Any) -> Any:
    """An agent's own object in `_meta` (`claudeCode`): what the timeline reads of it, no more."""
    if isinstance(value, dict):
        return {k: _redact(v) for k, v in value.items() if k in KEPT_META}
    return REDACTED


def shorten(value: Any) -> Any:
    """Return a copy with long strings and lists cut, and what was cut said."""
    if isinstance(value, str) and len(value) > _TEXT_LIMIT:
        return f"{value[:_TEXT_LIMIT]}… ({len(value):,} characters)"
    if isinstance(value, dict):
        return {key: shorten(child) for key, child in value.items()}
    if isinstance(value, list):
        kept = [shorten(child) for child in value[:_LIST_LIMIT]]
        return [*kept, f"… ({len(value):,} entries)"] if len(value) > _LIST_LIMIT else kept
    return value
