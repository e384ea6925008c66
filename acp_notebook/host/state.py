"""What a chat looks like from outside: frozen values, replaced whole, readable from any thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp_notebook.timeline import TimelineSnapshot

Status = Literal[
    "starting",
    "authenticating",
    "idle",
    "running",
    "stopping",
    "start-failed",
    "auth-failed",
    "load-failed",
    "exited",
    "closed",
]

Action = Literal["retry", "restart", "reconnect", "login", "new"]


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """Who the agent says it is; the configured name until it has said so."""

    name: str
    title: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class ChatError:
    """What went wrong outside a turn, for a banner; `actions` are the buttons that may help."""

    title: str
    message: str
    detail: str = ""
    stderr_tail: str = ""
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    """A prompt that waits for its turn; `text` is what a person reads of it."""

    id: str
    text: str
    blocks: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Elicitation:
    """
    A question of the agent that is no permission (`elicitation/create`).

    `form`: `schema` is a flat JSON schema of what to fill in (text, number, boolean, choices). `url`:
    the person is to open `url`. The answer is an action, and for an accepted form its content.
    """

    id: str
    mode: Literal["form", "url"]
    message: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    url: str = ""


@dataclass(frozen=True, slots=True)
class ChatState:
    """
    The state of one chat.

    `phase` says in words what is waited for (start-up takes seconds in reality), `running_since` is
    when the open turn began (seconds since the epoch). `session_key` is the name that people and
    `load` use; `session_id` is always the ACP id.
    """

    status: Status = "idle"
    phase: str = ""
    title: str = ""
    name: str = ""
    session_key: str | None = None
    session_id: str | None = None
    generation: int = 0
    cwd: str = ""
    agent: AgentInfo = AgentInfo("")
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    auth_methods: tuple[Mapping[str, Any], ...] = ()
    error: ChatError | None = None
    note: str = ""
    """A word that is no error (no history came, a block was sent as a link); goes with the error."""
    queue: tuple[QueuedPrompt, ...] = ()
    running_since: float | None = None
    draft: str = ""
    policy: str = "ask"
    read_only: bool = False
    """The shown session can be looked at and not continued (its folder is gone)."""
    elicitations: tuple[Elicitation, ...] = ()
    """Questions of the agent that wait for an answer (`session.answer_elicitation`)."""


@dataclass(frozen=True, slots=True)
class Change:
    """
    What has changed since the last one, for a view.

    `touched` are item ids, first touched first; `state` says that `session.state` is another one;
    `reset` that another timeline is shown and a view starts from a snapshot; `urgent` that the view
    should be flushed at once.
    """

    touched: tuple[str, ...] = ()
    state: bool = False
    reset: bool = False
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A settled turn: the snapshot that holds it, and its index in `snapshot.turns`."""

    snapshot: TimelineSnapshot
    index: int
