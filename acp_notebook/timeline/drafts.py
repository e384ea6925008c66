"""
The growing side of items and turns: what the reducer writes, one object an item.

A draft knows its place, its turn and the item that it last became; `freeze` makes the next one.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Literal

from acp_notebook.timeline.growing import GrowingText, frozen_parts
from acp_notebook.timeline.items import (
    FINAL,
    MessageSegment,
    Notice,
    Permission,
    Plan,
    Thought,
    ToolCall,
)
from acp_notebook.timeline.turns import Turn, TurnAgent, TurnError, Usage

if TYPE_CHECKING:
    from acp_notebook.timeline.items import Item, Location, PermissionOption, PlanEntry
    from acp_notebook.timeline.parts import Part


class Draft:
    """What the drafts of all kinds know. `answers`: the agent has reacted to the prompt."""

    answers = True
    __slots__ = ("historical", "id", "item", "position", "stale", "turn")

    def __init__(self, id_: str, *, historical: bool) -> None:
        self.id = id_
        self.historical = historical
        self.position = -1
        self.stale = False
        self.turn: TurnDraft
        self.item: Item

    @abstractmethod
    def freeze(self) -> Item:
        """Return the item as it is now."""


Role = Literal["user", "assistant", "thought"]


class SegmentDraft(Draft):
    """A message segment or a thought. `nameless`: it has no messageId."""

    __slots__ = (
        "attachments",
        "closed",
        "evidence",
        "failed",
        "index",
        "message_id",
        "nameless",
        "optimistic",
        "parts",
        "previous",
        "role",
        "supplement",
    )

    def __init__(
        self, id_: str, role: Role, message_id: str | None, index: int, *, historical: bool
    ) -> None:
        self.id = id_
        self.historical = historical
        self.position = -1
        self.stale = False
        self.role: Role = role
        self.message_id = message_id
        self.nameless = message_id is None
        self.previous: SegmentDraft | None = None
        self.index = index
        self.parts: list[Any] = []
        self.attachments = 0
        self.closed = False
        self.optimistic = False
        self.failed = False
        self.supplement: str | None = None
        self.evidence: str | None = None

    def freeze(self) -> Item:
        """Return the item as it is now."""
        own = self.parts
        if len(own) == 1 and isinstance(own[0], GrowingText):
            parts: tuple[Part, ...] = (own[0].part(),)
        else:
            parts = frozen_parts(own)
        if self.role == "thought":
            return Thought(self.id, self.message_id, self.index, parts, self.historical)
        return MessageSegment(
            self.id,
            self.role,
            self.message_id,
            self.index,
            parts,
            self.optimistic,
            self.failed,
            self.supplement,
            self.historical,
        )


class ToolDraft(Draft):
    """A tool call."""

    __slots__ = (
        "agent_status",
        "attachments",
        "ended_at",
        "error",
        "held",
        "locations",
        "name",
        "no_result",
        "parent",
        "parts",
        "raw_input",
        "raw_output",
        "rejected",
        "started_at",
        "status",
        "streamed",
        "title",
        "tool_call_id",
        "tool_kind",
    )

    def __init__(self, id_: str, tool_call_id: str, at: float | None, *, historical: bool) -> None:
        self.id = id_
        self.historical = historical
        self.position = -1
        self.stale = False
        self.tool_call_id = tool_call_id
        self.title = tool_call_id
        self.name: str | None = None
        self.tool_kind: str | None = None
        self.status = "pending"
        self.agent_status: str | None = None
        self.raw_input: Any = None
        self.raw_output: Any = None
        self.parts: list[Any] = []
        self.locations: tuple[Location, ...] = ()
        self.error: str | None = None
        self.parent: str | None = None
        self.started_at = at
        self.ended_at: float | None = None
        self.no_result = False
        self.rejected = False
        self.held = False
        self.streamed = 0
        self.attachments = 0

    def settle(self) -> None:
        """Give up half a character at the end of streamed output."""
        if self.parts and isinstance(self.parts[-1], GrowingText):
            self.parts[-1].close()

    @property
    def finished(self) -> bool:
        """Whether the agent or the client has closed it."""
        return self.status in FINAL or self.no_result

    def freeze(self) -> Item:
        """Return the item as it is now."""
        return ToolCall(
            self.id,
            self.tool_call_id,
            self.title,
            self.name,
            self.tool_kind,
            self.status,
            self.agent_status,
            self.raw_input,
            self.raw_output,
            frozen_parts(self.parts),
            self.locations,
            self.error,
            self.parent,
            self.started_at,
            self.ended_at,
            self.no_result,
            self.historical,
        )


class PermissionDraft(Draft):
    """A permission request."""

    __slots__ = (
        "call",
        "decided_by",
        "locations",
        "options",
        "parts",
        "raw_input",
        "request_id",
        "selected",
        "status",
        "title",
        "tool_call_id",
    )

    def __init__(self, id_: str, request_id: Any, title: str, *, historical: bool) -> None:
        super().__init__(id_, historical=historical)
        self.request_id = request_id
        self.title = title
        self.call: ToolDraft | None = None
        self.tool_call_id: str | None = None
        self.options: tuple[PermissionOption, ...] = ()
        self.status: Literal["pending", "selected", "cancelled"] = "pending"
        self.selected: str | None = None
        self.decided_by: str | None = None
        self.raw_input: Any = None
        self.locations: tuple[Location, ...] = ()
        self.parts: tuple[Part, ...] = ()

    def freeze(self) -> Item:
        """Return the item as it is now."""
        return Permission(
            self.id,
            self.request_id,
            self.tool_call_id,
            self.title,
            self.options,
            self.status,
            self.selected,
            self.decided_by,
            self.raw_input,
            self.locations,
            self.parts,
            self.historical,
        )


class PlanDraft(Draft):
    """A plan."""

    __slots__ = ("entries", "markdown", "plan_id", "uri")

    def __init__(self, id_: str, plan_id: str | None, *, historical: bool) -> None:
        super().__init__(id_, historical=historical)
        self.plan_id = plan_id
        self.entries: tuple[PlanEntry, ...] = ()
        self.markdown: str | None = None
        self.uri: str | None = None

    def freeze(self) -> Item:
        """Return the item as it is now."""
        return Plan(self.id, self.plan_id, self.entries, self.markdown, self.uri, self.historical)


class NoticeDraft(Draft):
    """A notice, or a compaction with its growing summary."""

    answers = False
    __slots__ = ("level", "source", "text")

    def __init__(self, id_: str, level: str, text: str, source: str, *, historical: bool) -> None:
        super().__init__(id_, historical=historical)
        self.level = level
        self.text = text
        self.source = source

    def freeze(self) -> Item:
        """Return the item as it is now."""
        return Notice(self.id, self.level, self.text, self.source, self.historical)


NOTHING: dict[str, Any] = {}


class TurnDraft:
    """A turn. Its items stand side by side: `count` of them from `start` on."""

    __slots__ = (
        "agent",
        "attachments",
        "begun",
        "calls",
        "count",
        "ended_at",
        "error",
        "followers",
        "frozen",
        "has_agent_items",
        "index",
        "permissions",
        "prompt",
        "settled",
        "stale",
        "start",
        "started_at",
        "state",
        "stop_reason",
        "stopped_by_user",
        "usage",
    )

    def __init__(self, index: int, start: int, agent: TurnAgent) -> None:
        self.index = index
        self.start = start
        self.count = 0
        self.agent = agent
        self.prompt: SegmentDraft | None = None
        self.begun = False
        self.settled = False
        self.has_agent_items = False
        self.state: Literal["running", "idle", "failed"] = "idle"
        self.stop_reason: str | None = None
        self.stopped_by_user = False
        self.error: TurnError | None = None
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self.usage: Usage | None = None
        self.calls: dict[str, ToolDraft] = {}
        self.permissions: dict[str, PermissionDraft] = {}
        self.attachments: dict[str, tuple[str | None, dict[str, Any]]] = {}
        self.followers: list[TurnDraft] = []
        self.stale = False
        self.frozen: Turn

    def freeze(self, items: tuple[Item, ...]) -> Turn:
        """Return the turn as it is now, with these items."""
        return Turn(
            self.index,
            self.prompt.id if self.prompt else None,
            self.state,
            self.stop_reason,
            self.stopped_by_user,
            self.error,
            self.started_at,
            self.ended_at,
            self.usage,
            self.agent,
            items,
            {ref_id: state for ref_id, (_, state) in self.attachments.items()}
            if self.attachments
            else NOTHING,
        )
