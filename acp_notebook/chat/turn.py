"""
A settled turn, as a person holds it: what was answered, what was done, how it ended.

It carries the snapshot that it stands in, so it pickles and crosses process borders whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.errors import TurnFailed
from acp_notebook.timeline import TurnError

if TYPE_CHECKING:
    from acp_notebook.host.state import TurnResult
    from acp_notebook.timeline import Item, TimelineSnapshot, ToolCall
    from acp_notebook.timeline import Turn as TimelineTurn

ENDS = {
    "cancelled": "The turn was cancelled.",
    "refusal": "The agent refused.",
    "max_tokens": "The answer was cut: the limit of tokens was reached.",
    "max_turn_requests": "The turn was cut: the agent reached its limit of model requests.",
}
"""What a stop reason other than `end_turn` means; an unknown one is shown as it is."""


class Turn:
    """
    One prompt turn that has ended.

    All that a `snapshot.turns` entry has is here too (`text`, `items`, `tool_calls`, `usage`, …).
    `ok` is True when the agent ended it by itself and without an error.
    """

    def __init__(self, snapshot: TimelineSnapshot, index: int) -> None:
        self.snapshot = snapshot
        self.index = index

    @classmethod
    def of(cls, result: TurnResult) -> Turn:
        """Return the turn of a host's result."""
        return cls(result.snapshot, result.index)

    @property
    def data(self) -> TimelineTurn:
        """The turn in the snapshot."""
        return self.snapshot.turns[self.index]

    @property
    def text(self) -> str:
        """What the agent said, without thoughts and tool output."""
        return self.data.text

    @property
    def prompt(self) -> str:
        """The text that was asked."""
        return self.data.prompt

    @property
    def items(self) -> tuple[Item, ...]:
        """The items of the turn, in first-seen order."""
        return self.data.items

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Its tool calls."""
        return self.data.tool_calls

    @property
    def stop_reason(self) -> str | None:
        """Why the agent stopped (`end_turn`, `cancelled`, …); None when the turn failed."""
        return self.data.stop_reason

    @property
    def ok(self) -> bool:
        """Whether the agent ended the turn by itself, without an error."""
        return self.data.state == "idle" and self.data.stop_reason == "end_turn"

    @property
    def error(self) -> TurnError | None:
        """What went wrong: the agent's error, or the stop reason in words; None when all is well."""
        if self.data.error is not None or self.ok:
            return self.data.error
        reason = self.data.stop_reason or "unknown"
        return TurnError(ENDS.get(reason, f"The turn ended with: {reason}"))

    @property
    def duration(self) -> float | None:
        """Seconds from the prompt to the end."""
        return self.data.duration

    @property
    def usage(self) -> Any:
        """The tokens of the turn, where the agent told them."""
        return self.data.usage

    def raise_for_error(self) -> Turn:
        """
        Return this turn, if it is `ok`.

        Raises:
            TurnFailed: it is not.
        """
        error = self.error
        if error is not None:
            raise TurnFailed(self, error.message)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in {"snapshot", "index"}:
            raise AttributeError(name)
        return getattr(self.data, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turn) and (self.index, self.snapshot) == (
            other.index,
            other.snapshot,
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Turn, (self.snapshot, self.index))

    def __repr__(self) -> str:
        line = next((s.strip() for s in self.text.splitlines() if s.strip()), "")
        shown = line if len(line) <= 60 else f"{line[:59]}…"
        end = self.stop_reason if self.data.error is None else "failed"
        return f"<Turn {end}: {shown!r}>"

    def _repr_markdown_(self) -> str:
        from acp_notebook.views.markdown import answer_markdown

        return answer_markdown(self.data)
