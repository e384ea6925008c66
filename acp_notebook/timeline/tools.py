"""
Tool calls (rules 10 to 12, 16).

`tool_call` and `tool_call_update` are both upserts: what is left out is unchanged, and in
protocol v1 null is left out too. A finished card is never reopened; what the client has closed
keeps its status, and a later final word of the agent stands in `agent_status`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.content import (
    append_part,
    append_text,
    drop_states,
    grow,
    text_of_block,
    tool_part,
)
from acp_notebook.timeline.drafts import ToolDraft
from acp_notebook.timeline.fold import encoded
from acp_notebook.timeline.growing import GrowingText, TerminalDraft
from acp_notebook.timeline.items import FINAL, Location
from acp_notebook.timeline.parts import Markdown
from acp_notebook.timeline.plain import plain
from acp_notebook.timeline.terminals import from_meta
from acp_notebook.timeline.text import Text, valid

if TYPE_CHECKING:
    from acp_notebook.timeline.fold import Fold


def tool_call(fold: Fold, update: dict[str, Any]) -> None:
    """Announce a call, or patch the one that is known."""
    call = known_or_new(fold, update, "tool_call", announces=True)
    if call is not None:
        patch(fold, call, update, "tool_call")


def tool_call_update(fold: Fold, update: dict[str, Any]) -> None:
    """Patch a call; an unknown id makes the card."""
    call = known_or_new(fold, update, "tool_call_update", announces=False)
    if call is not None:
        patch(fold, call, update, "tool_call_update")


def tool_call_content_chunk(fold: Fold, update: dict[str, Any]) -> None:
    """Append one piece of content (v2)."""
    call = known_or_new(fold, update, "tool_call_content_chunk", announces=False)
    if call is None:
        return
    where = "tool_call_content_chunk.content"
    content = update.get("content")
    text = text_in(content)
    if text is None:
        append_part(fold, call, tool_part(fold, call, content, where))
    elif text and append_text(fold, call, text) is not None:
        call.streamed += len(text)
        if call.streamed > fold.limits.max_output_chars:
            shorten(fold, call)


def text_in(content: Any) -> str | None:
    """Return the text of a piece of content that is text, None for all else."""
    if isinstance(content, dict) and content.get("type") == "content":
        return text_of_block(content.get("content"))
    return None


def shorten(fold: Fold, call: ToolDraft) -> None:
    """Keep head and tail of the text that is streamed, so that the next cut is far away."""
    kept = fold.clipped(str(call.parts[-1].text()))
    call.parts[-1] = GrowingText(Markdown(Text.of(kept)))
    call.streamed = len(kept)


def known_or_new(
    fold: Fold, update: dict[str, Any], kind: str, *, announces: bool
) -> ToolDraft | None:
    """Return the call that an update is about, None when it names none or there is no room."""
    tool_call_id = update.get("toolCallId")
    if not isinstance(tool_call_id, str) or not tool_call_id:
        fold.count(f"{kind}.toolCallId")
        return None
    call = fold.calls.get(tool_call_id)
    if call is not None and not (announces and call.finished and call.turn is not fold.turns[-1]):
        return call
    if not fold.room():
        return None
    fold.close_all()
    shown_id = valid(tool_call_id)
    call = ToolDraft(
        fold.unique(f"tool:{encoded(shown_id)}"), shown_id, fold.at, historical=fold.historical
    )
    fold.calls[tool_call_id] = call
    fold.add(call)
    call.turn.calls[call.id] = call
    return call


def patch(
    fold: Fold, call: ToolDraft, update: dict[str, Any], kind: str, *, with_status: bool = True
) -> None:
    """Take over the fields that an update names."""
    fold.touch(call)
    if fold.version >= 2:
        clear(call, update)
    get = update.get
    if (value := get("title")) is not None:
        call.title = told(fold, value, kind, "title") or call.title
    if (value := get("kind")) is not None:
        call.tool_kind = told(fold, value, kind, "kind") or call.tool_kind
    if (value := get("name")) is not None:
        call.name = told(fold, value, kind, "name") or call.name
    if (value := get("content")) is not None:
        if isinstance(value, list):
            replace_content(fold, call, value, kind)
        else:
            fold.count(f"{kind}.content")
    if (value := get("locations")) is not None:
        if isinstance(value, list):
            call.locations = locations(fold, value, kind)
        else:
            fold.count(f"{kind}.locations")
    if (value := get("rawInput")) is not None:
        call.raw_input = plain(value, fold.limits.max_depth, fold.limits.max_output_chars)
    if (value := get("rawOutput")) is not None:
        call.raw_output = plain(value, fold.limits.max_depth, fold.limits.max_output_chars)
    if (value := get("error")) is not None:
        call.error = told(fold, value, kind, "error") or call.error
    if isinstance(value := get("_meta"), dict):
        read_meta(fold, call, value)
    if with_status and (value := get("status")) is not None:
        set_status(fold, call, value, kind)


def clear(call: ToolDraft, update: dict[str, Any]) -> None:
    """Take back what protocol v2 clears with null."""
    cleared = [key for key, value in update.items() if value is None]
    for key in cleared:
        if key == "title":
            call.title = call.tool_call_id
        elif key == "kind":
            call.tool_kind = None
        elif key == "name":
            call.name = None
        elif key == "status" and not call.finished:
            call.status = "pending"
        elif key == "content":
            keep_terminals(call, [])
        elif key == "locations":
            call.locations = ()
        elif key == "rawInput":
            call.raw_input = None
        elif key == "rawOutput":
            call.raw_output = None


def set_status(fold: Fold, call: ToolDraft, value: Any, kind: str) -> None:
    """Take a status of the agent, as far as the client has not closed the call."""
    if not isinstance(value, str):
        fold.count(f"{kind}.status")
        return
    status = "cancelled" if value == "canceled" else valid(value)
    if status not in FINAL:
        if not call.finished:
            call.status = status
        return
    if call.status == "cancelled" and call.held:
        call.agent_status = status
    else:
        call.status = status
    call.no_result = False
    call.settle()
    if call.ended_at is None:
        call.ended_at = fold.at
    call.turn.calls.pop(call.id, None)


def told(fold: Fold, value: Any, kind: str, field: str) -> str | None:
    """Return the text of a field; what is no text is counted and changes nothing."""
    if not isinstance(value, str):
        fold.count(f"{kind}.{field}")
        return None
    return value if value.isascii() else valid(value)


def locations(fold: Fold, value: list[Any], kind: str) -> tuple[Location, ...]:
    """Read the files that a call touches; what is no location is counted."""
    kept = []
    for member in value:
        path = member.get("path") if isinstance(member, dict) else None
        if not isinstance(path, str):
            fold.count(f"{kind}.locations")
            continue
        line = member.get("line")
        kept.append(Location(valid(path), line if type(line) is int else None))
    return tuple(kept)


def replace_content(fold: Fold, call: ToolDraft, content: list[Any], kind: str) -> None:
    """Put this content in the place of the old; terminals that have output stay."""
    old = call.parts
    call.attachments = call.streamed = 0
    parts: list[Any] = []
    longest = fold.limits.max_output_chars
    for member in fold.fitting(content, len(old)):
        text = text_in(member)
        if text is None:
            parts.append(tool_part(fold, call, member, f"{kind}.content"))
        elif text:
            if len(text) > longest:
                text = fold.clipped(text)
            parts.append(grow(old, len(parts), text))
    fold.parts += len(parts) - len(old)
    if old:
        keep_terminals(call, parts)
        drop_states(call)
    else:
        call.parts = parts


def keep_terminals(call: ToolDraft, parts: list[Any]) -> None:
    """Put these parts in the place of the old, and behind them the terminals with output."""
    old, call.parts = call.parts, parts
    for part in old:
        if isinstance(part, TerminalDraft) and part not in parts:
            if part.size:
                parts.append(part)
            else:
                part.cards.pop(call.id, None)


TOOL_NAMES = ("toolName", "tool_name")
PARENT_IDS = ("parentToolUseId", "parentToolCallId", "parent_tool_call_id")
"""What is read from `_meta`, or from an agent's own object in it (`claudeCode`)."""


def read_meta(fold: Fold, call: ToolDraft, meta: dict[str, Any]) -> None:
    """Read from `_meta` what has no field: tool name, parent call, an agent's own terminal."""
    for holder in (meta, *(value for value in meta.values() if isinstance(value, dict))):
        if call.name is None:
            call.name = first_text(holder, TOOL_NAMES)
        if call.parent is None:
            call.parent = first_text(holder, PARENT_IDS)
    from_meta(fold, call, meta)


def first_text(holder: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    """Return the first of these members that is a text."""
    return next((valid(holder[key]) for key in keys if isinstance(holder.get(key), str)), None)
