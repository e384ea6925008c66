"""The host's side of one chat: its state, its timeline, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_notebook.host.settings import Settings
from acp_notebook.host.state import (
    AgentInfo,
    Change,
    ChatError,
    ChatState,
    QueuedPrompt,
    Status,
    TurnResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from acp_notebook.host.policy import Policy
    from acp_notebook.host.spec import AgentSpec
    from acp_notebook.timeline import Timeline, TimelineSnapshot

__all__ = [
    "AgentInfo",
    "Change",
    "ChatError",
    "ChatSession",
    "ChatState",
    "QueuedPrompt",
    "Status",
    "TurnResult",
]


class ChatSession:
    """
    One chat with one agent.

    `state` and `snapshot` may be read from any thread. Everything else belongs to the host thread:
    hop there with `host_loop().submit(...)` and `host_loop().call(...)`.
    """

    state: ChatState
    snapshot: TimelineSnapshot
    timeline: Timeline
    policy: Policy
    spec: AgentSpec
    settings: Settings

    def __init__(
        self,
        spec: AgentSpec,
        *,
        cwd: str = ".",
        policy: Policy | str = "ask",
        settings: Settings | None = None,
        name: str = "",
        session: str | None = None,
    ) -> None: ...

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` on the host thread at every change; returns what ends that."""

    async def start(self) -> None:
        """Start the agent and open the session, unless that is done."""

    async def prompt(
        self, blocks: Sequence[Mapping[str, Any]], *, timeout_s: float | None = None
    ) -> TurnResult:
        """Queue a prompt and wait until its turn has settled."""

    async def restart(self) -> None:
        """Start a new child and go on with the same session where the agent can."""

    async def close(self) -> None:
        """End the session and the agent; idempotent."""

    def cancel(self) -> None:
        """Stop the running turn; a second time offers a restart."""

    def answer(
        self,
        request_id: str | int,
        option_id: str | None,
        decided_by: str = "user",
        *,
        remember: bool = False,
    ) -> None:
        """Answer a permission request; `None` cancels it."""

    def acknowledge(self, request_id: str | int) -> None:
        """A view shows this request: clicks can arrive."""

    def enqueue(self, blocks: Sequence[Mapping[str, Any]]) -> QueuedPrompt:
        """Queue a prompt; it goes out when those before it have settled."""

    def edit_queued(self, prompt_id: str, blocks: Sequence[Mapping[str, Any]]) -> None:
        """Replace what a queued prompt says."""

    def remove_queued(self, prompt_id: str) -> None:
        """Take a prompt out of the queue."""

    def send_now(self, prompt_id: str) -> None:
        """Cancel the running turn and send this prompt next."""

    def dismiss_error(self) -> None:
        """Take the error banner away."""

    def set_draft(self, text: str) -> None:
        """Keep what stands in the composer."""
