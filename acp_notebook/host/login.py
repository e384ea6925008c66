"""
Logging in: who asks for it, how it is done, and what is done once more after it.

What had failed for want of a login (a session that was to be opened, or a prompt) is tried again once;
when it fails again, the chat says so and offers a restart. There is no loop.
"""

from __future__ import annotations

import contextlib
import shlex
from typing import TYPE_CHECKING, Any

from acp_notebook.host.state import ChatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from acp_notebook.host.failures import AgentError
    from acp_notebook.host.prompts import Entry
    from acp_notebook.host.session import ChatSession


class Login:
    """The logins of one chat. Host thread only."""

    def __init__(self, chat: ChatSession) -> None:
        self._chat = chat
        self._failed: Entry | None = None

    def wanted(self, error: AgentError, entry: Entry) -> None:
        """A prompt was refused for want of a login: offer one, and send it again after that."""
        self._failed = entry
        self._chat.error = ChatError(
            "Sign in again",
            error.message or "The agent wants a login.",
            actions=("login", "restart"),
        )
        self._chat.changed(None, state=True, urgent=True)

    async def login(self, method_id: str) -> str | None:
        """
        Log in by one of the agent's methods; then do once more, once, what had failed for want of it.

        Returns what a person has to do, where the client cannot: variables to set, a command to run.

        Raises:
            ValueError: the agent has no such method. RequestFailed: the login failed.
            AuthRequired: the agent still wants a login.
        """
        connection = await self._chat.life.ensure_connected()
        method = next((m for m in connection.auth_methods if m.get("id") == method_id), None)
        if method is None:
            names = ", ".join(str(m.get("id")) for m in connection.auth_methods) or "none"
            raise ValueError(f"The agent has no login {method_id!r} (it has: {names}).")
        by_hand = instructions(method, connection.command_line)
        if by_hand is not None:
            return by_hand
        with self._authenticating():
            await connection.request("authenticate", {"methodId": method_id})
        await self._once_more()
        return None

    @contextlib.contextmanager
    def _authenticating(self) -> Iterator[None]:
        """While this lasts, a login is going on; the status before comes back if it fails."""
        life = self._chat.life
        before, life.base = life.base, "authenticating"
        self._chat.changed(None, state=True, urgent=True)
        try:
            yield
        finally:
            if life.base == "authenticating":
                life.base = before
            self._chat.changed(None, state=True, urgent=True)

    async def _once_more(self) -> None:
        """Do once more what had failed for want of a login, once."""
        entry, self._failed = self._failed, None
        if self._chat.shown.open:
            self._chat.dismiss_error()
            if entry is not None:
                self._chat.enqueue(entry.shown.blocks)
            return
        self._chat.life.login_tried = True
        await self._chat.life.ensure_open()


def instructions(method: Mapping[str, Any], command_line: list[str]) -> str | None:
    """Return what a person has to do for a login that the client cannot do; `None` when it can."""
    kind = method.get("type")
    if kind == "env_var":
        names = method.get("vars")
        shown = ", ".join(
            str(v.get("name") if isinstance(v, dict) else v)
            for v in (names if isinstance(names, list) else [])
        )
        return f"Set {shown} in the environment of the kernel, then restart the agent."
    if kind == "terminal":
        args = method.get("args")
        line = [*command_line[:1], *(map(str, args) if isinstance(args, list) else [])]
        return f"Run this in a terminal, then restart the agent:  {shlex.join(line)}"
    return None
