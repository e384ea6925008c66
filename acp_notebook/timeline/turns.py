"""
Prompt turns: what was asked, what came of it, and how it ended.

A turn holds the items that appeared in it, so that `snapshot.turns[-1].text` needs nothing else.
An unchanged turn is the same object in the next snapshot.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from acp_notebook.timeline.frozen import frozen
from acp_notebook.timeline.items import (
    MessageSegment,
    Thought,
    ToolCall,
    ToolCalls,
    copy_text,
    short,
)
from acp_notebook.timeline.prose import code_blocks, tables
from acp_notebook.timeline.views import view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp_notebook.timeline.items import Item
    from acp_notebook.timeline.parts import Diff
    from acp_notebook.timeline.prose import CodeBlock, Table


@frozen
class TurnError:
    """Why a turn failed, in the agent's words; `code` is the JSON-RPC error's."""

    message: str
    code: int | None = None
    data: Any = None


@frozen
class TurnAgent:
    """Who answered: name and version of the agent, model and mode when the turn began."""

    name: str | None = None
    version: str | None = None
    model: str | None = None
    mode: str | None = None


@frozen
class Usage:
    """Tokens of one turn, as the prompt's response told them."""

    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


@frozen
class Turn:
    """
    One prompt turn.

    `state` is `running`, `idle` or `failed`. `stopped_by_user` says that the person pressed Stop,
    whatever the agent answered. Times are seconds since the epoch; what is unknown is None, as
    in a loaded session. `attachments` are the states of the attachments of its items.
    """

    index: int
    prompt_item_id: str | None
    state: Literal["running", "idle", "failed"]
    stop_reason: str | None
    stopped_by_user: bool
    error: TurnError | None
    started_at: float | None
    ended_at: float | None
    usage: Usage | None
    agent: TurnAgent
    items: tuple[Item, ...] = field(repr=False)
    attachments: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def item_ids(self) -> tuple[str, ...]:
        """The ids of its items, in order."""
        return tuple(item.id for item in self.items)

    @property
    def text(self) -> str:
        """
        What the agent said, without thoughts and tool output.

        Segments that stand side by side are joined by nothing, others by a blank line.
        """
        return copy_text(self.items)

    @property
    def prompt(self) -> str:
        """The text that was asked."""
        return "\n\n".join(
            item.text
            for item in self.items
            if isinstance(item, MessageSegment) and item.role == "user"
        )

    @property
    def thoughts(self) -> tuple[Thought, ...]:
        """The agent's reasoning."""
        return tuple(item for item in self.items if isinstance(item, Thought))

    @property
    def tool_calls(self) -> ToolCalls:
        """Its tool calls, in first-seen order; `.where(kind=…, status=…)` narrows them."""
        return ToolCalls(item for item in self.items if isinstance(item, ToolCall))

    @property
    def diffs(self) -> tuple[Diff, ...]:
        """The file changes that its tool calls reported."""
        return tuple(diff for call in self.tool_calls for diff in call.diffs)

    @property
    def code_blocks(self) -> tuple[CodeBlock, ...]:
        """The fenced code blocks of its text."""
        return code_blocks(self.text)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables of its text; `.to_frame()` makes a frame of one."""
        return tables(self.text)

    @property
    def duration(self) -> float | None:
        """Seconds from prompt to settlement, None when one is not known."""
        if self.started_at is None or self.ended_at is None:
            return None
        return self.ended_at - self.started_at

    @property
    def silent(self) -> bool:
        """Whether it has ended and the agent has shown nothing at all."""
        return self.state != "running" and all(
            isinstance(item, MessageSegment) and (item.role == "user" or item.blank)
            for item in self.items
        )

    def _repr_markdown_(self) -> str:
        return str(view("markdown").answer_markdown(self))

    def __repr__(self) -> str:
        ended = f" ({self.stop_reason})" if self.stop_reason not in {None, "end_turn"} else ""
        return f"<Turn {self.index}: {self.state}{ended}, {short(self.text)}>"
