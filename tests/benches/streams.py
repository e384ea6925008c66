"""Synthetic sessions for benches, the same each time, and the cheapest thing that folds them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

SESSION = "sess-1"
WORDS = [
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "`code`",
    "**bold**",
    "consectetur\n\nadipiscing",
    "elit",
    "sed",
    "do",
    "",
]

Params = dict[str, Any]


def words(seed: int = 7) -> Iterator[str]:
    """Yield pieces of twelve characters."""
    source = random.Random(seed)
    pending = ""
    while True:
        while len(pending) < 12:
            pending += source.choice(WORDS) + " "
        yield pending[:12]
        pending = pending[12:]


def chunk(kind: str, text: str, message_id: str) -> Params:
    """Return a chunk of a message."""
    content = {"type": "text", "text": text}
    return {"sessionUpdate": kind, "content": content, "messageId": message_id}


def tool_call(tool_id: str) -> Params:
    """Return a call that reads a file."""
    path = f"/project/src/module_{tool_id}.py"
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": tool_id,
        "title": f"Read src/module_{tool_id}.py",
        "kind": "read",
        "status": "pending",
        "rawInput": {"path": path, "limit": 200},
        "locations": [{"path": path, "line": 12}],
    }


def tool_update(tool_id: str, status: str, body: str) -> Params:
    """Return an update with this output."""
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": tool_id,
        "status": status,
        "content": [{"type": "content", "content": {"type": "text", "text": body}}],
    }


def plan(step: int) -> Params:
    """Return a plan of four steps, so many of them done."""
    names = ["Read the sources", "Write the reducer", "Run the tests", "Write the docs"]
    done = ["completed" if at < step else "pending" for at in range(len(names))]
    return {
        "sessionUpdate": "plan",
        "entries": [
            {"content": name, "priority": "medium", "status": status}
            for name, status in zip(names, done, strict=True)
        ],
    }


def mixed_updates() -> Iterator[Params]:
    """Yield turns of 99 updates: a question, a plan, ten thoughts, three tools, chunks of text."""
    text = words()
    turn = 0
    while True:
        turn += 1
        yield chunk("user_message_chunk", f"Question number {turn}?", f"u{turn}")
        yield plan(turn % 4)
        for _ in range(10):
            yield chunk("agent_thought_chunk", next(text), f"t{turn}")
        for part in range(3):
            tool_id = f"{turn}-{part}"
            yield tool_call(tool_id)
            yield tool_update(tool_id, "in_progress", "reading\n" * 4)
            yield tool_update(tool_id, "completed", "line of output\n" * 12)
            for _ in range(26):
                yield chunk("agent_message_chunk", next(text), f"m{turn}")


def params_of(updates: Iterator[Params], count: int) -> list[Params]:
    """Return the params of so many updates."""
    return [{"sessionId": SESSION, "update": update} for update in islice(updates, count)]


def mixed(count: int) -> list[Params]:
    """Return a session of many turns."""
    return params_of(mixed_updates(), count)


def long(count: int) -> list[Params]:
    """Return one message in so many chunks."""
    return params_of((chunk("agent_message_chunk", text, "m1") for text in words()), count)


class BareFold:
    """The cheapest fold that still keeps order, segments, tools and the plan: dicts that change."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.items: dict[str, Params] = {}
        self.open: Params | None = None
        self.changed: set[str] = set()

    def apply(self, update: Params) -> None:
        """Fold one update."""
        kind = update["sessionUpdate"]
        if kind in {"agent_message_chunk", "user_message_chunk"}:
            key = update["messageId"]
            item = self.open
            if item is None or item["message"] != key:
                item = {"kind": "message", "message": key, "role": kind[:4], "text": []}
                item["id"] = f"{key}:{len(self.order)}"
                self.open = self._add(item["id"], item)
            content = update["content"]
            if content["type"] == "text":
                item["text"].append(content["text"])
            self.changed.add(item["id"])
            return
        if kind == "agent_thought_chunk":
            key = "thought:" + update["messageId"]
            item = self.items.get(key) or self._add(key, {"kind": "thought", "text": []})
            item["text"].append(update["content"]["text"])
        elif kind == "plan":
            key = "plan"
            item = self.items.get(key) or self._add(key, {"kind": "plan"})
            item["entries"] = update["entries"]
        else:
            key = "tool:" + update["toolCallId"]
            item = self.items.get(key) or self._add(key, {"kind": "tool"})
            item.update(update)
        self.open = None
        self.changed.add(key)

    def _add(self, key: str, item: Params) -> Params:
        self.items[key] = item
        self.order.append(key)
        return item
