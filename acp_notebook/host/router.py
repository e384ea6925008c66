"""
Who gets what the agent sends: by the session id that stands in the message itself.

A session is registered before its `session/load` is sent. The id of a new or forked session is not
known yet, and agents send updates before they answer: these wait in a waiting room, which belongs to
the one operation that is open, is bounded, and is emptied or thrown away when that ends. Updates for
nobody are counted and dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from acp_notebook.host.transport import TOO_LONG

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_notebook.host.trace import Trace
    from acp_notebook.host.transport import AgentRequest


class SessionSink(Protocol):
    """The client's side of one ACP session, as the router sees it."""

    def take_updates(self, updates: list[dict[str, Any]], size: int) -> None:
        """Fold what was read: params of `session/update`, in order."""

    def take_permission(self, request: AgentRequest) -> None:
        """Note a permission request at its place among the updates."""

    def withdraw(self, request_id: Any) -> bool:
        """The agent takes a request back; whether a person was being asked."""


class WaitingRoom:
    """Updates for sessions that are being opened; past its limit it keeps none of a session."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._updates: dict[str, list[dict[str, Any]]] = {}
        self.size = 0
        self.dropped = 0

    def add(self, session_id: str, params: dict[str, Any], size: int) -> None:
        """Keep one update."""
        if self.size + size > self._limit:
            self.dropped += 1
            return
        self.size += size
        self._updates.setdefault(session_id, []).append(params)

    def take(self, session_id: str) -> list[dict[str, Any]]:
        """Return what came for this session, in order."""
        return self._updates.pop(session_id, [])


class Router:
    """Tells sessions apart on one connection. Implements the transport's `Receiver`."""

    def __init__(self, trace: Trace, on_cancel_request: Callable[[Any], None]) -> None:
        self._trace = trace
        self._on_cancel_request = on_cancel_request
        self._sinks: dict[str, SessionSink] = {}
        self._rooms: list[WaitingRoom] = []
        self._run: list[dict[str, Any]] = []
        self._run_size = 0
        self._run_sink: SessionSink | None = None

    def register(self, session_id: str, sink: SessionSink) -> SessionSink | None:
        """Send a session's traffic to `sink` from now on; returns who had it before."""
        self.flush()
        before = self._sinks.get(session_id)
        self._sinks[session_id] = sink
        return before

    def unregister(self, session_id: str, sink: SessionSink) -> None:
        """Stop that, unless another sink has taken over."""
        if self._sinks.get(session_id) is sink:
            self.flush()
            del self._sinks[session_id]

    def sink(self, session_id: Any) -> SessionSink | None:
        """Return who has a session."""
        return self._sinks.get(session_id) if isinstance(session_id, str) else None

    def open_room(self, limit: int) -> WaitingRoom:
        """Keep updates of unknown sessions from now on."""
        room = WaitingRoom(limit)
        self._rooms.append(room)
        return room

    def close_room(self, room: WaitingRoom) -> None:
        """Forget what was kept and not taken."""
        self._rooms.remove(room)

    def withdraw(self, request_id: Any) -> bool:
        """Tell the session that asked; whether there was one."""
        return any(sink.withdraw(request_id) for sink in list(self._sinks.values()))

    # --- Receiver

    def update(self, params: Any, size: int) -> None:
        """Take one `session/update`; it is folded with its neighbours of the same session."""
        session_id = params.get("sessionId") if isinstance(params, dict) else None
        sink = self._sinks.get(session_id) if isinstance(session_id, str) else None
        if sink is None:
            self._keep_or_drop(session_id, params, size)
            return
        if sink is not self._run_sink:
            self.flush()
            self._run_sink = sink
        self._run.append(params)
        self._run_size += size

    def flush(self) -> None:
        """Fold what has come since the last flush."""
        sink, updates, size = self._run_sink, self._run, self._run_size
        if sink is not None and updates:
            self._run, self._run_sink, self._run_size = [], None, 0
            sink.take_updates(updates, size)

    def request(self, request: AgentRequest) -> None:
        """Note a permission request at its place; other requests have none."""
        if request.method == "session/request_permission":
            self.flush()
            sink = self.sink(request.params.get("sessionId"))
            if sink is not None:
                sink.take_permission(request)

    def notification(self, method: str, params: Any) -> None:
        """Take what is known, count what is not."""
        self.flush()
        if method == TOO_LONG:
            for sink in self._sinks.values():
                note = getattr(sink, "note_long_line", None)
                if note is not None:
                    note(params)
        elif method == "$/cancel_request":
            self._on_cancel_request(params.get("requestId") if isinstance(params, dict) else None)
        elif method != "elicitation/complete":
            self._trace.counts[f"ignored-notification:{method[:80]}"] += 1

    def _keep_or_drop(self, session_id: Any, params: Any, size: int) -> None:
        if isinstance(session_id, str) and self._rooms:
            self._rooms[-1].add(session_id, params, size)
        else:
            self._trace.counts["unknown-session" if session_id else "malformed-update"] += 1
