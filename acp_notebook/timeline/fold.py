"""
The state that the rules write to: items in order, turns, open segments, counters.

Rules are functions of a `Fold` and an update (messages.py, tools.py, permissions.py, plans.py,
session.py, prompts.py). They change drafts and say so with `touch`; `Timeline.snapshot` freezes
what was touched. Every step costs O(1) in the length of the session.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.drafts import NoticeDraft, SegmentDraft, TurnDraft
from acp_notebook.timeline.growing import GrowingText
from acp_notebook.timeline.limits import Limits
from acp_notebook.timeline.metadata import AgentInfo, Metadata
from acp_notebook.timeline.sequence import Chunks
from acp_notebook.timeline.text import head_and_tail
from acp_notebook.timeline.turns import TurnAgent

if TYPE_CHECKING:
    from acp_notebook.timeline.drafts import (
        Draft,
        PermissionDraft,
        PlanDraft,
        ToolDraft,
    )
    from acp_notebook.timeline.growing import TerminalDraft
    from acp_notebook.timeline.items import Item
    from acp_notebook.timeline.turns import Turn


MOST_KINDS = 500
LONGEST_KIND = 200
"""What is not understood is counted by name, up to so many names of so many characters."""


def encoded(foreign: str) -> str:
    """Return a foreign id as it may stand inside one of ours."""
    if ":" in foreign or "#" in foreign:
        return foreign.replace(":", "%3A").replace("#", "%23")
    return foreign


class Fold:
    """One timeline's state. `historical` and `at` are those of the call that is being made."""

    __slots__ = (
        "agent",
        "at",
        "awaiting_echo",
        "calls",
        "changed",
        "compactions",
        "drafts",
        "echoing",
        "frozen_turns",
        "full",
        "generation",
        "historical",
        "items",
        "last",
        "limits",
        "messages",
        "metadata",
        "moved",
        "nameless",
        "notices",
        "numbers",
        "open",
        "parts",
        "permissions",
        "plans",
        "positions",
        "prompts",
        "running",
        "session_id",
        "stale",
        "stale_turns",
        "supplements",
        "terminals",
        "touched",
        "turns",
        "unrecognized_counts",
        "version",
    )

    def __init__(
        self, session_id: str, version: int, generation: int, limits: Limits | None = None
    ) -> None:
        self.session_id = session_id
        self.version = version
        self.generation = generation
        self.limits = limits or Limits()
        self.historical = False
        self.at: float | None = None

        self.drafts: dict[str, Draft] = {}
        self.last: Draft | None = None
        self.open: list[SegmentDraft] = []
        self.messages: dict[tuple[str, str], SegmentDraft] = {}
        self.calls: dict[str, ToolDraft] = {}
        self.terminals: dict[str, TerminalDraft] = {}
        self.permissions: dict[str, PermissionDraft] = {}
        self.plans: dict[str | None, PlanDraft] = {}
        self.compactions: dict[str, NoticeDraft] = {}
        self.supplements: dict[tuple[str, str], SegmentDraft] = {}
        self.awaiting_echo: list[SegmentDraft] = []
        self.echoing: SegmentDraft | None = None

        self.turns: list[TurnDraft] = []
        self.running: list[TurnDraft] = []

        self.prompts = 0
        self.nameless = 0
        self.notices = 0
        self.parts = 0
        self.numbers: dict[str, int] = {}
        self.full: set[str] = set()

        self.agent = AgentInfo()
        self.metadata = Metadata()
        self.unrecognized_counts: dict[str, int] = {}

        self.items: Chunks[Item] = Chunks()
        self.positions: dict[str, int] = {}
        self.frozen_turns: Chunks[Turn] = Chunks()
        self.touched: dict[str, None] = {}
        self.stale: list[Draft] = []
        self.stale_turns: list[TurnDraft] = []
        self.moved = False
        self.changed = True

    def touch(self, draft: Draft) -> None:
        """Note that an item differs from what it last became."""
        self.touched[draft.id] = None
        if not draft.stale:
            draft.stale = True
            self.stale.append(draft)
            self.touch_turn(draft.turn)

    def touch_turn(self, turn: TurnDraft) -> None:
        """Note that a turn differs from what it last became."""
        self.changed = True
        if not turn.stale:
            turn.stale = True
            self.stale_turns.append(turn)

    def count(self, what: str) -> None:
        """Count something that this version does not understand."""
        counts = self.unrecognized_counts
        if what not in counts and (len(counts) >= MOST_KINDS or len(what) > LONGEST_KIND):
            what = "…"
        counts[what] = counts.get(what, 0) + 1
        self.changed = True

    def unique(self, id_: str) -> str:
        """Return the id, numbered when another item has it."""
        if id_ not in self.drafts:
            return id_
        number = self.numbers[id_] = self.numbers.get(id_, 1) + 1
        return f"{id_}#{number}"

    def room(self) -> bool:
        """Whether an agent may add another item; says so once when not."""
        if len(self.drafts) < self.limits.max_items:
            return True
        self.overflow("items", f"more than {self.limits.max_items:,} items")
        return False

    def room_for_part(self) -> bool:
        """Whether an agent may add another part; says so once when not."""
        if self.parts < self.limits.max_parts:
            self.parts += 1
            return True
        self.overflow("parts", f"more than {self.limits.max_parts:,} parts")
        return False

    def fitting(self, pieces: list[Any], freed: int) -> list[Any]:
        """Return as many of the pieces as may become parts; says so once when not all."""
        room = self.limits.max_parts - self.parts + freed
        if len(pieces) <= room:
            return pieces
        self.overflow("parts", f"more than {self.limits.max_parts:,} parts")
        return pieces[:room]

    def clipped(self, text: str) -> str:
        """Return head and tail of an output that is too long; says so once."""
        limit = self.limits.max_output_chars
        if len(text) <= limit:
            return text
        self.overflow_output()
        return head_and_tail(text, limit // 4)

    def overflow_output(self) -> None:
        """Tell the user, once, that the middle of an output is dropped."""
        limit = self.limits.max_output_chars
        what = f"more than {limit:,} characters of output in one tool call"
        self.overflow("output", what, "Its middle")

    def overflow(self, which: str, what: str, dropped: str = "The rest") -> None:
        """Tell the user, once, that something is dropped."""
        if which not in self.full:
            self.full.add(which)
            text = f"The agent sent {what}. {dropped} is not shown."
            self.add(
                NoticeDraft(
                    self.next_notice_id(), "warning", text, "limit", historical=self.historical
                )
            )

    def next_notice_id(self) -> str:
        """Return the id of the next notice."""
        self.notices += 1
        return f"notice:{self.notices}"

    def add(self, draft: Draft) -> None:
        """
        Put an agent's item at the end of the open or last turn, which has now been answered.

        A notice answers nothing: codex2 sends one before it echoes the prompt.
        """
        last = self.last
        if isinstance(last, SegmentDraft) and last.nameless:
            self.close(last)
        turn = self.turns[-1] if self.turns else self.new_turn()
        turn.has_agent_items = True
        self.place(draft, turn)
        self.last = draft
        if draft.answers:
            self.echoing = None
            if self.awaiting_echo:
                self.confirm(self.awaiting_echo.pop(0))

    def add_user(self, segment: SegmentDraft) -> None:
        """Put a user's message at the end; after an agent's item it begins another turn."""
        last = self.last
        if isinstance(last, SegmentDraft) and last.nameless:
            self.close(last)
        turn = self.turns[-1] if self.turns else None
        if turn is None or turn.has_agent_items or (turn.begun and turn.settled):
            turn = self.new_turn()
            if self.running:
                turn.state = "running"
                self.running[0].followers.append(turn)
        if turn.prompt is None:
            turn.prompt = segment
        self.place(segment, turn)
        self.last = segment

    def place(self, draft: Draft, turn: TurnDraft) -> None:
        """Give an item its place at the end of its turn."""
        draft.turn = turn
        draft.position = len(self.drafts)
        if not turn.count:
            turn.start = draft.position
        turn.count += 1
        self.drafts[draft.id] = draft
        self.touched[draft.id] = None
        draft.stale = True
        self.stale.append(draft)
        self.touch_turn(turn)

    def confirm(self, bubble: SegmentDraft) -> None:
        """Make a sent prompt an ordinary bubble: the agent has echoed or answered it."""
        if bubble.optimistic or bubble.failed:
            bubble.optimistic = bubble.failed = False
            self.touch(bubble)

    def close(self, segment: SegmentDraft) -> None:
        """End a segment; half a character at its end is given up."""
        segment.closed = True
        parts = segment.parts
        tail = parts[-1] if parts else None
        if isinstance(tail, GrowingText):
            if tail.waits():
                tail.close()
                self.touch(segment)
            parts[-1] = tail.part()  # a straggler may make it grow again

    def close_all(self) -> None:
        """End all open segments: another item is seen for the first time."""
        for segment in self.open:
            if not segment.closed:
                self.close(segment)
        self.open.clear()

    def current_turn(self) -> TurnDraft:
        """Return the open or last turn, a turn without a prompt when there is none."""
        return self.turns[-1] if self.turns else self.new_turn()

    def new_turn(self) -> TurnDraft:
        """Begin another turn."""
        metadata = self.metadata
        turn = TurnDraft(
            len(self.turns),
            len(self.drafts),
            TurnAgent(self.agent.name, self.agent.version, metadata.model, metadata.mode),
        )
        self.turns.append(turn)
        self.touch_turn(turn)
        return turn

    def end_replay(self) -> None:
        """Close all segments: some agents count their message ids anew after a load."""
        if isinstance(self.last, SegmentDraft) and self.last.nameless:
            self.close(self.last)
        self.close_all()

    def frozen_metadata(self) -> Metadata:
        """Return the metadata with its counts; the same object while nothing has changed."""
        if self.metadata.unrecognized != self.unrecognized_counts:
            self.metadata = replace(self.metadata, unrecognized=dict(self.unrecognized_counts))
        return self.metadata

    def freeze(self) -> None:
        """Bring the frozen items and turns up to what was touched."""
        if self.moved:
            self.rebuild()
        items, positions = self.items, self.positions
        known = len(items)
        new: list[Item] = []
        for draft in self.stale:
            draft.stale = False
            item = draft.item = draft.freeze()
            if draft.position < known:
                items.replace(draft.position, item)
            else:
                new.append(item)
                positions[draft.id] = draft.position
        self.stale.clear()
        if new:
            items.extend(new)
        turns = self.frozen_turns
        for turn in self.stale_turns:
            turn.stale = False
            frozen = turn.freeze(items.slice(turn.start, turn.start + turn.count))
            if turn.index < len(turns):
                turns.replace(turn.index, frozen)
            else:
                turns.extend((frozen,))
        self.stale_turns.clear()

    def remove(self, draft: Draft) -> None:
        """Take an item out of the timeline; the places are counted anew at the next freeze."""
        self.touch(draft)
        draft.turn.count -= 1
        del self.drafts[draft.id]
        if self.last is draft:
            self.last = None
        self.moved = True

    def rebuild(self) -> None:
        """Count all places anew, after an item was taken out or put between others."""
        self.moved = False
        ordered = sorted(self.drafts.values(), key=lambda draft: draft.turn.index)
        start = 0
        for turn in self.turns:
            turn.start = start
            start += turn.count
        self.drafts = {}
        self.positions = {}
        for position, draft in enumerate(ordered):
            draft.position = self.positions[draft.id] = position
            self.drafts[draft.id] = draft
            if draft.stale:
                draft.stale = False
                draft.item = draft.freeze()
        self.stale.clear()
        self.items = Chunks(draft.item for draft in ordered)
