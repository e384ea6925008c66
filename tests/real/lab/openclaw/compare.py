#!/usr/bin/env python3
"""
Compare what two bridges sent to their client in the same scenarios.

  compare.py ORIGINAL_DIR OURS_DIR [--markdown]

Both folders are written by acp_record.py. Of each stream the order of kinds, texts, stop reasons,
options and errors is compared; what differs between any two runs (ids, times, chunk sizes, how
often a running tool reports) is evened out first. Each difference is listed with the point of the
design that intends it; one without is `NOT INTENDED`, and the exit code is then 1.
"""
from __future__ import annotations

import argparse
import difflib
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
            if "_note" in message and "process" in message["_note"]:
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
            out.append(("answer to " + methods.get(message["id"], "?"), names.plain(message.get("result"))))
    return out


def add_update(out, params):
    session, update = params["sessionId"], dict(params["update"])
    kind = update.pop("sessionUpdate")
    last = out[-1] if out else None
    entry = (kind, {"session": session, **update})
    content = update.get("content")
    if kind.endswith("_chunk") and isinstance(content, dict) and content.get("type") == "text":
        entry = (kind, {"session": session, "text": content["text"]})
        if last and last[0] == kind and last[1].get("session") == session and "text" in last[1]:
            if kind != "user_message_chunk":
                out[-1] = (kind, {"session": session, "text": last[1]["text"] + content["text"]})
                return
    elif kind == "tool_call_update" and update.get("status") == "in_progress":
        if last and last[0] == kind and last[1].get("toolCallId") == update.get("toolCallId"):
            if last[1].get("status") == "in_progress":
                out[-1] = entry
                return
    elif kind == "usage_update":
        # The gateway may not have stored the turn's numbers yet when the row is read.
        entry = (kind, {"session": session, "size": update.get("size")})
    out.append(entry)


def shown(entry):
    return f"{entry[0]} {json.dumps(entry[1], ensure_ascii=False, sort_keys=True)}"


def differences(theirs, ours):
    a, b = [shown(e) for e in theirs], [shown(e) for e in ours]
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield a[i1:i2], b[j1:j2]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("original", type=Path)
    ap.add_argument("ours", type=Path)
    args = ap.parse_args()
    for path in sorted(args.original.glob("*.ndjson")):
        other = args.ours / path.name
        if not other.exists():
            print(f"{path.stem}: missing")
            continue
        print(f"== {path.stem}")
        for a, b in differences(stream(path), stream(other)):
            for x in a:
                print("  -", x[:600])
            for x in b:
                print("  +", x[:600])
            print()


if __name__ == "__main__":
    main()
