"""
Between the wire and the SDK: our own message transport (`acp`'s `Transport`, SDK 0.12).

`session/update` never reaches the SDK. It goes to the router raw, in order, in the call that read it.
Everything else is handed to the SDK's connection, which answers requests in tasks of their own, after
later updates of the same read. So what must stand at its place in the timeline (a permission request,
the answer of a prompt or of a session that is opened) is told to the router here, when its frame passes.

What the SDK could not take is kept from it: lines that are no message, answers to no request of ours,
errors of another shape than JSON-RPC's. They are counted in the trace, and nothing else happens.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from acp_notebook.host.loop import log
from acp_notebook.wire import BadLine, Frame, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from acp_notebook.host.record import Recorder
    from acp_notebook.host.settings import Settings
    from acp_notebook.host.trace import Trace

_REASONS = {"not-json": "non-json-line"}


class Link(Protocol):
    """What carries messages to an agent: a child's pipes, or a remote connection."""

    async def send(self, message: dict[str, Any]) -> int:
        """
        Send one message and return its size in bytes.

        Raises:
            ConnectionError: the agent cannot be reached any more.
        """

    async def close(self) -> None:
        """End the link and whatever is behind it."""


class Receiver(Protocol):
    """Who is told, in wire order, what the agent sends."""

    def update(self, params: Any, size: int) -> None:
        """Take the params of one `session/update`."""

    def flush(self) -> None:
        """The read holds no more complete messages."""

    def request(self, request: AgentRequest) -> None:
        """Take a request of the agent; it is answered later, in a task."""

    def notification(self, method: str, params: Any) -> None:
        """Take any other notification."""


class Call(dict[str, Any]):
    """Params of a request of ours whose answer is looked at when its frame passes."""

    on_answer: Callable[[dict[str, Any]], None] | None = None
    request_id: int | str | None = None
    """Once it has been sent."""


@dataclass(frozen=True, slots=True, eq=False)
class AgentRequest:
    """A request of the agent. `id` goes back as it came: 0 and strings are ids too."""

    id: Any
    method: str
    params: dict[str, Any]


class AgentTransport:
    """Implements the SDK's `Transport` over a `Link`."""

    def __init__(
        self, receiver: Receiver, trace: Trace, settings: Settings, recorder: Recorder | None
    ) -> None:
        self._receiver = receiver
        self._trace = trace
        self._recorder = recorder
        self._max_requests = settings.max_agent_requests
        self._inbox: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._asked: dict[Any, tuple[str, Any]] = {}
        self._open_requests = 0
        self._refusals: set[asyncio.Task[None]] = set()
        self._closed = False
        self.link: Link | None = None

    # --- the SDK's side

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message of ours; answers to an agent that is gone are dropped."""
        method = message.get("method")
        if method is None:
            self._open_requests -= 1
        elif "id" in message:
            params = message.get("params")
            self._asked[message["id"]] = (method, params)
            if isinstance(params, Call):
                params.request_id = message["id"]
        try:
            await self._send(message)
        except ConnectionError:
            if method is not None:
                self._asked.pop(message.get("id"), None)
                raise

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message for the SDK; `None` at the end."""
        return await self._inbox.get()

    async def close(self) -> None:
        """Close the link."""
        self._closed = True
        self._inbox.put_nowait(None)
        if self.link is not None:
            await self.link.close()

    # --- the wire's side

    def feed(self, frames: Iterable[Frame]) -> None:
        """Take the frames of one read. Never raises."""
        for frame in frames:
            if isinstance(frame, BadLine):
                self._bad_line(frame)
                continue
            message = frame.value
            if message.get("method") == "session/update" and "id" not in message:
                self._note_in("session/update", message, frame.size)
                self._receiver.update(message.get("params"), frame.size)
                continue
            try:
                self._take(frame)
            except Exception:  # noqa: BLE001  a frame of the agent must never end the connection
                log.exception("A message of the agent could not be taken.")
                self._trace.counts["fault"] += 1
        self._receiver.flush()

    def end(self) -> None:
        """The agent says nothing any more."""
        self._inbox.put_nowait(None)

    # --- inside

    async def _send(self, message: dict[str, Any]) -> None:
        if self.link is None or self._closed:
            raise ConnectionError("The connection to the agent is closed.")
        size = await self.link.send(message)
        self._trace.note("client->agent", _kind(message), message, size)
        if self._recorder is not None:
            self._recorder.sent(message)

    def _note_in(self, kind: str, message: dict[str, Any], size: int, reason: str = "") -> None:
        self._trace.note("agent->client", kind, message, size, reason)
        if self._recorder is not None:
            self._recorder.received(message)

    def _bad_line(self, line: BadLine) -> None:
        reason = _REASONS.get(line.reason, line.reason)
        self._trace.note("agent->client", "line", line.text[:200], line.size, reason)
        if self._recorder is not None:
            self._recorder.received_raw(line.text)
        if line.reason == "too-long":
            self._receiver.notification(TOO_LONG, line.size)

    def _take(self, frame: Message) -> None:
        message, size = frame.value, frame.size
        method = message.get("method")
        if isinstance(method, str):
            if "id" in message:
                self._take_request(message, method, size)
            else:
                self._note_in(method, message, size)
                self._receiver.notification(method, message.get("params"))
        elif method is None and "id" in message:
            self._take_answer(message, size)
        else:
            self._note_in("message", message, size, "not-json-rpc")

    def _take_request(self, message: dict[str, Any], method: str, size: int) -> None:
        if self._open_requests >= self._max_requests:
            self._note_in(method, message, size, "too-many-requests")
            self._refuse(message["id"])
            return
        self._note_in(method, message, size)
        self._open_requests += 1
        params = message.get("params")
        request = AgentRequest(message["id"], method, params if isinstance(params, dict) else {})
        self._receiver.request(request)
        self._inbox.put_nowait({**message, "params": request})

    def _take_answer(self, message: dict[str, Any], size: int) -> None:
        key = message["id"]
        asked = self._asked.pop(key, None) if isinstance(key, int | str) else None
        if asked is None:
            self._note_in("answer", message, size, "unknown-response-id")
            return
        method, params = asked
        self._note_in(method, message, size)
        answer = _well_formed(message)
        if isinstance(params, Call) and params.on_answer is not None:
            self._receiver.flush()
            params.on_answer(answer)
        self._inbox.put_nowait(answer)

    def _refuse(self, request_id: Any) -> None:
        """Answer without the SDK: a flood of requests must not become a flood of tasks."""
        error = {"code": -32000, "message": "Too many requests are open."}
        answer = {"jsonrpc": "2.0", "id": request_id, "error": error}
        if len(self._refusals) < self._max_requests:
            self._open_requests += 1
            task = asyncio.get_running_loop().create_task(self.send(answer))
            self._refusals.add(task)
            task.add_done_callback(self._refusals.discard)


TOO_LONG = "line too long"
"""Said to the receiver as a notification when a line was dropped for its length."""


def _kind(message: dict[str, Any]) -> str:
    return str(message.get("method") or "answer")


def _well_formed(message: dict[str, Any]) -> dict[str, Any]:
    """Return an answer whose error, if it has one, is the object that the SDK expects."""
    error = message.get("error")
    if "result" in message or error is None:
        return {"id": message["id"], "result": message.get("result")}
    if not isinstance(error, dict):
        error = {"message": str(error)}
    code, text = error.get("code"), error.get("message")
    return {
        "id": message["id"],
        "error": {
            "code": code if isinstance(code, int) else -32603,
            "message": text if isinstance(text, str) else "",
            "data": error.get("data"),
        },
    }
