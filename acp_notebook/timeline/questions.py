"""The question directory: what the user asked, to jump to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, overload

from acp_notebook.timeline.frozen import frozen
from acp_notebook.timeline.items import MessageSegment
from acp_notebook.timeline.parts import Markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp_notebook.timeline.snapshot import TimelineSnapshot

MOST = 300
WIDTH = 80


@frozen
class Question:
    """
    One user segment. `number` counts from 1 over the whole session.

    Without text `title` is None and `fallback` says what there is instead; the words for it are
    the view's, in the reader's language.
    """

    item_id: str
    number: int
    title: str | None
    fallback: Literal["attachment", "untitled"] | None


@frozen
class Questions(Sequence[Question]):
    """The newest entries; `hidden_count` says how many older ones there are."""

    entries: tuple[Question, ...]
    hidden_count: int

    @property
    def navigable(self) -> bool:
        """Whether there is anything to navigate between."""
        return len(self.entries) > 1

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Question, ...]: ...
    def __getitem__(self, index: int | slice) -> Question | tuple[Question, ...]:
        return self.entries[index]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Question]:
        return iter(self.entries)


def questions_of(snapshot: TimelineSnapshot) -> Questions:
    """Return the directory of a snapshot."""
    segments = [
        item for item in snapshot.items if isinstance(item, MessageSegment) and item.role == "user"
    ]
    hidden = max(0, len(segments) - MOST)
    entries = tuple(
        entry(segment, number) for number, segment in enumerate(segments[hidden:], start=hidden + 1)
    )
    return Questions(entries, hidden)


def entry(segment: MessageSegment, number: int) -> Question:
    """Return the entry of one user segment."""
    title = next(
        (
            title_of(part.text)
            for part in segment.parts
            if isinstance(part, Markdown) and not part.body.blank
        ),
        None,
    )
    if title is not None:
        return Question(segment.id, number, title, None)
    others = any(not isinstance(part, Markdown) for part in segment.parts)
    return Question(segment.id, number, None, "attachment" if others else "untitled")


def title_of(text: str) -> str:
    """Return the first line with words as plain text, at most 80 characters as a reader counts."""
    line = next(line for line in text.splitlines() if line.strip())
    return cut(" ".join(line.split()), WIDTH)


_JOINER = "\u200d"
_EXTENDS = re.compile("[\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\u200d]")


def cut(text: str, width: int) -> str:
    """Return the first `width` grapheme clusters, with an ellipsis for what is left out."""
    if len(text) <= width:
        return text
    count = 0
    flags = 0
    for at, character in enumerate(text):
        flag = "\U0001f1e6" <= character <= "\U0001f1ff"
        second = flag and flags % 2
        flags = flags + 1 if flag else 0
        if at and (
            second
            or text[at - 1] == _JOINER
            or _EXTENDS.match(character)
            or unicodedata.category(character) in {"Mn", "Me", "Mc"}
        ):
            continue
        if count == width:
            return text[:at].rstrip() + "…"
        count += 1
    return text
