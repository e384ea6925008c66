"""
Plays one case as an ACP agent on stdio (standard library only).

    python play_agent.py CASE_DIR [--cwd DIR] [--log FILE] [--turn FIFO] [--process N] [--timeout SECONDS]

Each step that is reached is appended to FILE as one JSON line, so that a driver knows when a
`{"ui": …}` or `{"api": …}` step is its turn, and what the client sent. A script with
`{"newProcess"}` steps is played in parts, one per process: part N, by default as many as the log
says were started before. The words of a script:

    recv METHOD [times] [within_ms, else]   wait for the client's next message of this method
    recvEof | recvResponse ID               wait for the end of stdin | for the answer to a request
    send [a, b] | sendRaw                   send lines a..b-1 of the stream | line 0 as it stands
    sendRepeat {line, times}                send a line many times
    sendAs {line, requestIndex, once}       answer the n-th request of its method
    sendFor {line, session}                 answer the request of this session
    delay_ms | idle_ms                      do nothing
    stderr TEXT | stderrBytes N             write to stderr
    exit CODE | kill SIGNAL                 end
    ui | api                                the driver's turn; with --turn, go on after a byte of FIFO

In a line, `"$REQ:METHOD"` is the id of the last request of that method, and `{CWD}`, `{CWD_URI}`,
`{TMP}`, `{HOME}` are folders of the test.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

REQUEST_ID = re.compile(rb'"\$REQ:([a-z_/]+)"')
GREETING = {
    "protocolVersion": 1,
    "agentCapabilities": {
        "loadSession": True,
        "promptCapabilities": {"image": True, "embeddedContext": True},
    },
    "authMethods": [],
}
IDLE_MS = 2500


class Log:
    """The steps, for the driver; other processes of the case append to the same file."""

    def __init__(self, path: str | None) -> None:
        self.before = 0
        self._file = None
        if path is not None:
            if Path(path).exists():
                self.before = Path(path).read_text("utf-8").count('"started"')
            self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115  # lives as long as the process

    def write(self, **entry: Any) -> None:
        """Append one line."""
        if self._file is not None:
            self._file.write(json.dumps({"t": round(time.time(), 3), **entry}) + "\n")
            self._file.flush()


class Client:
    """What the client has sent, read on a thread of its own."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._changed = threading.Condition()
        self.requests: dict[str, list[dict[str, Any]]] = {}
        self.responses: set[str] = set()
        self.ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            try:
                message = json.loads(line)
            except ValueError:
                self._log.write(bad_input=line[:200].decode("utf-8", "replace"))
                continue
            whole = len(line) < 4000
            self._log.write(got=message if whole else {k: message.get(k) for k in ("id", "method")})
            with self._changed:
                if "method" in message:
                    self.requests.setdefault(message["method"], []).append(message)
                else:
                    self.responses.add(json.dumps(message.get("id")))
                self._changed.notify_all()
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def wait(self, condition: Any, timeout_s: float | None) -> bool:
        """Wait until a condition holds; False when it does not in time."""
        with self._changed:
            return bool(self._changed.wait_for(condition, timeout_s))


class Player:
    """One case, played to one client."""

    def __init__(
        self, case: Path, cwd: str, log: Log, timeout_s: float, turn: str | None = None
    ) -> None:
        self.given = json.loads((case / "case.json").read_text("utf-8"))["given"]
        stream = self.given.get("stream")
        raw = (case / stream).read_bytes() if stream else b""
        self.lines = raw.removesuffix(b"\n").split(b"\n") if raw else []
        self.final_newline = raw.endswith(b"\n")
        self.folders = {
            b"{CWD_URI}": Path(cwd).resolve().as_uri().encode(),
            b"{CWD}": json.dumps(cwd)[1:-1].encode(),
            b"{TMP}": json.dumps(os.environ.get("CASE_TMP", tempfile.gettempdir()))[1:-1].encode(),
            b"{HOME}": json.dumps(str(Path.home()))[1:-1].encode(),
        }
        self.log = log
        self.timeout_s = timeout_s
        self.turn = Path(turn).open("rb", buffering=0) if turn else None  # noqa: SIM115  # as the log
        self.client = Client(log)
        self.received: dict[str, int] = {}
        self.answered: set[tuple[int, int]] = set()
        self.held: list[bytes] = []

    # -- out

    def filled(self, line: bytes, index: int = -1, session: str | None = None) -> bytes:
        """Return a line with folders and request ids in it."""
        for word, folder in self.folders.items():
            line = line.replace(word, folder)

        def request_id(match: re.Match[bytes]) -> bytes:
            seen = self.client.requests.get(match[1].decode(), [])
            if session is not None:
                seen = [r for r in seen if r.get("params", {}).get("sessionId") == session]
            return json.dumps(seen[index]["id"]).encode() if seen else b"null"

        return REQUEST_ID.sub(request_id, line)

    def emit(self, number: int, **which: Any) -> None:
        """Send a line of the stream; the last has the end that it has in the file."""
        line = self.filled(self.lines[number], **which)
        if number < len(self.lines) - 1 or self.final_newline:
            line += b"\n"
        self.put(line)

    def put(self, data: bytes) -> None:
        """Send bytes, or hold them when the case wants all of them in one write."""
        if self.given.get("oneWrite"):
            self.held.append(data)
        else:
            self.write(data)

    def write(self, data: bytes) -> None:
        """Write at once, in pieces when the case says so."""
        size = self.given.get("chunkBytes") or len(data) or 1
        for at in range(0, len(data), size):
            sys.stdout.buffer.write(data[at : at + size])
            sys.stdout.buffer.flush()
            if size < len(data):
                time.sleep(0.0005)

    def flush(self) -> None:
        """Write what was held."""
        if self.held:
            self.write(b"".join(self.held))
            self.held.clear()

    def respond(self, method: str, result: Any, session: str | None = None) -> None:
        """Answer the last request of a method."""
        message = {"jsonrpc": "2.0", "id": f"$REQ:{method}", "result": result}
        self.write(self.filled(json.dumps(message).encode() + b"\n", session=session))

    def update(self, **update: Any) -> None:
        """Send an update that is made at play time."""
        params = {"sessionId": "sess-1", "update": update}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        self.write(json.dumps(message).encode() + b"\n")

    # -- in

    def wait(self, condition: Any, what: str) -> None:
        """Wait for the client; give up, and end, when it does not come."""
        if not self.client.wait(condition, self.timeout_s):
            self.log.write(timeout=what)
            self.flush()
            end(3)

    def receive(self, step: dict[str, Any]) -> None:
        """Wait for messages of a method; do other steps when they do not come in time."""
        method = step["recv"]
        need = self.received[method] = self.received.get(method, 0) + step.get("times", 1)

        def came() -> bool:
            return len(self.client.requests.get(method, [])) >= need

        if "within_ms" in step and not self.client.wait(came, step["within_ms"] / 1000):
            for number, other in enumerate(step["else"]):
                self.run(other, f"else {number}")
        self.wait(came, method)

    # -- steps

    def run(self, step: dict[str, Any], number: int | str) -> None:
        """Do one step of a script."""
        self.log.write(step=number, do=step)
        waits = {"recv", "recvEof", "recvResponse", "delay_ms", "idle_ms", "exit", "kill"}
        if waits & step.keys():
            self.flush()
        if "recv" in step:
            self.receive(step)
        elif "recvEof" in step:
            self.wait(lambda: self.client.ended, "end of stdin")
        elif "recvResponse" in step:
            key = json.dumps(step["recvResponse"])
            self.wait(lambda: key in self.client.responses, f"response {key}")
        elif "send" in step:
            for line in range(*step["send"]):
                self.emit(line)
        elif "sendRaw" in step:
            self.emit(0)
        elif "sendRepeat" in step:
            repeat = step["sendRepeat"]
            self.put((self.filled(self.lines[repeat["line"]]) + b"\n") * repeat["times"])
        elif "sendAs" in step:
            answer = step["sendAs"]
            key = (answer["line"], answer["requestIndex"])
            if not (answer.get("once") and key in self.answered):
                self.emit(answer["line"], index=answer["requestIndex"])
            self.answered.add(key)
        elif "sendFor" in step:
            self.emit(step["sendFor"]["line"], session=step["sendFor"]["session"])
        elif "delay_ms" in step or "idle_ms" in step:
            given = step.get("delay_ms", step.get("idle_ms"))
            time.sleep((given if isinstance(given, int | float) else IDLE_MS) / 1000)
        elif "stderr" in step:
            sys.stderr.write(step["stderr"])
            sys.stderr.flush()
        elif "stderrBytes" in step:
            for _ in range(-(-step["stderrBytes"] // 200)):
                sys.stderr.write("x" * 199 + "\n")
            sys.stderr.flush()
        elif "exit" in step:
            end(step["exit"])
        elif "kill" in step:
            os.kill(os.getpid(), getattr(signal, step["kill"]))
        elif self.turn is not None and ("ui" in step or "api" in step):
            self.flush()
            self.turn.read(1)

    def play_script(self, part: int | None) -> None:
        """Play a script, or the part of it that is this process's."""
        parts: list[list[tuple[int, dict[str, Any]]]] = [[]]
        for number, step in enumerate(self.given["script"]):
            if "newProcess" in step:
                parts.append([])
            else:
                parts[-1].append((number, step))
        which = self.log.before if part is None else part
        for number, step in parts[min(which, len(parts) - 1)]:
            self.run(step, number)
        self.flush()

    def play_updates(self) -> None:
        """Play a stream of updates inside one prompt of each session."""
        sessions = self.given.get("sessions", ["sess-1"])
        self.receive({"recv": "initialize"})
        self.respond("initialize", GREETING)
        for session in sessions:
            self.receive({"recv": "session/new"})
            result: dict[str, Any] = {"sessionId": session}
            if modes := self.given.get("modes"):
                available = [{"id": mode, "name": mode} for mode in modes]
                result["modes"] = {"currentModeId": modes[0], "availableModes": available}
            self.respond("session/new", result)
        self.receive({"recv": "session/prompt", "times": len(sessions)})
        repeat = self.given.get("repeatLine", {})
        for number in range(len(self.lines)):
            if number == len(self.lines) - 1:
                self.generate()
            for _ in range(repeat["times"] if repeat.get("line") == number else 1):
                self.emit(number)
        for text in chunked(self.given.get("generate", {})):
            block = {"type": "text", "text": text}
            self.update(sessionUpdate="agent_message_chunk", messageId="m1", content=block)
        for session in sessions:
            self.respond("session/prompt", {"stopReason": "end_turn"}, session)

    def generate(self) -> None:
        """Send tool output that would be too long for a file."""
        wanted = self.given.get("generate", {})
        step = "o" * wanted.get("bytesPerStep", 0)
        texts = [step * (k + 1) for k in range(wanted.get("progressUpdates", 0))]
        if "lines" in wanted:
            filler = "w" * (wanted["bytesPerLine"] - 7)
            texts.append("\n".join(f"{k:06d} {filler}" for k in range(wanted["lines"])))
        for text in texts:
            content = [{"type": "content", "content": {"type": "text", "text": text}}]
            self.update(
                sessionUpdate="tool_call_update", toolCallId=wanted["toolCallId"], content=content
            )


def end(code: int) -> None:
    """End at once: an interpreter that shuts down trips over the thread that reads stdin."""
    sys.stderr.flush()
    os._exit(code)


def chunked(wanted: dict[str, Any]) -> list[str]:
    """Return a long answer, a table and then code, cut into as many pieces as are wanted."""
    count = wanted.get("chunks", 0)
    if not count:
        return []
    rows = "".join(f"| {k} | row {k} | {k * k} |\n" for k in range(wanted["tableRows"]))
    code = "".join(f"value_{k} = compute({k}, 'step {k}')\n" for k in range(wanted["codeLines"]))
    text = f"| n | name | value |\n|---|---|---|\n{rows}\n```python\n{code}```\n\nDone.\n"
    cuts = [len(text) * k // count for k in range(count + 1)]
    return [text[a:b] for a, b in pairwise(cuts)]


def main() -> None:
    """Play the case that the arguments name, then stay until stdin ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case", type=Path)
    parser.add_argument("--cwd", default=os.getcwd())  # noqa: PTH109  # as text, as the client gave it
    parser.add_argument("--log")
    parser.add_argument("--turn")
    parser.add_argument("--timeout", type=float, default=30)
    parser.add_argument("--process", type=int)
    arguments = parser.parse_args()
    log = Log(arguments.log)
    log.write(started=os.getpid())
    player = Player(arguments.case, arguments.cwd, log, arguments.timeout, arguments.turn)
    if "script" in player.given:
        player.play_script(arguments.process)
    elif player.given["mode"] == "updates":
        player.play_updates()
    else:
        log.write(not_playable=player.given["mode"])
        end(4)
    log.write(done=True)
    player.client.wait(lambda: player.client.ended, None)


if __name__ == "__main__":
    main()
