"""The blocking calls of a chat that are about its agent and its sessions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

from acp_notebook.errors import SessionError
from acp_notebook.host.blocking import run_blocking
from acp_notebook.kernel.surroundings import surroundings

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from acp_notebook.host.session import ChatSession
    from acp_notebook.host.sessions import SessionInfo

T = TypeVar("T")


class SessionCalls:
    """What a chat can do with its agent and its sessions; each call waits for the agent's answer."""

    _session: ChatSession
    _pid: int

    def start(self) -> None:
        """Start the agent and open the session, if that is not done yet."""
        self._run(self._session.start())

    def restart(self) -> None:
        """Start a new agent process and go on with the same session where the agent can."""
        self._run(self._session.restart())

    def sessions(self) -> tuple[SessionInfo, ...]:
        """Return the agent's sessions."""
        return self._run(self._session.sessions.list())

    def new_session(self, cwd: str | os.PathLike[str] | None = None) -> None:
        """Show a new session; one whose prompt runs goes on behind it."""
        self._run(self._session.sessions.new(None if cwd is None else os.fspath(cwd)))

    def load(self, key: str) -> None:
        """Show a session of the agent with its history."""
        self._run(self._session.sessions.load(key))

    def resume(self, key: str) -> None:
        """Go on with a session without its history, where the agent can do only that."""
        self._run(self._session.sessions.load(key, resume=True))

    def fork(self, key: str | None = None) -> None:
        """Show a copy of a session (default: the shown one)."""
        self._run(self._session.sessions.fork(key))

    def delete(self, key: str) -> None:
        """Delete a session at the agent."""
        self._run(self._session.sessions.delete(key))

    def set_mode(self, mode_id: str) -> None:
        """Set the mode of the session (`chat.timeline.metadata.available_modes`)."""
        self._run(self._session.sessions.set_mode(mode_id))

    def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001
        """Set a config option of the session (`chat.timeline.metadata.config_options`)."""
        self._run(self._session.sessions.set_option(option_id, value))

    def set_model(self, model_id: str) -> None:
        """Set the model of the session."""
        self._run(self._session.sessions.set_model(model_id))

    def login(self, method: str) -> str | None:
        """Log in by one of the agent's methods; returns what a person has to do, where that is needed."""
        instructions: str | None = self._run(self._session.sessions.login(method))
        return instructions

    def logout(self) -> None:
        """Log out, where the agent can."""
        self._run(self._session.sessions.logout())

    # --- inside

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            self._check_process()
        except SessionError:
            coroutine.close()
            raise
        return run_blocking(coroutine, surroundings())

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise SessionError("This chat belongs to another process. Open a new one here.")
