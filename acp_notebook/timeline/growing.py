"""The growing side of parts: text that is appended to, and terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.parts import Markdown, Terminal
from acp_notebook.timeline.text import TextBuffer

if TYPE_CHECKING:
    from codecs import IncrementalDecoder

    from acp_notebook.timeline.drafts import ToolDraft
    from acp_notebook.timeline.parts import ExitStatus, Part


class GrowingText(TextBuffer):
    """The growing side of a `Markdown` part."""

    __slots__ = ("_part",)

    def __init__(self, whole: Markdown | None = None) -> None:
        self.pending = []
        self._held = ""
        self._last = whole.body if whole is not None else None
        self._part = whole

    def part(self) -> Markdown:
        """Return the part as it is now; the same object while nothing was added."""
        part = self._part
        if part is None or self.pending:
            body = self.text()
            if part is None or part.body is not body:
                part = self._part = Markdown(body)
        return part


def growing_end(parts: list[Any]) -> GrowingText | None:
    """Return the text at the end of some parts so that it can grow, None when none is there."""
    end = parts[-1] if parts else None
    if isinstance(end, Markdown):
        end = parts[-1] = GrowingText(end)
    return end if isinstance(end, GrowingText) else None


class TerminalDraft:
    """The growing side of a terminal, shown by any number of cards."""

    __slots__ = (
        "_part",
        "buffer",
        "cards",
        "decoder",
        "exit_status",
        "size",
        "terminal_id",
        "truncated",
    )

    def __init__(self, terminal_id: str) -> None:
        self.terminal_id = terminal_id
        self.buffer = TextBuffer()
        self.decoder: IncrementalDecoder | None = None
        self.exit_status: ExitStatus | None = None
        self.truncated = False
        self.size = 0
        self.cards: dict[str, ToolDraft] = {}
        self._part: Terminal | None = None

    def part(self) -> Terminal:
        """Return the part as it is now; the same object while nothing has changed."""
        body = self.buffer.text()
        part = self._part
        if (
            part is None
            or part.body is not body
            or part.exit_status is not self.exit_status
            or part.truncated is not self.truncated
        ):
            part = self._part = Terminal(self.terminal_id, body, self.exit_status, self.truncated)
        return part


GROWING = (GrowingText, TerminalDraft)


def frozen_parts(pieces: list[Any]) -> tuple[Part, ...]:
    """Return the parts as they are now."""
    return tuple([piece.part() if isinstance(piece, GROWING) else piece for piece in pieces])
