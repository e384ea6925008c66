"""
What a page asks about sessions as a whole: list, open, delete, log in, export, trace.

The answers are plain JSON; large ones go as bytes, and the answer names them.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from acp_notebook.errors import SessionError
from acp_notebook.host.connection import can
from acp_notebook.host.opening import is_folder
from acp_notebook.host.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from acp_notebook.host.session import ChatSession
    from acp_notebook.widget.inbound import PageMessage
    from acp_notebook.widget.messages import Json

MAX_LISTED = 2000
"""Sessions that one answer names; the newest stand first in the list of every known agent."""
MAX_TRACED = 200
"""Messages of the trace in one answer, the newest."""


class SessionRequests:
    """The doers of these kinds of message. Host thread only."""

    def __init__(self, session: ChatSession, send_bytes: Callable[[str, bytes, str], None]) -> None:
        self._session = session
        self._send_bytes = send_bytes
        self.doers: dict[str, Callable[[PageMessage], Any]] = {
            "sessions": self._sessions,
            "open-session": self._open,
            "delete-session": self._delete,
            "login": self._login,
            "logout": self._logout,
            "set-policy": self._set_policy,
            "export": self._export,
            "trace": self._trace,
        }

    async def _sessions(self, _message: PageMessage) -> Json:
        capabilities = self._session.state.capabilities
        able = {
            name: can(capabilities, "sessionCapabilities", name)
            for name in ("list", "fork", "delete")
        }
        resumes = can(capabilities, "sessionCapabilities", "resume")
        able["load"] = can(capabilities, "loadSession") or resumes
        listed = await self._session.sessions.list() if able["list"] else ()
        return {
            "can": able,
            "sessions": [
                {
                    "key": info.key,
                    "cwd": info.cwd,
                    "title": info.title,
                    "updatedAt": info.updated_at,
                    "missing": bool(info.cwd) and not is_folder(info.cwd),
                    "busy": self._is_busy(info.key),
                }
                for info in listed[:MAX_LISTED]
            ],
        }

    def _is_busy(self, key: str) -> bool:
        shown = self._session.shown
        bound = shown if shown.key == key else self._session.life.retained.get(key)
        return bound is not None and bound.run is not None

    def _open(self, message: PageMessage) -> Awaitable[None]:
        sessions, key = self._session.sessions, message.body.get("key")
        match message.body["action"]:
            case "new":
                return sessions.new()
            case "fork":
                return sessions.fork(key)
            case _ if key is not None:
                return sessions.load(key)
            case _:
                raise SessionError("Which session is to be loaded?")

    def _delete(self, message: PageMessage) -> Awaitable[None]:
        return self._session.sessions.delete(message.body["key"])

    async def _login(self, message: PageMessage) -> str | None:
        try:
            return await self._session.sessions.login(message.body["methodId"])
        except ValueError as error:
            raise SessionError(str(error)) from None

    def _logout(self, _message: PageMessage) -> Awaitable[None]:
        return self._session.sessions.logout()

    def _set_policy(self, message: PageMessage) -> None:
        try:
            policy = Policy.of(message.body["policy"])
        except ValueError as error:
            raise SessionError(str(error)) from None
        self._session.set_policy(policy)

    def _export(self, message: PageMessage) -> Json:
        snapshot = self._session.snapshot
        match message.body["format"]:
            case "markdown":
                from acp_notebook.views.markdown import to_markdown

                text, ending, mime_type = to_markdown(snapshot), "md", "text/markdown"
            case "html":
                from acp_notebook.views.html import to_html

                text, ending, mime_type = to_html(snapshot), "html", "text/html"
            case _:
                whole = snapshot.to_dict(blobs=True)
                text, ending = json.dumps(whole, ensure_ascii=False, indent=1), "json"
                mime_type = "application/json"
        data = text.encode("utf-8", "replace")
        digest = hashlib.sha256(data).hexdigest()
        self._send_bytes(digest, data, mime_type)
        stem = re.sub(r"[^\w-]+", "-", self._session.state.title or "chat").strip("-")[:60]
        name = f"{stem or 'chat'}.{ending}"
        return {"name": name, "sha256": digest, "size": len(data), "mimeType": mime_type}

    def _trace(self, _message: PageMessage) -> list[Json]:
        return [
            {
                "at": entry.at,
                "direction": entry.direction,
                "kind": entry.kind,
                "size": entry.size,
                "reason": entry.reason,
                "message": entry.message,
            }
            for entry in self._session.trace()[-MAX_TRACED:]
        ]
