"""
Records: one conversation as JSON lines, written by the host and folded again by `load_record`.

The first line is the header, the others are frames in the order in which they passed:

    {"acp_notebook_record": 1, "agent": …, "version": …, "cwd": …, "started": seconds since the epoch}
    {"t": ms, "dir": "client->agent" | "agent->client", "msg": {…}}
    {"t": ms, "dir": …, "raw": "…"}                 a line that was no JSON
    {"t": ms, "dir": "stderr", "raw": "…"}          optional
    {"t": ms, "dir": "terminal", "msg": {"terminalId", "data", "exitStatus"}}   the host's terminals
    {"t": ms, "dir": "closed", "msg": {"message"}}  the agent is gone: what was open has ended

Two things are not on the wire and stand beside `msg` as `by`: who answered a permission
request (the response line), and what stopped a turn (the `session/cancel` line; only `"user"`, or
nothing, is the person's Stop). Without a header, as in a trace, times are unknown.

Content is kept whole. `redacted` takes out what is secret: the parameters of `authenticate`, `env`
and `headers` of MCP servers, `_meta` outside a short list, and passwords in URLs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.reducer import Timeline
from acp_notebook.timeline.tools import PARENT_IDS, TOOL_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from acp_notebook.timeline.snapshot import TimelineSnapshot

VERSION = 1
REDACTED = "[redacted]"

KEPT_META = frozenset(
    {
        "terminal_info",
        "terminal_output",
        "terminal_output_delta",
        "terminal_exit",
        *TOOL_NAMES,
        *PARENT_IDS,
    }
)
"""What the reducer reads from `_meta`; nothing else of it is recorded."""

_CREDENTIALS = re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/?#@\"'<>]+@")


def header(*, agent: str, version: str | None, cwd: str, started: float) -> dict[str, Any]:
    """Return the first line of a record; `started` is in seconds since the epoch."""
    return {
        "acp_notebook_record": VERSION,
        "agent": agent,
        "version": version,
        "cwd": cwd,
        "started": started,
    }


def redacted(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a JSON-RPC message without its secrets."""
    copy: dict[str, Any] = _without_secrets(message)
    if copy.get("method") == "authenticate" and isinstance(copy.get("params"), dict):
        copy["params"] = dict.fromkeys(copy["params"], REDACTED)
    return copy


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return _CREDENTIALS.sub(rf"\1{REDACTED}@", value) if "://" in value else value
    if isinstance(value, list):
        return [_without_secrets(member) for member in value]
    if not isinstance(value, dict):
        return value
    return {key: _member(key, member) for key, member in value.items()}


def _member(key: str, value: Any) -> Any:
    if key == "_meta":
        return _kept_meta(value)
    if key == "mcpServers" and isinstance(value, list):
        return [_server(server) for server in value]
    return _without_secrets(value)


def _server(server: Any) -> Any:
    """Keep the names of variables and headers of an MCP server, not their values."""
    copy = _without_secrets(server)
    if isinstance(copy, dict):
        for key in ("env", "headers"):
            pairs = copy.get(key)
            if isinstance(pairs, list):
                copy[key] = [
                    {"name": pair.get("name"), "value": REDACTED}
                    for pair in pairs
                    if isinstance(pair, dict)
                ]
            elif key in copy:
                copy[key] = REDACTED
    return copy


def _kept_meta(meta: Any) -> Any:
    if not isinstance(meta, dict):
        return REDACTED
    kept: dict[str, Any] = {}
    for key, value in meta.items():
        if key in KEPT_META:
            kept[key] = _without_secrets(value)
        elif isinstance(value, dict):
            kept[key] = {k: _without_secrets(v) for k, v in value.items() if k in KEPT_META}
        else:
            kept[key] = REDACTED
    return kept


def load_record(path: str | PathLike[str], session_id: str | None = None) -> TimelineSnapshot:
    """
    Fold a recorded conversation again.

    A record may hold several sessions; without `session_id` it is the last that was opened.
    Raises: OSError when the file cannot be read, ValueError when it is no record or holds no
    such session.
    """
    with Path(path).open(encoding="utf-8", errors="replace", newline="\n") as lines:
        timelines = fold_record(lines)
    if session_id is None and timelines:
        session_id = next(reversed(timelines))
    if session_id not in timelines:
        raise ValueError(f"{path} holds no session {session_id or ''}".rstrip() + ".")
    return timelines[session_id].snapshot()


def fold_record(lines: Iterable[str]) -> dict[str, Timeline]:
    """
    Fold the lines of a record: the timelines by session id, the last opened last.

    Raises: ValueError for a line that is no record line; only the last may be torn.
    """
    fold = _RecordFold()
    torn: tuple[int, str] | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if torn is not None:
            raise ValueError(f"Line {torn[0]} is no line of a record: {torn[1][:80]!r}")
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            torn = (number, line)
            continue
        fold.take(entry)
    fold.end()
    return fold.timelines


class _RecordFold:
    """Follows both directions: which request a response answers, which session is replayed."""

    def __init__(self) -> None:
        self.timelines: dict[str, Timeline] = {}
        self.started: float | None = None
        self.version = 1
        self.greeting: Any = None
        self.asked: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.replaying: set[str] = set()
        self.forking = 0
        self.at: float | None = None

    def take(self, entry: Mapping[str, Any]) -> None:
        """Fold one line."""
        if "acp_notebook_record" in entry:
            if entry["acp_notebook_record"] != VERSION:
                raise ValueError(
                    f"This record is of version {entry['acp_notebook_record']!r};"
                    f" this package reads version {VERSION}."
                )
            started = entry.get("started")
            self.started = started if isinstance(started, int | float) else None
            return
        message, way = entry.get("msg"), entry.get("dir")
        if not isinstance(message, dict):
            return
        t = entry.get("t")
        self.at = None
        if self.started is not None and isinstance(t, int | float):
            self.at = self.started + t / 1000
        if way == "terminal":
            for timeline in self.timelines.values():
                timeline.terminal_output(
                    str(message.get("terminalId")),
                    str(message.get("data") or ""),
                    message.get("exitStatus"),
                )
        elif way == "closed":
            self.close(message)
        elif way == "client->agent":
            self.from_client(message, entry.get("by"))
        elif way == "agent->client":
            self.from_agent(message)

    def open(self, session_id: Any, *, anew: bool = False) -> Timeline:
        """Return the timeline of a session, a new one when it is not known or opened anew."""
        key = str(session_id)
        timeline = self.timelines.get(key)
        if timeline is None or anew:
            self.timelines.pop(key, None)
            timeline = self.timelines[key] = Timeline(key, self.version)
            timeline.apply_response("initialize", self.greeting)
        return timeline

    def from_client(self, message: Mapping[str, Any], by: Any) -> None:
        """Fold what the client sent."""
        method = message.get("method")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        session_id = params.get("sessionId")
        if not isinstance(method, str):
            self.answer(message, by)
            return
        if method == "initialize":
            self.asked.clear()
            self.replaying.clear()
        elif method in {"session/load", "session/resume"}:
            self.open(session_id, anew=True)
            self.replaying.add(str(session_id))
        elif method == "session/fork":
            self.forking += 1
        elif method == "session/prompt":
            self.replaying.discard(str(session_id))
            blocks = params.get("prompt")
            self.open(session_id).begin_prompt(
                blocks if isinstance(blocks, list) else [], at=self.at
            )
        elif method == "session/cancel" and (by is None or by == "user"):
            self.open(session_id).cancel_prompt(at=self.at)
        if "id" in message:
            self.asked["client", json.dumps(message["id"])] = message

    def answer(self, message: Mapping[str, Any], by: Any) -> None:
        """Fold the client's answer to a permission request."""
        request = self.asked.pop(("agent", json.dumps(message.get("id"))), None)
        if request is None:
            return
        outcome = message.get("result") or {"outcome": "cancelled"}
        self.open(request["params"].get("sessionId")).resolve_permission(
            message.get("id"), outcome, by if isinstance(by, str) else None
        )

    def from_agent(self, message: Mapping[str, Any]) -> None:
        """Fold what the agent sent."""
        method = message.get("method")
        params = message.get("params")
        if method is None:
            request = self.asked.pop(("client", json.dumps(message.get("id"))), None)
            if request is not None:
                self.response(request, message)
        elif not isinstance(params, dict):
            return
        elif method == "session/update":
            session_id = str(params.get("sessionId"))
            if session_id not in self.timelines and self.forking:
                self.replaying.add(session_id)
            self.open(session_id).apply(params, historical=session_id in self.replaying, at=self.at)
        elif method == "session/request_permission":
            self.asked["agent", json.dumps(message.get("id"))] = message
            self.open(params.get("sessionId")).request_permission(
                message.get("id"), params, at=self.at
            )
        elif method == "$/cancel_request":
            request_id = params.get("requestId")
            for timeline in self.timelines.values():
                timeline.resolve_permission(request_id, {"outcome": "cancelled"})

    def response(self, request: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        """Fold the agent's answer to a request of the client."""
        method, params = request["method"], request.get("params")
        params = params if isinstance(params, dict) else {}
        result = message.get("result")
        result = result if isinstance(result, dict) else {}
        session_id = params.get("sessionId")
        if method == "initialize":
            self.greeting = result
            version = result.get("protocolVersion")
            self.version = version if version in (1, 2) else 1
        elif method == "session/prompt":
            error = message.get("error")
            self.open(session_id).settle_prompt(
                result.get("stopReason"), error=error, usage=result.get("usage"), at=self.at
            )
        elif method in {"session/new", "session/fork"}:
            self.forking -= method == "session/fork"
            if isinstance(result.get("sessionId"), str):
                self.opened(result["sessionId"], method, result, params)
        elif method in {"session/load", "session/resume"}:
            self.opened(str(session_id), method, result, params)
        elif isinstance(method, str) and method.startswith("session/set_") and "result" in message:
            self.open(session_id).apply_response(method, result, params)

    def opened(
        self, session_id: str, method: str, result: Mapping[str, Any], params: Mapping[str, Any]
    ) -> None:
        """Note that a session is open; a load that has replayed nothing does so from here on."""
        timeline = self.open(session_id)
        timeline.apply_response(method, result, params)
        self.timelines[session_id] = self.timelines.pop(session_id)
        if method != "session/load" or len(timeline.snapshot()):
            self.replaying.discard(session_id)

    def close(self, message: Mapping[str, Any]) -> None:
        """Note that the agent is gone."""
        for timeline in self.timelines.values():
            timeline.settle_all(dict(message), at=self.at)

    def end(self) -> None:
        """Close what the record leaves open."""
        for timeline in self.timelines.values():
            timeline.settle_all("The record ends before the turn did.", at=self.at)
