"""A snapshot as plain text, for a terminal or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_notebook.timeline.items import (
    MessageSegment,
    Notice,
    Permission,
    Plan,
    Thought,
    ToolCall,
)
from acp_notebook.timeline.parts import Markdown
from acp_notebook.views.shown import Home, seen
from acp_notebook.views.words import (
    decision_of,
    note_of,
    notice_text,
    output_of,
    plan_lines,
    status_of,
    turn_note,
)

if TYPE_CHECKING:
    from acp_notebook.timeline.items import Item
    from acp_notebook.timeline.snapshot import TimelineSnapshot
    from acp_notebook.timeline.turns import Turn


def to_text(snapshot: TimelineSnapshot, *, thoughts: bool = False, home: str | None = None) -> str:
    """
    Return the conversation as text: prompts behind `> `, tools in brackets, output indented.

    `thoughts` writes the agent's reasoning too; `home` is the folder that is written as `~`, by
    default this user's.
    """
    pieces = [piece for turn in snapshot.turns if (piece := turn_text(turn, thoughts=thoughts))]
    text = "\n\n".join(pieces)
    return Home(home).short(f"{text}\n" if text else "")


def turn_text(turn: Turn, *, thoughts: bool = False) -> str:
    """Return one turn as text."""
    pieces = [item_text(item) for item in turn.items if thoughts or not isinstance(item, Thought)]
    note = turn_note(turn)
    if note is not None:
        pieces.append(f"! {seen(note)}")
    return "\n\n".join(piece for piece in pieces if piece.strip())


def item_text(item: Item) -> str:
    """Return one item as text."""
    if isinstance(item, MessageSegment):
        body = segment_text(item)
        return indented(body, "> ") if item.role == "user" and body else body
    if isinstance(item, Thought):
        return indented(segment_text(item), "~ ")
    if isinstance(item, ToolCall):
        lines = [f"[{seen(item.title)}: {seen(status_of(item))}]"]
        lines.extend(indented(seen_output, "    ") for _, seen_output in output_of(item))
        return "\n".join(lines)
    if isinstance(item, Permission):
        return f"[permission: {seen(item.title)}: {seen(decision_of(item))}]"
    if isinstance(item, Plan):
        return "\n".join(["[plan]", *(f"    {seen(line)}" for line in plan_lines(item))])
    assert isinstance(item, Notice)  # the last kind
    return f"[{seen(item.level)}: {seen(notice_text(item))}]"


def segment_text(item: MessageSegment | Thought) -> str:
    """Return the parts of a message: text as it is, the rest in brackets."""
    pieces = []
    for part in item.parts:
        if isinstance(part, Markdown):
            pieces.append(seen(part.text))
        else:
            pieces.append(f"\n{seen(note_of(part))}\n")
    return "".join(pieces).strip("\n")


def indented(text: str, mark: str) -> str:
    """Return the text with a mark before each line."""
    return "\n".join(f"{mark}{line}".rstrip() for line in text.split("\n"))
