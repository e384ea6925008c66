"""
Items and parts as the page gets them: the shape of `to_dict`, cut to what a message may carry.

A field above `DEFER_BYTES` stays here and travels when somebody looks at it: the page gets its
head (nothing, where a head has no meaning) and in `deferred` the blob of the whole. Texts that
grow are never deferred; they are sent in pieces (packing.py).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.jsonform import camel as camel_of
from acp_notebook.timeline.jsonform import encode
from acp_notebook.timeline.parts import Blob, Diff, Markdown, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_notebook.timeline import Item, Part
    from acp_notebook.widget.messages import BlobRef, Json

DEFER_BYTES = 128 * 1024
HEAD_CHARS = 8 * 1024
MAX_META_BYTES = 128 * 1024

PARTS = {"tool-call": ("output_parts", "outputParts")}
"""Attribute and JSON name of an item's list of parts, where it is not `parts`."""

FLAGS = frozenset({"historical", "no_result", "optimistic", "failed", "supplement"})
"""Left out when false; sent as they are when they change."""


def parts_of(item: Item) -> tuple[Part, ...]:
    """Return the parts that an item is made of."""
    found: tuple[Part, ...] = getattr(item, parts_name(item)[0], ())
    return found


def parts_name(item: Item) -> tuple[str, str]:
    """Return the attribute and the JSON name of its list of parts."""
    return PARTS.get(item.kind, ("parts", "parts"))


def size_of(value: Any) -> int:
    """At least as many bytes as the JSON of a value has on the wire."""
    return len(json.dumps(value, separators=(",", ":")))


@dataclass(slots=True, eq=False)
class Held:
    """A field that stays here: its blob, the value it was made for, and how to read it."""

    ref: BlobRef
    value: object
    read: Callable[[], bytes]


class Former:
    """Makes forms, and keeps the way to the bytes that are not in them."""

    def __init__(self) -> None:
        self._blobs: dict[str, Blob] = {}
        self._deferred: dict[tuple[str, int], dict[str, Held]] = {}

    def blob(self, sha256: str) -> tuple[bytes, str] | None:
        """The bytes of a blob and their MIME type; None for a blob of no shown item."""
        blob = self._blobs.get(sha256)
        if blob is not None and blob.data is not None:
            return blob.data, blob.mime_type or "application/octet-stream"
        for place in self._deferred.values():
            for held in place.values():
                if held.ref["sha256"] == sha256:
                    return held.read(), held.ref["mimeType"]
        return None

    def item(self, item: Item) -> Json:
        """Return the whole item."""
        form: Json = {"kind": item.kind}
        own, shown = parts_name(item)
        form |= self.fields(item, item.id, -1, [name for name in names(item) if name != own])
        if hasattr(item, own):
            form[shown] = [self.part(part, item.id, at) for at, part in enumerate(parts_of(item))]
        return form

    def part(self, part: Part, item_id: str, at: int) -> Json:
        """Return a whole part of an item."""
        form: Json = {"kind": part.kind}
        if isinstance(part, Markdown):
            form["text"] = part.text
        elif isinstance(part, Terminal):
            form["output"] = part.output
        form |= self.fields(part, item_id, at, [name for name in names(part) if name != "body"])
        if isinstance(part, Diff):
            for name in ("patch", "changes") if part.changes is None else ("oldText", "newText"):
                del form[name]
        return form

    def fields(
        self, of: Item | Part, item_id: str, at: int, which: list[str], *, changed: bool = False
    ) -> Json:
        """
        Return those fields of an item (`at` = -1) or of its part at `at`.

        `changed`: they replace others, so flags are told when false, and `deferred` when it is
        another.
        """
        form: Json = {}
        place = (item_id, at)
        before = self._deferred.get(place, {})
        deferred = {name: held for name, held in before.items() if changed and name not in which}
        for name in which:
            value = getattr(of, name)
            if name in FLAGS and not value and not changed:
                continue
            if isinstance(value, NUMBERS):
                form[camel(name)] = value
                continue
            if isinstance(value, Blob):
                self._blobs[value.sha256] = value
            if (held := self._too_large(value, before.get(name))) is not None:
                deferred[name] = held
                form[camel(name)] = head_of(value)
            else:
                form[camel(name)] = encode(value)
        if deferred:
            self._deferred[place] = deferred
        else:
            self._deferred.pop(place, None)
        if deferred != before if changed else deferred:
            form["deferred"] = {camel(name): held.ref for name, held in deferred.items()}
        return form

    def forget(self, item_id: str, parts: int) -> None:
        """An item with so many parts is gone, or another one stands under its id."""
        for at in range(-1, parts):
            self._deferred.pop((item_id, at), None)

    @staticmethod
    def _too_large(value: Any, before: Held | None) -> Held | None:
        """Return how to get the whole of a value that is too large, None when it is not."""
        if isinstance(value, Blob):
            return None
        if before is not None and before.value is value:
            return before
        if isinstance(value, str):
            if len(value) * 4 <= DEFER_BYTES:
                return None
            return held_for(value, value.encode, "text/plain")
        if size_of(encoded := _raw(value)) <= DEFER_BYTES:
            return None
        return held_for(value, lambda: json.dumps(encoded).encode(), "application/json")


def held_for(value: object, read: Callable[[], bytes], mime_type: str) -> Held:
    """Return how to get these bytes; the value stays alive with it."""
    data = read()
    digest = hashlib.sha256(data).hexdigest()
    return Held({"sha256": digest, "size": len(data), "mimeType": mime_type}, value, read)


def head_of(value: Any) -> Any:
    """Return what stands in the place of a value that is too large."""
    if isinstance(value, str):
        return value[:HEAD_CHARS]
    if isinstance(value, tuple):
        return within(encode(value), HEAD_CHARS)
    return None


def within(members: list[Any], room: int) -> list[Any]:
    """Return the first members whose JSON fits."""
    kept: list[Any] = []
    for member in members:
        room -= size_of(member)
        if room < 0:
            break
        kept.append(member)
    return kept


def bounded(value: Any, room: int = MAX_META_BYTES) -> Any:
    """Return a value that is no item, in full when it fits, else what can be said of it."""
    form = encode(value)
    if isinstance(form, str):
        return form if len(form) * 2 <= room else form[:HEAD_CHARS]
    if form is None or isinstance(form, bool | int | float) or size_of(form) <= room:
        return form
    return within(form, room) if isinstance(form, list) else None


def names(of: Any) -> list[str]:
    """Return the field names of an item, a part, or another of our frozen objects."""
    return _names(of.__class__)


@cache
def _names(cls: Any) -> list[str]:
    return [field.name for field in fields(cls)]


camel = cache(camel_of)
"""The JSON name of a field."""
NUMBERS = (int, float, bool, type(None))


def _raw(value: Any) -> Any:
    """JSON as it is; our own objects, alone or in tuples, as their forms."""
    return value if isinstance(value, dict | list) else encode(value)


def changed_names(old: Any, new: Any, *, but: frozenset[str] = frozenset()) -> list[str]:
    """Return the names of the fields in which two objects of one class differ."""
    found = []
    for name in names(new):
        if name in but:
            continue
        before, value = getattr(old, name), getattr(new, name)
        if before is not value and before != value:
            found.append(name)
    return found
