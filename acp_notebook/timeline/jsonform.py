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
from acp_notebook.timeline.parts import Blob, Diff, ExitStatus, Markdown
from acp_notebook.timeline.plain import plain
from acp_notebook.timeline.sequence import Shared
from acp_notebook.timeline.snapshot import Items, TimelineSnapshot
from acp_notebook.timeline.text import Text
from acp_notebook.timeline.turns import Turn, TurnAgent, TurnError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    merged(data, snapshot.extra)
    return data


def encode(value: Any, *, blobs: bool = False) -> Any:
    """Return the JSON of an item, a part, or what they hold."""
    if isinstance(value, Text):
        return str(value)
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
            data["text" if isinstance(value, Markdown) else "output"] = str(member)
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


def from_dict(data: Mapping[str, Any]) -> TimelineSnapshot:
    """
    Read back what `to_dict` wrote.

    Raises: ValueError for an unknown schema or data that is no timeline.
    """
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise ValueError(
            f"This is no timeline that this version reads: schema {schema!r}, expected {SCHEMA}."
        )
    try:
        return read(data)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"This timeline is damaged: {error!r}") from error


def read(data: Mapping[str, Any]) -> TimelineSnapshot:
    """Read a snapshot of the known schema."""
    items = Items(known(ITEMS, item) for item in data["items"])
    states: dict[str, Any] = data["attachments"]
    turns = Shared(turn_of(turn, items, states) for turn in data["turns"])
    snapshot = TimelineSnapshot(
        data["sessionId"],
        generation=data["generation"],
        protocol_version=data["protocolVersion"],
        agent=made(AgentInfo, data["agent"]),
        items=items,
        turns=turns,
        metadata=made(Metadata, data["metadata"]),
    )
    snapshot.extra = unknown(data, to_dict(snapshot, blobs=True))
    return snapshot


def known(classes: Mapping[str, Any], data: Mapping[str, Any]) -> Any:
    """Read an item or a part by its kind."""
    kind = data["kind"]
    if kind not in classes:
        raise ValueError(f"This timeline has a kind that this version does not know: {kind!r}")
    return made(classes[kind], data)


def turn_of(data: Mapping[str, Any], items: Items, states: Mapping[str, Any]) -> Any:
    """Read a turn, with its items and the states of their attachments."""
    own = tuple(items[items.position(item_id)] for item_id in data["itemIds"])  # type: ignore[index]  # a missing item is a TypeError, told as damage
    ids = set(data["itemIds"])
    return made(
        Turn,
        data,
        items=own,
        attachments={
            ref_id: dict(state)
            for ref_id, state in states.items()
            if ref_id.rpartition("/")[0] in ids
        },
    )


def made(cls: Any, data: Mapping[str, Any], **given: Any) -> Any:
    """Make an object from its JSON; what has a default may be left out."""
    for field in fields(cls):
        if field.name in given:
            continue
        key = camel(field.name)
        if field.name == "body":
            key = "text" if cls is Markdown else "output"
        if key in data:
            given[field.name] = read_field(cls, field.name, data[key])
        elif field.default is MISSING and field.default_factory is MISSING:
            raise KeyError(key)
    return cls(**given)


def listed(read_one: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a reader of lists."""
    return lambda value: tuple(read_one(member) for member in value)


READERS: dict[str, Callable[[Any], Any]] = {
    "body": Text.of,
    "parts": listed(lambda part: known(PARTS, part)),
    "output_parts": listed(lambda part: known(PARTS, part)),
    "locations": listed(lambda location: made(Location, location)),
    "options": listed(lambda option: made(PermissionOption, option)),
    "entries": listed(lambda entry: made(PlanEntry, entry)),
    "blob": lambda blob: made(Blob, blob),
    "exit_status": lambda status: made(ExitStatus, status),
    "agent": lambda agent: made(TurnAgent, agent),
    "cost": lambda cost: made(Cost, cost),
    "changes": listed(plain),
    "available_modes": listed(plain),
    "available_commands": listed(plain),
    "config_options": listed(plain),
    "models": listed(plain),
}


def read_field(cls: Any, name: str, value: Any) -> Any:
    """Read one field."""
    if value is None:
        return None
    if cls is Turn and name == "error":
        return made(TurnError, value)
    if name == "usage":
        return made(Usage if cls is Turn else WindowUsage, value)
    if cls is Blob and name == "data":
        return b64decode(value)
    reader = READERS.get(name)
    return plain(value) if reader is None else reader(value)


def unknown(data: Any, written: Any) -> Any:
    """Return what of the data is not written again, as a sparse tree; None when all is."""
    if isinstance(data, dict) and isinstance(written, dict):
        tree = {
            key: value if key not in written else unknown(value, written[key])
            for key, value in data.items()
        }
        return {key: value for key, value in tree.items() if value is not None} or None
    if isinstance(data, list) and isinstance(written, list):
        members = {
            at: extra
            for at, (a, b) in enumerate(zip(data, written, strict=False))
            if (extra := unknown(a, b)) is not None
        }
        return members or None
    return None


def merged(data: Any, extra: Any) -> Any:
    """Return the data with what `unknown` found put back at its place."""
    if extra is None:
        return data
    for key, value in extra.items():
        if isinstance(data, list) or key in data:
            data[key] = merged(data[key], value)
        else:
            data[key] = value
    return data
