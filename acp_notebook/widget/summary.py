"""
All of a view but its items: groups, turns, the question directory, the chat's state, and the ops
that make new ones of old ones. Pure functions.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.jsonform import encode
from acp_notebook.widget.form import bounded, camel, changed_names, names

if TYPE_CHECKING:
    from acp_notebook.host.state import ChatState
    from acp_notebook.timeline import Group, TimelineSnapshot, Turn
    from acp_notebook.widget.messages import Json

NOT_IN_TURNS = frozenset({"items", "attachments"})
STATES_PER_OP = 500
QUEUED_CHARS = 4 * 1024
MAX_DRAFT_CHARS = 256 * 1024
"""Longer drafts are not kept."""


def turn_ops(old: Any, new: Any) -> tuple[list[Json], list[Json]]:
    """Return the ops of turns that differ, and those of the states of their attachments."""
    start = changed_from(old, new)
    if start is None:
        return [], []
    states: list[Json] = []
    first: int | None = len(new) if len(new) < len(old) else None
    for at in range(start, len(new)):
        turn = new[at]
        before = old[at] if at < len(old) else None
        if before is turn:
            continue
        states += attachment_ops(turn.attachments, before.attachments if before else {})
        if first is None and (before is None or changed_names(before, turn, but=NOT_IN_TURNS)):
            first = at
    if first is None:
        return [], states
    turns = [turn_form(new[at]) for at in range(first, len(new))]
    return [{"op": "turns", "from": first, "turns": turns}], states


def changed_from(old: Any, new: Any) -> int | None:
    """Return the first index at which two shared sequences differ, None when they do not."""
    at = 0
    for before, after in zip(old.chunks, new.chunks, strict=False):
        if before is not after:
            for one, other in zip(before, after, strict=False):
                if one is not other:
                    return at
                at += 1
            break
        at += len(after)
    return None if at == len(old) == len(new) else at


def group_form(group: Group) -> Json:
    """Return a group as the page gets it."""
    return {
        "id": group.id,
        "kind": group.kind,
        "itemIds": [item.id for item in group.items],
        "attachments": [part.ref_id for part in group.attachments],
        "turnIndex": group.turn,
    }


def group_ops(old: tuple[Group, ...], new: tuple[Group, ...]) -> list[Json]:
    """Return what makes the new groups of the old ones."""
    at = 0
    for before, after in zip(old, new, strict=False):
        if before is not after:
            break
        at += 1
    before_forms, forms = [group_form(g) for g in old[at:]], [group_form(g) for g in new[at:]]
    ops: list[Json] = []
    same = 0
    for one, other in zip(before_forms, forms, strict=False):
        if one != other:
            if not grows(one, other):
                break
            add = {name: other[name][len(one[name]) :] for name in ("itemIds", "attachments")}
            ops.append({"op": "group-add", "id": other["id"], **add})
        same += 1
    if before_forms[same:] or forms[same:]:
        ops.append({"op": "groups", "from": at + same, "groups": forms[same:]})
    return ops


def grows(old: Json, new: Json) -> bool:
    """Whether a group is another one with more at the end."""
    return all(
        new[name][: len(value)] == value if isinstance(value, list) else new[name] == value
        for name, value in old.items()
    )


def turn_form(turn: Turn) -> Json:
    """Return a turn as the page gets it: its items are in the groups."""
    return {
        camel(name): bounded(getattr(turn, name))
        for name in names(turn)
        if name not in NOT_IN_TURNS
    }


def attachment_ops(states: Any, before: Any) -> list[Json]:
    """Return the states of attachments that are new or others; None for those that are gone."""
    if states is before or states == before:
        return []
    changed: list[tuple[str, Any]] = [
        (ref, encode(dict(state))) for ref, state in states.items() if before.get(ref) != state
    ]
    changed += [(ref, None) for ref in before if ref not in states]
    return [
        {"op": "attachments", "states": dict(changed[at : at + STATES_PER_OP])}
        for at in range(0, len(changed), STATES_PER_OP)
    ]


def state_form(state: ChatState) -> Json:
    """Return the part of `Meta` that the chat's state makes."""
    error = state.error
    return {
        "status": state.status,
        "phase": state.phase,
        "title": state.title,
        "name": state.name,
        "sessionKey": state.session_key,
        "cwd": state.cwd,
        "readOnly": state.read_only,
        "agent": {field.name: getattr(state.agent, field.name) for field in fields(state.agent)},
        "capabilities": bounded(dict(state.capabilities)) or {},
        "authMethods": bounded([dict(method) for method in state.auth_methods]),
        "error": None
        if error is None
        else {camel(field.name): bounded(getattr(error, field.name)) for field in fields(error)},
        "note": bounded(state.note),
        "elicitations": bounded(state.elicitations),
        "queue": [
            {
                "id": prompt.id,
                "text": prompt.text[:QUEUED_CHARS],
                "whole": len(prompt.text) <= QUEUED_CHARS,
            }
            for prompt in state.queue
        ],
        "runningSince": state.running_since,
        "draft": state.draft,
        "policy": state.policy,
    }


def metadata_form(snapshot: TimelineSnapshot) -> Json:
    """Return the session's metadata as the page gets it."""
    metadata = snapshot.metadata
    return {camel(name): bounded(getattr(metadata, name)) for name in names(metadata)}


def questions_form(snapshot: TimelineSnapshot) -> Json:
    """Return the question directory as the page gets it."""
    questions = snapshot.questions
    return {
        "entries": [encode(question) for question in questions.entries],
        "hiddenCount": questions.hidden_count,
    }


def questions_ops(old: TimelineSnapshot, new: TimelineSnapshot) -> list[Json]:
    """Return what makes the new directory of the old one."""
    before, after = old.questions.entries, new.questions.entries
    skip = new.questions.hidden_count - old.questions.hidden_count
    if not 0 <= skip <= len(before):
        skip = len(before)
    kept = before[skip:]
    same = 0
    while same < min(len(kept), len(after)) and kept[same] == after[same]:
        same += 1
    if not skip and same == len(before) == len(after):
        return []
    return [
        {
            "op": "questions",
            "skip": skip,
            "from": same,
            "entries": [encode(question) for question in after[same:]],
            "hiddenCount": new.questions.hidden_count,
        }
    ]
