"""
From no agent to an open session, and back: starting, opening, switching, failing, restarting, closing.

One such operation runs at a time in a chat. While it runs, prompts queue for the session that it will
show. When it fails, what was shown stays, and prompts that were typed come back as the draft; only an
explicit Send, Retry, Login or Restart tries again.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

from acp_notebook.errors import (
    AcpNotebookError,
    AgentStartError,
    AuthRequired,
    SessionError,
    WorkspaceMissing,
)
from acp_notebook.host import pool
from acp_notebook.host.connection import can
from acp_notebook.host.failures import describe_failure
from acp_notebook.host.opening import Opener, check_folder
from acp_notebook.host.operations import Operations
from acp_notebook.host.prompts import unsent_turn
from acp_notebook.host.retained import Retained
from acp_notebook.host.starting import open_shown
from acp_notebook.host.state import ChatError, Status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from acp_notebook.host.bound import BoundSession
    from acp_notebook.host.connection import AgentConnection
    from acp_notebook.host.prompts import Entry
    from acp_notebook.host.session import ChatSession


class Lifecycle:
    """What has been opened for one chat, and how far it is."""

    def __init__(self, chat: ChatSession) -> None:
        self.chat = chat
        self.connection: AgentConnection | None = None
        self.last_connection: AgentConnection | None = None
        """Kept after its end, for its trace."""
        self.opener: Opener | None = None
        self.coming: BoundSession | None = None
        """The session that is being opened and is not shown yet."""
        self.retained = Retained(self)
        self.login_tried = False
        self.base: Status = "idle"
        self.operations = Operations()
        self._opening: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stop_listening: Callable[[], None] = lambda: None

    # --- what it is

    def status(self) -> Status:
        """Return the status of the chat."""
        if self.base != "idle":
            return self.base
        run = self.chat.shown.run
        if run is None:
            return "idle"
        return "stopping" if run.stopped else "running"

    @property
    def target(self) -> BoundSession:
        """The session that a prompt belongs to which is entered now."""
        return self.coming or self.chat.shown

    @property
    def can_load(self) -> bool:
        """Whether the agent can replay a session."""
        return self.connection is not None and can(self.connection.capabilities, "loadSession")

    @property
    def can_resume(self) -> bool:
        """Whether the agent can go on with a session without replaying it."""
        connection = self.connection
        return connection is not None and can(
            connection.capabilities, "sessionCapabilities", "resume"
        )

    def check_usable(self) -> None:
        """
        Check that prompts can be entered.

        Raises:
            SessionError: the chat is closed. WorkspaceMissing: the session can only be looked at.
        """
        self.check_open()
        if self.target.read_only:
            raise WorkspaceMissing(
                f"This session can only be read: its folder {self.target.cwd} is not there, "
                "or its agent does not know it any more."
            )

    # --- opening

    async def ensure_open(self) -> None:
        """Start the agent and open the shown session, unless that is done; see `ChatSession.start`."""
        self.check_usable()
        if self.chat.shown.open and not self.operations.busy:
            return
        if self._opening is None:
            self._opening = asyncio.ensure_future(self.run(partial(open_shown, self)))
            self._opening.add_done_callback(self._opened)
        await asyncio.shield(self._opening)

    def pump(self) -> None:
        """Send the next prompt of the session that takes prompts; open it first where needed."""
        if not self.target.queue or self.operations.busy:
            return  # what is being opened sends them when it is there
        if self.target.open:
            self.send_next(self.target)
        elif self.base != "authenticating":
            self.spawn(self._open_quietly())

    def send_next(self, bound: BoundSession) -> None:
        """Send the next prompt of a session, unless one runs."""
        while bound.open and bound.run is None and bound.queue:
            self.chat.prompts.begin(bound, bound.queue.pop(0))

    async def connected(self) -> AgentConnection:
        """
        Return a connection to the agent; it is started where needed.

        Raises:
            AgentNotFound, AgentStartError, ProtocolError: it did not come up.
        """
        if self.connection is not None and self.connection.alive:
            return self.connection
        chat = self.chat
        check_folder(chat.shown.cwd)
        connection = await pool.acquire(
            chat, chat.spec, chat.shown.cwd, chat.settings, self.set_phase
        )
        if self.operations.closed:
            await pool.release(chat, connection)
            self.operations.check()
        self.connection = self.last_connection = connection
        self.opener = Opener(connection, chat.settings)
        self._stop_listening = connection.on_end(lambda: self._agent_ended(connection))
        return connection

    async def ensure_connected(self) -> AgentConnection:
        """Return a connection, also without a session; a failure to start is shown as the chat's."""
        self.check_open()
        if self.connection is not None and self.connection.alive:
            return self.connection

        async def operation() -> None:
            await self.connected()

        await self.run(operation)
        return await self.connected()

    def opening(self, phase: str) -> Opener:
        """Return what opens sessions on the connection, and say what is going on."""
        assert self.opener is not None
        self.set_phase(phase)
        return self.opener

    async def run(self, operation: Callable[[], Awaitable[None]]) -> None:
        """
        Run an operation that changes what is shown, alone; a failure leaves what was shown.

        Raises:
            SessionError: the chat is closed. AcpNotebookError: what the operation raises.
        """
        try:
            await self.operations.run(partial(self._attempt, operation))
        finally:
            asyncio.get_running_loop().call_soon(self._go_on)

    def check_open(self) -> None:
        """Check that the chat is not closed; raises SessionError when it is."""
        self.operations.check()

    def show(self, bound: BoundSession) -> None:
        """Show another session; the one before is kept while its prompt runs."""
        chat = self.chat
        before = chat.shown
        self.coming = None
        if before is not bound:
            if before.session_id is None:
                # It never came to be; what was meant for it goes to what is shown instead.
                bound.queue[:0], before.queue = before.queue, []
            self.retained.keep_or_leave(before)
        self.retained.drop(bound)
        chat.shown = bound
        chat.changed(bound, state=True, reset=True)

    # --- told from outside

    def session_settled(self, bound: BoundSession) -> None:
        """A prompt of this session has ended."""
        if bound.queue:
            # After the settled turn's future has been seen, so that turns are told apart.
            asyncio.get_running_loop().call_soon(self.send_next, bound)
        elif bound is not self.chat.shown:
            self.retained.drop(bound)
            self.retained.keep_or_leave(bound)

    def stop_opening(self) -> None:
        """Stop what is being opened. Prompts that wait come back; without any, the start itself ends."""
        queue = self.target.queue
        if queue and self.operations.busy:
            for entry in list(queue):
                self.give_back(entry)
            queue.clear()
            self.chat.changed(None, state=True, urgent=True)
        elif self.operations.busy:
            if self.opener is not None:
                self.opener.abandon()
            self.operations.stop()

    # --- restart, close

    async def restart(self) -> None:
        """Start a new child and go on with the same session where the agent can."""
        self.check_open()
        self.operations.stop()

        async def operation() -> None:
            await self.disconnect("The agent was restarted.")
            await open_shown(self)

        await self.run(operation)

    async def disconnect(self, reason: str) -> None:
        """Let the agent go, to the end even when the caller is stopped meanwhile."""
        await asyncio.shield(self.spawn(self._let_go(reason)))

    async def close(self) -> None:
        """End everything; idempotent."""
        if self.operations.closed:
            return
        self.base = "closed"
        await self.operations.close()
        for bound in self.all():
            for entry in bound.queue:
                if not entry.done.done():
                    entry.done.set_exception(SessionError("The chat was closed."))
            bound.queue.clear()
        await self.disconnect("The chat was closed.")
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.chat.changed(None, state=True, urgent=True)

    # --- inside: opening

    async def _attempt(self, operation: Callable[[], Awaitable[None]]) -> None:
        before = self.base
        self.chat.error, self.chat.note = None, ""
        self.base = "starting"
        self.chat.changed(None, state=True, urgent=True)
        try:
            await operation()
        except asyncio.CancelledError:
            self._fail(AgentStartError("This was stopped.", phase="stopped"), before)
            raise
        except AcpNotebookError as error:
            self._fail(error, before)
            raise
        except OSError as error:
            failure = AgentStartError(str(error), phase="start")
            self._fail(failure, before)
            raise failure from error
        finally:
            self.coming = None
            self.set_phase("")
        if self.base == "starting":
            self.base = "idle"
        self.login_tried = False
        self.chat.changed(None, state=True, urgent=True)

    def _go_on(self) -> None:
        """After an operation: send what waits for a session that is there."""
        if not self.operations.busy:
            for bound in self.all():
                self.send_next(bound)

    async def _open_quietly(self) -> None:
        with contextlib.suppress(AcpNotebookError, asyncio.CancelledError):
            await self.ensure_open()

    def _opened(self, task: asyncio.Task[None]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # told to those who wait for it, if anybody does

    def _fail(self, error: AcpNotebookError, before: Status) -> None:
        """Show what went wrong; give prompts back that wait for the session."""
        chat = self.chat
        usable = chat.shown.open
        loading = self.target.key if not self.target.open else None
        if self.base != "closed":
            if isinstance(error, AuthRequired):
                self.base = "auth-failed"
            elif usable:
                self.base = before if before not in {"starting", "authenticating"} else "idle"
            else:
                self.base = "load-failed" if loading and self.connection else "start-failed"
        chat.error = describe_failure(
            error,
            chat.spec.shown_title,
            loading=loading,
            login_tried=self.login_tried,
            has_login=self.connection is not None and bool(self.connection.auth_methods),
        )
        waiting = self.target.queue
        for entry in list(waiting):
            if entry.awaited:
                waiting.remove(entry)
                if not entry.done.done():
                    entry.done.set_exception(error)
            elif not isinstance(error, AuthRequired):
                waiting.remove(entry)
                self.give_back(entry)
        chat.changed(None, state=True, urgent=True)

    def give_back(self, entry: Entry, *, draft: bool = True) -> None:
        """Take a prompt back that was not sent: as a turn that was cancelled, and as the draft."""
        if draft and not entry.awaited:
            self.chat.give_back(entry.shown.text)
        if not entry.done.done():
            entry.done.set_result(unsent_turn(entry.shown.blocks))

    # --- inside: ends

    async def _let_go(self, reason: str) -> None:
        connection, self.connection, self.opener = self.connection, None, None
        if connection is None:
            return
        self._stop_listening()
        pool.retire(connection)
        for bound in self.all():
            if bound.run is not None:
                await connection.notify("session/cancel", {"sessionId": bound.session_id})
            await bound.close(reason)
            bound.connection = None
        await pool.release(self.chat, connection)

    def _agent_ended(self, connection: AgentConnection) -> None:
        """The agent's process is gone, or its link."""
        if self.connection is not connection:
            return
        chat = self.chat
        clean = connection.returncode == 0 and all(b.run is None for b in self.all())
        for bound in self.all():
            bound.agent_ended()
        pool.retire(connection)
        self.spawn(pool.release(chat, connection))
        if self.base in {"idle", "authenticating"}:
            self.base = "exited"
            if not clean:
                remote = connection.process is None
                chat.error = ChatError(
                    "The connection was lost" if remote else f"{connection.info.title} has ended",
                    connection.how_it_ended(),
                    stderr_tail=connection.stderr_tail,
                    actions=("reconnect",) if remote else ("restart",),
                )
        chat.changed(None, state=True, urgent=True)

    # --- inside: small things

    def all(self) -> list[BoundSession]:
        """Return every session of the chat, the one that takes prompts first."""
        shown = self.chat.shown
        coming = [self.coming] if self.coming is not None and self.coming is not shown else []
        return [*coming, shown, *self.retained]

    def set_phase(self, phase: str) -> None:
        """Say what is waited for."""
        if self.chat.phase != phase:
            self.chat.phase = phase
            self.chat.changed(None, state=True, urgent=True)

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something beside, on the host thread; `close` waits for it."""
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
