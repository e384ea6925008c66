"""
A well-behaved agent that does what the prompt says: `say WORDS`, `ask`, `wait`, `exit 3` and so on.

Options make it less well-behaved: `--ignore-eof`, `--ignore-term`, `--grandchild` (a process in the
group and one that left it), `--no-load`, `--slow-start S`, `--store FILE` (sessions survive it).
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import wire

parser = argparse.ArgumentParser()
parser.add_argument("--ignore-eof", action="store_true")
parser.add_argument("--ignore-term", action="store_true")
parser.add_argument("--grandchild", action="store_true")
parser.add_argument("--no-load", action="store_true")
parser.add_argument("--resume", action="store_true")
parser.add_argument("--slow-start", type=float, default=0)
parser.add_argument("--version", type=int, default=1)
parser.add_argument("--store")
parser.add_argument("--pids")
parser.add_argument("--want-login", action="store_true")
parser.add_argument("--no-capabilities", action="store_true")
parser.add_argument("--late-replay", action="store_true")
parser.add_argument("--early", type=int, default=0)
options = parser.parse_args()

if options.ignore_term:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
pids = [os.getpid()]
if options.grandchild:
    sleeper = [
        sys.executable,
        "-S",
        "-c",
        "import signal,time;signal.signal(15,signal.SIG_IGN);time.sleep(600)",
    ]
    pids.append(subprocess.Popen(sleeper).pid)
    pids.append(subprocess.Popen(sleeper, start_new_session=True).pid)
if options.pids:
    pathlib.Path(options.pids).write_text(json.dumps(pids))

requests = wire.Requests()
cancelled = {}
store = pathlib.Path(options.store) if options.store else None
history = json.loads(store.read_text()) if store and store.exists() else {}
state = {"logged_in": not options.want_login, "numbers": len(history)}


def new_id():
    state["numbers"] += 1
    return f"s-{state['numbers']}"


def remember(session_id, role, value):
    history.setdefault(session_id, {"cwd": "", "said": []})["said"].append([role, value])
    if store:
        store.write_text(json.dumps(history))


def prompt(request):
    params = request["params"]
    session = params["sessionId"]
    asked = "".join(b.get("text", "") for b in params["prompt"] if b["type"] == "text")
    remember(session, "user", asked)
    stop = cancelled[session] = threading.Event()
    reason = "end_turn"
    for line in asked.splitlines():
        word, _, rest = line.partition(" ")
        reason = act(session, word, rest, stop, request) or reason
        if reason == "failed":
            return
        if stop.is_set():
            reason = "cancelled"
            break
    wire.answer(
        request,
        {"stopReason": reason, "usage": {"totalTokens": 7, "inputTokens": 3, "outputTokens": 4}},
    )


def act(session, word, rest, stop, request):
    if word == "say":
        remember(session, "agent", rest)
        wire.say(session, rest)
    elif word == "think":
        wire.update(session, "agent_thought_chunk", content=wire.text(rest))
    elif word == "ask":
        tool = {
            "toolCallId": "t-" + (rest or "1"),
            "title": "Run " + (rest or "it"),
            "kind": "execute",
            "rawInput": {"command": rest or "make it"},
        }
        wire.update(session, "tool_call", status="pending", **tool)
        got = requests.ask(
            "session/request_permission",
            {
                "sessionId": session,
                "toolCall": tool,
                "options": [
                    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                    {"optionId": "no", "name": "No", "kind": "reject_once"},
                ],
            },
        )
        outcome = got["result"]["outcome"]
        chosen = outcome.get("optionId", "cancelled")
        if chosen == "yes":
            wire.update(
                session, "tool_call_update", toolCallId=tool["toolCallId"], status="completed"
            )
        wire.say(session, "answer: " + chosen)
    elif word == "wait":
        stop.wait(float(rest or 60))
    elif word == "stopped":
        stop.wait(60)
        then, _, more = rest.partition(" ")
        return act(session, then, more, stop, request)
    elif word == "deaf":
        time.sleep(float(rest or 60))
    elif word == "flood":
        for n in range(int(rest)):
            wire.say(session, "x" if n % 10 else f"{n} ")
    elif word == "request":
        method, _, params = rest.partition(" ")
        got = requests.ask(method, {"sessionId": session, **json.loads(params or "{}")})
        wire.say(
            session,
            json.dumps({k: got[k] for k in ("result", "error") if k in got}, sort_keys=True) + "\n",
        )
    elif word == "env":
        wire.say(session, os.environ.get(rest, "(unset)"))
    elif word == "stderr":
        sys.stderr.write(rest + "\n")
        sys.stderr.flush()
    elif word == "raw":
        with wire._write_lock:
            sys.stdout.buffer.write(rest.encode() + b"\n")
            sys.stdout.buffer.flush()
    elif word == "exit":
        os._exit(int(rest or 0))
    elif word == "kill":
        os.kill(os.getpid(), int(rest or 9))
        time.sleep(10)
    elif word == "error":
        wire.fail(request, **json.loads(rest))
        return "failed"
    elif word == "stop":
        return rest
    return None


def replay(session):
    for role, value in history[session]["said"]:
        kind = "user_message_chunk" if role == "user" else "agent_message_chunk"
        wire.update(session, kind, content=wire.text(value))


def handle(message):
    method = message["method"]
    params = message.get("params") or {}
    if method == "initialize":
        time.sleep(options.slow_start)
        capabilities = {
            "loadSession": not options.no_load,
            "promptCapabilities": {"image": True, "embeddedContext": True},
            "sessionCapabilities": {"list": {}, "close": {}, "delete": {}, "fork": {}},
        }
        if options.resume:
            capabilities["sessionCapabilities"]["resume"] = {}
        if options.no_capabilities:
            capabilities = {}
        wire.answer(
            message,
            {
                "protocolVersion": options.version,
                "agentCapabilities": capabilities,
                "agentInfo": {"name": "polite", "title": "Polite", "version": "1.2"},
                "authMethods": [{"id": "token", "name": "Token"}] if options.want_login else [],
            },
        )
    elif method == "authenticate":
        state["logged_in"] = True
        wire.answer(message, {})
    elif method == "session/new":
        if not state["logged_in"]:
            wire.fail(message, -32000, "Authentication required")
            return
        session = new_id()
        history[session] = {"cwd": params["cwd"], "said": []}
        wire.update(
            session,
            "available_commands_update",
            availableCommands=[{"name": "early", "description": ""}],
        )
        for n in range(options.early):
            wire.say(session, f"early {n} ")
        wire.answer(
            message,
            {
                "sessionId": session,
                "modes": {
                    "currentModeId": "code",
                    "availableModes": [
                        {"id": "code", "name": "Code"},
                        {"id": "plan", "name": "Plan"},
                    ],
                },
            },
        )
    elif method in ("session/load", "session/resume"):
        session = params["sessionId"]
        if session not in history:
            wire.fail(message, -32002, "Resource not found", {"uri": session})
            return
        if method == "session/load" and not options.late_replay:
            replay(session)
        wire.answer(message, {})
        if method == "session/load" and options.late_replay:
            replay(session)
    elif method == "session/fork":
        session = new_id()
        history[session] = json.loads(json.dumps(history[params["sessionId"]]))
        replay(session)
        wire.answer(message, {"sessionId": session})
    elif method == "session/list":
        ids = sorted(history)
        start = int(params.get("cursor") or 0)
        page = [
            {"sessionId": i, "cwd": history[i]["cwd"], "title": "Title " + i}
            for i in ids[start : start + 2]
        ]
        result = {"sessions": page}
        if start + 2 < len(ids):
            result["nextCursor"] = str(start + 2)
        wire.answer(message, result)
    elif method == "session/delete":
        history.pop(params["sessionId"], None)
        wire.answer(message, {})
    elif method == "session/set_mode":
        if params["modeId"] == "nope":
            wire.fail(message, -32603, "Internal error", {"details": "no such mode"})
        else:
            wire.answer(message, {})
    elif method == "session/prompt":
        threading.Thread(target=prompt, args=(message,), daemon=True).start()
    elif "id" in message:
        wire.answer(message, {})
    elif method == "session/cancel":
        event = cancelled.get(params["sessionId"])
        if event:
            event.set()


for received in wire.messages():
    if "method" in received:
        handle(received)
    else:
        requests.take(received)
while options.ignore_eof:
    time.sleep(1)
