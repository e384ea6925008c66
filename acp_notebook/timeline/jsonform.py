"""
The snapshot as plain JSON, and back (schema 1 of contract.md).

The shape is fixed: empty and null values are written; only `historical`, `noResult`,
`optimistic`, `failed` and `supplement` are left out when false. Names are the camelCase of the
Python attributes. Keys that this version does not know are kept and written again.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline import items as item_classes
from acp_notebook.timeline import parts as part_classes
from acp_notebook.timeline.items import Location, PermissionOption, PlanEntry
from acp_notebook.timeline.metadata import AgentInfo, Cost, Metadata, WindowUsage
from acp_notebook.timeline.parts import Blob, Diff, ExitStatus, Markdown, Terminal
from acp_notebook.timeline.plain import plain
from acp_notebook.timeline.sequence import Shared
from acp_notebook.timeline.snapshot import Items, TimelineSnapshot
from acp_notebook.timeline.text import Text
from acp_notebook.timeline.turns import Turn, TurnAgent, TurnError, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = 1

ITEMS: dict[str, Any] = {
    cls.kind: cls
    for cls in (
        item_classes.MessageSegment,
        item_classes.Thought,
        item_classes.ToolCall,
        item_classes.Permission,
        item_classes.Plan,
        item_classes.Notice,
    )
}
PARTS: dict[str, Any] = {
    cls.kind: cls
    for cls in (
        part_classes.Markdown,
        part_classes.Image,
        part_classes.Audio,
        part_classes.Attachment,
        part_classes.Diff,
        part_classes.Terminal,
        part_classes.Error,
        part_classes.Unsupported,
    )
}
LEFT_OUT = frozenset({"historical", "no_result", "optimistic", "failed", "supplement"})


def camel(name: str) -> str:
    """Return the JSON name of an attribute."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def to_dict(snapshot: TimelineSnapshot, *, blobs: bool = False) -> dict[str, Any]:
    """Return plain JSON data; `blobs` puts the bytes in as base64."""
    data = {
        "schema": SCHEMA,
        "sessionId": snapshot.session_id,
        "generation": snapshot.generation,
        "protocolVersion": snapshot.protocol_version,
        "agent": encode(snapshot.agent),
        "items": [encode(item, blobs=blobs) for item in snapshot.items],
        "turns": [encode_turn(turn) for turn in snapshot.turns],
        "metadata": encode(snapshot.metadata),
        "attachments": {ref_id: dict(state) for ref_id, state in snapshot.attachments.items()},
    }
    if snapshot.extra:
        merged(data, snapshot.extra)
    return data


def encode(value: Any, *, blobs: bool = False) -> Any:
    """Return the JSON of an item, a part, or what they hold."""
    if isinstance(value, tuple):
        return [encode(member, blobs=blobs) for member in value]
    if not hasattr(value, "__dataclass_fields__"):
        return plain(value)
    data: dict[str, Any] = {"kind": value.kind} if hasattr(type(value), "kind") else {}
    for field in fields(value):
        member = getattr(value, field.name)
        if field.name in LEFT_OUT and not member:
            continue
        if field.name == "body":
            data[BODIES[type(value)]] = str(member)
        elif field.name == "data" and isinstance(value, Blob):
            if blobs and member is not None:
                data["data"] = b64encode(member).decode()
        else:
            data[camel(field.name)] = encode(member, blobs=blobs)
    if isinstance(value, Diff):
        unused = ("patch", "changes") if value.changes is None else ("oldText", "newText")
        for key in unused:
            del data[key]
    return data


def encode_turn(turn: Turn) -> dict[str, Any]:
    """Return the JSON of a turn, its items by their ids."""
    data = {
        camel(field.name): encode(getattr(turn, field.name))
        for field in fields(turn)
        if field.name not in {"items", "attachments"}
    }
    data["itemIds"] = list(turn.item_ids)
    return data


def from_dict(
    data: Mapping[str, Any], blobs: Mapping[str, bytes] | None = None
) -> TimelineSnapshot:
    """
    Read back what `to_dict` wrote; `blobs` are bytes that were left out of it.

    Raises: ValueError for an unknown schema or data that is no timeline.
    """
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise ValueError(
            f"This is no timeline that this version reads: schema {schema!r}, expected {SCHEMA}."
        )
    try:
        snapshot = _Reader(blobs or {}).snapshot(data)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"This timeline is damaged: {error!r}") from error
    extra = unknown(data, to_dict(snapshot, blobs=True))
    snapshot.extra = None if extra is _Known else extra
    return snapshot


class _Reader:
    """Makes the objects again from their JSON."""

    def __init__(self, blobs: Mapping[str, bytes]) -> None:
        self.blobs = blobs

    def snapshot(self, data: Mapping[str, Any]) -> TimelineSnapshot:
        """Read a snapshot."""
        items = Items(self.known(ITEMS, item) for item in data["items"])
        states: dict[str, dict[str, Any]] = {}
        for ref_id, state in data["attachments"].items():
            states.setdefault(ref_id.rpartition("/")[0], {})[ref_id] = dict(state)
        return TimelineSnapshot(
            data["sessionId"],
            generation=data["generation"],
            protocol_version=data["protocolVersion"],
            agent=self.made(AgentInfo, data["agent"]),
            items=items,
            turns=Shared(self.turn(turn, items, states) for turn in data["turns"]),
            metadata=self.made(Metadata, data["metadata"]),
        )

    def turn(self, data: Mapping[str, Any], items: Items, states: Mapping[str, Any]) -> Turn:
        """Read a turn, with its items and the states of their attachments."""
        own = tuple(items.get(item_id) for item_id in data["itemIds"])
        if None in own:
            raise KeyError("itemIds")
        found = {ref_id: s for i in data["itemIds"] for ref_id, s in states.get(i, {}).items()}
        turn: Turn = self.made(Turn, data, items=own, attachments=found)
        return turn

    def known(self, classes: Mapping[str, Any], data: Mapping[str, Any]) -> Any:
        """Read an item or a part by its kind."""
        kind = data["kind"]
        if kind not in classes:
            raise ValueError(f"This version does not know what this timeline holds: {kind!r}")
        return self.made(classes[kind], data)

    def made(self, cls: Any, data: Mapping[str, Any], **given: Any) -> Any:
        """Make an object from its JSON; what has a default may be left out."""
        for field in fields(cls):
            name = field.name
            if name in given:
                continue
            key = BODIES.get(cls, name) if name == "body" else camel(name)
            if key in data:
                value = data[key]
                given[name] = None if value is None else self.field(cls, name, value)
            elif cls is Blob and name == "data":
                given[name] = self.blobs.get(data["sha256"])
            elif field.default is MISSING and field.default_factory is MISSING:
                raise KeyError(key)
        return cls(**given)

    def field(self, cls: Any, name: str, value: Any) -> Any:
        """Read one field."""
        if name == "body":
            return Text.of(value)
        if name in {"parts", "output_parts"}:
            return tuple(self.known(PARTS, part) for part in value)
        if (cls, name) in OBJECTS:
            return self.made(OBJECTS[cls, name], value)
        if name in LISTS_OF:
            return tuple(self.made(LISTS_OF[name], member) for member in value)
        if name in LISTS:
            return tuple(plain(member) for member in value)
        return b64decode(value) if cls is Blob and name == "data" else plain(value)


BODIES: dict[Any, str] = {Markdown: "text", Terminal: "output"}
OBJECTS: dict[tuple[Any, str], Any] = {
    (Turn, "error"): TurnError,
    (Turn, "usage"): Usage,
    (Turn, "agent"): TurnAgent,
    (Metadata, "usage"): WindowUsage,
    (WindowUsage, "cost"): Cost,
    (Terminal, "exit_status"): ExitStatus,
    **{(PARTS[kind], "blob"): Blob for kind in ("image", "audio", "attachment")},
}
LISTS_OF: dict[str, Any] = {
    "locations": Location,
    "options": PermissionOption,
    "entries": PlanEntry,
}
LISTS = frozenset({"changes", "available_modes", "available_commands", "config_options", "models"})


class _Known:
    """Stands for data that is written again."""


def unknown(data: Any, written: Any) -> Any:
    """Return what of the data is not written again, as a sparse tree of keys and places."""
    tree: dict[Any, Any] = {}
    if isinstance(data, dict) and isinstance(written, dict):
        tree = {k: unknown(v, written[k]) if k in written else v for k, v in data.items()}
    elif isinstance(data, list) and isinstance(written, list):
        tree = dict(enumerate(map(unknown, data, written)))
    return {key: value for key, value in tree.items() if value is not _Known} or _Known


def merged(data: Any, extra: Any) -> None:
    """Put what `unknown` found back at its place."""
    for key, value in extra.items():
        if isinstance(data, dict) and key not in data:
            data[key] = value
        else:
            merged(data[key], value)
