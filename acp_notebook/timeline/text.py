"""
Text that grows without copying.

A `Text` is a frozen prefix of what one `TextBuffer` was given. Two texts of one origin share what
they have in common, so that a message of a megabyte that grows by a word costs the word:

- `new.origin is old.origin` means that `old` is a prefix of `new`;
- `new.since(old.length)` is what came after, at the cost of what came after;
- `str(text)` joins when it is first asked and remembers.

JSON may carry one half of a UTF-16 surrogate pair at the end of a chunk (Node agents cut emoji
in two). A trailing high half waits in the buffer for its other half and is in no `Text` yet;
`close` and every lone half inside become U+FFFD, so that each `Text` is valid UTF-8.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

REPLACEMENT = "\ufffd"


def ends_in_high_half(text: str) -> bool:
    """Whether the text ends in the first half of a surrogate pair."""
    return "\ud800" <= text[-1:] <= "\udbff"


def valid(text: str) -> str:
    """Return the text with surrogate pairs joined and lone halves replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


GAP = "\n[…]\n"
"""Stands where the middle of a text was dropped."""


def head_and_tail(text: str, keep: int) -> str:
    """Return the first and the last `keep` characters, with a gap between."""
    return f"{text[:keep]}{GAP}{text[len(text) - keep :]}"


class Text:
    """A frozen piece of text, equal by content; see the module's rules for how it grows."""

    __slots__ = ("_joined", "_pieces", "blank", "length")

    length: int
    """Characters in this text."""
    blank: bool
    """Whether there is nothing but white space in it."""

    def __init__(self, pieces: Pieces | None, length: int, joined: str | None, blank: bool) -> None:  # noqa: FBT001  # made by the buffer only
        self._pieces = pieces
        self.length = length
        self._joined = joined
        self.blank = blank

    @classmethod
    def of(cls, text: str) -> Text:
        """Return a whole text."""
        if not text.isascii():
            text = valid(text)
        return cls(None, len(text), text, not text or text.isspace())

    @property
    def origin(self) -> object:
        """Who grows this text: two texts of one origin are prefixes of each other."""
        return self if self._pieces is None else self._pieces.origin

    def since(self, length: int) -> str:
        """Return what comes after the first `length` characters, at the cost of the rest."""
        if self._joined is not None or self._pieces is None:
            return str(self)[length:]
        return self._pieces.cut(length, self.length)

    def __str__(self) -> str:
        joined = self._joined
        if joined is None:
            assert self._pieces is not None  # a text without pieces is made joined
            joined = self._joined = self._pieces.cut(0, self.length)
        return joined

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Text):
            return NotImplemented
        if self.length != other.length:
            return False
        return self.origin is other.origin or str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"Text({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Text.of, (str(self),))


class Pieces:
    """What the texts of one origin are cut from; only ever added to, so any thread may read."""

    __slots__ = ("_ends", "_pieces", "origin")

    def __init__(self, origin: Text) -> None:
        self.origin = origin
        self._pieces = [str(origin)]
        self._ends = [origin.length]

    def add(self, piece: str) -> int:
        """Add to the end and return the length so far."""
        end = self._ends[-1] + len(piece)
        self._pieces.append(piece)
        self._ends.append(end)
        return end

    def cut(self, start: int, stop: int) -> str:
        """Return the characters from `start` to `stop`, where a piece ends, at their cost."""
        if start >= stop:
            return ""
        ends = self._ends
        first = bisect_right(ends, start)
        last = bisect_right(ends, stop - 1, first)
        if first:
            start -= ends[first - 1]
        return "".join((self._pieces[first][start:], *self._pieces[first + 1 : last + 1]))


class TextBuffer:
    """The growing side of a `Text`: what is added to `pending` is joined when asked for."""

    __slots__ = ("_held", "_last", "pending")

    def __init__(self, whole: Text | None = None) -> None:
        self.pending: list[str] = []
        self._held = ""
        self._last = whole

    def grows_to(self, text: str) -> bool:
        """Whether a text begins with this one; then the rest is appended."""
        known = str(self.text())
        if not text.isascii():
            text = valid(text)
        if self._held or not known or not text.startswith(known):
            return False
        if len(text) > len(known):
            self.pending.append(text[len(known) :])
        return True

    def waits(self) -> bool:
        """Whether the end is half a character, so that `close` would change the text."""
        return ends_in_high_half(self.pending[-1] if self.pending else self._held)

    def close(self) -> None:
        """Give up waiting for the second half of a character."""
        if not self.waits():
            return
        if self.pending:
            self.pending[-1] = self.pending[-1][:-1] + REPLACEMENT
        else:
            self._held = REPLACEMENT
            self.pending.append("")

    def text(self) -> Text:
        """Return all that was appended; the same object while nothing was."""
        last = self._last
        pending = self.pending
        if last is not None and not pending:
            return last
        piece = "".join(pending) if len(pending) > 1 else pending[0] if pending else ""
        pending.clear()
        if not piece.isascii() or self._held:
            piece = self._held + piece
            self._held = ""
            if ends_in_high_half(piece):
                self._held, piece = piece[-1], piece[:-1]
            piece = valid(piece)
        if last is None:
            last = self._last = Text(None, len(piece), piece, not piece or piece.isspace())
        elif piece:
            last = self._last = extended(last, piece)
        return last


def extended(text: Text, piece: str) -> Text:
    """Return the text with a piece more, of the same origin."""
    pieces = text._pieces  # noqa: SLF001  # the two classes are one
    if pieces is None:
        pieces = text._pieces = Pieces(text)  # noqa: SLF001
    return Text(pieces, pieces.add(piece), None, text.blank and piece.isspace())
