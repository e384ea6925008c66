"""A client on real pipes: starts an agent module as the host does and speaks plain JSON-RPC."""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

DEADLINE_S = 30

CAPABILITIES = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "session": {"notices": {}},
    "_meta": {"terminal_output": True},
}

Answer = Callable[[dict[str, Any]], dict[str, Any] | None]


class RawClient:
    """One child; `seen` is every message that it wrote, in order."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []
        self._ids = itertools.count(100)
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self.process.stdin.flush()

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def start(self, method: str, **params: Any) -> int:
        """Send a request and return its id, without waiting."""
        request_id = next(self._ids)
        self.send({"id": request_id, "method": method, "params": params})
        return request_id

    def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end of the stream."""
        message = self._messages.get(timeout=DEADLINE_S)
        if message is not None:
            self.seen.append(message)
        return message

    def until(self, wanted: Callable[[dict[str, Any]], bool], answer: Answer | None = None) -> Any:
        """Read on to the message that is wanted; the agent's requests are answered on the way."""
        while (message := self.receive()) is not None:
            if "method" in message and "id" in message and answer is not None:
                reply = answer(message)
                if reply is not None:
                    self.send({"id": message["id"]} | reply)
            if wanted(message):
                return message
        raise AssertionError("the agent closed its stdout")

    def finish(self, request_id: int, answer: Answer | None = None) -> dict[str, Any]:
        """Read on to the answer of a request of ours."""
        message: dict[str, Any] = self.until(
            lambda m: m.get("id") == request_id and "method" not in m, answer
        )
        return message

    def request(self, method: str, answer: Answer | None = None, **params: Any) -> dict[str, Any]:
        return self.finish(self.start(method, **params), answer)

    def open(self, cwd: Any, capabilities: dict[str, Any] | None = None) -> str:
        """Initialize and open a session; returns its id."""
        capabilities = CAPABILITIES if capabilities is None else capabilities
        self.request("initialize", protocolVersion=1, clientCapabilities=capabilities)
        reply = self.request("session/new", cwd=str(cwd), mcpServers=[])
        session_id: str = reply["result"]["sessionId"]
        return session_id

    def prompt(self, session: str, text: str, answer: Answer | None = None) -> dict[str, Any]:
        return self.request(
            "session/prompt", answer, sessionId=session, prompt=[{"type": "text", "text": text}]
        )

    def updates(self, *kinds: str) -> list[dict[str, Any]]:
        """The session updates seen so far, of these kinds."""
        updates = [m["params"]["update"] for m in self.seen if m.get("method") == "session/update"]
        return [update for update in updates if not kinds or update["sessionUpdate"] in kinds]

    def text(self) -> str:
        """All assistant text so far."""
        return "".join(u["content"].get("text", "") for u in self.updates("agent_message_chunk"))

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._messages.put(json.loads(line))
        self._messages.put(None)


@contextmanager
def agent(module: str, *args: str) -> Iterator[RawClient]:
    """Run an agent module; it leaves with code 0 when its stdin closes."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", f"acp_notebook.agents.{module}", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        client = RawClient(process)
        yield client
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(DEADLINE_S) == 0
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
