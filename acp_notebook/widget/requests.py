"""
What a page asks for, done on the host thread and answered under the message's id.

Nothing a page sends raises into the kernel: a refusal is data. A message about another session or
generation than the chat's own does nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_notebook.errors import AcpNotebookError
from acp_notebook.widget.inbound import BadMessage, PageMessage, read
from acp_notebook.widget.packing import BLOB_CHUNK
from acp_notebook.widget.session_requests import SessionRequests
from acp_notebook.widget.summary import MAX_DRAFT_CHARS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from acp_notebook.host.session import ChatSession
    from acp_notebook.widget.feed import Feed, Post
    from acp_notebook.widget.messages import Json

log = logging.getLogger("acp_notebook.widget")

STATIC = Path(__file__).parent / "static"
ANY_TIME = frozenset({"resync", "fetch-blob", "fetch-module"})
"""Kinds that are right whatever the page shows."""


class Refusal(Exception):
    """Why a request is not done, in words for the person at the page."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Requests:
    """Turns the messages of all pages of one chat into calls on its session."""

    def __init__(self, session: ChatSession, feed: Feed, post: Post) -> None:
        self._session = session
        self._feed = feed
        self._post = post
        self._tasks: set[asyncio.Task[None]] = set()
        self._doers: dict[str, Callable[[PageMessage], Any]] = {
            "resync": self._resync,
            "send": self._send,
            "cancel": self._cancel,
            "answer": self._answer,
            "ack": self._ack,
            "draft": self._draft,
            "queue": self._queue,
            "set-mode": self._set_mode,
            "set-option": self._set_option,
            "restart": self._restart,
            "retry": self._retry,
            "dismiss-error": self._dismiss_error,
            "elicit": self._elicit,
            "fetch-blob": self._fetch_blob,
            "fetch-module": self._fetch_module,
            **SessionRequests(session, self._send_bytes).doers,
        }

    def receive(self, content: object) -> None:
        """Do what a page asks; answers come through `post`, now or later."""
        try:
            message = read(content)
        except BadMessage as error:
            id_ = content.get("id") if isinstance(content, dict) else None
            if isinstance(id_, str):
                self._refuse(id_, error)
            log.debug("a page message was refused: %s", error)
            return
        if message.kind not in ANY_TIME and not self._feed.is_current(
            message.session, message.generation
        ):
            self._failed(message, Refusal("This chat now shows another session."))
            return
        try:
            result = self._doers[message.kind](message)
        except Exception as error:  # noqa: BLE001  # answered as data
            self._failed(message, error)
            return
        if asyncio.iscoroutine(result):
            task = asyncio.ensure_future(self._finish(message, result))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._answer_with(message, result)

    async def _finish(self, message: PageMessage, result: Awaitable[Any]) -> None:
        try:
            self._answer_with(message, await result)
        except Exception as error:  # noqa: BLE001  # answered as data
            self._failed(message, error)

    def _answer_with(self, message: PageMessage, result: Any) -> None:
        if message.id is not None:
            answer: Json = {"kind": "reply", "id": message.id, "ok": True, "result": result}
            self._post({**self._feed.address, **answer})

    def _failed(self, message: PageMessage, error: Exception) -> None:
        if not isinstance(error, Refusal | AcpNotebookError):
            log.warning("%s failed", message.kind, exc_info=error)
        if message.id is not None:
            self._refuse(message.id, error)

    def _refuse(self, id_: str, error: Exception) -> None:
        said: Json = {"message": str(error), "hint": getattr(error, "hint", None)}
        answer: Json = {"kind": "reply", "id": id_, "ok": False, "error": said}
        self._post({**self._feed.address, **answer})

    # -- one a kind

    def _resync(self, message: PageMessage) -> None:
        self._feed.snapshot_for(message.view)

    def _send(self, message: PageMessage) -> Json:
        text = message.body["text"]
        if not text.strip():
            raise Refusal("There is nothing to send.")
        if not message.body.get("queue", True) and self._session.state.status == "running":
            raise Refusal("The agent is still answering.")
        draft, self._session.draft = self._session.draft, ""  # the page has emptied its own
        try:
            queued = self._session.enqueue([{"type": "text", "text": text}])
        except Exception:
            self._session.draft = draft
            raise
        return {"promptId": queued.id}

    def _cancel(self, _message: PageMessage) -> None:
        self._session.cancel()

    def _answer(self, message: PageMessage) -> None:
        body = message.body
        if not self._session.answer(
            body["requestId"], body["optionId"], remember=body.get("remember", False)
        ):
            raise Refusal("This request is no longer open.")

    def _elicit(self, message: PageMessage) -> None:
        body = message.body
        if not self._session.answer_elicitation(
            body["elicitationId"], body["action"], body.get("content")
        ):
            raise Refusal("This question is no longer open.")

    def _ack(self, message: PageMessage) -> None:
        for request_id in message.body["requestIds"]:
            self._session.acknowledge(request_id)

    def _draft(self, message: PageMessage) -> None:
        if len(message.body["text"]) > MAX_DRAFT_CHARS:
            raise Refusal("This draft is too long to be kept.")
        self._session.set_draft(message.body["text"])

    def _queue(self, message: PageMessage) -> None:
        prompt_id, text = message.body["promptId"], message.body.get("text", "")
        match message.body["action"]:
            case "remove":
                done = self._session.remove_queued(prompt_id)
            case "send-now":
                done = self._session.send_now(prompt_id)
            case _ if text.strip():
                done = self._session.edit_queued(prompt_id, [{"type": "text", "text": text}])
            case _:
                raise Refusal("There is nothing to send.")
        if not done:
            raise Refusal("This prompt is no longer in the queue.")

    def _set_mode(self, message: PageMessage) -> Awaitable[None]:
        return self._session.set_mode(message.body["modeId"])

    def _set_option(self, message: PageMessage) -> Awaitable[None]:
        return self._session.set_option(message.body["optionId"], message.body["value"])

    def _restart(self, _message: PageMessage) -> Awaitable[None]:
        return self._session.restart()

    def _retry(self, _message: PageMessage) -> Awaitable[None]:
        return self._session.start()

    def _dismiss_error(self, _message: PageMessage) -> None:
        self._session.dismiss_error()

    def _fetch_blob(self, message: PageMessage) -> None:
        found = self._feed.blob(message.body["sha256"])
        if found is None:
            raise Refusal("These bytes are no longer there.")
        self._send_bytes(message.body["sha256"], *found)

    def _fetch_module(self, message: PageMessage) -> Json:
        data = (STATIC / f"{message.body['name']}.js").read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        self._send_bytes(digest, data, "text/javascript")
        return {"sha256": digest, "size": len(data), "mimeType": "text/javascript"}

    def _send_bytes(self, sha256: str, data: bytes, mime_type: str) -> None:
        for offset in range(0, max(len(data), 1), BLOB_CHUNK):
            about: Json = {"sha256": sha256, "mimeType": mime_type, "size": len(data)}
            self._post(
                {**self._feed.address, "kind": "blob", **about, "offset": offset},
                [data[offset : offset + BLOB_CHUNK]],
            )
