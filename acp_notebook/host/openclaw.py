"""
What a chat with OpenClaw does differently, whichever bridge speaks for the gateway.

- a prompt that is a slash command goes without the bridge's working-directory line, in front of
  which the gateway would see no command;
- MCP servers of a session are refused by the gateway and are not sent;
- titles that a bridge made out of its own line, of its own name or of an id are none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AGENT_NAME = "openclaw-acp"
NO_SERVERS = "OpenClaw takes no MCP servers of a session; configure them on the gateway. Yours were not sent."

_OWN_NAMES = frozenset({"ACP", "acp_notebook"})
_LINE = re.compile(r"\[Working directory: [^\]\n]*\]\s*")
_LINE_START = "[Working directory:"
_PLACEHOLDER = re.compile(r"([0-9a-f]{8}) \(\d{4}-\d\d-\d\d\)")


def prompt_meta(agent_name: str, blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields that a prompt of this agent has beside its blocks: `_meta`, or none."""
    if agent_name != AGENT_NAME:
        return {}
    first = next((block for block in blocks if block.get("type") == "text"), {})
    is_command = str(first.get("text") or "").lstrip().startswith("/")
    return {"_meta": {"prefixCwd": False}} if is_command else {}


def takes_servers(agent_name: str) -> bool:
    """Whether MCP servers may stand in a session's opening request."""
    return agent_name != AGENT_NAME


def real_title(agent_name: str, title: str | None, session_id: str) -> str | None:
    """Return a session's title without the bridge's line; None when nothing of it is a title."""
    if agent_name != AGENT_NAME or not title:
        return title or None
    cleaned = _LINE.sub("", title, count=1).strip() if title.startswith(_LINE_START) else title
    placeholder = _PLACEHOLDER.fullmatch(cleaned)
    if (
        not cleaned
        or cleaned.startswith(_LINE_START)
        or cleaned in _OWN_NAMES
        or (placeholder is not None and placeholder[1] in session_id)
    ):
        return None
    return cleaned
