"""
What the pages have been told, and the ops that lead to a newer snapshot. Pure: no clock, no I/O.

Ops cost what has changed: only touched items are looked at, a growing text costs what was added,
and groups are asked for only when an item comes, goes, or shows its first text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_notebook.timeline.parts import Attachment, Image, Markdown, Terminal
from acp_notebook.widget.form import Former, bounded, camel, changed_names, parts_name, parts_of
from acp_notebook.widget.packing import GROWS, Pieces
from acp_notebook.widget.summary import (
    attachment_ops,
    group_form,
    group_ops,
    metadata_form,
    questions_form,
    questions_ops,
    state_form,
    turn_form,
    turn_ops,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from acp_notebook.host.state import ChatState
    from acp_notebook.timeline import Group, Item, Part, TimelineSnapshot
    from acp_notebook.widget.messages import Json, Piece, View

GROWING = (Markdown, Terminal)
LIFTED = (Attachment, Image)
"""Parts that decide which attachments a group shows below its items."""
BODY = frozenset({"body"})


class SentView:
    """The view of one session as its pages know it."""

    def __init__(
        self, snapshot: TimelineSnapshot, groups: tuple[Group, ...], state: ChatState
    ) -> None:
        self._snapshot = snapshot
        self._groups = groups
        self._state = state
        self._former = Former()

    def shows(self, snapshot: TimelineSnapshot, state: ChatState) -> bool:
        """Whether these are a later moment of what is shown, and not another session."""
        old, now = self._snapshot, self._state
        return (old.session_id, old.generation, now.session_key, now.generation) == (
            snapshot.session_id,
            snapshot.generation,
            state.session_key,
            state.generation,
        )

    def blob(self, sha256: str) -> tuple[bytes, str] | None:
        """The bytes of a blob that the view names, and their MIME type."""
        return self._former.blob(sha256)

    # -- all of it

    def pieces(self) -> list[Piece]:
        """Return the whole view in pieces, the newest items first."""
        made = Pieces()
        for item in reversed(self._snapshot.items):
            made.add_item(self._former.item(item))
        self._place(made)
        for turn in reversed(self._snapshot.turns):
            for op in attachment_ops(turn.attachments, {}):
                made.add_op(op)
        return made.done(self._meta())

    def newest(self, max_bytes: int) -> View:
        """Return the newest items that fit, with their groups and turns; long texts are cut."""
        made = Pieces(max_bytes)
        for item in reversed(self._snapshot.items):
            made.add_item(self._former.item(item))
            if made.count > 1:
                break
        self._place(made)
        return made.done(self._meta())[0]["view"]

    def _place(self, made: Pieces) -> None:
        """Give groups and turns to the pieces that hold their items."""
        for group in self._groups:
            made.add_group(group_form(group))
        piece, placed = 0, []
        for turn in reversed(self._snapshot.turns):
            at = made.place_of(turn.items[-1].id) if turn.items else piece
            if at is None:
                break
            piece = at
            placed.append((turn_form(turn), piece))
        for form, at in reversed(placed):
            made.add_turn(form, at)

    def _meta(self) -> Json:
        snapshot = self._snapshot
        return {
            **state_form(self._state),
            "metadata": metadata_form(snapshot),
            "streamingSegments": list(snapshot.streaming_segments),
            "attachments": {},
            "questions": questions_form(snapshot),
        }

    # -- what is new

    def ops(
        self,
        snapshot: TimelineSnapshot,
        groups: Callable[[], tuple[Group, ...]],
        state: ChatState,
        touched: Iterable[str],
    ) -> list[Json]:
        """
        Return the ops that turn this view into that of a later snapshot, and remember it.

        `touched` are the ids of all items that differ; `groups` gives the groups of the snapshot.
        """
        old = self._snapshot
        ops, regroup, asked = self._item_ops(old, snapshot, touched)
        turns, states = turn_ops(old.turns, snapshot.turns)
        ops += turns + states
        if regroup or states:
            after = groups()
            ops += group_ops(self._groups, after)
            self._groups = after
        ops += self._meta_ops(snapshot, state)
        if asked:
            ops += questions_ops(old, snapshot)
        self._snapshot, self._state = snapshot, state
        return ops

    def _item_ops(
        self, old: TimelineSnapshot, new: TimelineSnapshot, touched: Iterable[str]
    ) -> tuple[list[Json], bool, bool]:
        ops: list[Json] = []
        came: list[tuple[int, Item]] = []
        regroup = asked = False
        for item_id in touched:
            before, item = old.items.get(item_id), new.items.get(item_id)
            if before is item:
                continue
            if item is None or before is None or item.kind != before.kind:
                asked = asked or is_question(item or before)
                regroup = True
                if before is not None:
                    self._former.forget(item_id, len(parts_of(before)))
                if item is None:
                    ops.append({"op": "drop", "id": item_id})
                else:
                    came.append((new.items.position(item_id) or 0, item))
                continue
            changes, lifted = self._changes(before, item)
            ops += changes
            blank = getattr(item, "blank", False) is not getattr(before, "blank", False)
            regroup = regroup or lifted or blank
            asked = asked or is_question(item)
        for at, item in sorted(came, key=lambda one: one[0]):
            previous = new.items[at - 1].id if at else None
            ops.append(
                {"op": "put", "id": item.id, "item": self._former.item(item), "after": previous}
            )
        return ops, regroup, asked

    def _changes(self, before: Item, item: Item) -> tuple[list[Json], bool]:
        """Return how an item became another version of itself, and whether groups may differ."""
        own, _ = parts_name(item)
        old_parts, parts = parts_of(before), parts_of(item)
        if len(parts) < len(old_parts) or any(
            a.kind != b.kind for a, b in zip(old_parts, parts, strict=False)
        ):
            self._former.forget(item.id, len(old_parts))
            form = self._former.item(item)  # a page replaces an item that it knows in its place
            return [{"op": "put", "id": item.id, "item": form, "after": None}], True
        ops: list[Json] = []
        which = changed_names(before, item, but=frozenset({own}))
        if which:
            changed = self._former.fields(item, item.id, -1, which, changed=True)
            ops.append({"op": "set", "id": item.id, "fields": changed})
        lifted = False
        if old_parts is not parts:
            for at, (old, part) in enumerate(zip(old_parts, parts, strict=False)):
                if old is not part:
                    ops += self._part_ops(item.id, at, old, part)
                    lifted = lifted or isinstance(part, LIFTED)
            for at in range(len(old_parts), len(parts)):
                part = parts[at]
                form = self._former.part(part, item.id, at)
                ops.append({"op": "set", "id": item.id, "part": at, "fields": form})
                lifted = lifted or isinstance(part, LIFTED)
        return ops, lifted

    def _part_ops(self, item_id: str, at: int, old: Part, part: Part) -> list[Json]:
        ops: list[Json] = []
        fields_: Json = {}
        if isinstance(part, GROWING) and isinstance(old, GROWING):
            added = added_text(old, part)
            if added is None:
                fields_ = {"kind": part.kind, GROWS[part.kind]: str(part.body)}
            elif added:
                ops.append({"op": "append", "id": item_id, "part": at, "text": added})
        which = changed_names(old, part, but=BODY)
        fields_ |= self._former.fields(part, item_id, at, which, changed=True) if which else {}
        if fields_:
            ops.append({"op": "set", "id": item_id, "part": at, "fields": fields_})
        return ops

    def _meta_ops(self, snapshot: TimelineSnapshot, state: ChatState) -> list[Json]:
        ops: list[Json] = []
        old = self._snapshot
        changed: Json = {}
        if state is not self._state:
            before = state_form(self._state)
            changed = {
                name: value for name, value in state_form(state).items() if value != before[name]
            }
        if snapshot.streaming_segments != old.streaming_segments:
            changed["streamingSegments"] = list(snapshot.streaming_segments)
        if changed:
            ops.append({"op": "meta", "fields": changed})
        if snapshot.metadata is not old.metadata:
            metadata = {
                camel(name): bounded(getattr(snapshot.metadata, name))
                for name in changed_names(old.metadata, snapshot.metadata)
            }
            if metadata:
                ops.append({"op": "metadata", "fields": metadata})
        return ops


def is_question(item: Item | None) -> bool:
    """Whether an item has an entry in the question directory."""
    return getattr(item, "role", None) == "user"


def added_text(old: Part, part: Part) -> str | None:
    """Return what a growing text grew by; None when it is another text."""
    assert isinstance(old, GROWING)
    assert isinstance(part, GROWING)
    if part.origin is old.origin:
        return part.since(old.length)
    if part.length < old.length:
        return None
    text, before = str(part.body), str(old.body)
    return text[len(before) :] if text.startswith(before) else None
