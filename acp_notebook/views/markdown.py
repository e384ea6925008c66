"""A snapshot as Markdown that is safe in any renderer."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING

from acp_notebook.timeline.items import (
    MessageSegment,
    Notice,
    Permission,
    Plan,
    Thought,
    ToolCall,
)
from acp_notebook.timeline.parts import Attachment, Image, Markdown
from acp_notebook.views.escaping import fenced, safe_line, safe_markdown
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
    from acp_notebook.timeline.parts import Part
    from acp_notebook.timeline.snapshot import TimelineSnapshot
    from acp_notebook.timeline.turns import Turn

BEGINS_BLOCK = re.compile(r"^(?=[#>~=+-])")
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MOST_PICTURE_BYTES = 1_000_000


def to_markdown(
    snapshot: TimelineSnapshot, *, thoughts: bool = False, home: str | None = None
) -> str:
    """
    Return the conversation as Markdown: prompts as quotes, tools as folded lists of code.

    `thoughts` writes the agent's reasoning too; `home` is the folder that is written as `~`.
    """
    pieces = [piece for turn in snapshot.turns if (piece := turn_markdown(turn, thoughts=thoughts))]
    text = "\n\n---\n\n".join(pieces)
    return Home(home).short(f"{text}\n" if text else "")


def turn_markdown(turn: Turn, *, thoughts: bool = False) -> str:
    """Return one turn as Markdown."""
    pieces = [
        item_markdown(item) for item in turn.items if thoughts or not isinstance(item, Thought)
    ]
    note = turn_note(turn)
    if note is not None:
        pieces.append(f"**{one_line(note)}**")
    return "\n\n".join(piece for piece in pieces if piece.strip())


def answer_markdown(turn: Turn, *, home: str | None = None) -> str:
    """Return what the agent said in a turn, and how it ended when that must be told."""
    pieces = [
        item_markdown(item)
        for item in turn.items
        if isinstance(item, MessageSegment) and item.role == "assistant"
    ]
    note = turn_note(turn)
    if note is not None:
        pieces.append(f"**{one_line(note)}**")
    return Home(home).short("\n\n".join(piece for piece in pieces if piece.strip()))


def item_markdown(item: Item) -> str:
    """Return one item as Markdown."""
    if isinstance(item, MessageSegment):
        body = parts_markdown(item.parts)
        return quoted(body) if item.role == "user" and body else body
    if isinstance(item, Thought):
        body = parts_markdown(item.parts)
        return quoted(f"*Thought:*\n\n{body}") if body.strip() else ""
    if isinstance(item, ToolCall):
        pieces = [f"**{one_line(item.title)}** ({one_line(status_of(item))})"]
        for kind, text in output_of(item):
            pieces.append(
                BEGINS_BLOCK.sub(r"\\", one_line(text))
                if kind == "note"
                else fenced(text, "diff" if kind == "diff" else "text")
            )
        return "\n\n".join(pieces)
    if isinstance(item, Permission):
        return f"**Permission:** {one_line(item.title)}: {one_line(decision_of(item))}"
    if isinstance(item, Plan):
        if item.markdown is not None:
            return f"**Plan**\n\n{safe_markdown(seen(item.markdown))}"
        return "\n".join(["**Plan**", "", *(f"- {one_line(line)}" for line in plan_lines(item))])
    assert isinstance(item, Notice)  # the last kind
    return f"**{one_line(item.level)}:** {one_line(notice_text(item))}"


def parts_markdown(parts: tuple[Part, ...]) -> str:
    """Return the parts of a message; pictures that came as bytes are put in."""
    pieces = []
    for part in parts:
        if isinstance(part, Markdown):
            pieces.append(safe_markdown(seen(part.text)).strip("\n"))
        elif isinstance(part, Image) and (uri := data_uri(part)) is not None:
            pieces.append(f"![{bracketed(part.alt or 'image')}]({uri})")
        elif isinstance(part, Attachment) and web_uri(part.uri) is not None:
            pieces.append(f"[{bracketed(part.name)}](<{web_uri(part.uri)}>)")
        else:
            pieces.append(bracketed(note_of(part)))
    return "\n\n".join(piece for piece in pieces if piece.strip())


def data_uri(part: Image) -> str | None:
    """Return a picture's bytes as a uri; None for what is no picture, too large or not here."""
    blob = part.blob
    if blob is None or blob.data is None or blob.size > MOST_PICTURE_BYTES:
        return None
    if part.mime_type not in PICTURES:
        return None
    return f"data:{part.mime_type};base64,{b64encode(blob.data).decode()}"


def web_uri(uri: str | None) -> str | None:
    """Return a uri that a reader may follow, None for any other."""
    if uri is None or not uri.lower().startswith(("http://", "https://")):
        return None
    return "".join(c for c in uri if c not in "<>\"'`\\" and c.isprintable() and c != " ")


def one_line(text: str) -> str:
    """Return foreign words as one safe line."""
    return safe_line(" ".join(seen(text).split()))


def bracketed(text: str) -> str:
    """Return foreign words as they may stand in brackets or alone."""
    return one_line(text).replace("[", r"\[").replace("]", r"\]")


def quoted(text: str) -> str:
    """Return the text as a quote."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
