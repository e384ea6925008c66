"""
An ACP agent that does not go away: it ignores end of input, SIGTERM, SIGHUP and SIGINT, and has two
children that do so too, one in its process group and one in a session of its own.

It answers a prompt with the process ids of itself and its children.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

CHILD = "import signal\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\nprint(flush=True)\nwhile True: signal.pause()"


def child(*, own_session: bool) -> subprocess.Popen[bytes]:
    """Start a child that ignores signals, and wait until it does."""
    started = subprocess.Popen(
        [sys.executable, "-P", "-c", CHILD], stdout=subprocess.PIPE, start_new_session=own_session
    )
    started.stdout.readline()
    return started


def say(message: dict) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    family = [os.getpid(), child(own_session=False).pid, child(own_session=True).pid]
    for line in sys.stdin:
        request = json.loads(line)
        match request.get("method"):
            case "initialize":
                result = {"protocolVersion": 1, "agentCapabilities": {}}
            case "session/new":
                result = {"sessionId": "stubborn"}
            case "session/prompt":
                chunk = {"type": "text", "text": " ".join(map(str, family))}
                update = {"sessionUpdate": "agent_message_chunk", "content": chunk}
                say(
                    {
                        "method": "session/update",
                        "params": {"sessionId": "stubborn", "update": update},
                    }
                )
                result = {"stopReason": "end_turn"}
            case _:
                continue
        say({"id": request["id"], "result": result})
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
