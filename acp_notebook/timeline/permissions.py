"""
Permission requests (rule 13).

A request first patches the card of its tool call (and makes it when it is the only announcement),
then adds an item that keeps what was asked: the result will replace the card's content.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline import prompts, tools
from acp_notebook.timeline.drafts import PermissionDraft
from acp_notebook.timeline.fold import encoded
from acp_notebook.timeline.growing import frozen_parts
from acp_notebook.timeline.items import PermissionOption
from acp_notebook.timeline.parts import Markdown
from acp_notebook.timeline.plain import plain, text_or_none
from acp_notebook.timeline.text import Text

if TYPE_CHECKING:
    from acp_notebook.timeline.drafts import ToolDraft
    from acp_notebook.timeline.fold import Fold


def key_of(request_id: Any) -> str:
    """Return the JSON of a request id: 1 and "1" are two ids, and 0 is one."""
    return json.dumps(plain(request_id), ensure_ascii=False)


def request(fold: Fold, request_id: Any, params: dict[str, Any]) -> None:
    """Add a request; the card of its call comes before it."""
    subject = subject_of(params)
    call = card(fold, subject)
    if not fold.room():
        return
    fold.close_all()
    key = key_of(request_id)
    title = text_or_none(params.get("title")) or (call.title if call else "")
    permission = PermissionDraft(
        fold.unique(f"perm:{encoded(key)}"), plain(request_id), title, historical=fold.historical
    )
    permission.options = options(fold, params.get("options"))
    permission.raw_input = plain(subject.get("rawInput"))
    if call is not None:
        permission.call = call
        permission.tool_call_id = call.tool_call_id
        if permission.raw_input is None:
            permission.raw_input = call.raw_input
        permission.locations = call.locations
        permission.parts = frozen_parts(call.parts)
    description = text_or_none(params.get("description"))
    if description:
        permission.parts = (Markdown(Text.of(description)), *permission.parts)
    fold.permissions[key] = permission
    fold.add(permission)
    permission.turn.permissions[permission.id] = permission


def subject_of(params: dict[str, Any]) -> dict[str, Any]:
    """Return what is asked about as a patch of a tool call (v2 has it in `subject`)."""
    subject = params.get("toolCall")
    if isinstance(subject, dict):
        return subject
    subject = params.get("subject")
    if not isinstance(subject, dict):
        return {}
    if isinstance(subject.get("toolCall"), dict):
        inner: dict[str, Any] = subject["toolCall"]
        return inner
    if subject.get("type") == "command":
        return {
            "toolCallId": subject.get("toolCallId"),
            "rawInput": {"command": subject.get("command"), "cwd": subject.get("cwd")},
        }
    return {}


def card(fold: Fold, subject: dict[str, Any]) -> ToolDraft | None:
    """Patch the card that is asked about; its status counts only for a card that this makes."""
    if subject.get("toolCallId") is None:
        return None
    known = fold.calls.get(str(subject["toolCallId"]))
    call = tools.known_or_new(fold, subject, "request_permission", announces=True)
    if call is not None:
        tools.patch(fold, call, subject, "request_permission", with_status=call is not known)
    return call


def options(fold: Fold, value: Any) -> tuple[PermissionOption, ...]:
    """Read the answers that the agent offers; what is none is counted."""
    where = "request_permission.options"
    if not isinstance(value, list):
        fold.count(where)
        return ()
    kept = []
    for member in value:
        option_id = member.get("optionId") if isinstance(member, dict) else None
        if isinstance(option_id, str):
            name = text_or_none(member.get("name")) or plain(option_id)
            kind = text_or_none(member.get("kind")) or ""
            kept.append(PermissionOption(plain(option_id), name, kind))
        else:
            fold.count(where)
    return tuple(kept)


def resolve(fold: Fold, request_id: Any, outcome: Any, decided_by: str | None) -> None:
    """Note the answer to the newest pending request of this id."""
    permission = fold.permissions.get(key_of(request_id))
    if permission is None or permission.status != "pending":
        return
    if isinstance(outcome, dict) and isinstance(outcome.get("outcome"), dict):
        outcome = outcome["outcome"]
    selected = outcome.get("optionId") if isinstance(outcome, dict) else None
    if not isinstance(selected, str):
        prompts.cancel_permission(fold, permission, decided_by)
        return
    permission.status = "selected"
    permission.selected = selected
    permission.decided_by = decided_by
    permission.turn.permissions.pop(permission.id, None)
    chosen = next((o.kind for o in permission.options if o.option_id == selected), "")
    if chosen.startswith("reject") and permission.call is not None:
        permission.call.rejected = True
    fold.touch(permission)
