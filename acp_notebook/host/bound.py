"""
The client's side of one ACP session: its timeline, its running prompt, what its agent has asked.

Everything that has a place in the timeline is noted when its frame passes, in wire order: updates,
permission requests, the answer of a prompt. So when a prompt's future resolves, all that came before
the answer is in the snapshot. A prompt settles once: by its answer, by the end of the agent, or, after
Stop and a time of grace, here.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Protocol

from acp_notebook.errors import AcpNotebookError, AgentExited, RequestFailed
from acp_notebook.host import openclaw
from acp_notebook.host.asking import Asking
from acp_notebook.host.failures import AgentError, read_error
from acp_notebook.host.files import FileAccess
from acp_notebook.host.prompts import PromptRun
from acp_notebook.host.state import TurnResult
from acp_notebook.host.terminals import Terminals
from acp_notebook.timeline import Timeline, TimelineSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from acp_notebook.host.connection import AgentConnection
    from acp_notebook.host.permissions import Decision
    from acp_notebook.host.policy import Asked, Policy
    from acp_notebook.host.prompts import Entry
    from acp_notebook.host.settings import Settings
    from acp_notebook.host.transport import AgentRequest


class Owner(Protocol):
    """The chat that a session belongs to."""

    settings: Settings
    policy: Policy
    decisions: list[Decision]

    def changed(
        self,
        bound: BoundSession,
        touched: Iterable[str],
        *,
        state: bool = False,
        urgent: bool = False,
    ) -> None:
        """Something of this session is another one now."""

    def say(self, bound: BoundSession, text: str) -> None:
        """Show a word that is no error."""

    def run_ended(self, bound: BoundSession, run: PromptRun) -> None:
        """A prompt has settled; the next one may go."""

    def login_wanted(self, bound: BoundSession, run: PromptRun, error: AgentError) -> None:
        """The agent has answered a prompt with *authentication required*."""


class BoundSession:
    """One ACP session. Without a `session_id` it is being prepared, and already has a queue."""

    def __init__(self, owner: Owner, cwd: str, *, key: str | None = None) -> None:
        self.owner = owner
        self.cwd = cwd
        self.key = key
        self.session_id: str | None = None
        self.generation = 0
        self.connection: AgentConnection | None = None
        self.timeline = Timeline("")
        self.historical = False
        self.read_only = False
        self.queue: list[Entry] = []
        self.run: PromptRun | None = None
        self.asking = Asking(self)
        self.terminals = self._new_terminals()
        self.first_prompt = ""
        self.prompts_sent = 0
        self.last_update = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def running_since(self) -> float | None:
        """When the open turn began, in seconds since the epoch."""
        return self.run.started_at if self.run is not None else None

    # --- life

    def bind(
        self, connection: AgentConnection, session_id: str, generation: int, *, historical: bool
    ) -> None:
        """Become the session of this id on this connection, with an empty timeline."""
        self.connection = connection
        self.session_id = session_id
        self.key = self.key or session_id
        self.generation = generation
        self.historical = historical
        self.timeline = Timeline(session_id, generation=generation)

    @property
    def open(self) -> bool:
        """Whether prompts can be sent."""
        connection = self.connection
        return self.session_id is not None and connection is not None and connection.alive

    def unbind(self) -> None:
        """Be a session that is not open: what was to be opened has failed."""
        self.session_id = self.connection = None
        self.timeline = Timeline("")

    def finish_replay(self, method: str, result: Any) -> None:
        """
        The agent has answered the opening request: take what it says, and live updates from now on.

        An agent that has replayed nothing by then may do so now (gemini does): that replay ends at the
        first prompt, or when nothing has come for a while.
        """
        if self.connection is not None:
            self.timeline.apply_response("initialize", self.connection.initialize_result)
        self.timeline.apply_response(method, result)
        if not self.historical:
            return
        if len(self.snapshot().items) or method != "session/load":
            self.historical = False
        else:
            self._await_late_replay()

    def _await_late_replay(self) -> None:
        loop = asyncio.get_running_loop()
        quiet_s = self.owner.settings.late_replay_quiet_s
        self.last_update = loop.time()

        def look() -> None:
            left = self.last_update + quiet_s - loop.time()
            if not self.historical:
                return
            if left > 0:
                loop.call_later(left, look)
                return
            self.historical = False
            if not len(self.snapshot().items):
                self.note("The agent sent no history for this session.")

        look()

    def snapshot(self) -> TimelineSnapshot:
        """Return the timeline as it is now."""
        return self.timeline.snapshot()

    @property
    def worth_keeping(self) -> bool:
        """Whether there is anything in it that a person would miss."""
        return bool(self.prompts_sent) or len(self.snapshot().items) > 0

    def take_over(self, fresh: BoundSession) -> None:
        """Go on, with this timeline, where `fresh` was opened: its agent has replayed nothing."""
        assert fresh.connection is not None
        assert self.session_id is not None
        self.connection = fresh.connection
        self.connection.router.register(self.session_id, self)

    def agent_ended(self) -> None:
        """Close what the agent has left open; a running prompt fails with how it ended."""
        connection = self.connection
        reason = connection.how_it_ended() if connection is not None else "The agent has ended."
        run = self.run
        if run is not None and not run.settled:
            self._settle(run, error=AgentError(reason), ended=True)
        touched = self.asking.answer_all()
        touched += self.timeline.settle_all(reason, at=time.time())
        self.owner.changed(self, touched, state=True, urgent=True)
        self._spawn(self.terminals.close())

    async def close(self, reason: str = "") -> None:
        """End what runs for this session; the connection stays."""
        run = self.run
        if run is not None and not run.settled:
            self._settle(run, error=AgentError(reason or "The chat was closed."), ended=True)
        self.owner.changed(self, self.asking.answer_all(), state=True)
        await self.terminals.close()
        if self.connection is not None and self.session_id is not None:
            self.connection.router.unregister(self.session_id, self)

    # --- prompts

    def begin(self, entry: Entry) -> PromptRun:
        """Send a prompt; no other may be running."""
        run = PromptRun(entry, asyncio.get_running_loop().time(), time.time())
        self.run = entry.run = run
        self.historical = False
        self.prompts_sent += 1
        self.first_prompt = self.first_prompt or entry.shown.text
        touched = self.timeline.begin_prompt(list(entry.shown.blocks), at=time.time())
        run.index = len(self.snapshot().turns) - 1
        self.owner.changed(self, touched, state=True, urgent=True)
        self._spawn(self._send(run))
        if entry.timeout_s is not None:
            self._watch(run, entry.timeout_s)
        return run

    def cancel(self, *, why: str | None = None) -> bool:
        """
        Stop the running prompt: `session/cancel` once, cards and permissions closed at once.

        With `why` it was not a person: the turn ends with that as its error. Returns False when it
        was stopped before, or nothing runs.
        """
        run, connection = self.run, self.connection
        if run is None or run.stopped or connection is None:
            return False
        run.stopped = True
        run.failure = why
        touched = [] if why else list(self.timeline.cancel_prompt(at=time.time()))
        self._spawn(connection.notify("session/cancel", {"sessionId": self.session_id}))
        touched += self.asking.answer_all()
        loop = asyncio.get_running_loop()
        run.grace = loop.call_later(self.owner.settings.cancel_grace_s, self._give_up, run)
        self.owner.changed(self, touched, state=True, urgent=True)
        return True

    # --- what the router brings, in wire order

    def take_updates(self, updates: list[dict[str, Any]], _size: int = 0) -> None:
        """Fold updates."""
        self.last_update = asyncio.get_running_loop().time()
        touched = self.timeline.apply(updates, historical=self.historical, at=time.time())
        self.owner.changed(self, touched)

    def take_permission(self, request: AgentRequest) -> None:
        """Note a permission request; answer it by rule, or let it wait for a person."""
        self.asking.take_permission(request)

    def withdraw(self, request_id: Any) -> bool:
        """The agent takes a request back."""
        return self.asking.withdraw(request_id)

    # --- what the agent asks of us

    async def permission_outcome(self, request: AgentRequest) -> dict[str, Any]:
        """Return the outcome of a permission request once it is decided."""
        return await self.asking.permission_outcome(request)

    async def elicit(self, request: AgentRequest) -> dict[str, Any]:
        """Show an elicitation and return its answer."""
        return await self.asking.elicit(request)

    def file_access(self, agent: str) -> FileAccess:
        """Return what the agent may read and write in this session."""
        settings = self.owner.settings
        return FileAccess.of(
            self.cwd,
            settings.additional_directories,
            self.owner.policy,
            settings.max_file_bytes,
            agent,
        )

    def refuses(self, asked: Asked) -> bool:
        """Whether the policy rejects something that the agent does through us without asking."""
        return self.owner.policy.refuses(asked)

    def note_written(self, path: Path) -> None:
        """The agent has written a file through us."""
        if path.suffix == ".ipynb":
            self.note(f"The agent has written the notebook {path.name}; reload it if it is open.")

    def note_long_line(self, size: int) -> None:
        """A line of the agent was dropped for its length."""
        self.note(f"A message of {size:,} bytes was dropped (max_line_bytes).")

    def note(self, text: str) -> None:
        """Say something that is no error."""
        self.owner.say(self, text)

    # --- inside

    async def _send(self, run: PromptRun) -> None:
        connection = self.connection
        assert connection is not None
        blocks = list(run.entry.shown.blocks)
        more = openclaw.prompt_meta(connection.info.name, blocks)
        try:
            await connection.request(
                "session/prompt",
                {"sessionId": self.session_id, "prompt": blocks, **more},
                on_answer=lambda message: self._take_answer(run, message),
            )
        except AgentExited:
            self.agent_ended()
        except RequestFailed as error:
            self._settle(run, error=AgentError(error.message, error.code, error.data))
        except AcpNotebookError as error:
            self._settle(run, error=AgentError(str(error)))

    def _take_answer(self, run: PromptRun, message: dict[str, Any]) -> None:
        """Settle a prompt where its answer stands in the stream."""
        if run.settled:
            return  # after the time of grace; the agent's answer changes nothing any more
        if run.failure is not None:
            self._settle(run, error=AgentError(run.failure))
        elif "error" in message:
            error = read_error(message["error"])
            self._settle(run, error=error)
            if error.wants_login and not run.stopped:
                self.owner.login_wanted(self, run, error)
        else:
            result = message.get("result")
            answer: Mapping[str, Any] = result if isinstance(result, dict) else {}
            reason = answer.get("stopReason")
            usage = answer.get("usage")
            self._settle(
                run,
                stop_reason=reason if isinstance(reason, str) else "end_turn",
                usage=usage if isinstance(usage, dict) else None,
            )

    def _give_up(self, run: PromptRun) -> None:
        """The agent has not confirmed Stop in time: settle here."""
        if run.settled:
            return
        run.unconfirmed = True
        if run.failure is not None:
            self._settle(run, error=AgentError(run.failure))
        else:
            self._settle(run, stop_reason="cancelled")

    def _settle(
        self,
        run: PromptRun,
        *,
        stop_reason: str | None = None,
        error: AgentError | None = None,
        usage: Mapping[str, Any] | None = None,
        ended: bool = False,
    ) -> None:
        if run.settled:
            return
        run.settled = True
        if run.grace is not None:
            run.grace.cancel()
        if run.timer is not None:
            run.timer.cancel()
        shown = None
        if error is not None:
            shown = {"message": error.message, "code": error.code, "data": error.data}
        touched = list(
            self.timeline.settle_prompt(stop_reason, error=shown, usage=usage, at=time.time())
        )
        self.run = None
        touched += self.asking.answer_all()
        if ended:
            touched += self.timeline.settle_all(error.message if error else "", at=time.time())
        self.owner.run_ended(self, run)
        self.owner.changed(self, touched, state=True, urgent=True)
        if not run.entry.done.done():
            run.entry.done.set_result(TurnResult(self.snapshot(), run.index))

    def _watch(self, run: PromptRun, timeout_s: float) -> None:
        """End the prompt when nothing has come from the agent for `timeout_s` seconds."""
        loop = asyncio.get_running_loop()

        def look() -> None:
            if run.settled or run.stopped:
                return
            waiting = self.asking.waiting
            last = loop.time() if waiting else max(self.last_update, run.began)
            left = last + timeout_s - loop.time()
            if left <= 0:
                self.cancel(why=f"Nothing came from the agent for {timeout_s:g} s.")
            else:
                run.timer = loop.call_later(left, look)

        look()

    def _new_terminals(self) -> Terminals:
        def on_output(terminal_id: str, text: str, exit_status: dict[str, Any] | None) -> None:
            touched = self.timeline.terminal_output(terminal_id, text, exit_status)
            self.owner.changed(self, touched)

        return Terminals(self.cwd, self.owner.settings, on_output)

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
