"""A run of the gateway double: what the model and its tools say, when the test says so."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.bridge.double import GatewayDouble, Link


def now() -> int:
    return time.time_ns() // 1_000_000


class Run:
    """Events go to all links; tool frames only to the link that began the run."""

    def __init__(
        self, gateway: GatewayDouble, link: Link, ident: str, key: str, message: str
    ) -> None:
        self.gateway = gateway
        self.link = link
        self.id = ident
        self.key = key
        self.message = message
        self.text = ""
        self.ended = False
        self._call_text = ""
        self._results: dict[str, str] = {}
        self._seq = 0
        self._task: asyncio.Task[None] | None = None

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def play(self, *steps: Any) -> None:
        """Do these coroutine functions one after the other, beside the test."""

        async def run() -> None:
            for step in steps:
                await step()

        self._task = asyncio.create_task(run())

    async def chat(self, state: str, **more: Any) -> None:
        self._seq += 1
        payload = {"runId": self.id, "sessionKey": self.key, "seq": self._seq, "state": state}
        await self.gateway.broadcast("chat", {**payload, **more})

    async def agent(self, stream: str, data: dict[str, Any], **more: Any) -> None:
        await self.gateway.broadcast("agent", self._agent(stream, data, **more))

    def _agent(self, stream: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
        self._seq += 1
        return {
            "runId": self.id,
            "stream": stream,
            "data": data,
            "sessionKey": self.key,
            "seq": self._seq,
            "ts": now(),
            "isHeartbeat": False,
            **more,
        }

    def _message(self) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": [{"type": "text", "text": self.text}],
            "timestamp": now(),
        }

    async def begin(self) -> None:
        await self.agent("lifecycle", {"phase": "start", "startedAt": now()})

    async def say(self, text: str) -> None:
        """The model says more; the event has the whole text of the run."""
        self.text += text
        self._call_text += text
        await self.agent("assistant", {"text": self._call_text, "delta": text})
        await self.chat("delta", deltaText=text, message=self._message())

    def think_silently(self, text: str) -> None:
        """The model says more and no delta tells of it."""
        self.text += text
        self._call_text += text

    async def tool(
        self, ident: str, name: str = "exec", args: dict[str, Any] | None = None
    ) -> None:
        args = args if args is not None else {"command": "date"}
        block = {"type": "toolCall", "id": ident, "name": name, "arguments": args}
        self._record_answer("toolUse", [block])
        self._results[ident] = name
        data = {"phase": "start", "name": name, "toolCallId": ident, "args": args}
        await self._tool_frame(data)
        await self._item(ident, name, "start", "running", startedAt=now())

    async def progress(self, ident: str, text: str) -> None:
        result = {"content": [{"type": "text", "text": text}], "details": {"status": "running"}}
        name = self._results[ident]
        await self._tool_frame(
            {"phase": "update", "name": name, "toolCallId": ident, "partialResult": result}
        )
        await self._output(ident, name, "delta", text, "running")

    async def result(self, ident: str, text: str = "done", *, failed: bool = False) -> None:
        name = self._results.pop(ident)
        details = {"status": "failed" if failed else "completed", "exitCode": int(failed)}
        content = [{"type": "text", "text": text}]
        self._store(
            {
                "role": "toolResult",
                "toolCallId": ident,
                "toolName": name,
                "content": content,
                "details": details,
                "isError": failed,
                "timestamp": now(),
            }
        )
        await self._tool_frame(
            {
                "phase": "result",
                "name": name,
                "toolCallId": ident,
                "meta": "",
                "isError": failed,
                "result": {"content": content, "details": details},
            }
        )
        status = "failed" if failed else "completed"
        await self._item(ident, name, "end", status, startedAt=now(), endedAt=now())
        await self._output(ident, name, "end", text, status, exitCode=int(failed))

    async def _tool_frame(self, data: dict[str, Any]) -> None:
        payload = self._agent("tool", data)
        if self.link in self.gateway.links:
            await self.gateway.tell(self.link, "agent", payload)
        for link in self.gateway.links:
            if link is not self.link and link.subscribed:
                await self.gateway.tell(link, "session.tool", payload)

    async def _item(self, ident: str, name: str, phase: str, status: str, **more: Any) -> None:
        data = {
            "itemId": f"tool:{ident}",
            "phase": phase,
            "kind": "tool",
            "title": f"{name} {ident}",
            "status": status,
            "name": name,
            "meta": "",
            "toolCallId": ident,
            **more,
        }
        await self.agent("item", data)

    async def _output(
        self, ident: str, name: str, phase: str, text: str, status: str, **more: Any
    ) -> None:
        data = {
            "itemId": f"command:{ident}",
            "phase": phase,
            "title": name,
            "toolCallId": ident,
            "name": name,
            "output": text,
            "status": status,
            **more,
        }
        await self.agent("command_output", data)

    async def end(self, *, stop: str = "stop", silent: bool = False) -> None:
        """The run ends well; `silent`: its final has no message."""
        self._record_answer(stop, [])
        self._finish({"status": "ok", "endedAt": now()})
        await self.agent("lifecycle", {"phase": "end", "stopReason": stop, "endedAt": now()})
        message = {} if silent else {"message": self._message()}
        await self.chat("final", stopReason=stop, **message)

    async def fail(self, text: str, *, kind: str | None = None, stop: str | None = None) -> None:
        """The model fails."""
        self._finish({"status": "error", "endedAt": now(), "error": text})
        lifecycle = {"phase": "error", "error": text, "endedAt": now()}
        await self.agent("lifecycle", {**lifecycle, **({"stopReason": stop} if stop else {})})
        more = {"errorKind": kind} if kind else {}
        await self.chat("error", errorMessage=text, **more)

    async def abort(self, reason: str = "stop") -> None:
        """Somebody aborts the run."""
        self._record_answer("aborted", [])
        self._finish({"status": "timeout", "endedAt": now(), "stopReason": reason})
        await self.chat("aborted", stopReason=reason, message=self._message())
        await self.agent("lifecycle", {"phase": "end", "aborted": True, "stopReason": reason})

    def _finish(self, outcome: dict[str, Any]) -> None:
        self.ended = True
        self.gateway.runs.pop(self.id, None)
        self.gateway.note_end(self, outcome)

    def _record_answer(self, stop: str, calls: list[dict[str, Any]]) -> None:
        text = [{"type": "text", "text": self._call_text}] if self._call_text else []
        self._call_text = ""
        if text or calls:
            self._store(
                {
                    "role": "assistant",
                    "content": [*text, *calls],
                    "stopReason": stop,
                    "timestamp": now(),
                }
            )

    def _store(self, record: dict[str, Any]) -> None:
        self.gateway.stored(self.key).records.append(record)
