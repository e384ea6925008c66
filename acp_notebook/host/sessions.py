"""
What a person does with the sessions of an agent: list, open, copy, delete, set, log in.

Offered only where the agent says it can. A key taken from the list can always be loaded, and the folder
that the list names for it is the folder of the session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acp_notebook.errors import RequestFailed, SessionBusy, SessionError
from acp_notebook.host import openclaw
from acp_notebook.host.bound import BoundSession
from acp_notebook.host.connection import can
from acp_notebook.host.opening import absolute, is_folder
from acp_notebook.host.state import ChatError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp_notebook.host.connection import AgentConnection
    from acp_notebook.host.session import ChatSession

MAX_PAGES = 200
"""Of one session list; an agent whose cursor never ends is cut off there."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session in the agent's list. `updated_at` is the agent's own text (ISO 8601)."""

    key: str
    session_id: str
    cwd: str = ""
    title: str | None = None
    updated_at: str | None = None


class Sessions:
    """The session operations of one chat. Host thread only."""

    def __init__(self, chat: ChatSession) -> None:
        self._chat = chat
        self._listed: dict[str, SessionInfo] = {}

    # --- looking

    async def list(self, *, cwd: str | None = None) -> tuple[SessionInfo, ...]:
        """
        Return the agent's sessions, all pages.

        Raises:
            SessionError: the agent has no list. RequestFailed: it did not answer well.
        """
        connection = await self._chat.life.ensure_connected()
        self._need(connection, "list sessions", "sessionCapabilities", "list")
        found: dict[str, SessionInfo] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            params = {k: v for k, v in (("cursor", cursor), ("cwd", cwd)) if v is not None}
            result = await self._request(connection, "session/list", params)
            page = result.get("sessions")
            for entry in page if isinstance(page, list) else []:
                info = _read_info(entry, connection.info.name)
                if info is not None:
                    found.setdefault(info.key, info)
            before, cursor = cursor, result.get("nextCursor")
            if not isinstance(cursor, str) or cursor == before:
                break
        self._listed.update(found)
        return tuple(found.values())

    async def cwd_of(self, key: str) -> str:
        """Return the folder of a session: the agent's own word, else the chat's."""
        connection = self._chat.life.connection
        if (
            key not in self._listed
            and connection is not None
            and can(connection.capabilities, "sessionCapabilities", "list")
        ):
            try:
                await self.list()
            except RequestFailed:
                return self._chat.cwd
        info = self._listed.get(key)
        return info.cwd if info is not None and info.cwd else self._chat.cwd

    # --- opening

    async def new(self, cwd: str | None = None) -> None:
        """Open a new session and show it."""
        chat = self._chat
        bound = BoundSession(chat, absolute(cwd) if cwd else chat.cwd)

        async def operation() -> None:
            await chat.life.connected()
            chat.life.coming = bound
            await chat.life.opening("opening a session").new(bound)
            chat.life.show(bound)

        await chat.life.run(operation)

    async def load(self, key: str, *, resume: bool = False) -> None:
        """
        Show a session of the agent: from memory while its prompt runs, else loaded (or resumed).

        Raises:
            SessionBusy: its prompt is running in this very view. UnknownSession: the agent has lost it.
            SessionError: the agent cannot load.
        """
        chat = self._chat

        async def operation() -> None:
            life = chat.life
            connection = await life.connected()
            if key == chat.shown.key and chat.shown.run is not None:
                raise SessionBusy("A prompt is running in this session; it is shown already.")
            kept = life.retained.get(key)
            if kept is not None and (kept.run or kept.queue or not life.can_load):
                life.show(kept)
                return
            if resume:
                self._need(connection, "resume sessions", "sessionCapabilities", "resume")
            elif not life.can_resume:
                self._need(connection, "load sessions", "loadSession")
            bound = BoundSession(chat, await self.cwd_of(key), key=key)
            bound.read_only = not is_folder(bound.cwd)
            life.coming = bound
            method = "session/resume" if resume or not life.can_load else "session/load"
            await life.opening("loading the session").load(bound, key, method)
            life.show(bound)

        await chat.life.run(operation)

    async def fork(self, key: str | None = None) -> None:
        """Show a copy of a session (default: the shown one), with its history."""
        chat = self._chat

        async def operation() -> None:
            connection = await chat.life.connected()
            self._need(connection, "fork sessions", "sessionCapabilities", "fork")
            source = key or chat.shown.session_id
            if source is None:
                raise SessionError("There is no session to copy yet.")
            bound = BoundSession(chat, await self.cwd_of(source))
            chat.life.coming = bound
            await chat.life.opening("copying the session").fork(bound, source)
            chat.life.show(bound)

        await chat.life.run(operation)

    async def delete(self, key: str) -> None:
        """Delete a session at the agent. When it is the shown one, a new chat is left, not another old one."""
        chat = self._chat
        connection = await self._chat.life.ensure_connected()
        self._need(connection, "delete sessions", "sessionCapabilities", "delete")
        if key == chat.shown.key and chat.shown.run is not None:
            raise SessionBusy("A prompt is running in this session. Stop it first.")
        await self._request(connection, "session/delete", {"sessionId": key})
        self._listed.pop(key, None)
        kept = chat.life.retained.get(key)
        if kept is not None:
            chat.life.retained.drop(kept)
            await kept.close()
        if key == chat.shown.key:
            await chat.shown.close()
            chat.shown = BoundSession(chat, chat.cwd)
            chat.changed(chat.shown, state=True, reset=True)

    # --- settings of the shown session

    async def set_mode(self, mode_id: str) -> None:
        """Set the session's mode; a refusal leaves what was set."""
        connection, bound = await self._open()
        params = {"sessionId": bound.session_id, "modeId": mode_id}
        await self._set(connection, "session/set_mode", params)
        # The answer is `{}`, and not every agent sends an update (gemini, codex do not).
        self._took(bound, "session/set_mode", {"modes": {"currentModeId": mode_id}})

    async def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001
        """Set a config option; the answer's list replaces all of them, since one changes others."""
        connection, bound = await self._open()
        params: dict[str, Any] = {
            "sessionId": bound.session_id,
            "configId": option_id,
            "value": value,
        }
        if isinstance(value, bool):
            params["type"] = "boolean"
        result = await self._set(connection, "session/set_config_option", params)
        self._took(bound, "session/set_config_option", result)

    async def set_model(self, model_id: str) -> None:
        """Set the model: by the option of category `model`, else by the unstable method."""
        connection, bound = await self._open()
        for option in bound.snapshot().metadata.config_options or ():
            if option.get("category") == "model":
                await self.set_option(str(option.get("id")), model_id)
                return
        params = {"sessionId": bound.session_id, "modelId": model_id}
        await self._set(connection, "session/set_model", params)
        self._took(bound, "session/set_model", {"models": {"currentModelId": model_id}})

    async def login(self, method_id: str) -> str | None:
        """Log in by one of the agent's methods; see `Login.login`."""
        return await self._chat.logins.login(method_id)

    async def logout(self) -> None:
        """Log out, where the agent can."""
        connection = await self._chat.life.ensure_connected()
        self._need(connection, "log out", "auth", "logout")
        await self._request(connection, "logout", {})

    # --- inside

    async def _open(self) -> tuple[AgentConnection, BoundSession]:
        await self._chat.life.ensure_open()
        connection = self._chat.life.connection
        assert connection is not None
        return connection, self._chat.shown

    async def _request(
        self, connection: AgentConnection, method: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        timeout_s = self._chat.settings.request_timeout_s
        result = await connection.request(method, params, timeout_s=timeout_s)
        return result if isinstance(result, dict) else {}

    async def _set(
        self, connection: AgentConnection, method: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        try:
            return await self._request(connection, method, params)
        except RequestFailed as error:
            self._chat.error = ChatError("This could not be set", error.message)
            self._chat.changed(None, state=True, urgent=True)
            raise

    def _took(self, bound: BoundSession, method: str, result: Mapping[str, Any]) -> None:
        touched = bound.timeline.apply_response(method, result)
        self._chat.changed(bound, touched, state=True, urgent=True)

    def _need(self, connection: AgentConnection, what: str, *path: str) -> None:
        if not can(connection.capabilities, *path):
            raise SessionError(f"{connection.info.title} cannot {what}.")


def _read_info(entry: Any, agent_name: str) -> SessionInfo | None:
    session_id = entry.get("sessionId") if isinstance(entry, dict) else None
    if not isinstance(session_id, str):
        return None
    title, updated, cwd = entry.get("title"), entry.get("updatedAt"), entry.get("cwd")
    return SessionInfo(
        session_id,
        session_id,
        cwd if isinstance(cwd, str) else "",
        openclaw.real_title(agent_name, title if isinstance(title, str) else None, session_id),
        updated if isinstance(updated, str) else None,
    )
