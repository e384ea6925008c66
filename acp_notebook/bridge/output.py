"""
What one run has sent to the client, and what of a new frame is still to be sent.

The gateway's text is cumulative: of each message only what lies beyond the sent text goes out.
The rules:

- a text that is not longer than what was sent is ignored, a rewritten longer one gives its tail;
- media go out as links, each once: named by a `MEDIA:` line (the gateway takes those out of live
  text, its transcript keeps them), by `mediaUrls` of an agent event, or by a record's facts;
- trailing blanks wait for what follows them; a line that may be a media line waits for its end,
  and for nothing else: a tool call or the end of the run lets it go;
- a tool call starts once and ends once. After a lost link tool frames may be missing: then the
  `item` and `command_output` frames of the same call stand in, and the end of the run closes
  whatever is still open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from acp_notebook.bridge import mapping, records
from acp_notebook.bridge.media import MediaLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FAILED = frozenset({"failed", "error", "blocked", "cancelled", "denied"})


@dataclass(slots=True)
class Call:
    """A tool call of the run, as far as it is known."""

    title: str
    kind: str
    raw_input: dict[str, Any] = field(default_factory=dict)
    locations: list[dict[str, Any]] | None = None
    ended: bool = False
    has_result: bool = False
    stand_in: bool = False
    text: str = ""


class RunOutput:
    """The updates of one run, each given to `emit` as soon as it is known."""

    def __init__(
        self,
        emit: Callable[[dict[str, Any]], None],
        link: Callable[[str], dict[str, Any] | None],
    ) -> None:
        self._emit = emit
        self._link = link
        self._lines = MediaLines(link)
        self._thought = ""
        self._images = 0
        self._linked: set[str] = set()
        self._shown = 0
        self.sent = ""
        self.calls: dict[str, Call] = {}
        self.lacks_tool_frames = False

    def open_calls(self) -> list[tuple[str, Call]]:
        """The calls that have not ended, oldest first."""
        return [(ident, call) for ident, call in self.calls.items() if not call.ended]

    # Messages

    def message(self, message: Any) -> None:
        """Take a chat message: cumulative text and thinking, images, media facts."""
        if not isinstance(message, dict):
            return
        blocks = records.blocks(message)
        thought = "\n".join(
            block["thinking"]
            for block in blocks
            if block.get("type") == "thinking" and isinstance(block.get("thinking"), str)
        ).rstrip()
        if len(thought) > len(self._thought):
            self._emit(mapping.text_chunk("agent_thought_chunk", thought[len(self._thought) :]))
            self._thought = thought
        self.grow("\n".join(records.texts(message)).rstrip())
        images = [block for block in blocks if block.get("type") == "image"]
        for block in images[self._images :]:
            content = records.image_content(block)
            if content is not None:
                self._piece(content)
        self._images = max(self._images, len(images))
        for content in records.media_facts(message, self._link):
            self._piece(content)

    def grow(self, text: str) -> None:
        """Send what a cumulative text has beyond what was sent."""
        new = text[len(self.sent) :]
        if new:
            self.sent = text
            self._feed(new)

    def media(self, references: Any) -> None:
        """Take the `mediaUrls` of an agent event."""
        for reference in references if isinstance(references, list) else ():
            content = self._link(reference) if isinstance(reference, str) else None
            if content is not None:
                self._release()
                self._piece(content)

    def say(self, text: str) -> None:
        """Send a text of the bridge's own, as a paragraph of its own."""
        self._release()
        self._emit(mapping.text_chunk("agent_message_chunk", f"\n\n{text}" if self.sent else text))
        self.sent += text

    def _feed(self, text: str) -> None:
        for piece in self._lines.feed(text):
            self._piece(piece)

    def _piece(self, piece: str | dict[str, Any]) -> None:
        if isinstance(piece, dict) and piece["type"] == "resource_link":
            if piece["uri"] in self._linked:
                return
            self._linked.add(piece["uri"])
        elif isinstance(piece, str):
            self._shown += _solid(piece)
        self._emit(records.chunk_of(piece))

    def _release(self) -> None:
        """Let a held line go: something else follows it."""
        for piece in self._lines.end():
            self._piece(piece)

    # Tools

    def tool(self, data: dict[str, Any]) -> None:
        """Take a frame of the `tool` stream: start, update or result."""
        ident, name = data.get("toolCallId"), data.get("name")
        if not isinstance(ident, str) or not ident:
            return
        phase = data.get("phase")
        if phase == "start":
            self._start(ident, name, data.get("args"))
        elif phase == "update":
            self._progress(ident, name, data.get("partialResult"))
        elif phase == "result":
            status = "failed" if data.get("isError") else "completed"
            self._result(ident, name, status, data.get("result"))

    def _start(self, ident: str, name: Any, arguments: Any) -> None:
        known = self.calls.get(ident)
        if known is not None and not known.stand_in:
            return
        update = mapping.tool_start(ident, name if isinstance(name, str) else None, arguments)
        if known is not None:
            known.title, known.kind, known.stand_in = update["title"], update["kind"], False
            known.raw_input, known.locations = update["rawInput"], update.get("locations")
            fields = {key: value for key, value in update.items() if key != "status"}
            self._emit({**fields, "sessionUpdate": "tool_call_update"})
            return
        self._add(ident, update)

    def _add(self, ident: str, update: dict[str, Any], *, stand_in: bool = False) -> Call:
        self._release()
        call = Call(
            title=update["title"],
            kind=update["kind"],
            raw_input=update["rawInput"],
            locations=update.get("locations"),
            stand_in=stand_in,
        )
        self.calls[ident] = call
        self._emit(update)
        return call

    def _known(self, ident: str, name: Any) -> Call:
        """The call; one whose start was missed is announced now."""
        call = self.calls.get(ident)
        if call is None:
            update = mapping.tool_start(ident, name if isinstance(name, str) else None, None)
            call = self._add(ident, update, stand_in=True)
        return call

    def _progress(self, ident: str, name: Any, output: Any) -> None:
        call = self._known(ident, name)
        if not call.ended:
            self._emit(mapping.tool_update(ident, "in_progress", output, call.locations))

    def _result(self, ident: str, name: Any, status: str, output: Any) -> None:
        call = self._known(ident, name)
        if not call.has_result:
            call.ended = call.has_result = True
            self._emit(mapping.tool_update(ident, status, output, call.locations))

    def item(self, data: dict[str, Any]) -> None:
        """Take a frame of the `item` stream: the summary of a call whose tool frames may be missing."""
        ident = data.get("toolCallId")
        if data.get("kind") != "tool" or not isinstance(ident, str) or not ident:
            return
        call = self.calls.get(ident)
        if call is None and self.lacks_tool_frames:
            update = mapping.tool_start(ident, str(data.get("name") or "") or None, None)
            title = data.get("title")
            update["title"] = (
                mapping.escape_controls(title) if isinstance(title, str) else update["title"]
            )
            call = self._add(ident, update, stand_in=True)
        if call is not None and data.get("phase") == "end" and not call.ended:
            call.ended = True
            self._emit(mapping.tool_update(ident, _final(data.get("status")), None))

    def command_output(self, data: dict[str, Any]) -> None:
        """Take a frame of the `command_output` stream, which is needed only without tool frames."""
        ident, text = data.get("toolCallId"), data.get("output")
        call = self.calls.get(ident) if isinstance(ident, str) else None
        if call is None or call.has_result or not self.lacks_tool_frames:
            return
        if isinstance(text, str) and text:
            call.text = text if text.startswith(call.text) else call.text + text
        if data.get("phase") != "end":
            if call.text and not call.ended:
                text_so_far = {"content": [{"type": "text", "text": call.text}]}
                self._emit(
                    mapping.tool_update(str(ident), "in_progress", text_so_far, call.locations)
                )
            return
        details = {
            key: data[key] for key in ("status", "exitCode", "durationMs", "cwd") if key in data
        }
        output: dict[str, Any] = {
            "content": [{"type": "text", "text": call.text}],
            "details": details,
        }
        failed = data.get("exitCode") not in {None, 0} and data.get("status") != "completed"
        status = "failed" if failed else _final(data.get("status"))
        self._result(str(ident), None, status, output)

    # Ends

    def adopt(self, after: Iterable[records.Record]) -> None:
        """Send what the transcript has of this run and the client has not seen yet, in order."""
        self._release()
        skip = self._shown
        for record in after:
            if record.get("role") == "toolResult":
                self._adopt_result(record)
            if record.get("role") != "assistant":
                continue
            for block in records.blocks(record):
                if block.get("type") == "text" and isinstance(block.get("text"), str):
                    skip = self._adopt_text(block["text"], skip)
                elif block.get("type") == "toolCall" and isinstance(block.get("id"), str):
                    self._start(block["id"], block.get("name"), block.get("arguments"))
            for content in records.media_facts(record, self._link):
                self._piece(content)

    def _adopt_text(self, text: str, skip: int) -> int:
        """Send a stored text but for its first `skip` characters; return what is left to skip."""
        lines = MediaLines(self._link)
        for piece in (*lines.feed(text), *lines.end()):
            if isinstance(piece, dict):
                self._piece(piece)
                continue
            new, skip = _beyond(piece, skip)
            if new.strip():
                self.sent += new
                self._piece(new)
        return skip

    def _adopt_result(self, record: records.Record) -> None:
        ident = record.get("toolCallId")
        if isinstance(ident, str) and ident:
            output = {key: record[key] for key in ("content", "details") if record.get(key)}
            status = "failed" if record.get("isError") is True else "completed"
            self._result(ident, record.get("toolName"), status, output)

    def skip(self, after: Iterable[records.Record]) -> None:
        """Count what these records have as sent already: it was replayed."""
        emit, self._emit = self._emit, lambda _update: None
        self.adopt(after)
        self._release()
        self._emit = emit

    def end(self) -> None:
        """Let held text go and close every call that is still open: nobody saw it succeed."""
        self._release()
        for ident, call in self.open_calls():
            call.ended = True
            self._emit(mapping.tool_update(ident, "failed", None))

    def restart(self) -> None:
        """Begin anew: the gateway runs the prompt again under another run id."""
        self.end()
        if self.sent:
            self._emit(mapping.text_chunk("agent_message_chunk", "\n\n"))
        self._lines = MediaLines(self._link)
        self.sent = self._thought = ""
        self._images = self._shown = 0
        self.calls.clear()


def _final(status: Any) -> str:
    return "failed" if status in _FAILED else "completed"


def _solid(text: str) -> int:
    """How many characters are not blank: the gateway joins texts without what stood between them."""
    return sum(not char.isspace() for char in text)


def _beyond(text: str, skip: int) -> tuple[str, int]:
    """The text after its first `skip` characters that are not blank, and what is left to skip."""
    if skip <= 0:
        return text, 0
    for at, char in enumerate(text):
        if not char.isspace():
            skip -= 1
            if skip == 0:
                return text[at + 1 :], 0
    return "", skip
