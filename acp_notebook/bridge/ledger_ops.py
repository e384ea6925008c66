"""
What waits to be written: operations a session, in order. Pure.

Adjacent text chunks of one agent message or thought become one row. A chunk joins the one
before it only when nothing but its text would be lost: same kind, message id and run, no
other field, text not empty. The user's blocks stay as they were sent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic_core import to_json

from acp_notebook.bridge.ledger_limits import ROW_OVERHEAD_BYTES

_GROWING = frozenset({"agent_message_chunk", "agent_thought_chunk"})


class Row(NamedTuple):
    """One event to be: `body` is its update as JSON, `size` what it counts for in bytes."""

    run_id: str | None
    at: int
    body: str
    size: int


@dataclass(slots=True)
class TextRun:
    """Text chunks of one message that become one row."""

    run_id: str | None
    at: int
    kind: str
    message_id: str | None
    texts: list[str]

    def row(self) -> Row:
        """The row that they become."""
        update: dict[str, Any] = {"sessionUpdate": self.kind}
        if self.message_id is not None:
            update["messageId"] = self.message_id
        update["content"] = {"type": "text", "text": "".join(self.texts)}
        return row(update, self.run_id, self.at)


@dataclass(frozen=True, slots=True)
class Begin:
    """The session exists, under this key; `whole` is what a new one starts as."""

    session_key: str
    cwd: str
    at: int
    whole: bool
    reset: bool


@dataclass(frozen=True, slots=True)
class Accept:
    """A prompt was accepted: its rows, and an open mark."""

    run_id: str
    at: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Settle:
    """A prompt was settled: its mark goes."""

    run_id: str
    at: int


@dataclass(frozen=True, slots=True)
class Recover:
    """The rows that follow a dead process's prompt, in place of what it recorded; None: unknown."""

    run_id: str
    at: int
    rows: tuple[Row, ...] | None


@dataclass(frozen=True, slots=True)
class Lose:
    """Something of the session is missing: it is incomplete for good."""


Op = Row | TextRun | Begin | Accept | Settle | Recover | Lose


def row(update: dict[str, Any], run_id: str | None, at: int) -> Row:
    """
    Return the update as a row.

    Raises:
        ValueError, TypeError, RecursionError: it is no JSON.
    """
    try:
        data = to_json(update)
        return Row(run_id, at, data.decode(), len(data) + ROW_OVERHEAD_BYTES)
    except ValueError:
        # A lone surrogate has no UTF-8; the standard library writes it as its escape.
        body = json.dumps(update, separators=(",", ":"))
        return Row(run_id, at, body, len(body) + ROW_OVERHEAD_BYTES)


@dataclass(slots=True)
class Pending:
    """The operations of one session that are not on disk yet."""

    ops: list[Op] = field(default_factory=list)
    size: int = 0

    def append(self, update: dict[str, Any], run_id: str | None, at: int) -> int:
        """Add one update and return how many rows it adds. Raises what `row` raises."""
        text = _plain_text(update)
        if text is not None:
            kind, message_id = update["sessionUpdate"], update.get("messageId")
            self.size += len(text) + ROW_OVERHEAD_BYTES
            last = self.ops[-1] if self.ops else None
            if (
                isinstance(last, TextRun)
                and last.kind == kind
                and last.message_id == message_id
                and last.run_id == run_id
            ):
                last.texts.append(text)
                return 0
            self.ops.append(TextRun(run_id, at, kind, message_id, [text]))
            return 1
        new = row(update, run_id, at)
        self.size += new.size
        self.ops.append(new)
        return 1

    def lose(self) -> None:
        """Drop what waits but that the session exists, and mark it incomplete."""
        begun = [op for op in self.ops if isinstance(op, Begin)][-1:]
        self.ops = [*begun, Lose()]
        self.size = 0


def _plain_text(update: dict[str, Any]) -> str | None:
    """The text of a chunk that has nothing but its text (and a message id), else None."""
    if update.get("sessionUpdate") not in _GROWING:
        return None
    message_id = update.get("messageId")
    content = update.get("content")
    if (
        not isinstance(content, dict)
        or len(content) != 2
        or content.get("type") != "text"
        or len(update) != (2 if message_id is None else 3)
        or not (message_id is None or isinstance(message_id, str))
    ):
        return None
    text = content.get("text")
    return text if isinstance(text, str) and text else None
