"""
Display groups, derived by walking the items in order; nothing is stored.

A turn is at most one user group and one assistant turn. Attachments are lifted out of messages,
thoughts and tool output into one ordered list a group, to be shown after all prose and process
items and before file activity.
"""

from __future__ import annotations

from itertools import compress, count
from operator import is_, is_not
from typing import TYPE_CHECKING, ClassVar, Literal

from acp_notebook.timeline.frozen import frozen
from acp_notebook.timeline.items import MessageSegment, Thought, ToolCall, copy_text
from acp_notebook.timeline.parts import Attachment, Image
from acp_notebook.timeline.sequence import WIDTH

if TYPE_CHECKING:
    from acp_notebook.timeline.items import Item
    from acp_notebook.timeline.snapshot import TimelineSnapshot
    from acp_notebook.timeline.turns import Turn


@frozen
class UserGroup:
    """What the user said in one turn: prose first, then attachments."""

    kind: ClassVar[Literal["user"]] = "user"
    id: str
    turn: int
    items: tuple[MessageSegment, ...]
    attachments: tuple[Attachment, ...]

    @property
    def item_ids(self) -> tuple[str, ...]:
        """The ids of its items, in order."""
        return tuple(item.id for item in self.items)

    @property
    def copy_text(self) -> str:
        """The prose of the group."""
        return "\n\n".join(item.text for item in self.items if item.text)


@frozen
class AssistantTurn:
    """What the agent showed in one turn, in order, with one copy text."""

    kind: ClassVar[Literal["assistant-turn"]] = "assistant-turn"
    id: str
    turn: int
    items: tuple[Item, ...]
    attachments: tuple[Attachment, ...]

    @property
    def item_ids(self) -> tuple[str, ...]:
        """The ids of its items, in order."""
        return tuple(item.id for item in self.items)

    @property
    def copy_text(self) -> str:
        """
        The agent's messages, without thoughts and tool output.

        Segments that stand side by side are joined by nothing, others by a blank line.
        """
        return copy_text(self.items)


Group = UserGroup | AssistantTurn


def group_timeline(snapshot: TimelineSnapshot) -> tuple[Group, ...]:
    """Return the display groups of a snapshot, in order."""
    return tuple(group for turn in snapshot.turns for group in group_turn(turn))


def group_turn(turn: Turn) -> tuple[Group, ...]:
    """Return the groups of one turn: at most a user group and an assistant turn."""
    users: list[MessageSegment] = []
    others: list[Item] = []
    for item in turn.items:
        if isinstance(item, MessageSegment | Thought):
            if item.blank:
                continue
            if isinstance(item, MessageSegment) and item.role == "user":
                users.append(item)
                continue
        others.append(item)
    groups: list[Group] = []
    if users:
        lifted = attachments_of(turn, users)
        groups.append(UserGroup(f"group:{users[0].id}", turn.index, tuple(users), lifted))
    if others:
        lifted = attachments_of(turn, others)
        groups.append(AssistantTurn(f"group:{others[0].id}", turn.index, tuple(others), lifted))
    return tuple(groups)


def attachments_of(turn: Turn, items: list[MessageSegment] | list[Item]) -> tuple[Attachment, ...]:
    """
    Return the attachments of a group, each once.

    Two that resolve to the same identity collapse, native ones before supplements; a picture that
    is shown inline suppresses the card of its identity.
    """
    found: list[tuple[bool, Attachment]] = []
    inline: set[str] = set()
    for item in items:
        if isinstance(item, ToolCall):
            parts = item.output_parts
        elif isinstance(item, MessageSegment | Thought):
            parts = item.parts
        else:
            continue
        for part in parts:
            if isinstance(part, Attachment):
                supplement = isinstance(item, MessageSegment) and item.supplement is not None
                found.append((supplement, part))
            elif isinstance(part, Image) and part.source:
                inline.add(part.source)
    if not found:
        return ()
    identities = [identity(turn, part) for _, part in found]
    native = {
        key
        for (supplement, _), key in zip(found, identities, strict=True)
        if key and not supplement
    }
    kept: list[Attachment] = []
    seen: set[str] = set()
    for (supplement, part), key in zip(found, identities, strict=True):
        if part.uri in inline or (key is not None and (key in seen or key in inline)):
            continue
        if supplement and key in native:
            continue
        if key is not None:
            seen.add(key)
        kept.append(part)
    return tuple(kept)


def identity(turn: Turn, part: Attachment) -> str | None:
    """Return what the host found an attachment to be, None while it is not resolved."""
    found = turn.attachments.get(part.ref_id, {}).get("identity")
    return found if isinstance(found, str) else None


class GroupCache:
    """
    `group_timeline` with a memory for one viewer.

    An unchanged group is the same object in the next call, and a call costs what has changed.
    """

    def __init__(self) -> None:
        self._chunks: tuple[tuple[Turn, ...], ...] = ()
        self._groups: list[Group] = []
        self._starts: list[int] = []  # where the groups of each turn begin
        self._whole: tuple[Group, ...] = ()

    def groups(self, snapshot: TimelineSnapshot) -> tuple[Group, ...]:
        """Return the display groups of a snapshot."""
        chunks = snapshot.turns.chunks
        old = self._chunks
        if len(snapshot.turns) < len(self._starts):
            old, self._groups, self._starts, self._whole = (), [], [], ()
        changed = False
        for number, chunk in enumerate(chunks):
            known = old[number] if number < len(old) else ()
            if chunk is known:
                continue
            first = number * WIDTH
            for at in compress(count(), map(is_not, known, chunk)):
                self._replace(first + at, chunk[at])
            for turn in chunk[len(known) :]:
                self._starts.append(len(self._groups))
                self._groups.extend(group_turn(turn))
            changed = True
        self._chunks = chunks
        if changed:
            self._whole = tuple(self._groups)
        return self._whole

    def _replace(self, index: int, turn: Turn) -> None:
        """Group a turn anew, keeping the object of a group in which nothing has changed."""
        starts = self._starts
        start = starts[index]
        stop = starts[index + 1] if index + 1 < len(starts) else len(self._groups)
        made = reused(self._groups[start:stop], group_turn(turn))
        self._groups[start:stop] = made
        moved = start + len(made) - stop
        if moved:
            starts[index + 1 :] = [later + moved for later in starts[index + 1 :]]


def reused(old: list[Group], new: tuple[Group, ...]) -> list[Group]:
    """Return the new groups, with the old object where nothing in it has changed."""
    if len(old) == len(new):
        return [known if same(known, group) else group for known, group in zip(old, new)]  # noqa: B905  # hot, and equally long
    return [next((known for known in old if same(known, group)), group) for group in new]


def same(old: Group, new: Group) -> bool:
    """Whether two groups hold the same objects."""
    return (
        len(old.items) == len(new.items)
        and old.items[-1] is new.items[-1]  # where an open turn differs
        and old.attachments == new.attachments
        and all(map(is_, old.items, new.items))
    )
