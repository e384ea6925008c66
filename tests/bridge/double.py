"""
A gateway for tests: the real protocol over a real WebSocket, driven by the test.

It is made from the bridge's own frame module, and `test_double` holds its frames against those
that the real gateway sent. What a run says and when is the test's to decide, through `Run`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Self

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from acp_notebook.bridge import device, protocol
from tests.bridge.runs import Run

TOKEN = "double-token"
LEVELS = ("off", "minimal", "low", "medium", "high")
METHODS = [
    "sessions.list",
    "sessions.resolve",
    "sessions.reset",
    "sessions.patch",
    "sessions.subscribe",
    "sessions.messages.subscribe",
    "exec.approval.get",
    "exec.approval.list",
    "exec.approval.resolve",
    "chat.send",
    "chat.abort",
    "chat.history",
    "agent.wait",
]


def now() -> int:
    return time.time_ns() // 1_000_000


@dataclass(eq=False)
class Link:
    """One client connection."""

    socket: ServerConnection
    seq: int = 0
    subscribed: bool = False

    async def send(self, text: str) -> None:
        with contextlib.suppress(ConnectionClosed):
            await self.socket.send(text)


@dataclass
class Stored:
    """What the gateway keeps of a session."""

    key: str
    records: list[dict[str, Any]] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        row = {
            "key": self.key,
            "kind": "direct",
            "displayName": "ACP",
            "chatType": "direct",
            "updatedAt": self.fields.get("updatedAt", 1_796_053_330_777),
            "sessionId": str(uuid.uuid5(uuid.NAMESPACE_URL, self.key)),
            "thinkingLevels": [{"id": level, "label": level} for level in LEVELS],
            "totalTokens": 150,
            "totalTokensFresh": True,
            "contextTokens": 128000,
            **self.fields,
        }
        first = next((r["content"] for r in self.records if r["role"] == "user"), "")
        if first:
            line = " ".join(first.split())
            row["derivedTitle"] = line if len(line) <= 60 else f"{line[:59]}…"
        return row


class Refused(Exception):
    """The double answers with this error."""

    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.more = code, message, more


class GatewayDouble:
    """Start with `async with`; `url` and `TOKEN` are what a client needs."""

    def __init__(self, *, token: str = TOKEN) -> None:
        self.token = token
        self.methods = list(METHODS)
        self.tick_ms = 30_000
        self.sessions: dict[str, Stored] = {}
        self.runs: dict[str, Run] = {}
        self.approvals: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.sent: list[dict[str, Any]] = []
        self.started: asyncio.Queue[Run] = asyncio.Queue()
        self.links: list[Link] = []
        self.errors: dict[str, list[Refused]] = defaultdict(list)
        self.answers: dict[str, Any] = {}
        self.connect_errors: list[Refused] = []
        self.refuses = False
        self.cuts_before_ack = False
        self.holds: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Condition()
        self._terminal: dict[str, dict[str, Any]] = {}
        self._port = 0

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()

    async def open(self) -> None:
        self._server = await serve(
            self._serve,
            "127.0.0.1",
            self._port,
            max_size=protocol.MAX_PAYLOAD_BYTES,
            compression=None,
        )
        self._port = next(iter(self._server.sockets)).getsockname()[1]

    async def close(self) -> None:
        for run in self.runs.values():
            run.stop()
        self._server.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._port}"

    # What a test does and looks at

    async def next_run(self, within_s: float = 60) -> Run:
        """The next run that `chat.send` starts."""
        return await asyncio.wait_for(self.started.get(), within_s)

    async def until(self, ready: Any, within_s: float = 60) -> Any:
        """Wait until `ready()` is true; looked at after each request and connection change."""
        async with asyncio.timeout(within_s), self._changed:
            await self._changed.wait_for(ready)
        return ready()

    def asked(self, method: str) -> list[dict[str, Any]]:
        """Parameters of all requests of a method so far."""
        return [params for name, params in self.requests if name == method]

    async def cut(self) -> None:
        """Drop all links without a word, and refuse new ones."""
        self.refuses = True
        await self.drop()

    async def drop(self) -> None:
        """Drop all links without a word."""
        for link in list(self.links):
            link.socket.transport.abort()
        await self.until(lambda: not self.links)

    def restore(self) -> None:
        """Take connections again."""
        self.refuses = False

    async def restart(self) -> None:
        """Come back without memory of runs; transcripts stay."""
        for link in list(self.links):
            await link.socket.close(protocol.CLOSE_RESTART, "service restart")
        for run in self.runs.values():
            run.stop()
        self.runs.clear()
        self._terminal.clear()
        self.approvals.clear()

    def hold(self, method: str) -> asyncio.Event:
        """Let requests of a method wait until the event is set."""
        self.holds[method] = asyncio.Event()
        return self.holds[method]

    async def broadcast(self, name: str, payload: dict[str, Any]) -> None:
        for link in list(self.links):
            link.seq += 1
            await self.tell(link, name, payload, link.seq)

    async def tell(
        self, link: Link, name: str, payload: dict[str, Any], seq: int | None = None
    ) -> None:
        self.sent.append({"type": "event", "event": name, "payload": payload, "seq": seq})
        await link.send(protocol.event(name, payload, seq))

    async def approval(
        self,
        run: Run,
        command: str,
        *,
        ident: str = "",
        allowed: list[str] | None = None,
        life_s: float = 1800,
    ) -> str:
        """Ask for an approval of a command."""
        ident = ident or str(uuid.uuid4())
        entry = {
            "id": ident,
            "request": {
                "command": command,
                "host": "gateway",
                "allowedDecisions": ["allow-once", "allow-always", "deny"]
                if allowed is None
                else allowed,
                "agentId": "main",
                "sessionKey": run.key,
            },
            "createdAtMs": now(),
            "expiresAtMs": now() + int(life_s * 1000),
        }
        self.approvals[ident] = entry
        await self.broadcast("exec.approval.requested", entry)
        return ident

    # The protocol

    async def _serve(self, socket: ServerConnection) -> None:
        if self.refuses:
            socket.transport.abort()
            return
        nonce = str(uuid.uuid4())
        await socket.send(protocol.event("connect.challenge", {"nonce": nonce, "ts": now()}))
        link = Link(socket)
        try:
            if not await self._connect(link, nonce):
                return
            tasks: set[asyncio.Task[None]] = set()
            async for text in socket:
                frame = protocol.parse(text)
                assert isinstance(frame, protocol.Request)
                task = asyncio.create_task(self._answer(link, frame))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        except ConnectionClosed:
            pass
        finally:
            if link in self.links:
                self.links.remove(link)
            await self._notify()

    async def _connect(self, link: Link, nonce: str) -> bool:
        frame = protocol.parse(await link.socket.recv())
        assert isinstance(frame, protocol.Request)
        try:
            self._check_connect(frame, nonce)
        except Refused as error:
            await link.send(protocol.failure(frame.id, error.code, error.message, **error.more))
            code = protocol.CLOSE_STARTING if error.code == "UNAVAILABLE" else protocol.CLOSE_POLICY
            await link.socket.close(code, error.message)
            return False
        self.requests.append((frame.method, frame.params))
        self.links.append(link)
        await link.send(protocol.success(frame.id, self.hello()))
        await self._notify()
        return True

    def _check_connect(self, frame: protocol.Request, nonce: str) -> None:
        params = frame.params
        if self.connect_errors:
            raise self.connect_errors.pop(0)
        if frame.method != "connect":
            raise Refused("INVALID_REQUEST", "invalid handshake: first request must be connect")
        protocol.check_params("connect", params)
        if not params["minProtocol"] <= protocol.VERSION <= params["maxProtocol"]:
            raise Refused(
                "INVALID_REQUEST", "protocol mismatch", details={"code": "PROTOCOL_MISMATCH"}
            )
        token = params.get("auth", {}).get("token", "")
        if token not in {self.token, "issued-device-token"}:
            code = "AUTH_TOKEN_MISMATCH" if token else "AUTH_TOKEN_MISSING"
            raise Refused("INVALID_REQUEST", "unauthorized", details={"code": code})
        if not device.verify(params["device"], params["client"], token=token, nonce=nonce):
            raise Refused(
                "INVALID_REQUEST", "device", details={"code": "DEVICE_AUTH_SIGNATURE_INVALID"}
            )

    def hello(self) -> dict[str, Any]:
        return {
            "type": "hello-ok",
            "protocol": protocol.VERSION,
            "server": {"version": "2026.6.11", "connId": str(uuid.uuid4())},
            "features": {"methods": self.methods, "events": ["agent", "chat"]},
            "snapshot": {"sessionDefaults": {"defaultAgentId": "main"}},
            "auth": {
                "role": "operator",
                "scopes": ["operator.admin", "operator.read", "operator.write"],
                "deviceToken": "issued-device-token",
                "issuedAtMs": now(),
            },
            "policy": {
                "maxPayload": protocol.MAX_PAYLOAD_BYTES,
                "maxBufferedBytes": 52_428_800,
                "tickIntervalMs": self.tick_ms,
            },
        }

    async def _answer(self, link: Link, frame: protocol.Request) -> None:
        method, params = frame.method, frame.params
        self.requests.append((method, params))
        await self._notify()
        try:
            if method in self.holds:
                await self.holds[method].wait()
            protocol.check_params(method, params)
            if self.errors[method]:
                raise self.errors[method].pop(0)
            payload = self.answers.get(method)
            if payload is None:
                payload = await getattr(self, "_" + method.replace(".", "_"))(link, params)
        except Refused as error:
            await link.send(protocol.failure(frame.id, error.code, error.message, **error.more))
            return
        if payload is not None:
            self.sent.append({"type": "res", "method": method, "ok": True, "payload": payload})
            await link.send(protocol.success(frame.id, payload))

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    # Methods

    def stored(self, key: str) -> Stored:
        key = canonical(key)
        return self.sessions.setdefault(key, Stored(key))

    async def _chat_send(self, link: Link, params: dict[str, Any]) -> dict[str, Any] | None:
        run_id, text = params["idempotencyKey"], params["message"]
        if not text.strip() and not params.get("attachments"):
            raise Refused("INVALID_REQUEST", "message or attachment required")
        if run_id in self._terminal:
            return {"runId": run_id, "status": self._terminal[run_id]["status"]}
        if run_id in self.runs:
            return {"runId": run_id, "status": "in_flight"}
        if text.strip() == "/stop":
            return {"ok": True, "aborted": False, "runIds": []}
        key = canonical(params["sessionKey"])
        same = [r for r in self.runs.values() if r.key == key and r.message == text and not r.ended]
        if same:
            return {"runId": same[0].id, "status": "in_flight"}
        run = Run(self, link, run_id, key, text)
        self.runs[run_id] = run
        self.stored(key).records.append(
            {
                "role": "user",
                "content": text,
                "timestamp": now(),
                "idempotencyKey": f"{run_id}:user",
            }
        )
        self.started.put_nowait(run)
        if self.cuts_before_ack:
            self.cuts_before_ack = False
            await self.drop()
            return None
        return {"runId": run_id, "status": "started"}

    async def _chat_abort(self, _link: Link, params: dict[str, Any]) -> dict[str, Any]:
        run = self.runs.get(params.get("runId", ""))
        if run is None or run.ended:
            return {"ok": True, "aborted": False, "runIds": []}
        await run.abort("rpc")
        return {"ok": True, "aborted": True, "runIds": [run.id]}

    def note_end(self, run: Run, outcome: dict[str, Any]) -> None:
        """Remember how a run ended, for `agent.wait` and a repeated `chat.send`."""
        self._terminal[run.id] = outcome

    async def _agent_wait(self, _link: Link, params: dict[str, Any]) -> dict[str, Any]:
        run_id = params["runId"]
        if run_id in self._terminal:
            return {"runId": run_id, **self._terminal[run_id]}
        phase = "gateway_draining" if run_id in self.runs else "queue"
        return {"runId": run_id, "status": "timeout", "timeoutPhase": phase}

    async def _sessions_list(self, _link: Link, params: dict[str, Any]) -> dict[str, Any]:
        word = params.get("search", "")
        rows = [s.row() for s in reversed(self.sessions.values()) if word in s.key]
        limit = params.get("limit", 200)
        return {
            "ts": now(),
            "path": "(double)",
            "count": len(rows[:limit]),
            "totalCount": len(rows),
            "limitApplied": limit,
            "nextOffset": None,
            "hasMore": len(rows) > limit,
            "defaults": {"thinkingDefault": "medium"},
            "sessions": rows[:limit],
        }

    async def _sessions_resolve(self, _link: Link, params: dict[str, Any]) -> dict[str, Any]:
        for session in self.sessions.values():
            if canonical(params.get("key", "?")) == session.key:
                return {"ok": True, "key": session.key}
            if params.get("label") and session.fields.get("label") == params["label"]:
                return {"ok": True, "key": session.key}
        raise Refused(
            "INVALID_REQUEST", f"No session found: {params.get('key') or params.get('label')}"
        )

    async def _sessions_reset(self, _link: Link, params: dict[str, Any]) -> dict[str, Any]:
        session = self.stored(params["key"])
        session.records.clear()
        return {"ok": True, "key": session.key, "entry": {}}

    async def _sessions_patch(self, _link: Link, params: dict[str, Any]) -> dict[str, Any]:
        level = params.get("thinkingLevel")
        if level is not None and level not in LEVELS:
            raise Refused("INVALID_REQUEST", "invalid thinkingLevel (use off)")
        session = self.stored(params["key"])
        session.fields.update({name: value for name, value in params.items() if name != "key"})
        return {"ok": True, "path": "(double)", "key": session.key, "entry": {}, "resolved": {}}

    async def _sessions_get(self, _link: Link, params: dict[str, Any]) -> dict[str, Any]:
        session = self.sessions.get(canonical(params["key"]))
        return {"messages": list(session.records) if session else []}

    async def _chat_history(self, _link: Link, params: dict[str, Any]) -> dict[str, Any]:
        return await self._sessions_get(_link, {"key": params["sessionKey"]})

    async def _sessions_subscribe(self, link: Link, _params: dict[str, Any]) -> dict[str, Any]:
        link.subscribed = True
        return {"subscribed": True}

    async def _sessions_messages_subscribe(
        self, _link: Link, params: dict[str, Any]
    ) -> dict[str, Any]:
        return {"subscribed": True, "key": canonical(params["key"])}

    async def _exec_approval_get(self, _link: Link, params: dict[str, Any]) -> dict[str, Any]:
        entry = self._open_approval(params["id"])
        request = entry["request"]
        return {
            "id": entry["id"],
            "commandText": request["command"],
            "commandPreview": None,
            "allowedDecisions": request["allowedDecisions"],
            "host": "gateway",
            "nodeId": None,
            "agentId": "main",
            "expiresAtMs": entry["expiresAtMs"],
        }

    async def _exec_approval_list(
        self, _link: Link, _params: dict[str, Any]
    ) -> list[dict[str, Any]]:
        return list(self.approvals.values())

    async def _exec_approval_resolve(self, _link: Link, params: dict[str, Any]) -> dict[str, Any]:
        entry = self._open_approval(params["id"])
        del self.approvals[params["id"]]
        event = {
            "id": entry["id"],
            "decision": params["decision"],
            "resolvedBy": "ACP",
            "ts": now(),
        }
        await self.broadcast("exec.approval.resolved", {**event, "request": entry["request"]})
        return {"ok": True}

    def _open_approval(self, ident: str) -> dict[str, Any]:
        if ident not in self.approvals:
            raise Refused(
                "INVALID_REQUEST",
                "unknown or expired approval id",
                details={"reason": "APPROVAL_NOT_FOUND"},
            )
        return self.approvals[ident]


def canonical(key: str) -> str:
    return key if key.startswith("agent:") else f"agent:main:{key}"
