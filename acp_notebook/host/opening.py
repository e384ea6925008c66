"""
How a session comes to be: new, loaded, resumed, forked; and what follows when that fails.

One such operation runs at a time on a connection. Each has a number: its answer, and what came for it,
counts only while it is the current one. A loaded session is folded into a timeline of its own while the
one before stays as it is; it is shown when the agent has answered, or not at all.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_notebook.errors import (
    AgentStartError,
    RequestFailed,
    SessionBusy,
    SessionError,
    WorkspaceMissing,
)
from acp_notebook.host import openclaw
from acp_notebook.host.bound import BoundSession
from acp_notebook.host.connection import AgentConnection, NoAnswer, can

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from acp_notebook.host.settings import Settings

generations = itertools.count(1)
"""Race tokens: compared for equality only."""


def absolute(cwd: str) -> str:
    """Return a folder as ACP wants it: absolute, the home folder written out."""
    return str(Path(cwd).expanduser().absolute())


def is_folder(cwd: str) -> bool:
    """Whether there is such a folder."""
    return Path(cwd).is_dir()


def check_folder(cwd: str) -> None:
    """
    Check that a session's folder is there, before anything is asked of the agent.

    Raises:
        WorkspaceMissing: it is missing or no directory.
    """
    if not is_folder(cwd):
        raise WorkspaceMissing(
            f"The folder {cwd} is missing or is no directory. Choose another one with cwd=."
        )


def open_params(settings: Settings, capabilities: Mapping[str, Any], cwd: str) -> dict[str, Any]:
    """Return what every opening request carries: folder, MCP servers that the agent can reach."""
    offered = capabilities.get("mcpCapabilities")
    servers = [
        dict(server)
        for server in settings.mcp_servers
        if server.get("type", "stdio") == "stdio"
        or (isinstance(offered, dict) and offered.get(server["type"]) is True)
    ]
    params: dict[str, Any] = {"cwd": cwd, "mcpServers": servers}
    if settings.additional_directories and can(
        capabilities, "sessionCapabilities", "additionalDirectories"
    ):
        params["additionalDirectories"] = list(settings.additional_directories)
    return params


class Opener:
    """Opens sessions for one chat on one connection."""

    def __init__(self, connection: AgentConnection, settings: Settings) -> None:
        self._connection = connection
        self._settings = settings
        self._operation = 0

    def abandon(self) -> None:
        """Let no answer of an operation that still runs count any more."""
        self._operation += 1

    async def new(self, bound: BoundSession) -> None:
        """
        Open a new session for `bound`.

        Raises:
            WorkspaceMissing, AuthRequired, RequestFailed, AgentExited: it was not opened.
        """
        check_folder(bound.cwd)
        await self._open("session/new", self._params(bound.cwd), bound, historical=False)
        if self._settings.mcp_servers and not openclaw.takes_servers(self._connection.info.name):
            bound.note(openclaw.NO_SERVERS)

    async def fork(self, bound: BoundSession, session_id: str) -> None:
        """Open a copy of a session for `bound`; its history may be replayed under the new id."""
        check_folder(bound.cwd)
        params = {**self._params(bound.cwd), "sessionId": session_id}
        await self._open("session/fork", params, bound, historical=True)

    async def load(self, bound: BoundSession, session_id: str, method: str) -> None:
        """
        Load or resume a session into `bound` (`method` is `session/load` or `session/resume`).

        Its updates go to `bound` from before the request is sent; when that fails they go where they
        went before.

        Raises:
            SessionBusy: another chat of this agent has a prompt running in it.
            UnknownSession, AuthRequired, RequestFailed, AgentExited: it was not loaded.
        """
        connection = self._connection
        async with connection.operations:
            current = self._begin()
            holder = connection.router.sink(session_id)
            if isinstance(holder, BoundSession) and holder.run is not None:
                raise SessionBusy("A prompt is running in this session.")
            bound.bind(connection, session_id, next(generations), historical=True)
            before = connection.router.register(session_id, bound)

            def on_answer(message: dict[str, Any]) -> None:
                if current() and "error" not in message:
                    bound.finish_replay(method, message.get("result"))

            try:
                params = {**self._params(bound.cwd), "sessionId": session_id}
                await self._request(method, params, on_answer)
                self._check(current)
            except BaseException:
                connection.router.unregister(session_id, bound)
                bound.unbind()
                if before is not None:
                    connection.router.register(session_id, before)
                raise

    async def _open(
        self, method: str, params: dict[str, Any], bound: BoundSession, *, historical: bool
    ) -> None:
        connection = self._connection
        async with connection.operations:
            current = self._begin()
            room = connection.router.open_room(self._settings.max_waiting_room_bytes)

            def on_answer(message: dict[str, Any]) -> None:
                result = message.get("result")
                session_id = result.get("sessionId") if isinstance(result, dict) else None
                if not current() or not isinstance(session_id, str):
                    return
                bound.bind(connection, session_id, next(generations), historical=historical)
                connection.router.register(session_id, bound)
                waited = room.take(session_id)
                if waited:
                    bound.take_updates(waited)
                if room.dropped:
                    bound.note(f"{room.dropped:,} updates came too early (max_waiting_room_bytes).")
                bound.finish_replay(method, result)

            try:
                await self._request(method, params, on_answer)
                self._check(current)
            finally:
                connection.router.close_room(room)
            if bound.session_id is None:
                raise RequestFailed(method, None, "The agent's answer names no session.")

    def _begin(self) -> Callable[[], bool]:
        self._operation += 1
        number = self._operation
        return lambda: self._operation == number

    @staticmethod
    def _check(current: Callable[[], bool]) -> None:
        if not current():
            raise SessionError("Another session was opened meanwhile.")

    def _params(self, cwd: str) -> dict[str, Any]:
        params = open_params(self._settings, self._connection.capabilities, cwd)
        if not openclaw.takes_servers(self._connection.info.name):
            params["mcpServers"] = []
        return params

    async def _request(
        self, method: str, params: dict[str, Any], on_answer: Callable[[dict[str, Any]], None]
    ) -> None:
        timeout_s = self._settings.open_timeout_s
        try:
            await self._connection.request(method, params, timeout_s=timeout_s, on_answer=on_answer)
        except NoAnswer:
            names = ", ".join(
                str(m.get("name") or m.get("id")) for m in self._connection.auth_methods
            )
            login = f" It may wait for a login ({names})." if names else ""
            raise AgentStartError(
                f"{self._connection.info.title} did not answer {method} within {timeout_s:g} s."
                f"{login} (open_timeout_s sets the time.)",
                phase=method,
                stderr_tail=self._connection.stderr_tail,
            ) from None
