"""A client of the bridge: starts it as its own process, speaks ACP over its pipes, waits for facts."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from acp_notebook import wire

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0


class BridgeClient:
    """One bridge process. Use `async with`; leaving it closes stdin and waits for the end."""

    def __init__(
        self,
        url: str,
        state_dir: Path,
        *flags: str,
        token: str | None = "double-token",
        env: dict[str, str] | None = None,
    ) -> None:
        where = ["--url", url] if url else []
        self.flags = [*where, "--state-dir", str(state_dir), *flags]
        self.token = token
        self.env = env or {}
        self.cwd = str(state_dir.parent)
        self.messages: list[dict[str, Any]] = []
        self.raw = b""
        self.stderr = ""
        self.permission: Callable[[dict[str, Any]], Any] = lambda _params: None
        self._next_id = 0
        self._changed = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith("OPENCLAW_")}
        env |= {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **self.env}
        if self.token:
            env["OPENCLAW_GATEWAY_TOKEN"] = self.token
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "acp_notebook.bridge",
            *self.flags,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env,
            cwd=self.cwd,
        )
        self._tasks = [
            asyncio.create_task(self._read_stdout()),
            asyncio.create_task(self._read_stderr()),
        ]

    async def stop(self) -> int:
        """Close stdin, wait for the end, return the exit code."""
        if self.process.returncode is None and self.process.stdin is not None:
            self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), DEADLINE_S)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
            raise
        await asyncio.gather(*self._tasks)
        return self.process.returncode or 0

    async def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        await self.process.wait()
        await asyncio.gather(*self._tasks)

    async def _read_stdout(self) -> None:
        decoder = wire.LineDecoder()
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(65536):
            self.raw += data
            for frame in decoder.feed(data):
                assert isinstance(frame, wire.Message), frame
                await self._take(frame.value)
        async with self._changed:
            self._changed.notify_all()

    async def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self.stderr += data.decode()
            async with self._changed:
                self._changed.notify_all()

    async def _take(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        if message.get("method") == "session/request_permission":
            outcome = self.permission(message["params"])
            if outcome is not None:
                self.answer(message, outcome)
        async with self._changed:
            self._changed.notify_all()

    def answer(self, request: dict[str, Any], choice: str | dict[str, Any]) -> None:
        """Answer a permission request by an option id, or by a whole outcome."""
        outcome = choice
        if isinstance(choice, str):
            outcome = {"outcome": "selected", "optionId": choice}
        self.write({"jsonrpc": "2.0", "id": request["id"], "result": {"outcome": outcome}})

    def write(self, message: dict[str, Any]) -> None:
        self.write_bytes(wire.encode(message))

    def write_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def request(self, method: str, params: dict[str, Any]) -> int:
        """Send a request and return its id."""
        ident = self._next_id
        self._next_id += 1
        self.write({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
        return ident

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    async def until(self, ready: Callable[[], Any], within_s: float = DEADLINE_S) -> Any:
        """Wait until `ready()` is true; looked at after each message."""
        try:
            async with asyncio.timeout(within_s), self._changed:
                await self._changed.wait_for(ready)
        except TimeoutError:
            tail = [str(m)[:300] for m in self.messages[-12:]]
            raise AssertionError("\n".join(["not so in time", *tail, self.stderr])) from None
        return ready()

    def response(self, ident: int) -> dict[str, Any] | None:
        return next((m for m in self.messages if m.get("id") == ident and "method" not in m), None)

    async def response_to(self, ident: int, within_s: float = DEADLINE_S) -> dict[str, Any]:
        return await self.until(lambda: self.response(ident), within_s)

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its result; an error fails the test."""
        answer = await self.response_to(self.request(method, params))
        assert "result" in answer, answer
        return answer["result"]

    async def error_of(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the error that it is answered with."""
        answer = await self.response_to(self.request(method, params))
        assert "error" in answer, answer
        return answer["error"]

    async def new_session(self, **meta: Any) -> str:
        """initialize, if not done, and session/new."""
        await self.initialize()
        params = {"cwd": self.cwd, "mcpServers": [], **({"_meta": meta} if meta else {})}
        return (await self.call("session/new", params))["sessionId"]

    async def initialize(self) -> None:
        if self._next_id == 0:
            await self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    async def load(self, session_id: str, **meta: Any) -> list[dict[str, Any]]:
        """initialize, if not done, and session/load; return what was replayed."""
        await self.initialize()
        before = len(self.messages)
        params = {"sessionId": session_id, "cwd": self.cwd, "mcpServers": []}
        await self.call("session/load", {**params, **({"_meta": meta} if meta else {})})
        return updates_of(self.messages[before:])

    def prompt(
        self, session_id: str, text: str | list[dict[str, Any]] = "hello", **meta: Any
    ) -> int:
        blocks = text if isinstance(text, list) else [{"type": "text", "text": text}]
        params = {"sessionId": session_id, "prompt": blocks, **({"_meta": meta} if meta else {})}
        return self.request("session/prompt", params)

    async def stop_reason(self, ident: int) -> str:
        answer = await self.response_to(ident)
        assert "result" in answer, answer
        return answer["result"]["stopReason"]

    def updates(self, session_id: str | None = None) -> list[dict[str, Any]]:
        return updates_of(self.messages, session_id)

    def texts(self, session_id: str | None = None) -> str:
        return text_of(self.updates(session_id))

    def asked(self) -> list[dict[str, Any]]:
        """All permission requests so far."""
        return [m for m in self.messages if m.get("method") == "session/request_permission"]

    def withdrawn(self) -> list[Any]:
        """The ids of the requests that were withdrawn."""
        return [
            m["params"]["requestId"] for m in self.messages if m.get("method") == "$/cancel_request"
        ]

    async def until_text(self, text: str) -> None:
        """Wait until the agent's message text holds this."""
        await self.until(lambda: text in self.texts())

    async def until_update(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Wait for an update of a kind with these fields."""

        def found() -> dict[str, Any] | None:
            return next(
                (
                    u
                    for u in self.updates()
                    if u["sessionUpdate"] == kind and fields.items() <= u.items()
                ),
                None,
            )

        return await self.until(found)


def updates_of(
    messages: list[dict[str, Any]], session_id: str | None = None
) -> list[dict[str, Any]]:
    return [
        m["params"]["update"]
        for m in messages
        if m.get("method") == "session/update"
        and (session_id is None or m["params"]["sessionId"] == session_id)
    ]


def text_of(updates: list[dict[str, Any]], kind: str = "agent_message_chunk") -> str:
    return "".join(u["content"].get("text", "") for u in updates if u["sessionUpdate"] == kind)


STATE_KINDS = frozenset({"session_info_update", "usage_update", "available_commands_update"})


def story(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was said and done: adjacent text chunks as one, state updates left out."""
    out: list[dict[str, Any]] = []
    for update in updates:
        if update["sessionUpdate"] in STATE_KINDS:
            continue
        last = out[-1] if out else None
        content = update.get("content")
        if (
            last is not None
            and last["sessionUpdate"] == update["sessionUpdate"]
            and isinstance(content, dict)
            and content.get("type") == last["content"].get("type") == "text"
        ):
            text = last["content"]["text"] + content["text"]
            out[-1] = {**last, "content": {"type": "text", "text": text}}
        else:
            out.append(update)
    return out


def open_calls(updates: list[dict[str, Any]]) -> set[str]:
    """The tool calls whose last status is not final."""
    status: dict[str, str] = {}
    for update in updates:
        if "toolCallId" in update:
            status[update["toolCallId"]] = update.get("status") or status.get(
                update["toolCallId"], "pending"
            )
    return {ident for ident, last in status.items() if last not in {"completed", "failed"}}
