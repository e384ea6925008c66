"""
OpenClaw's transcript records as ordinary session updates. Pure.

This is what a session is replayed from when the ledger does not have all of it. It maps what is
recorded and infers nothing: user and assistant text, thinking, tool calls with their recorded
arguments and results; no tool card out of prose, no file without a recorded input, no plan, no
permission. The updates are those that the bridge sends live for the same run, but for the
boundaries of text chunks. A record of another shape is left out.

The shapes are those of the gateway's `sessions.get` (2026.6.11): `role` user (`content` a text or
blocks, `idempotencyKey` `<run id>:user`), assistant (blocks `text`, `thinking`, `toolCall`),
toolResult (`toolCallId`, `toolName`, `content`, `details`, `isError`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from acp_notebook.bridge import records
from acp_notebook.bridge.mapping import text_chunk, tool_start, tool_update
from acp_notebook.bridge.media import MediaLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What the bridge itself puts before a prompt (mapping.with_cwd); it is no word of the user's.
_CWD_LINE = re.compile(r"\[Working directory: [^\n]*\]\n\n")


def transcript_updates(
    transcript: Iterable[Any],
    *,
    link: Callable[[str], dict[str, Any] | None] | None = None,
    ended: bool = True,
) -> list[dict[str, Any]]:
    """
    Return the updates that a transcript stands for, in its order.

    A tool call without a result gets a closing update when its run is over: before the next
    prompt, and at the end unless `ended` is False because the last run still goes on. `link`
    makes a `resource_link` of what a `MEDIA:` line or a media fact names; without it such a line
    stays text and a fact is left out.
    """
    mapped = _Mapping(link)
    for record in transcript:
        if isinstance(record, dict):
            mapped.record(record)
    if ended:
        mapped.close_calls()
    return mapped.updates


class _Mapping:
    """The updates so far, and the tool calls without a result."""

    def __init__(self, link: Callable[[str], dict[str, Any] | None] | None) -> None:
        self.updates: list[dict[str, Any]] = []
        self._link = link
        self._seen: set[str] = set()
        self._open: dict[str, list[dict[str, Any]] | None] = {}

    def record(self, record: records.Record) -> None:
        role = record.get("role")
        if role == "user":
            self.close_calls()
            self._user(record)
        elif role == "assistant":
            self._assistant(record)
        elif role == "toolResult":
            self._result(record)

    def close_calls(self) -> None:
        self.updates.extend(tool_update(call_id, "failed", None) for call_id in self._open)
        self._open.clear()

    def _user(self, record: records.Record) -> None:
        contents = [content for block in records.blocks(record) if (content := _content(block))]
        for number, content in enumerate(contents):
            cut = number == 0 and content["type"] == "text"
            line = _CWD_LINE.match(content["text"]) if cut else None
            if line:
                content["text"] = content["text"][line.end() :]
            self._chunk("user_message_chunk", content)

    def _assistant(self, record: records.Record) -> None:
        for block in records.blocks(record):
            kind = block.get("type")
            if kind == "toolCall":
                self._call(block)
            elif kind == "thinking":
                thinking = block.get("thinking")
                if isinstance(thinking, str) and thinking:
                    self.updates.append(text_chunk("agent_thought_chunk", thinking))
            else:
                self._message(_content(block))
        for content in records.media_facts(record, self._link) if self._link else ():
            if records.chunk_of(content) not in self.updates:
                self._chunk("agent_message_chunk", content)
        if error := records.error_text([record]):
            self.updates.append(text_chunk("agent_message_chunk", error))

    def _message(self, content: dict[str, Any] | None) -> None:
        if content is None:
            return
        if self._link is None or content["type"] != "text":
            self._chunk("agent_message_chunk", content)
            return
        lines = MediaLines(self._link)
        for piece in (*lines.feed(content["text"]), *lines.end()):
            self.updates.append(records.chunk_of(piece))

    def _chunk(self, kind: str, content: dict[str, Any]) -> None:
        if content.get("text") != "":
            self.updates.append({"sessionUpdate": kind, "content": content})

    def _call(self, block: dict[str, Any]) -> None:
        call_id, name = block.get("id"), block.get("name")
        if not isinstance(call_id, str) or not call_id or call_id in self._seen:
            return
        start = tool_start(call_id, _name(name), block.get("arguments"))
        self._seen.add(call_id)
        self._open[call_id] = start.get("locations")
        self.updates.append(start)

    def _result(self, record: records.Record) -> None:
        call_id = record.get("toolCallId")
        if not isinstance(call_id, str) or not call_id:
            return
        has_input = call_id in self._seen
        if not has_input:
            self._call({"id": call_id, "name": record.get("toolName")})
        output = {key: record[key] for key in ("content", "details") if key in record}
        status = "failed" if record.get("isError") is True else "completed"
        update = tool_update(call_id, status, output or None, self._open.pop(call_id, None))
        if not has_input:
            # Without its input nothing says what the call did to the files that it names.
            update.pop("locations", None)
        self.updates.append(update)


def _content(block: dict[str, Any]) -> dict[str, Any] | None:
    """The block as ACP content when it is text or an image with its data."""
    text = block.get("text")
    if block.get("type") == "text" and isinstance(text, str):
        return {"type": "text", "text": text}
    return records.image_content(block) if block.get("type") == "image" else None


def _name(name: Any) -> str | None:
    return name if isinstance(name, str) else None
