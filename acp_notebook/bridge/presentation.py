"""
How a gateway session looks over ACP: title, lineage, modes, config options, usage. Pure.

Input is a row of `sessions.list`, or None for a session that the gateway does not know yet.
"""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeGuard

_BASE_LEVELS = ("off", "minimal", "low", "medium", "high")
_DEFAULT_LEVEL = "adaptive"
_DEFAULT_DESCRIPTION = "Use the Gateway session default thought level."
_CWD_LINE = re.compile(r"\[Working directory: [^\]\n]*\]\s*")
_CWD_START = "[Working directory:"
# The gateway's stand-in for a session that has no title yet.
_PLACEHOLDER = re.compile(r"([0-9a-f]{8}) \(\d{4}-\d\d-\d\d\)")
# What the gateway calls a client that names itself as we do.
_OWN_NAME = "ACP"
_TITLE_CHARS = 60

# Config option id: the field of `sessions.patch` that it sets.
PATCH_FIELDS = {
    "thought_level": "thinkingLevel",
    "fast_mode": "fastMode",
    "verbose_level": "verboseLevel",
    "trace_level": "traceLevel",
    "reasoning_level": "reasoningLevel",
    "response_usage": "responseUsage",
    "elevated_level": "elevatedLevel",
}
# Known to the original, which asks the gateway nothing for them.
IGNORED_OPTIONS = frozenset({"timeout", "timeout_seconds"})

_OPTIONS = (
    (
        "fast_mode",
        "Fast mode",
        "Controls whether OpenAI sessions use the Gateway fast-mode profile.",
        ("off", "auto", "on"),
    ),
    (
        "verbose_level",
        "Tool verbosity",
        "Controls how much tool progress and output detail OpenClaw keeps enabled for the session.",
        ("off", "on", "full"),
    ),
    (
        "trace_level",
        "Plugin trace",
        "Controls whether plugin-owned trace lines are shown for the session.",
        ("off", "on"),
    ),
    (
        "reasoning_level",
        "Reasoning stream",
        "Controls whether reasoning-capable models emit reasoning text for the session.",
        ("off", "on", "stream"),
    ),
    (
        "response_usage",
        "Usage detail",
        "Controls how much usage information OpenClaw attaches to responses for the session.",
        ("off", "tokens", "full"),
    ),
    (
        "elevated_level",
        "Elevated actions",
        "Controls how aggressively the session allows elevated execution behavior.",
        ("off", "on", "ask", "full"),
    ),
)
_COMMANDS = (
    ("help", "Show help and common commands."),
    ("commands", "List available commands."),
    ("status", "Show current status."),
    ("context", "Explain context usage (list|detail|json)."),
    ("whoami", "Show sender id (alias: /id)."),
    ("id", "Alias for /whoami."),
    ("subagents", "List or manage sub-agents."),
    ("config", "Read or write config (owner-only)."),
    ("debug", "Set runtime-only overrides (owner-only)."),
    ("usage", "Toggle usage footer (off|tokens|full)."),
    ("stop", "Stop the current run."),
    ("restart", "Restart the gateway (if enabled)."),
    ("activation", "Set group activation (mention|always)."),
    ("send", "Set send mode (on|off|inherit)."),
    ("reset", "Reset the session (/new)."),
    ("new", "Reset the session (/reset)."),
    ("think", "Set thinking level (off|minimal|low|medium|high|xhigh)."),
    ("verbose", "Set verbose mode (on|full|off)."),
    ("trace", "Set plugin trace mode (on|off)."),
    ("reasoning", "Toggle reasoning output (on|off|stream)."),
    ("elevated", "Toggle elevated mode (on|off)."),
    ("model", "Select a model (list|status|<name>)."),
    ("queue", "Adjust queue mode and options."),
    ("bash", "Run a host command (if enabled)."),
    ("compact", "Compact the session history."),
)
_HINTS = {"context": "list | detail | json"}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What ACP shows of a session beside its messages."""

    modes: dict[str, Any]
    config_options: list[dict[str, Any]]
    info: dict[str, Any]
    usage: dict[str, Any] | None

    @property
    def mode_update(self) -> dict[str, Any]:
        """The `current_mode_update`."""
        return {
            "sessionUpdate": "current_mode_update",
            "currentModeId": self.modes["currentModeId"],
        }

    @property
    def options_update(self) -> dict[str, Any]:
        """The `config_option_update`."""
        return {"sessionUpdate": "config_option_update", "configOptions": self.config_options}

    @property
    def info_updates(self) -> list[dict[str, Any]]:
        """`session_info_update`, and `usage_update` when the gateway's numbers are fresh."""
        info = {"sessionUpdate": "session_info_update", **self.info}
        if self.usage is None:
            return [info]
        return [info, {"sessionUpdate": "usage_update", **self.usage}]


def snapshot(
    row: dict[str, Any] | None,
    key: str,
    first_prompt: str = "",
    patched: dict[str, Any] | None = None,
) -> Snapshot:
    """
    Return the snapshot of a row.

    `first_prompt` stands in for a title that is missing; `patched` is what `sessions.patch` was
    just told and wins over the row.
    """
    shown = {**(row or {}), **(patched or {})}
    modes = _modes(shown)
    return Snapshot(
        modes=modes,
        config_options=_config_options(shown, modes),
        info=session_info(row, key, first_prompt),
        usage=_usage(row or {}),
    )


def commands_update() -> dict[str, Any]:
    """Return the `available_commands_update`: the gateway's commands that ACP clients are offered."""
    return {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [
            {"name": name, "description": text}
            | ({"input": {"hint": _HINTS[name]}} if name in _HINTS else {})
            for name, text in _COMMANDS
        ],
    }


def session_info(row: dict[str, Any] | None, key: str, first_prompt: str = "") -> dict[str, Any]:
    """Return `title`, `updatedAt` and the lineage `_meta` of a row."""
    return {
        "title": _title(row or {}, key, first_prompt),
        "updatedAt": _iso(row.get("updatedAt")) if row else None,
        "_meta": _lineage(row or {"key": key, "kind": "unknown"}, key),
    }


def _title(row: dict[str, Any], key: str, first_prompt: str) -> str:
    derived = clean_title(_text(row.get("derivedTitle")))
    placeholder = _PLACEHOLDER.fullmatch(derived)
    if placeholder and str(row.get("sessionId") or "").startswith(placeholder[1]):
        derived = ""
    name = _text(row.get("displayName"))
    candidates = (
        derived,
        "" if name == _OWN_NAME else clean_title(name),
        clean_title(_text(row.get("label"))),
        _shortened(first_prompt),
        key,
    )
    return next(title for title in candidates if title)


def clean_title(title: str) -> str:
    """Return a title without its working-directory line; nothing is left of a cut-off one."""
    cleaned = _CWD_LINE.sub("", title, count=1) if title.startswith(_CWD_START) else title
    return "" if cleaned.startswith(_CWD_START) else cleaned.strip()


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1]}…"


def _lineage(row: dict[str, Any], key: str) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "sessionKey": _text(row.get("key")) or key,
        "kind": _text(row.get("kind")) or "unknown",
    }
    parent = _text(row.get("parentSessionKey")) or _text(row.get("spawnedBy"))
    values: dict[str, Any] = {
        "channel": _text(row.get("channel")),
        "parentSessionId": parent,
        "spawnedBy": _text(row.get("spawnedBy")),
        "spawnDepth": row.get("spawnDepth") if _is_number(row.get("spawnDepth")) else None,
        "subagentRole": _one_of(row.get("subagentRole"), ("orchestrator", "leaf")),
        "subagentControlScope": _one_of(row.get("subagentControlScope"), ("children", "none")),
        "spawnedWorkspaceDir": _text(row.get("spawnedWorkspaceDir")),
        "spawnedCwd": _text(row.get("spawnedCwd")),
    }
    meta.update((name, value) for name, value in values.items() if value not in {None, ""})
    return meta


def _modes(row: dict[str, Any]) -> dict[str, Any]:
    levels = row.get("thinkingLevels")
    known = [
        level["id"]
        for level in (levels if isinstance(levels, list) else ())
        if isinstance(level, dict) and isinstance(level.get("id"), str)
    ]
    ids = known or list(_BASE_LEVELS)
    current = _text(row.get("thinkingLevel")) or _DEFAULT_LEVEL
    if current not in ids:
        ids.append(current)
    return {
        "currentModeId": current,
        "availableModes": [
            {"id": level, "name": _value_name(level)}
            | ({"description": _DEFAULT_DESCRIPTION} if level == _DEFAULT_LEVEL else {})
            for level in ids
        ],
    }


def _config_options(row: dict[str, Any], modes: dict[str, Any]) -> list[dict[str, Any]]:
    thought = {
        "type": "select",
        "id": "thought_level",
        "name": "Thought level",
        "category": "thought_level",
        "description": "Controls how much deliberate reasoning OpenClaw requests from the Gateway model.",
        "currentValue": modes["currentModeId"],
        "options": [{"value": m["id"], "name": m["name"]} for m in modes["availableModes"]],
    }
    return [
        thought,
        *(
            {
                "type": "select",
                "id": ident,
                "name": name,
                "description": description,
                "currentValue": _current(row, ident),
                "options": [{"value": value, "name": _value_name(value)} for value in values],
            }
            for ident, name, description, values in _OPTIONS
        ),
    ]


def _current(row: dict[str, Any], option_id: str) -> str:
    if option_id == "fast_mode":
        mode = row.get("effectiveFastMode", row.get("fastMode"))
        return (
            {True: "on", "on": "on", "auto": "auto"}.get(mode, "off") if _hashable(mode) else "off"
        )
    return _text(row.get(PATCH_FIELDS[option_id])) or "off"


def _usage(row: dict[str, Any]) -> dict[str, Any] | None:
    total, context = row.get("totalTokens"), row.get("contextTokens")
    if row.get("totalTokensFresh") is not True or not _is_number(total) or not _is_number(context):
        return None
    size = int(context)
    if size <= 0:
        return None
    return {
        "used": max(0, min(int(total), size)),
        "size": size,
        "_meta": {"source": "gateway-session-store", "approximate": True},
    }


def patch_of(option_id: str, value: str) -> dict[str, Any] | None:
    """
    Return the `sessions.patch` fields that set an option; None when there is nothing to set.

    Raises:
        ValueError: there is no such option, or fast mode has no such value.
    """
    if option_id in IGNORED_OPTIONS:
        return None
    field = PATCH_FIELDS.get(option_id)
    if field is None:
        raise ValueError(f'ACP bridge mode does not support session config option "{option_id}".')
    if option_id != "fast_mode":
        return {field: value}
    modes: dict[str, bool | str] = {"on": True, "off": False, "auto": "auto"}
    if value not in modes:
        raise ValueError(f"Unsupported fast mode value: {value}")
    return {field: modes[value]}


# Listing

PAGE_SIZE = 100
MAX_OFFSET = 10_000
MAX_FETCH = MAX_OFFSET + PAGE_SIZE + 1


def encode_cursor(offset: int, cwd: str | None) -> str:
    """Return a `session/list` cursor: base64url JSON `{v: 1, offset, cwd?}`."""
    value: dict[str, Any] = {"v": 1, "offset": offset, **({"cwd": cwd} if cwd else {})}
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def decode_cursor(cursor: str) -> tuple[int, str | None]:
    """
    Return a cursor's offset and cwd.

    Raises:
        ValueError: it is none of ours.
    """
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        value = json.loads(raw)
    except ValueError:
        raise ValueError("Invalid ACP session list cursor.") from None
    if not isinstance(value, dict):
        raise ValueError("Invalid ACP session list cursor.")  # noqa: TRY004  # bad data, not a bad call
    if value.get("v") != 1:
        raise ValueError("Unsupported ACP session list cursor.")
    offset = value.get("offset")
    if not isinstance(offset, int) or isinstance(offset, bool) or not 0 <= offset <= MAX_OFFSET:
        raise ValueError("Invalid ACP session list cursor offset.")
    return offset, _text(value.get("cwd")) or None


def _value_name(value: str) -> str:
    if value == "xhigh":
        return "Extra High"
    return value[:1].upper() + value[1:] if value else "Unknown"


def _iso(at: Any) -> str | None:
    if not _is_number(at):
        return None
    try:
        moment = datetime.fromtimestamp(at / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _one_of(value: Any, known: tuple[str, ...]) -> str | None:
    return value if value in known else None


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _hashable(value: Any) -> bool:
    return value is None or isinstance(value, str | bool)
