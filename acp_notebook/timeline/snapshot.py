"""The frozen timeline: what every view, test and saved copy is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.items import (
    Item,
    Notice,
    Permission,
    Plan,
    Thought,
    ToolCall,
    ToolCalls,
)
from acp_notebook.timeline.metadata import AgentInfo, Metadata
from acp_notebook.timeline.sequence import Shared
from acp_notebook.timeline.turns import Turn
from acp_notebook.timeline.views import view

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from acp_notebook.timeline.parts import Part
    from acp_notebook.timeline.questions import Questions


class Items(Shared[Item]):
    """The items in first-seen order; also looked up by id."""

    __slots__ = ("_positions",)

    def __init__(self, members: Iterable[Item] = ()) -> None:
        super().__init__(members)
        self._positions = {item.id: at for at, item in enumerate(self)}

    @classmethod
    def sharing(cls, items: Shared[Item], positions: dict[str, int]) -> Items:
        """Return a sequence of the same chunks; `positions` may know later items too."""
        made = cls.__new__(cls)
        made._chunks = items._chunks  # noqa: SLF001  # another constructor of this class
        made._length = items._length  # noqa: SLF001
        made._positions = positions  # noqa: SLF001
        return made

    def position(self, item_id: str) -> int | None:
        """Return the place of an item, None when it is not here."""
        at = self._positions.get(item_id)
        return at if at is not None and at < self._length else None

    def get(self, item_id: str) -> Item | None:
        """Return the item of this id, None when it is not here."""
        at = self.position(item_id)
        return None if at is None else self[at]

    def __contains__(self, member: object) -> bool:
        if isinstance(member, str):
            return self.position(member) is not None
        return super().__contains__(member)


def parts_of(item: Item) -> tuple[Part, ...]:
    """Return the parts of an item, none when it has none."""
    if isinstance(item, ToolCall):
        return item.output_parts
    return () if isinstance(item, Plan | Notice) else item.parts


class TimelineSnapshot:
    """
    One session as it was at one moment; immutable and picklable.

        snap["tool:t1"].status        an item by its id
        snap.turns[-1].text           what the agent said last
        snap.tool_calls               every tool call, in order

    Two snapshots are equal when session, items, turns and metadata are; generation and the
    states of attachments do not count.
    """

    __slots__ = (
        "_attachments",
        "_questions",
        "agent",
        "extra",
        "generation",
        "items",
        "metadata",
        "protocol_version",
        "session_id",
        "streaming_segments",
        "turns",
    )

    def __init__(
        self,
        session_id: str,
        *,
        generation: int = 0,
        protocol_version: int = 1,
        agent: AgentInfo | None = None,
        items: Items | None = None,
        turns: Shared[Turn] | None = None,
        metadata: Metadata | None = None,
        streaming_segments: tuple[str, ...] = (),
    ) -> None:
        self.session_id = session_id
        self.generation = generation
        self.protocol_version = protocol_version
        self.agent = agent or AgentInfo()
        self.items = items if items is not None else Items()
        self.turns = turns if turns is not None else Shared[Turn]()
        self.metadata = metadata or Metadata()
        self.streaming_segments = streaming_segments
        self.extra: dict[str, Any] | None = None
        self._attachments: dict[str, Mapping[str, Any]] | None = None
        self._questions: Questions | None = None

    def __getitem__(self, item_id: str) -> Item:
        item = self.items.get(item_id)
        if item is None:
            raise KeyError(item_id)
        return item

    def __len__(self) -> int:
        return len(self.items)

    @property
    def tool_calls(self) -> ToolCalls:
        """Every tool call, in first-seen order; `.where(kind=…, status=…)` narrows them."""
        return ToolCalls(item for item in self.items if isinstance(item, ToolCall))

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Every permission request, in order."""
        return tuple(item for item in self.items if isinstance(item, Permission))

    @property
    def thoughts(self) -> tuple[Thought, ...]:
        """Every thought, in order."""
        return tuple(item for item in self.items if isinstance(item, Thought))

    @property
    def plan(self) -> Plan | None:
        """The newest plan."""
        return next((i for i in reversed(self.items) if isinstance(i, Plan)), None)

    @property
    def attachments(self) -> Mapping[str, Mapping[str, Any]]:
        """The state of each attachment by its `ref_id`, as the host found it on its disk."""
        if self._attachments is None:
            self._attachments = {
                ref_id: state for turn in self.turns for ref_id, state in turn.attachments.items()
            }
        return self._attachments

    @property
    def blobs(self) -> dict[str, bytes]:
        """The bytes of pictures, sound and embedded resources, by their SHA-256."""
        found: dict[str, bytes] = {}
        for item in self.items:
            for part in parts_of(item):
                blob = getattr(part, "blob", None)
                if blob is not None and blob.data is not None:
                    found[blob.sha256] = blob.data
        return found

    @property
    def questions(self) -> Questions:
        """The question directory: one entry a user segment, the newest 300."""
        if self._questions is None:
            from acp_notebook.timeline.questions import questions_of

            self._questions = questions_of(self)
        return self._questions

    @property
    def running(self) -> bool:
        """Whether a turn is running."""
        return any(turn.state == "running" for turn in reversed(self.turns))

    def to_dict(self, *, blobs: bool = False) -> dict[str, Any]:
        """Return plain JSON data; `blobs` puts the bytes in as base64."""
        from acp_notebook.timeline.jsonform import to_dict

        return to_dict(self, blobs=blobs)

    def to_text(self, *, thoughts: bool = False) -> str:
        """Return the conversation as plain text."""
        return str(view("text").to_text(self, thoughts=thoughts))

    def to_markdown(self, *, thoughts: bool = False) -> str:
        """Return the conversation as Markdown: raw HTML escaped, pictures from elsewhere links."""
        return str(view("markdown").to_markdown(self, thoughts=thoughts))

    def to_html(self, *, thoughts: bool = True) -> str:
        """Return the conversation as one HTML page without scripts that fetches nothing."""
        return str(view("html").to_html(self, thoughts=thoughts))

    def to_frame(self, library: str | None = None) -> Any:
        """
        Return a data frame with one row per item; `library` is "pandas" or "polars".

        Raises: ImportError when it is not installed.
        """
        return view("frame").to_frame(self, library)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], blobs: Mapping[str, bytes] | None = None
    ) -> TimelineSnapshot:
        """
        Read back what `to_dict` wrote; `blobs` are bytes that were left out of it.

        Raises: ValueError for an unknown schema or data that is no timeline.
        """
        from acp_notebook.timeline.jsonform import from_dict

        return from_dict(data, blobs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TimelineSnapshot):
            return NotImplemented
        return (
            self.session_id == other.session_id
            and self.protocol_version == other.protocol_version
            and self.agent == other.agent
            and self.metadata == other.metadata
            and self.items == other.items
            and self.turns == other.turns
        )

    __hash__ = None  # type: ignore[assignment]  # items may hold JSON objects

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self.extra, *(getattr(self, name) for name in _FIELDS)))

    def __repr__(self) -> str:
        turns, items = len(self.turns), len(self.items)
        return (
            f"<TimelineSnapshot: {turns} turn{'s' * (turns != 1)},"
            f" {items} item{'s' * (items != 1)}>"
        )


_FIELDS = (
    "session_id",
    "generation",
    "protocol_version",
    "agent",
    "items",
    "turns",
    "metadata",
    "streaming_segments",
)


def _restored(extra: dict[str, Any] | None, session_id: str, *rest: Any) -> TimelineSnapshot:
    snapshot = TimelineSnapshot(session_id, **dict(zip(_FIELDS[1:], rest, strict=True)))
    snapshot.extra = extra
    return snapshot
