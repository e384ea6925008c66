"""
The items of a timeline: frozen, in first-seen order, told apart by `kind`.

Field words are ACP's in snake_case; `to_dict` writes them in camelCase. `historical` marks what
a replay produced. A message segment is a piece of one message that no other item interrupts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from acp_notebook.timeline.frozen import frozen
from acp_notebook.timeline.parts import Diff, Markdown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from acp_notebook.timeline.parts import Part

FINAL = frozenset({"completed", "failed", "cancelled"})
"""Statuses of a tool call after which nothing more is expected."""


def short(text: str, width: int = 40) -> str:
    """Return one line of a text for a `repr`, quoted."""
    words = " ".join(text[: 4 * width].split())
    return repr(words if len(words) <= width else f"{words[: width - 1]}…")


def text_of(parts: Iterable[Part]) -> str:
    """Return the text of the `markdown` parts, joined by nothing."""
    return "".join(part.text for part in parts if isinstance(part, Markdown))


@frozen
class MessageSegment:
    """A piece of a message. `optimistic`: sent by us and not yet confirmed by the agent."""

    kind: ClassVar[Literal["message-segment"]] = "message-segment"
    id: str
    role: Literal["user", "assistant"]
    message_id: str | None
    segment_index: int
    parts: tuple[Part, ...]
    optimistic: bool = False
    failed: bool = False
    supplement: str | None = None
    historical: bool = False

    @property
    def text(self) -> str:
        """The text of the segment, without attachments."""
        return text_of(self.parts)

    @property
    def blank(self) -> bool:
        """Whether there is nothing to see in it."""
        return all(isinstance(part, Markdown) and part.body.blank for part in self.parts)

    def __repr__(self) -> str:
        return f"<MessageSegment {self.role}: {short(self.text)}>"


@frozen
class Thought:
    """A piece of the agent's reasoning."""

    kind: ClassVar[Literal["thought"]] = "thought"
    id: str
    message_id: str | None
    segment_index: int
    parts: tuple[Part, ...]
    historical: bool = False

    @property
    def text(self) -> str:
        """The text of the segment."""
        return text_of(self.parts)

    @property
    def blank(self) -> bool:
        """Whether there is nothing to see in it."""
        return all(isinstance(part, Markdown) and part.body.blank for part in self.parts)

    def __repr__(self) -> str:
        return f"<Thought: {short(self.text)}>"


@frozen
class Location:
    """A file that a tool call touches; `line` counts from 1."""

    path: str
    line: int | None


@frozen
class ToolCall:
    """
    A tool call.

    `status` is what is shown; `agent_status` is a final status that the agent reported after the
    client had closed the call. `no_result`: its turn ended and nothing was reported.
    """

    kind: ClassVar[Literal["tool-call"]] = "tool-call"
    id: str
    tool_call_id: str
    title: str
    name: str | None
    tool_kind: str | None
    status: str
    agent_status: str | None
    raw_input: Any
    raw_output: Any
    output_parts: tuple[Part, ...]
    locations: tuple[Location, ...]
    error: str | None
    parent_tool_call_id: str | None
    started_at: float | None
    ended_at: float | None
    no_result: bool = False
    historical: bool = False

    @property
    def is_open(self) -> bool:
        """Whether more is expected of it: a replayed or abandoned call is not open."""
        return self.status not in FINAL and not self.no_result and not self.historical

    @property
    def text(self) -> str:
        """The text of its output, without diffs and terminals."""
        return text_of(self.output_parts)

    @property
    def diffs(self) -> tuple[Diff, ...]:
        """The file changes in its output."""
        return tuple(part for part in self.output_parts if isinstance(part, Diff))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it touches, by its locations and its diffs."""
        named = [location.path for location in self.locations]
        named += [diff.path for diff in self.diffs if diff.path is not None]
        return tuple(dict.fromkeys(named))

    @property
    def duration(self) -> float | None:
        """Seconds from its first to its final update, None when one is not known."""
        if self.started_at is None or self.ended_at is None:
            return None
        return self.ended_at - self.started_at

    def __repr__(self) -> str:
        return f"<ToolCall {short(self.title)}: {self.status}>"


class ToolCalls(tuple[ToolCall, ...]):
    """Tool calls in first-seen order, to be narrowed: `turn.tool_calls.where(kind="edit")`."""

    __slots__ = ()

    def where(
        self,
        *,
        kind: str | None = None,
        status: str | None = None,
        name: str | None = None,
        path: str | None = None,
    ) -> ToolCalls:
        """Return those of this kind, status, tool name, and that touch a path ending like this."""
        return ToolCalls(
            call
            for call in self
            if (kind is None or call.tool_kind == kind)
            and (status is None or call.status == status)
            and (name is None or call.name == name)
            and (path is None or any(known.endswith(path) for known in call.paths))
        )


@frozen
class PermissionOption:
    """One answer that the agent offers; `kind` is `allow_once`, `reject_always` and so on."""

    option_id: str
    name: str
    kind: str


@frozen
class Permission:
    """A request for permission and its answer, with what was asked at that moment."""

    kind: ClassVar[Literal["permission"]] = "permission"
    id: str
    request_id: Any
    tool_call_id: str | None
    title: str
    options: tuple[PermissionOption, ...]
    status: Literal["pending", "selected", "cancelled"]
    selected_option_id: str | None
    decided_by: str | None
    raw_input: Any
    locations: tuple[Location, ...]
    parts: tuple[Part, ...]
    historical: bool = False

    @property
    def selected(self) -> PermissionOption | None:
        """The chosen option."""
        return next((o for o in self.options if o.option_id == self.selected_option_id), None)

    def __repr__(self) -> str:
        return f"<Permission {short(self.title)}: {self.status}>"


@frozen
class PlanEntry:
    """One step of a plan."""

    content: str
    priority: str | None
    status: str | None


@frozen
class Plan:
    """The agent's plan: entries, or a Markdown text, or the uri of a file."""

    kind: ClassVar[Literal["plan"]] = "plan"
    id: str
    plan_id: str | None
    entries: tuple[PlanEntry, ...]
    markdown: str | None = None
    uri: str | None = None
    historical: bool = False

    def __repr__(self) -> str:
        return f"<Plan: {len(self.entries)} entries>"


@frozen
class Notice:
    """A word to the user that is no message: an agent's notice, a compaction, a limit."""

    kind: ClassVar[Literal["notice"]] = "notice"
    id: str
    level: str
    text: str
    source: str
    historical: bool = False

    def __repr__(self) -> str:
        return f"<Notice {self.level}: {short(self.text)}>"


Item = MessageSegment | Thought | ToolCall | Permission | Plan | Notice


def copy_text(items: Iterable[Item]) -> str:
    """
    Return the text of the assistant's messages among these items.

    Segments that stand side by side are joined by nothing, others by a blank line.
    """
    pieces: list[str] = []
    between = False
    for item in items:
        if isinstance(item, MessageSegment | Thought) and item.blank:
            continue  # nobody sees that it stands there
        if isinstance(item, MessageSegment) and item.role == "assistant":
            if pieces and between:
                pieces.append("\n\n")
            pieces.append(item.text)
            between = False
        else:
            between = True
    return "".join(pieces)
