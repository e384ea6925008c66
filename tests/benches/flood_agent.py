"""An agent that replays `COUNT` mixed updates at the speed of its pipe, for the benches."""

from __future__ import annotations

import json
import sys

COUNT = int(sys.argv[1])
SESSION = "s"


def line(message: dict) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def updates() -> bytes:
    """Turns of 100 updates: a prompt, thoughts, tools with two updates each, a long answer."""
    out = []

    def put(update_kind: str, **fields: object) -> None:
        update = {"sessionUpdate": update_kind, **fields}
        out.append(
            line({"method": "session/update", "params": {"sessionId": SESSION, "update": update}})
        )

    def text(value: str) -> dict:
        return {"type": "text", "text": value}

    turn = 0
    while len(out) < COUNT:
        turn += 1
        put("user_message_chunk", content=text(f"question {turn}"))
        for n in range(10):
            put("agent_thought_chunk", content=text(f"thinking {n} "))
        for n in range(3):
            call = f"t{turn}-{n}"
            put("tool_call", toolCallId=call, title=f"Read file {n}", kind="read", status="pending")
            put("tool_call_update", toolCallId=call, status="in_progress")
            content = [{"type": "content", "content": text("x" * 80)}]
            put("tool_call_update", toolCallId=call, status="completed", content=content)
        for n in range(80):
            put("agent_message_chunk", content=text(f"word{n:04d} and "))
    return b"".join(out[:COUNT])


def main() -> None:
    stdout = sys.stdout.buffer
    flood = updates()
    for raw in sys.stdin.buffer:
        request = json.loads(raw)
        method = request.get("method")
        if method == "initialize":
            result: dict = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
        elif method == "session/load":
            stdout.write(flood)
            result = {}
        elif "id" in request:
            result = {}
        else:
            continue
        stdout.write(line({"id": request["id"], "result": result}))
        stdout.flush()


main()
