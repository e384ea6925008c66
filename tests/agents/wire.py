"""What the test agents share: ACP as ndjson on stdio, standard library only."""

import json
import sys
import threading

_write_lock = threading.Lock()


def send(message):
    line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
    with _write_lock:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def answer(request, result):
    send({"id": request["id"], "result": result})


def fail(request, code, message, data=None):
    error = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    send({"id": request["id"], "error": error})


def update(session_id, update_kind, **fields):
    params = {"sessionId": session_id, "update": {"sessionUpdate": update_kind, **fields}}
    send({"method": "session/update", "params": params})


def text(value):
    return {"type": "text", "text": value}


def say(session_id, value, message_id=None):
    extra = {"messageId": message_id} if message_id else {}
    update(session_id, "agent_message_chunk", content=text(value), **extra)


class Requests:
    """Requests of the agent to its client, and the answers to them."""

    def __init__(self):
        self._next = 0
        self._answers = {}
        self._came = threading.Condition()

    def ask(self, method, params, request_id=None, timeout=60):
        with self._came:
            if request_id is None:
                request_id = self._next
                self._next += 1
        send({"id": request_id, "method": method, "params": params})
        return self.wait(request_id, timeout)

    def wait(self, request_id, timeout=60):
        key = json.dumps(request_id)
        with self._came:
            self._came.wait_for(lambda: key in self._answers, timeout)
            return self._answers.pop(key, None)

    def take(self, message):
        with self._came:
            self._answers[json.dumps(message.get("id"))] = message
            self._came.notify_all()


def messages():
    for line in sys.stdin.buffer:
        if line.strip():
            yield json.loads(line)
