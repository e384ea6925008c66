"""
Newline-delimited JSON without I/O: bytes in, frames out.

A frame is one JSON object. Whatever else a peer writes (log text, escape codes, scalars, a
line that is too long) becomes a `BadLine` and disturbs nothing around it. The rules:

- a line ends at LF; a CR before it, a byte order mark at the start and blank lines are dropped;
  nothing else ends a line (not U+2028, not a CR inside);
- bytes may be cut anywhere, also inside a character; a last line without LF counts at `eof()`;
- bytes that are no UTF-8 are read with U+FFFD in their place;
- a JSON-RPC batch (array) is taken apart; its members keep their order;
- a line longer than `max_line_bytes` is dropped alone, and held in memory never.

The cost is linear in the bytes read, however they are cut.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import from_json

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 200

Reason = Literal["not-json", "not-an-object", "too-deep", "too-long", "torn"]


@dataclass(frozen=True, slots=True)
class Message:
    """One JSON object; `size` is the bytes of its line (of the whole line for a batch member)."""

    value: dict[str, Any]
    size: int


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no message. `text` is the line, of one that is too long its first 1,000 characters."""

    text: str
    size: int
    reason: Reason


Frame = Message | BadLine

_HEAD_BYTES = 4000
_HEAD_CHARS = 1000


class LineDecoder:
    """Cuts a byte stream into frames. Never raises, whatever the bytes."""

    def __init__(self, *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max = max_line_bytes
        self._pending: list[bytes] = []
        self._size = 0
        self._at_start = True

    @property
    def pending_bytes(self) -> int:
        """Bytes of the line that has begun and not ended."""
        return self._size

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes and return the frames that they complete, in order."""
        if not data:
            return []
        first, *rest = data.split(b"\n")
        if not rest:
            self._keep(first)
            return []
        *whole, last = rest
        frames: list[Frame] = []
        if self._pending:
            self._keep(first)
            frames.extend(self._finish())
        else:
            frames.extend(self._line(first, len(first)))
        for line in whole:
            size = len(line)
            if size <= self._max:
                try:
                    value = from_json(line)
                except ValueError:
                    value = None
                if type(value) is dict:
                    self._at_start = False
                    frames.append(Message(value, size))
                    continue
            # Whatever is odd about it is found out the slow way.
            frames.extend(self._line(line, size))
        self._keep(last)
        return frames

    def eof(self) -> list[Frame]:
        """Return what a last line without its newline holds; half a message is a `torn` line."""
        if not self._pending:
            return []
        return [
            BadLine(frame.text, frame.size, "torn")
            if isinstance(frame, BadLine) and frame.reason == "not-json"
            else frame
            for frame in self._finish()
        ]

    def _keep(self, data: bytes) -> None:
        """Hold a piece of the open line; past the limit only its head."""
        if not data:
            return
        if self._size <= self._max < self._size + len(data):
            self._pending = [b"".join((*self._pending, data))[:_HEAD_BYTES]]
        elif self._size <= self._max:
            self._pending.append(data)
        self._size += len(data)

    def _finish(self) -> Iterator[Frame]:
        line, size = b"".join(self._pending), self._size
        self._pending, self._size = [], 0
        return self._line(line, size)

    def _line(self, line: bytes, size: int) -> Iterator[Frame]:
        if self._at_start and size:
            self._at_start = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if size > self._max:
            yield BadLine(
                line[:_HEAD_BYTES].decode("utf-8", "replace")[:_HEAD_CHARS], size, "too-long"
            )
            return
        line = line.strip(b" \t\r")
        if line:
            yield from parse_line(line, size)


def parse_line(line: bytes, size: int) -> Iterator[Frame]:
    """Parse one line into its message, its batch members, or a `BadLine`. Never raises."""
    try:
        # Rust parser first; it refuses lone surrogates and deep nesting, which `json` reads.
        value = from_json(line)
    except ValueError:
        text = line.decode("utf-8", "replace")
        try:
            value = json.loads(text)
        except ValueError:
            yield BadLine(text, size, "not-json")
            return
        except RecursionError:
            yield BadLine(text, size, "too-deep")
            return
        if isinstance(value, dict | list) and _deeper_than(value, MAX_DEPTH):
            yield BadLine(text, size, "too-deep")
            return
    if isinstance(value, dict):
        yield Message(value, size)
        return
    members = value if isinstance(value, list) else [value]
    for member in members:
        if isinstance(member, dict):
            yield Message(member, size)
        else:
            yield BadLine(json.dumps(member), size, "not-an-object")


def encode(message: dict[str, Any]) -> bytes:
    """Return the message as one line with its newline; a lone surrogate is sent as its escape."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _deeper_than(value: Any, limit: int) -> bool:
    """Whether containers stand deeper than `limit` levels below a value, found without recursion."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
