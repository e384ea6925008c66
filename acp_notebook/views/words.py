"""What the views say in words, the same in each."""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.parts import (
    Attachment,
    Audio,
    Diff,
    Error,
    Image,
    Markdown,
    Terminal,
    Unsupported,
)
from acp_notebook.timeline.prose import blocks_of
from acp_notebook.views.shown import drawn, seen

if TYPE_CHECKING:
    from acp_notebook.timeline.items import Notice, Permission, Plan, ToolCall
    from acp_notebook.timeline.turns import Turn

STOP_REASONS = {
    "max_tokens": "The agent stopped at its token limit.",
    "max_turn_requests": "The agent stopped at its limit of requests in a turn.",
    "refusal": "The agent refused to go on.",
    "cancelled": "Stopped.",
}
PLAN_MARKS = {"completed": "x", "in_progress": "~", "cancelled": "-"}


def turn_note(turn: Turn) -> str | None:
    """Return what must be said at the end of a turn, None when it simply ended."""
    if turn.error is not None:
        return f"Error: {turn.error.message}"
    if turn.stop_reason not in {None, "end_turn"}:
        reason = str(turn.stop_reason)
        return STOP_REASONS.get(reason, f"The agent stopped: {reason}")
    if turn.prompt_item_id is not None and turn.stop_reason is not None and turn.silent:
        return "The agent ended the turn without a word."
    return None


def status_of(call: ToolCall) -> str:
    """Return how a tool call stands."""
    if call.no_result and call.status != "cancelled":
        return "no result reported"
    return call.status.replace("_", " ")


def plan_lines(plan: Plan) -> list[str]:
    """Return the steps of a plan, each with its mark; or its text, or its file."""
    if plan.markdown is not None:
        return plan.markdown.split("\n")
    if plan.uri is not None:
        return [f"See {plan.uri}"]
    return [f"[{PLAN_MARKS.get(e.status or '', ' ')}] {e.content}" for e in plan.entries]


def decision_of(permission: Permission) -> str:
    """Return the answer to a permission request, and who gave it."""
    if permission.status == "pending":
        return "waiting for an answer"
    chosen = permission.selected
    answer = (chosen.name if chosen else permission.selected_option_id) or "cancelled"
    return f"{answer} ({permission.decided_by})" if permission.decided_by else answer


def notice_text(notice: Notice) -> str:
    """Return what a notice says, an agent's title set off from what it says below it."""
    if notice.source != "agent":
        return notice.text
    return notice.text.replace("\n\n", " — ", 1)


def output_of(call: ToolCall) -> list[tuple[str, str]]:
    """
    Return what a call has put out: pairs of kind (`text`, `terminal`, `diff`, `note`) and text.

    When its parts show nothing, its raw output stands in.
    """
    runs = call.tool_kind == "execute"
    shown: list[tuple[str, str]] = []
    for part in call.output_parts:
        if isinstance(part, Terminal):
            if part.length:
                shown.append(("terminal", drawn(part.output)))
        elif isinstance(part, Diff):
            shown.append(("diff", seen(diff_text(part))))
        elif isinstance(part, Markdown):
            text = unfenced(part.text)
            shown.append(("text", drawn(text) if runs else seen(text)))
        else:
            shown.append(("note", seen(note_of(part))))
    if call.error:
        shown.append(("note", seen(call.error)))
    if not shown and (raw := raw_text(call.raw_output)):
        shown.append(("terminal", drawn(raw)))
    return [(kind, text.rstrip("\n")) for kind, text in shown]


def unfenced(text: str) -> str:
    """Return the code of a text that is one fenced block and nothing else (claude's outputs)."""
    blocks = list(blocks_of(text.strip("\n")))
    return blocks[0].code.text if len(blocks) == 1 and blocks[0].code is not None else text


def raw_text(value: Any) -> str:
    """Return a raw output as text: what is text in it, else its JSON."""
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for key in ("output", "aggregated_output", "stdout", "error", "content"):
            if found := raw_text(value.get(key)):
                return found
    if isinstance(value, list):
        texts = [m["text"] for m in value if isinstance(m, dict) and isinstance(m.get("text"), str)]
        if texts:
            return "\n".join(texts)
    return json.dumps(value, ensure_ascii=False, indent=1)


def diff_text(diff: Diff) -> str:
    """Return a change as lines with `+` and `-`."""
    if diff.patch is not None:
        return diff.patch
    if diff.changes is not None:
        return "\n".join(f"{c.get('operation')} {c.get('path')}" for c in diff.changes)
    old = (diff.old_text or "").splitlines()
    new = (diff.new_text or "").splitlines()
    lines = list(unified_diff(old, new, lineterm="", n=3))[2:]
    return "\n".join([f"--- {diff.path}" if old else "--- /dev/null", f"+++ {diff.path}", *lines])


def note_of(part: Image | Audio | Attachment | Error | Unsupported | Diff | Terminal) -> str:
    """Return a part that is no text in words."""
    if isinstance(part, Image):
        size = f", {part.blob.size:,} bytes" if part.blob else ""
        name = part.alt or part.source or "image"
        return f"[{name}: {part.mime_type or 'image'}{size}]"
    if isinstance(part, Attachment):
        return f"[{part.name or part.mime_type or 'attachment'}]"
    if isinstance(part, Error):
        return part.message
    if isinstance(part, Audio):
        return f"[{part.mime_type or 'audio'}]"
    return f"[content of type {part.type if isinstance(part, Unsupported) else part.kind}]"
