"""
The view protocol: every message between the kernel and the page, in both directions.

`js/src/messages.ts` says the same in TypeScript, and `tests/widget/test_messages.py` holds the two
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


class FromPageBase(TypedDict):
    """What every message from the page carries: what it shows, and its own random name."""

    session: str | None
    generation: int
    epoch: str | None
    view: str
    id: NotRequired[str]


class Resync(TypedDict):
    """Send me a snapshot."""

    kind: Literal["resync"]


class Send(TypedDict):
    """A prompt. With `queue` false it is refused while another one runs."""

    kind: Literal["send"]
    text: str
    queue: NotRequired[bool]


class Cancel(TypedDict):
    """Stop."""

    kind: Literal["cancel"]


class Answer(TypedDict):
    """A click on a permission card; `optionId` null cancels the request."""

    kind: Literal["answer"]
    requestId: str | int
    itemId: str
    optionId: str | None
    remember: NotRequired[bool]


class Ack(TypedDict):
    """Somebody can see these requests: clicks can arrive."""

    kind: Literal["ack"]
    requestIds: list[str | int]


class Draft(TypedDict):
    """What stands in the composer."""

    kind: Literal["draft"]
    text: str


class Queue(TypedDict):
    """What to do with a queued prompt; `edit` needs `text`."""

    kind: Literal["queue"]
    action: Literal["edit", "remove", "send-now"]
    promptId: str
    text: NotRequired[str]


class SetMode(TypedDict):
    """Choose a session mode."""

    kind: Literal["set-mode"]
    modeId: str


class SetOption(TypedDict):
    """Choose a value of a session configuration option."""

    kind: Literal["set-option"]
    optionId: str
    value: Any


class Restart(TypedDict):
    """Start the agent anew."""

    kind: Literal["restart"]


class Retry(TypedDict):
    """Try again what failed."""

    kind: Literal["retry"]


class DismissError(TypedDict):
    """Take the error banner away."""

    kind: Literal["dismiss-error"]


class Sessions(TypedDict):
    """Which sessions has the agent? Answered with a `SessionList`."""

    kind: Literal["sessions"]


class OpenSession(TypedDict):
    """Show another session: a new one, one of the agent's, or a copy (default: of the shown one)."""

    kind: Literal["open-session"]
    action: Literal["new", "load", "fork"]
    key: NotRequired[str]


class DeleteSession(TypedDict):
    """Delete a session at the agent."""

    kind: Literal["delete-session"]
    key: str


class Login(TypedDict):
    """Log in; answered with what a person has to do by hand, or `None`."""

    kind: Literal["login"]
    methodId: str


class Logout(TypedDict):
    """Log out."""

    kind: Literal["logout"]


class SetPolicy(TypedDict):
    """Who answers permission requests from now on: the name of a preset."""

    kind: Literal["set-policy"]
    policy: str


class Export(TypedDict):
    """Write the conversation; answered with an `Exported`, its bytes come before."""

    kind: Literal["export"]
    format: Literal["markdown", "html", "json"]


class Trace(TypedDict):
    """The last messages between client and agent; answered with a list of `TraceLine`."""

    kind: Literal["trace"]


class Elicit(TypedDict):
    """The answer to an elicitation; `content` with `accept` only."""

    kind: Literal["elicit"]
    elicitationId: str
    action: Literal["accept", "decline", "cancel"]
    content: NotRequired[Json]


class FetchModule(TypedDict):
    """Send me code that is not in the bundle; answered with its `BlobRef`."""

    kind: Literal["fetch-module"]
    name: Literal["maths", "languages"]


class FetchBlob(TypedDict):
    """Send me these bytes."""

    kind: Literal["fetch-blob"]
    sha256: str


FROM_PAGE = (
    Resync,
    Send,
    Cancel,
    Answer,
    Ack,
    Draft,
    Queue,
    SetMode,
    SetOption,
    Restart,
    Retry,
    DismissError,
    Sessions,
    OpenSession,
    DeleteSession,
    Login,
    Logout,
    SetPolicy,
    Export,
    Trace,
    Elicit,
    FetchBlob,
    FetchModule,
)
