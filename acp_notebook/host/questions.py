"""
Open requests of the agent as text, for where no card can be clicked.

What the agent wrote is hostile until it is escaped: control and bidirectional characters are shown as
their code, so that what is approved is what is read.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from acp_notebook.host.permissions import PendingPermission
    from acp_notebook.host.state import Elicitation

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_TEXT_LIMIT = 4000


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A permission request or an elicitation that waits for a person."""

    key: str
    acknowledged: bool
    permission: PendingPermission | None = None
    elicitation: Elicitation | None = None


def visible(text: str) -> str:
    """Return text in which nothing hides: odd characters as their code, line ends and tabs as they are."""
    return "".join(
        char
        if char in "\n\t" or unicodedata.category(char) not in _HIDDEN
        else f"\\u{{{ord(char):x}}}"
        for char in text
    )


def ask_in_text(request: OpenRequest, ask: Callable[[str], str]) -> Any:
    """
    Put a request to a person and return the answer.

    For a permission: an option's id, or None (cancelled). For an elicitation: its answer object.
    """
    if request.permission is not None:
        return _ask_permission(request.permission, ask)
    assert request.elicitation is not None
    return _ask_elicitation(request.elicitation, ask)


def _ask_permission(pending: PendingPermission, ask: Callable[[str], str]) -> str | None:
    asked = pending.asked
    lines = [f"The agent asks: {visible(asked.title or asked.kind)}"]
    if asked.command:
        lines.append(f"  $ {visible(asked.command)}")
    lines.extend(f"  {visible(path)}" for path in asked.paths)
    if not asked.command and not asked.paths:
        lines.extend(_raw_input(pending))
    lines.append(f"  in {visible(asked.cwd)}")
    for number, option in enumerate(pending.options, 1):
        lines.append(f"  {number}) {visible(str(option.get('name') or option['optionId']))}")
    question = "\n".join(lines) + "\nNumber (empty: cancel): "
    while True:
        answer = ask(question).strip()
        if not answer:
            return None
        if answer.isdecimal() and 1 <= int(answer) <= len(pending.options):
            return str(pending.options[int(answer) - 1]["optionId"])
        question = f"A number from 1 to {len(pending.options)}, please: "


def _raw_input(pending: PendingPermission) -> list[str]:
    tool_call = pending.request.params.get("toolCall")
    raw = tool_call.get("rawInput") if isinstance(tool_call, dict) else None
    if not raw:
        return []
    text = visible(json.dumps(raw, ensure_ascii=False, indent=1))
    return [f"  {line}" for line in text[:_TEXT_LIMIT].splitlines()]


def _ask_elicitation(shown: Elicitation, ask: Callable[[str], str]) -> dict[str, Any]:
    if shown.mode == "url":
        text = f"{visible(shown.message)}\nOpen {visible(shown.url)}\nDone? (y/n) "
        return {"action": "accept" if ask(text).strip().lower().startswith("y") else "decline"}
    properties = shown.schema.get("properties")
    required = shown.schema.get("required")
    content: dict[str, Any] = {}
    head = visible(shown.message)
    for name, field in (properties if isinstance(properties, dict) else {}).items():
        if not isinstance(field, dict):
            continue
        needed = isinstance(required, list) and name in required
        value = _ask_field(name, field, head, ask, needed=needed)
        head = ""
        if value is not None:
            content[name] = value
        elif needed:
            return {"action": "cancel"}
    return {"action": "accept", "content": content}


def _ask_field(
    name: str, field: Mapping[str, Any], head: str, ask: Callable[[str], str], *, needed: bool
) -> Any:
    """Ask for one field; an empty answer is its default, or nothing."""
    choices = _choices(field)
    label = visible(str(field.get("title") or name))
    lines = [f"  {n}) {visible(title)}" for n, (_, title) in enumerate(choices, 1)]
    kind = field.get("type")
    hint = {"boolean": " (y/n)", "array": " (numbers, with commas)"}.get(str(kind), "")
    empty = "" if needed else " (empty: leave out)"
    question = "\n".join([*([head] if head else []), *lines, f"{label}{hint}{empty}: "])
    while True:
        answer = ask(question).strip()
        if not answer:
            return field.get("default")
        try:
            return _value(answer, field, choices)
        except (ValueError, IndexError):
            question = f"That does not fit; {label}: "


def _choices(field: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """Return the values that a field may take, with their titles."""
    items = field.get("items")
    source = items if field.get("type") == "array" and isinstance(items, dict) else field
    for key in ("oneOf", "anyOf"):
        options = source.get(key)
        if isinstance(options, list):
            return [
                (o.get("const"), str(o.get("title") or o.get("const")))
                for o in options
                if isinstance(o, dict)
            ]
    values = source.get("enum")
    return [(v, str(v)) for v in values] if isinstance(values, list) else []


def _value(answer: str, field: Mapping[str, Any], choices: list[tuple[Any, str]]) -> Any:
    """Return an answer as its field's type; raises ValueError or IndexError when it does not fit."""
    kind = field.get("type")
    if kind == "array":
        return [_picked(part, choices) for part in answer.split(",") if part.strip()]
    if choices:
        return _picked(answer, choices)
    if kind == "boolean":
        if answer.lower() not in {"y", "yes", "n", "no", "true", "false"}:
            raise ValueError(answer)
        return answer.lower() in {"y", "yes", "true"}
    if kind == "integer":
        return int(answer)
    if kind == "number":
        return float(answer)
    return answer


def _picked(answer: str, choices: list[tuple[Any, str]]) -> Any:
    number = int(answer)
    if number < 1:
        raise IndexError(answer)
    return choices[number - 1][0]
