"""
The view protocol, from the kernel to the page; page_messages.py has the other direction.

`js/src/messages.ts` says both in TypeScript, and `tests/widget/test_messages.py` holds the two
against each other. Items, parts, groups and turns have the shape of `TimelineSnapshot.to_dict()`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Json = dict[str, Any]


class Address(TypedDict):
    """What every message from the kernel carries; `epoch` is random per host life."""

    session: str | None
    generation: int
    epoch: str


class BlobRef(TypedDict):
    """Bytes by reference; they come in `Blob` messages when the page asks."""

    sha256: str
    size: int
    mimeType: str


class Append(TypedDict):
    """Text added at the end of a markdown part's `text` or a terminal part's `output`."""

    op: Literal["append"]
    id: str
    part: int
    text: str


class Put(TypedDict):
    """Insert or replace an item; `after` is the id of the item before it."""

    op: Literal["put"]
    id: str
    item: Json
    after: str | None


class Set(TypedDict):
    """Fields of an item or of one of its parts; `part` = length of the list adds a part."""

    op: Literal["set"]
    id: str
    part: NotRequired[int]
    fields: Json


class Drop(TypedDict):
    """Take an item out."""

    op: Literal["drop"]
    id: str


Groups = TypedDict("Groups", {"op": Literal["groups"], "from": int, "groups": list[Json]})


class GroupAdd(TypedDict):
    """Appended to the lists of a group."""

    op: Literal["group-add"]
    id: str
    itemIds: list[str]
    attachments: list[str]


Turns = TypedDict("Turns", {"op": Literal["turns"], "from": int, "turns": list[Json]})


class MetaOp(TypedDict):
    """Fields of `Meta`."""

    op: Literal["meta"]
    fields: Json


class MetadataOp(TypedDict):
    """Keys of `Meta.metadata`."""

    op: Literal["metadata"]
    fields: Json


class AttachmentsOp(TypedDict):
    """Keys of `Meta.attachments`."""

    op: Literal["attachments"]
    states: Json


QuestionsOp = TypedDict(
    "QuestionsOp",
    {
        "op": Literal["questions"],
        "skip": int,
        "from": int,
        "entries": list[Json],
        "hiddenCount": int,
    },
)

Op = (
    Append
    | Put
    | Set
    | Drop
    | Groups
    | GroupAdd
    | Turns
    | MetaOp
    | MetadataOp
    | AttachmentsOp
    | QuestionsOp
)


class Meta(TypedDict):
    """All that is not an item: the chat's state and the session's metadata."""

    status: str
    phase: str
    title: str
    name: str
    sessionKey: str | None
    cwd: str
    readOnly: bool
    agent: Json
    capabilities: Json
    authMethods: list[Json]
    error: Json | None
    note: str
    elicitations: list[Json]
    queue: list[Json]
    runningSince: float | None
    draft: str
    policy: str
    metadata: Json
    streamingSegments: list[str]
    attachments: Json
    questions: Json


class View(TypedDict):
    """A whole view, or a piece of one: `meta` is in the first piece only."""

    items: list[Json]
    groups: list[Json]
    turns: NotRequired[list[Json]]
    meta: NotRequired[Meta]


class Piece(TypedDict):
    """A piece of a snapshot: it stands before the piece that came before it."""

    view: View
    ops: list[Op]


Snapshot = TypedDict(
    "Snapshot",
    {
        "session": str | None,
        "generation": int,
        "epoch": str,
        "kind": Literal["snapshot"],
        "version": int,
        "for": str,
        "piece": int,
        "pieces": int,
        "view": View,
        "ops": list[Op],
    },
)


class Ops(Address):
    """Turns the view of `version` - 1 into that of `version`."""

    kind: Literal["ops"]
    version: int
    ops: list[Op]


class ReplyOk(Address):
    """The answer to the page message of that `id`."""

    kind: Literal["reply"]
    id: str
    ok: Literal[True]
    result: Any


class ReplyError(Address):
    """The refusal of the page message of that `id`: `error` is `{message, hint}`."""

    kind: Literal["reply"]
    id: str
    ok: Literal[False]
    error: Json


class Blob(Address):
    """Bytes of a blob from `offset` on, in the first buffer."""

    kind: Literal["blob"]
    sha256: str
    mimeType: str
    size: int
    offset: int


FROM_KERNEL = (Snapshot, Ops, ReplyOk, ReplyError, Blob)
