#!/usr/bin/env python3
"""
Compare what two bridges sent to their client in the same scenarios.

  compare.py ORIGINAL_DIR OURS_DIR [--markdown]

Both folders are written by acp_record.py, each from a fresh lab. Of each stream the order of
kinds, texts, stop reasons, options and errors is compared. What differs between any two runs of one
bridge is evened out first: ids, times, chunk sizes, the order between two sessions or two calls that
run side by side, how often a running tool reports, and usage numbers, which the gateway may not have stored yet when a turn
ends. Each difference is listed with the point of docs/openclaw.md that intends it; one without is
NOT INTENDED, and the exit code is then 1.
"""
from __future__ import annotations

import argparse
import difflib
import itertools
import json
import re
import sys
from pathlib import Path

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
CALL = re.compile(r"(?:call_|toolu_)[0-9a-f]{10}")
STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?")
VOLATILE = {"pid", "startedAt", "endedAt", "durationMs", "tookMs", "updatedAt", "version"}


class Names:
    """Gives ids the same names in both streams: by order of appearance."""

    def __init__(self):
        self.known = {}

    def of(self, kind, text):
        same = [v for k, v in self.known.items() if k[0] == kind]
        return self.known.setdefault((kind, text), f"<{kind} {len(same) + 1}>")

    def text(self, value):
        value = UUID.sub(lambda m: self.of("id", m[0]), value)
        value = CALL.sub(lambda m: self.of("call", m[0]), value)
        return STAMP.sub("<time>", value)

    def plain(self, value, key=None):
        if isinstance(value, dict):
            if "pid" in value and "sessionId" in value:
                value = {k: v for k, v in value.items() if k != "sessionId"}
            return {k: self.plain(v, k) for k, v in value.items() if k not in VOLATILE}
        if isinstance(value, list):
            return [self.plain(v) for v in value]
        return self.text(value) if isinstance(value, str) else value


def stream(path):
    """The comparable entries of one trace, in order."""
    names, out, methods = Names(), [], {}
    for raw in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(raw)
        message = line["msg"]
        if line["dir"] == "client->agent":
            if "_note" in message and "process" not in message["_note"]:
                out.append(("note", message["_note"]))
            if "_note" in message and "process" in message["_note"] and "already gone" not in message["_note"]:
                out.append(("process", re.sub(r", exit code.*", "", message["_note"])))
            if "method" in message and "id" in message:
                methods[message["id"]] = message["method"]
            continue
        if line["dir"] != "agent->client":
            continue
        if message.get("method") == "session/update":
            add_update(out, names.plain(message["params"]))
        elif "method" in message:
            out.append((message["method"], names.plain(message.get("params"))))
        elif "error" in message:
            error = message["error"]
            data = error.get("data") or {}
            text = data.get("details") if isinstance(data, dict) else None
            out.append(("error of " + methods.get(message["id"], "?"), names.plain([error["code"], text])))
        elif "id" in message:
            out.append(answer(methods.get(message["id"], "?"), message.get("result"), names))
    for _, run in itertools.groupby(range(len(out)), key=lambda at: out[at][0] == "tool_call_update"):
        at = list(run)
        if out[at[0]][0] == "tool_call_update":
            # Of calls that run side by side, which one is ahead is the gateway's.
            out[at[0] : at[-1] + 1] = sorted((out[i] for i in at), key=lambda entry: entry[1]["toolCallId"])
    if path.stem == "concurrent_sessions":
        # Which of the two is ahead is the gateway's; each alone is in order.
        out.sort(key=lambda entry: str(entry[1].get("session", "")) if isinstance(entry[1], dict) else "")
    return out


def answer(method, result, names):
    if isinstance(result, dict) and "sessions" in result:
        # The lab's earlier sessions are in it, in the order of their last write.
        result = {"fields": sorted({k for s in result["sessions"] for k in s}), "next": bool(result["nextCursor"])}
    return ("answer to " + method, names.plain(result))


def add_update(out, params):
    session, update = params["sessionId"], dict(params["update"])
    kind = update.pop("sessionUpdate")
    if kind == "usage_update":
        return
    entry = (kind, {"session": session, **update})
    last = next((e for e in reversed(out) if isinstance(e[1], dict) and e[1].get("session") == session), None)
    content = update.get("content")
    if kind.endswith("_chunk") and isinstance(content, dict) and content.get("type") == "text":
        entry = (kind, {"session": session, "text": even(content["text"])})
        if last and last[0] == kind and "text" in last[1] and kind != "user_message_chunk":
            last[1]["raw"] = last[1].pop("raw", last[1]["text"]) + content["text"]
            last[1]["text"] = even(last[1]["raw"])
            return
        entry[1]["raw"] = content["text"]
    elif kind == "tool_call_update" and update.get("status") == "in_progress":
        if last and last[0] == kind and last[1].get("toolCallId") == update.get("toolCallId"):
            if last[1].get("status") == "in_progress":
                last[1].clear()
                last[1].update(entry[1])
                return
    elif kind == "session_info_update":
        out.append(("title", {"session": session, "title": update.pop("title")}))
        entry = (kind, {"session": session, **update})
    out.append(entry)


def even(text):
    """Without what the gateway's clock puts into the scripted model's echo and into /status."""
    text = re.sub(r"Echo: .*?UTC\]", "Echo: <time>]", text)
    return "<status>" if text.startswith("\N{LOBSTER} OpenClaw") else text


def shown(entry):
    data = {k: v for k, v in entry[1].items() if k != "raw"} if isinstance(entry[1], dict) else entry[1]
    return f"{entry[0]} {json.dumps(data, ensure_ascii=False, sort_keys=True)}"


def differences(theirs, ours):
    a, b = [shown(e) for e in theirs], [shown(e) for e in ours]
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield theirs[i1:i2], ours[j1:j2]


DIRECTORY_LINE = "[Working directory: "
# What a session shows of its gateway row.
STATE = {"session_info_update", "current_mode_update", "config_option_update", "answer to session/set_config_option",
         "answer to session/new"}
TURN = ("agent_message_chunk", "session_info_update", "answer to session/prompt", "note")
BY_SCENARIO = {
    # What else may differ in a scenario: point, what a client sees, and in which kinds of entries.
    "concurrent_prompts_same_session": ("1", "the replaced prompt is aborted and answered `cancelled`", TURN),
    "stop_text_and_repeat": ("1", "a bare `/stop` and an identical text in flight are answered", TURN),
    "disconnect_finish": ("3", "the text that was said without a link is sent", ("agent_message_chunk",)),
    "disconnect_long": ("11", "the accepted prompt waits instead of failing; its text is whole",
                        (*TURN, "error of session/prompt")),
    "disconnect_tool": ("2, 13", "the tool call that ended after the cut is closed, with its output",
                        ("tool_call_update",)),
    "model_error": ("4", "the model's failure is a message", ("agent_message_chunk",)),
    "content_filter": ("4", "the model's failure is a message", ("agent_message_chunk",)),
    "finish_length": ("4", "`length` is `max_tokens`, and its text a message",
                      ("agent_message_chunk", "answer to session/prompt")),
    "thinking": ("1", "a prompt right after a changed option is not swallowed", ("agent_message_chunk",)),
}


def explain(scenario, mine, entry):
    """The point that intends one differing entry, and what it is; None when nothing does."""
    kind, data = entry
    if kind == "process":
        return "9", "the end of stdin ends the bridge"
    if kind == "title":
        if not mine or not str(data["title"]).startswith(DIRECTORY_LINE):
            return "7", "titles without the working-directory line, a placeholder or the bridge's own name"
    if kind == "session/request_permission":
        return "5", "the permission names its tool call"
    if kind == "$/cancel_request" and mine:
        return "5", "a permission that ended elsewhere is withdrawn"
    if kind == "tool_call_update" and mine and data.get("status") == "failed" and "cancel" in scenario:
        return "2", "the call that was open at the cancel is closed"
    if scenario in ("modes_and_config", "thinking") and kind in STATE:
        return "7", "the canonical key is adopted at once: modes and options are right before the first prompt"
    if scenario in ("load_replay", "thinking_tool") and data.get("session", "").startswith("fresh-"):
        return "ledger", "the transcript gives tools too, and the user's text as it was written"
    point, what, kinds = BY_SCENARIO.get(scenario, ("", "", ()))
    return (point, what) if kind in kinds else None


def compare(original, ours):
    """Rows (scenario, point, what, count) and unexplained (scenario, side, entry) of two folders."""
    rows, unexplained = {}, []
    for path in sorted(original.glob("*.ndjson")):
        other = ours / path.name
        if not other.exists():
            unexplained.append((path.stem, "+", "not recorded"))
            continue
        rows.setdefault((path.stem, "", "same stream"), 0)
        for a, b in differences(stream(path), stream(other)):
            for side, entries in (("-", a), ("+", b)):
                for entry in entries:
                    why = explain(path.stem, side == "+", entry)
                    if why is None:
                        unexplained.append((path.stem, side, shown(entry)[:600]))
                    else:
                        rows.pop((path.stem, "", "same stream"), None)
                        rows[path.stem, *why] = rows.get((path.stem, *why), 0) + 1
    return rows, unexplained


EVERYWHERE = ("7", "9")


def table(rows):
    """The rows as Markdown; what differs everywhere is shown for `basic` only."""
    lines = ["| scenario | point | what differs |", "| --- | --- | --- |"]
    for scenario in sorted({row[0] for row in rows}):
        own = [row[1:] for row in sorted(rows) if row[0] == scenario]
        if scenario != "basic":
            own = [(p, w) for p, w in own if p not in EVERYWHERE or w.startswith("the canonical key")]
        for point, what in [(p, w) for p, w in own if p] or [("-", "nothing else")]:
            lines.append(f"| {scenario} | {point} | {what} |")
    return "\n".join(lines)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("original", type=Path)
    ap.add_argument("ours", type=Path)
    args = ap.parse_args()
    rows, unexplained = compare(args.original, args.ours)
    print(table(rows))
    for scenario, side, text in unexplained:
        print(f"NOT INTENDED  {scenario}  {side} {text}")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
