"""
The host's side of one chat: its state, its timeline, and what can be done with it.

A chat shows one session at a time. Sessions whose prompt still runs stay alive behind it, with their
timeline and their open requests, and are shown again without asking the agent.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from acp_notebook.host import openclaw
from acp_notebook.host.bound import BoundSession
from acp_notebook.host.lifecycle import Lifecycle
from acp_notebook.host.login import Login
from acp_notebook.host.loop import log
from acp_notebook.host.opening import absolute
from acp_notebook.host.permissions import Decision, request_key, rule_for
from acp_notebook.host.policy import Policy
from acp_notebook.host.prompts import title_of
from acp_notebook.host.questions import OpenRequest
from acp_notebook.host.queue import PromptQueue
from acp_notebook.host.sessions import Sessions
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
    from collections.abc import Callable, Iterable, Mapping

    from acp_notebook.host.failures import AgentError
    from acp_notebook.host.prompts import Blocks, Entry, PromptRun
    from acp_notebook.host.spec import AgentSpec
    from acp_notebook.host.trace import TraceEntry
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

    def __init__(
        self,
        spec: AgentSpec,
        *,
        cwd: str = ".",
        policy: Policy | str = "ask",
        settings: Settings | None = None,
        name: str = "",
        session: str | None = None,
    ) -> None:
        self.spec = spec
        self.settings = settings or Settings()
        self.policy = Policy.of(policy)
        self.name = name
        self.cwd = absolute(cwd)
        self.decisions: list[Decision] = []
        self.phase = ""
        self.note = ""
        self.error: ChatError | None = None
        self.draft = ""
        self.shown = BoundSession(self, self.cwd, key=session)
        self.life = Lifecycle(self)
        self.sessions = Sessions(self)
        self.prompts = PromptQueue(self)
        self.logins = Login(self)
        self._agent = AgentInfo(spec.name, spec.shown_title)
        self._listeners: list[Callable[[Change], None]] = []
        self._touched: dict[str, None] = {}
        self._state_changed = False
        self._reset = False
        self._publish_timer: asyncio.TimerHandle | None = None
        self._published_at = 0.0
        self.snapshot: TimelineSnapshot = self.shown.snapshot()
        self.state = self._read_state()

    @property
    def timeline(self) -> Timeline:
        """The reducer of the shown session."""
        return self.shown.timeline

    # --- views

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` on the host thread at every change; returns what ends that."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return unsubscribe

    def changed(
        self,
        bound: BoundSession | None,
        touched: Iterable[str] = (),
        *,
        state: bool = False,
        urgent: bool = False,
        reset: bool = False,
    ) -> None:
        """Note a change, and publish it: at once when urgent or after quiet, else when it is time."""
        if bound is not None and bound is not self.shown:
            touched = ()
            if not state:
                return
        self._touched.update(dict.fromkeys(touched))
        self._state_changed |= state
        self._reset |= reset
        if urgent or reset:
            self._publish(urgent=True)
            return
        if self._publish_timer is not None:
            return
        loop = asyncio.get_running_loop()
        wait = self._published_at + self.settings.publish_interval_s - loop.time()
        if wait <= 0:
            self._publish()
        else:
            self._publish_timer = loop.call_later(wait, self._publish)

    # --- life

    async def start(self) -> None:
        """
        Start the agent and open the session, unless that is done.

        Raises:
            AcpNotebookError: it did not work; the state says so too.
        """
        await self.life.ensure_open()

    async def restart(self) -> None:
        """Start a new child and go on with the same session where the agent can."""
        await self.life.restart()

    async def close(self) -> None:
        """End the session and the agent; idempotent."""
        await self.life.close()

    async def set_mode(self, mode_id: str) -> None:
        """Set the session's mode; raises RequestFailed when the agent refuses."""
        await self.sessions.set_mode(mode_id)

    async def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001
        """Set a config option; raises RequestFailed when the agent refuses."""
        await self.sessions.set_option(option_id, value)

    # --- prompts

    async def prompt(
        self, blocks: Blocks, *, timeout_s: float | None = None, headless: bool = False
    ) -> TurnResult:
        """
        Queue a prompt and wait until its turn has settled; see `PromptQueue.submit`.

        Raises:
            ValueError, LimitExceeded: the prompt itself. AcpNotebookError: the session cannot be opened.
        """
        entry = self.prompts.submit(blocks, timeout_s=timeout_s, headless=headless, awaited=True)
        result: TurnResult = await entry.done
        return result

    def enqueue(self, blocks: Blocks) -> QueuedPrompt:
        """
        Queue a prompt; it goes out when those before it have settled.

        Raises:
            ValueError, LimitExceeded: the prompt is empty, malformed or too large, or the queue is full.
        """
        return self.prompts.submit(blocks).shown

    def edit_queued(self, prompt_id: str, blocks: Blocks) -> bool:
        """Replace what a queued prompt says; False when it is not queued any more."""
        return self.prompts.edit(prompt_id, blocks)

    def remove_queued(self, prompt_id: str) -> bool:
        """Take a prompt out of the queue; False when it is not there any more."""
        return self.prompts.remove(prompt_id)

    def send_now(self, prompt_id: str) -> bool:
        """Cancel the running turn and send this prompt next."""
        return self.prompts.send_now(prompt_id)

    def cancel(self) -> None:
        """
        Stop what runs: the turn, or else what is being started.

        A prompt that has not gone out yet comes back as the draft. A second Stop, while the agent has
        not confirmed the first, offers a restart.
        """
        if self.shown.run is not None:
            if not self.shown.cancel():
                self.error = ChatError(
                    "Stopping takes long",
                    f"{self.state.agent.title} has not confirmed the stop yet.",
                    actions=("restart",),
                )
                self.changed(None, state=True, urgent=True)
        else:
            self.life.stop_opening()

    def cancel_entry(self, entry: Entry) -> None:
        """Stop this prompt wherever it is: waiting, running, or shown no more."""
        for bound in self.life.all():
            if bound.run is not None and bound.run.entry is entry:
                bound.cancel()
                return
            if entry in bound.queue:
                bound.queue.remove(entry)
                self.life.give_back(entry, draft=False)
                self.changed(None, state=True, urgent=True)
                return

    def set_policy(self, policy: Policy) -> None:
        """Have other rules answer from now on."""
        self.policy = policy
        self.changed(None, state=True, urgent=True)

    def trace(self) -> list[TraceEntry]:
        """Return the last messages on the wire, without secrets."""
        connection = self.life.connection or self.life.last_connection
        return connection.trace.entries() if connection is not None else []

    # --- requests of the agent

    def answer(
        self,
        request_id: str | int,
        option_id: str | None,
        decided_by: str = "user",
        *,
        remember: bool = False,
    ) -> bool:
        """
        Answer a permission request; `None` cancels it.

        With `remember` the policy of this chat gets a rule for what was asked. False when the request
        is not open any more, or has no such option.
        """
        pending = self.shown.asking.permissions.get(request_key(request_id))
        policy = self.policy
        if pending is not None and remember:
            policy = rule_for(pending, option_id, policy)
        answered = self.shown.asking.answer(request_id, option_id, decided_by)
        if answered:
            self.policy = policy
        return answered

    def answer_elicitation(
        self, elicitation_id: str, action: str, content: Mapping[str, Any] | None = None
    ) -> bool:
        """Answer an elicitation: `accept` with its content, `decline`, or `cancel`."""
        answer: dict[str, Any] = {"action": action}
        if action == "accept":
            answer["content"] = dict(content or {})
        return self.shown.asking.answer_elicitation(elicitation_id, answer)

    def open_requests(self) -> tuple[OpenRequest, ...]:
        """Return what waits for a person in the shown session, oldest first."""
        asking = self.shown.asking
        return (
            *(
                OpenRequest(key, pending.acknowledged.is_set(), permission=pending)
                for key, pending in asking.permissions.items()
            ),
            *(
                OpenRequest(key, pending.acknowledged, elicitation=pending.shown)
                for key, pending in asking.elicitations.items()
            ),
        )

    def answer_open(self, request: OpenRequest, answer: Any) -> bool:
        """Answer an open request with an option's id or None, or an elicitation with its answer."""
        if request.permission is not None:
            return self.answer(request.permission.request.id, answer)
        return self.shown.asking.answer_elicitation(request.key, answer or {"action": "cancel"})

    def acknowledge(self, request_id: str | int) -> None:
        """A view shows this request: clicks can arrive."""
        pending = self.shown.asking.permissions.get(request_key(request_id))
        if pending is not None:
            pending.acknowledged.set()
        question = self.shown.asking.elicitations.get(str(request_id))
        if question is not None:
            question.acknowledged = True

    # --- what the views keep here

    def dismiss_error(self) -> None:
        """Take the error banner and the note away."""
        self.error, self.note = None, ""
        self.changed(None, state=True, urgent=True)

    def set_draft(self, text: str) -> None:
        """Keep what stands in the composer."""
        self.draft = text
        self.changed(None, state=True)

    def give_back(self, text: str) -> None:
        """Put a prompt that was not sent back into the composer, before what stands there."""
        if text:
            self.draft = f"{text}\n\n{self.draft}".strip() if self.draft else text

    # --- told by the bound session

    def say(self, bound: BoundSession, text: str) -> None:
        """Show a word that is no error."""
        self.note = text
        self.changed(bound, state=True, urgent=True)

    def run_ended(self, bound: BoundSession, run: PromptRun) -> None:
        """Send the next prompt of that session; offer a restart when Stop was not confirmed."""
        if run.unconfirmed:
            self.error = ChatError(
                "The agent did not confirm the stop",
                f"The turn was ended here after {self.settings.cancel_grace_s:g} s.",
                actions=("restart",),
            )
        self.life.session_settled(bound)

    def login_wanted(self, bound: BoundSession, run: PromptRun, error: AgentError) -> None:  # noqa: ARG002
        """Offer a login, and give the prompt back."""
        self.logins.wanted(error, run.entry)

    # --- inside

    def _publish(self, *, urgent: bool = False) -> None:
        if self._publish_timer is not None:
            self._publish_timer.cancel()
            self._publish_timer = None
        self._published_at = asyncio.get_running_loop().time()
        self.snapshot = self.shown.snapshot()
        state = self._read_state()
        changed = self._state_changed or state != self.state
        self.state = state
        change = Change(tuple(self._touched), changed, self._reset, urgent)
        self._touched, self._state_changed, self._reset = {}, False, False
        for listener in list(self._listeners):
            try:
                listener(change)
            except Exception:  # noqa: BLE001  a view must not stop the chat
                log.exception("A view failed to take a change.")

    def _read_state(self) -> ChatState:
        shown = self.shown
        connection = self.life.connection
        if connection is not None:
            self._agent = connection.info
        metadata = self.snapshot.metadata
        return ChatState(
            status=self.life.status(),
            phase=self.phase,
            title=openclaw.real_title(self._agent.name, metadata.title, shown.session_id or "")
            or title_of(shown.first_prompt),
            name=self.name,
            session_key=shown.key,
            session_id=shown.session_id,
            generation=shown.generation,
            cwd=shown.cwd,
            agent=self._agent,
            capabilities=connection.capabilities if connection else {},
            auth_methods=connection.auth_methods if connection else (),
            error=self.error,
            note=self.note,
            queue=tuple(entry.shown for entry in self.life.target.queue),
            running_since=shown.running_since,
            draft=self.draft,
            policy=self.policy.name,
            read_only=shown.read_only,
            elicitations=tuple(e.shown for e in shown.asking.elicitations.values()),
        )
