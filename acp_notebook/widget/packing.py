"""
No message above 4 MiB: long texts are cut, many ops become several messages, and a large
snapshot comes in pieces, the newest items first.

Sizes are measured as ASCII JSON, which is never smaller than what the kernel writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.widget.form import size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from acp_notebook.widget.messages import Json, Piece

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MESSAGE_BYTES = 2 * 1024 * 1024
"""Aim of a list of ops; one op is at most `MAX_OP_BYTES` above it."""
FIRST_PIECE_BYTES = 256 * 1024
PIECE_BYTES = 512 * 1024
BLOB_CHUNK = 2 * 1024 * 1024
TEXT_CHARS = 64 * 1024
"""Of one text in one op: at most 6 bytes each."""

GROWS = {"markdown": "text", "terminal": "output"}


def packed(ops: Iterable[Json]) -> Iterator[list[Json]]:
    """Yield the ops in lists that fit a message each, long texts and long items cut."""
    some: list[Json] = []
    room = MESSAGE_BYTES
    for op in (small for large in ops for small in cut_op(large)):
        size = size_of(op)
        if some and size > room:
            yield some
            some, room = [], MESSAGE_BYTES
        some.append(op)
        room -= size
    if some:
        yield some


def cut_op(op: Json) -> Iterator[Json]:
    """Yield an op, and those that bring what was too long for it."""
    if op["op"] == "put":
        item, rest = cut_item(op["item"])
        yield {**op, "item": item}
        yield from rest
    elif op["op"] == "append" and len(op["text"]) > TEXT_CHARS:
        yield from _appends(op["id"], op["part"], op["text"], 0)
    elif op["op"] == "set" and "part" in op:
        part, rest = _cut_part(op["id"], op["part"], op["fields"])
        yield {**op, "fields": part}
        yield from rest
    else:
        yield op


def cut_item(item: Json) -> tuple[Json, list[Json]]:
    """Return an item of a size that fits a piece, and the ops that bring the rest of it."""
    name = "outputParts" if "outputParts" in item else "parts"
    parts: Sequence[Json] = item.get(name, ())
    room = FIRST_PIECE_BYTES
    head: list[Json] = []
    rest: list[Json] = []
    for at, whole in enumerate(parts):
        part, later = _cut_part(item["id"], at, whole)
        room -= size_of(part)
        if room >= 0 or at == 0:
            head.append(part)
        else:
            rest.append({"op": "set", "id": item["id"], "part": at, "fields": part})
        rest += later
    return ({**item, name: head}, rest) if rest else (item, rest)


def _cut_part(item_id: str, at: int, part: Json) -> tuple[Json, list[Json]]:
    name = GROWS.get(part.get("kind", ""))
    text: str = part.get(name, "") if name is not None else ""
    if name is None or len(text) <= TEXT_CHARS:
        return part, []
    return {**part, name: text[:TEXT_CHARS]}, list(_appends(item_id, at, text, TEXT_CHARS))


def _appends(item_id: str, at: int, text: str, start: int) -> Iterator[Json]:
    for offset in range(start, len(text), TEXT_CHARS):
        piece = text[offset : offset + TEXT_CHARS]
        yield {"op": "append", "id": item_id, "part": at, "text": piece}


class Pieces:
    """
    A snapshot while it is cut into pieces.

    Items are added from the newest to the oldest; then groups and turns find the piece that holds
    their items.
    """

    def __init__(self, first_bytes: int | None = None) -> None:
        self._pieces: list[Piece] = [_empty()]
        self._room = FIRST_PIECE_BYTES if first_bytes is None else first_bytes
        self._at: dict[str, int] = {}

    def add_item(self, item: Json) -> None:
        """Add the next older item."""
        head, rest = cut_item(item)
        self._make_room(size_of(head))
        self._pieces[-1]["view"]["items"].append(head)
        self._at[item["id"]] = len(self._pieces) - 1
        for op in rest:
            self.add_op(op)

    def add_op(self, op: Any) -> None:
        """Add an op that the page applies when the piece is there."""
        self._make_room(size_of(op))
        self._pieces[-1]["ops"].append(op)

    @property
    def count(self) -> int:
        """How many pieces there are by now."""
        return len(self._pieces)

    def place_of(self, item_id: str) -> int | None:
        """Return the number of the piece that holds an item, None when it was not added."""
        return self._at.get(item_id)

    def add_group(self, group: Json) -> None:
        """Add the next newer group, cut where its items are."""
        runs: dict[int, list[str]] = {}
        for item_id in group["itemIds"]:
            if item_id in self._at:
                runs.setdefault(self._at[item_id], []).append(item_id)
        newest = min(runs, default=0)
        for at, item_ids in runs.items():
            lifted = group["attachments"] if at == newest else []
            self._pieces[at]["view"]["groups"].append(
                {**group, "itemIds": item_ids, "attachments": lifted}
            )

    def add_turn(self, turn: Json, piece: int) -> None:
        """Add the next newer turn."""
        self._pieces[piece]["view"].setdefault("turns", []).append(turn)

    def done(self, meta: Any) -> list[Piece]:
        """Return the pieces; the first one has `meta`."""
        for piece in self._pieces:
            piece["view"]["items"].reverse()
        self._pieces[0]["view"]["meta"] = meta
        return self._pieces

    def _make_room(self, size: int) -> None:
        if self._room < size and self._room < PIECE_BYTES:
            self._pieces.append(_empty())
            self._room = PIECE_BYTES
        self._room -= size


def _empty() -> Piece:
    return {"view": {"items": [], "groups": []}, "ops": []}
