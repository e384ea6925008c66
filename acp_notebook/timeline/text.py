"""
Text that grows without copying.

A `Text` is a frozen prefix of an append-only buffer. Two texts of one buffer share what they
have in common, so that a message of a megabyte that grows by a word costs the word:

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


class Text:
    """A frozen piece of text, equal by content; see the module's rules for how it grows."""

    __slots__ = ("_joined", "_origin", "length")

    length: int
    """Characters in this text."""

    def __init__(self, origin: TextBuffer, length: int) -> None:
        self._origin = origin
        self.length = length
        self._joined: str | None = None

    @classmethod
    def of(cls, text: str) -> Text:
        """Return a text that does not grow."""
        buffer = TextBuffer()
        buffer.append(text)
        buffer.close()
        return buffer.text()

    @property
    def origin(self) -> object:
        """Who grows this text: two texts of one origin are prefixes of each other."""
        return self._origin

    @property
    def blank(self) -> bool:
        """Whether there is nothing but white space in it, known without joining."""
        return self._origin.blank_until >= self.length

    def since(self, length: int) -> str:
        """Return what comes after the first `length` characters, at the cost of the rest."""
        return self._origin.cut(length, self.length)

    def __str__(self) -> str:
        joined = self._joined
        if joined is None:
            joined = self._joined = self._origin.cut(0, self.length)
        return joined

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Text):
            return NotImplemented
        if self._origin is other._origin:
            return self.length == other.length
        return self.length == other.length and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"Text({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Text.of, (str(self),))


class TextBuffer:
    """The growing side of a `Text`; written on one thread, its texts are read on any."""

    __slots__ = ("_ends", "_held", "_last", "_pending", "_pieces", "blank_until", "size")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._ends: list[int] = []
        self._pending: list[str] = []
        self._held = ""
        self._last: Text | None = None
        self.blank_until = 0
        self.size = 0

    def append(self, text: str) -> None:
        """Add to the end; O(1), nothing is joined before a `Text` is asked for."""
        self._pending.append(text)
        self.size += len(text)

    def waits(self) -> bool:
        """Whether the end is half a character, so that `close` would change the text."""
        return ends_in_high_half(self._pending[-1] if self._pending else self._held)

    def close(self) -> None:
        """Give up waiting for the second half of a character."""
        if not self.waits():
            return
        if self._pending:
            self._pending[-1] = self._pending[-1][:-1] + REPLACEMENT
        else:
            self._held = REPLACEMENT
            self._pending.append("")

    def text(self) -> Text:
        """Return all that was appended; the same object while nothing was."""
        last = self._last
        if last is not None and not self._pending:
            return last
        piece = "".join((self._held, *self._pending))
        self._pending.clear()
        self._held = ""
        if not piece.isascii():
            if ends_in_high_half(piece):
                self._held, piece = piece[-1], piece[:-1]
            piece = valid(piece)
        length = self._ends[-1] if self._ends else 0
        if piece:
            if self.blank_until == length:
                self.blank_until += len(piece) if piece.isspace() else 0
            length += len(piece)
            self._pieces.append(piece)
            self._ends.append(length)
        elif last is not None:
            return last
        self._last = Text(self, length)
        return self._last

    def cut(self, start: int, stop: int) -> str:
        """Return the characters from `start` to `stop`, at the cost of these."""
        if start >= stop:
            return ""
        ends = self._ends
        first = bisect_right(ends, start)
        offset = ends[first - 1] if first else 0
        last = bisect_right(ends, stop - 1, first)
        pieces = self._pieces[first : last + 1]
        end = ends[last]
        if end > stop:
            pieces[-1] = pieces[-1][: stop - end]
        pieces[0] = pieces[0][start - offset :]
        return "".join(pieces)
