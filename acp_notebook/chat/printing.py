"""A turn printed as it comes, for terminals: text as it is, tool calls in one line each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from acp_notebook.chat.turn import ENDS
from acp_notebook.host.questions import visible
from acp_notebook.timeline import MessageSegment, ToolCall

if TYPE_CHECKING:
    from acp_notebook.host.session import ChatSession
    from acp_notebook.timeline import TimelineSnapshot


class TurnPrinter:
    """Prints what the last turn of a chat has got since the step before."""

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._first = len(session.snapshot.turns)
        self._printed: dict[str, int] = {}
        self._last = ""

    def step(self) -> None:
        """Print what is new. The caller's thread is the only one that prints."""
        self._show(self._session.snapshot)

    def finish(self) -> None:
        """Print the rest, and how the turn ended when that is worth a word."""
        snapshot = self._session.snapshot
        self._show(snapshot)
        turn = snapshot.turns[-1] if len(snapshot.turns) > self._first else None
        if turn is None:
            return
        if turn.error is not None:
            self._line(f"[{visible(turn.error.message)}]")
        elif turn.stop_reason not in {None, "end_turn"}:
            self._line(f"[{ENDS.get(str(turn.stop_reason), visible(str(turn.stop_reason)))}]")
        elif turn.silent:
            self._line("[The agent gave no output.]")
        self._write("\n")

    def _show(self, snapshot: TimelineSnapshot) -> None:
        if len(snapshot.turns) <= self._first:
            return
        for item in snapshot.turns[-1].items:
            if isinstance(item, MessageSegment) and item.role == "assistant":
                text = item.text
                before = self._printed.get(item.id, 0)
                if len(text) > before:
                    if not before and self._last and self._last != item.id:
                        self._write("\n\n")
                    self._write(visible(text[before:]))
                    self._printed[item.id], self._last = len(text), item.id
            elif isinstance(item, ToolCall) and item.id not in self._printed and not item.is_open:
                self._printed[item.id] = 1
                self._line(f"[{visible(item.title)}: {item.status}]")
                self._last = item.id

    def _line(self, text: str) -> None:
        self._write(f"\n{text}" if self._last else text)
        self._last = "line"

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
