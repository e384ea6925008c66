"""
The view protocol, from the page to the kernel; messages.py has the other direction.

Every message carries what the page shows, so that a click on what is gone does nothing. One with an
`id` is answered under it.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from acp_notebook.widget.messages import Json  # noqa: TC001  # its hints are read


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
