"""
The newest turns of a snapshot as HTML and Markdown, for an output that outlives the kernel.

Readable without any style and without scripts; the same snapshot gives the same bytes, so that
executed notebooks compare. A turn is written once and remembered while it stays the same.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from acp_notebook.timeline import Markdown, MessageSegment, Text, Thought, ToolCall
from acp_notebook.views.html import turn_html
from acp_notebook.views.markdown import turn_markdown
from acp_notebook.views.shown import Home, seen

if TYPE_CHECKING:
    from acp_notebook.timeline import Item, TimelineSnapshot, Turn

MAX_BYTES = 200 * 1024
"""Of HTML and Markdown together."""
ROOM = MAX_BYTES - 2 * 1024
MAX_TEXT_CHARS = 10_000
"""Of one text in a turn that is too long to be kept whole."""

PLAIN_TEXT = "ACP chat"
"""All that a place without widgets and HTML shows: constant, so that saved outputs compare."""
EMPTY = "Nothing has been said yet."
OLDER = "Earlier turns are not kept here."
TOO_LONG = "This turn is too long to be kept here."

Written = tuple[str, str]


class WrittenTurns:
    """Writes bundles of one chat."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Turn, Written]] = {}

    def bundle(self, snapshot: TimelineSnapshot) -> dict[str, str]:
        """Return what is displayed: HTML, Markdown, and a constant plain text."""
        known: dict[int, tuple[Turn, Written]] = {}
        room = ROOM
        kept: list[Written] = []
        for turn in reversed(snapshot.turns):
            written = self._write(turn, slim=not kept)
            room -= size(written)
            if room < 0:
                break
            known[turn.index] = (turn, written)
            kept.append(written)
        self._known = known
        kept.reverse()
        note = EMPTY if not kept else OLDER if len(kept) < len(snapshot.turns) else ""
        return {
            "text/plain": PLAIN_TEXT,
            "text/html": page(title_of(snapshot), note, [html for html, _ in kept]),
            "text/markdown": "\n\n---\n\n".join(
                [f"*{note}*"] * bool(note) + [text for _, text in kept if text]
            ),
        }

    def _write(self, turn: Turn, *, slim: bool) -> Written:
        """Write a turn; with `slim` it is shortened until it fits."""
        known = self._known.get(turn.index)
        if known is not None and known[0] is turn:
            return known[1]
        written = write(turn)
        if slim and size(written) > ROOM:
            written = write(slimmed(turn))
        if slim and size(written) > ROOM:
            written = (f"<p>{TOO_LONG}</p>", f"*{TOO_LONG}*")
        return written


def size(written: Written) -> int:
    """Return how many bytes a turn has in the file, at most."""
    return sum(len(text.encode()) for text in written) + 16


def write(turn: Turn) -> Written:
    """Return a turn as HTML and as Markdown."""
    home = Home(None)
    return home.short(turn_html(turn, thoughts=True)), home.short(turn_markdown(turn))


def slimmed(turn: Turn) -> Turn:
    """Return a turn without what its tools brought and without pictures, its texts cut."""
    return replace(turn, items=tuple(slim_item(item) for item in turn.items))


def slim_item(item: Item) -> Item:
    """Return an item without what may be large in it."""
    if isinstance(item, ToolCall):
        return replace(item, output_parts=(), raw_input=None, raw_output=None)
    if isinstance(item, MessageSegment | Thought):
        texts = (part for part in item.parts if isinstance(part, Markdown))
        return replace(item, parts=tuple(shortened(part) for part in texts))
    return item


def shortened(part: Markdown) -> Markdown:
    """Return a text or its beginning."""
    if part.length <= MAX_TEXT_CHARS:
        return part
    return Markdown(Text.of(f"{part.text[:MAX_TEXT_CHARS]}…"))


def title_of(snapshot: TimelineSnapshot) -> str:
    """Return what the copy is called."""
    agent = snapshot.agent.title or snapshot.agent.name or "an agent"
    return seen(snapshot.metadata.title or f"A chat with {agent}")


def page(title: str, note: str, turns: list[str]) -> str:
    """Return the HTML of the copy; the class is what the page hides it by while it is live."""
    said = f"<p><em>{note}</em></p>\n" if note else ""
    body = "\n<hr>\n".join(turns)
    return f'<div class="acp-saved">\n<p><strong>{escape(title)}</strong></p>\n{said}{body}\n</div>'
