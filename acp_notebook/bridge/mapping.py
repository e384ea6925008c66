"""
ACP content to gateway text and back: prompt blocks, tool titles, kinds, content, locations. Pure.

What the gateway's model reads and what a client shows of a tool are the same here as with
OpenClaw's own bridge, down to the order of the fields.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_TITLE_VALUE_CHARS = 100
_MAX_PATH_CHARS = 4096
_MAX_LOCATION_DEPTH = 4
_MAX_LOCATION_NODES = 100
_PATH_KEYS = (
    "path",
    "filePath",
    "file_path",
    *(f"target{end}" for end in ("Path", "_path", "File", "_file")),
    *(
        f"{start}{end}"
        for start in ("source", "destination", "old", "new", "output", "input")
        for end in ("Path", "_path")
    ),
)
_LINE_KEYS = ("line", "lineNumber", "line_number", "startLine", "start_line")
_PATH_MARK = re.compile(r"^(?:FILE|MEDIA):(.+)$", re.MULTILINE)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BRACKETS = re.compile(r"[()[\]]")
_NAMED_CONTROLS = {
    "\0": "\\0",
    "\r": "\\r",
    "\n": "\\n",
    "\t": "\\t",
    "\v": "\\v",
    "\f": "\\f",
}
_KINDS = (
    ("read", ("read",)),
    ("edit", ("write", "edit")),
    ("delete", ("delete", "remove")),
    ("move", ("move", "rename")),
    ("search", ("search", "find")),
    ("execute", ("exec", "run", "bash")),
    ("fetch", ("fetch", "http")),
)


class PromptTooLarge(ValueError):
    """The prompt is over the limit, which counts UTF-8 bytes of all blocks and what is added."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"Prompt exceeds maximum allowed size of {limit} bytes")


def escape_controls(text: str) -> str:
    """Return the text with control characters and line separators as escapes, in one line."""
    return _CONTROL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    named = _NAMED_CONTROLS.get(char)
    if named:
        return named
    return f"\\x{ord(char):02x}" if ord(char) <= 0xFF else f"\\u{ord(char):04x}"


def prompt_text(blocks: Iterable[Mapping[str, Any]], limit: int) -> str:
    """
    Return the prompt's text: text blocks, embedded text and resource links, a line each.

    Raises:
        PromptTooLarge: the blocks so far are over `limit` UTF-8 bytes.
    """
    parts: list[str] = []
    size = 0
    for block in blocks:
        text = _block_text(block)
        if text is None:
            continue
        size += utf8_size(text) + (1 if parts else 0)
        if size > limit:
            raise PromptTooLarge(limit)
        parts.append(text)
    return "\n".join(parts)


def _block_text(block: Mapping[str, Any]) -> str | None:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text") or "")
    if kind == "resource":
        resource = block.get("resource")
        text = resource.get("text") if isinstance(resource, dict) else None
        return text if isinstance(text, str) and text else None
    if kind == "resource_link":
        title = str(block.get("title") or "")
        shown = f" ({_BRACKETS.sub(_backslash, escape_controls(title))})" if title else ""
        uri = escape_controls(str(block.get("uri") or ""))
        return f"[Resource link{shown}] {uri}" if uri else f"[Resource link{shown}]"
    return None


def _backslash(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def attachments(blocks: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the prompt's images as the gateway takes them."""
    return [
        {"type": "image", "mimeType": block["mimeType"], "content": block["data"]}
        for block in blocks
        if block.get("type") == "image" and block.get("data") and block.get("mimeType")
    ]


def with_cwd(text: str, cwd: str, home: str) -> str:
    """Return the text behind a line that names the working directory, home as `~`."""
    return f"[Working directory: {shorten_home(cwd, home)}]\n\n{text}"


def shorten_home(path: str, home: str) -> str:
    """Return the path with the home folder as `~`."""
    if home and home != "/" and (path == home or path.startswith(home.rstrip("/") + "/")):
        return "~" + path[len(home.rstrip("/")) :]
    return path


def utf8_size(text: str) -> int:
    """Return the bytes of the text in UTF-8; a lone surrogate counts like U+FFFD."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def tool_title(name: str | None, arguments: Any) -> str:
    """Return `name: key: value, …`, values cut at 100 characters, in one line."""
    base = name or "tool"
    if not isinstance(arguments, dict) or not arguments:
        return base
    shown = ", ".join(f"{key}: {_title_value(value)}" for key, value in arguments.items())
    return escape_controls(f"{base}: {shown}")


def _title_value(value: Any) -> str:
    text = (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    )
    return f"{text[:_TITLE_VALUE_CHARS]}..." if len(text) > _TITLE_VALUE_CHARS else text


def tool_kind(name: str | None) -> str:
    """Return ACP's tool kind for a gateway tool, by what its name contains."""
    lowered = (name or "").lower()
    for kind, words in _KINDS:
        if any(word in lowered for word in words):
            return kind
    return "other"


def tool_content(value: Any) -> list[dict[str, Any]] | None:
    """Return a tool's text as ACP content: its text blocks, else its text, message or error."""
    if isinstance(value, str):
        return [_text_content(value)] if value.strip() else None
    if not isinstance(value, dict):
        return None
    blocks = value.get("content")
    texts = [
        block["text"]
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
        and block["text"]
    ]
    if texts:
        return [_text_content(text) for text in texts]
    for key in ("text", "message", "error"):
        text = value.get(key)
        if isinstance(text, str):
            return [_text_content(text)] if text else None
    return None


def _text_content(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def text_chunk(kind: str, text: str) -> dict[str, Any]:
    """Return a message or thought chunk."""
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def tool_start(call_id: str, name: str | None, arguments: Any) -> dict[str, Any]:
    """Return the `tool_call` of a tool that begins to run."""
    raw = arguments if isinstance(arguments, dict) else {}
    update: dict[str, Any] = {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        "title": tool_title(name, raw),
        "status": "in_progress",
        "rawInput": raw,
        "kind": tool_kind(name),
    }
    return _with(update, locations=tool_locations(raw))


def tool_update(
    call_id: str, status: str, output: Any, locations: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Return the `tool_call_update` for an output; `locations` are those the call began with."""
    update: dict[str, Any] = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": call_id,
        "status": status,
    }
    if output is None:
        return update
    update["rawOutput"] = output
    return _with(update, content=tool_content(output), locations=tool_locations(locations, output))


def _with(update: dict[str, Any], **fields: Any) -> dict[str, Any]:
    update.update((key, value) for key, value in fields.items() if value is not None)
    return update


def tool_locations(*values: Any) -> list[dict[str, Any]] | None:
    """Return the files that a tool's values name: path-like keys, and `FILE:`/`MEDIA:` lines."""
    found: dict[tuple[str, int | None], dict[str, Any]] = {}
    for value in values:
        for path, line in islice(_named_paths(value), _MAX_LOCATION_NODES * len(_PATH_KEYS)):
            _add_location(found, path, line)
    return list(found.values()) or None


def _add_location(
    found: dict[tuple[str, int | None], dict[str, Any]], raw: str, line: int | None
) -> None:
    """A path with a line replaces the same path without one, and makes another of it needless."""
    path = location_path(raw)
    if path is None or (path, line) in found:
        return
    known = [key for key in found if key[0] == path]
    if known and line is None:
        return
    found.pop((path, None), None)
    found[path, line] = {"path": path} if line is None else {"path": path, "line": line}


def _named_paths(value: Any) -> Iterator[tuple[str, int | None]]:
    """Walk at most 100 nodes, 4 deep, in the order in which they stand."""
    visited = 0
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack and visited < _MAX_LOCATION_NODES:
        node, depth = stack.pop()
        visited += 1
        if isinstance(node, str):
            yield from ((mark[1], None) for mark in _PATH_MARK.finditer(node))
            continue
        if isinstance(node, dict):
            yield from _own_paths(node)
            children: Sequence[Any] = [v for k, v in node.items() if k != "content"]
        else:
            children = node if isinstance(node, list) else ()
        if depth < _MAX_LOCATION_DEPTH:
            stack.extend((child, depth + 1) for child in reversed(children[:_MAX_LOCATION_NODES]))


def _own_paths(record: dict[str, Any]) -> Iterator[tuple[str, int | None]]:
    line = next((n for n in map(_line, (record.get(key) for key in _LINE_KEYS)) if n), None)
    for key in _PATH_KEYS:
        path = record.get(key)
        if isinstance(path, str):
            yield path, line
    content = record.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "text":
            text = block.get("text")
            if isinstance(text, str):
                yield from ((mark[1], None) for mark in _PATH_MARK.finditer(text))


def _line(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        line = int(value // 1)
    except (OverflowError, ValueError):
        return None
    return line if line > 0 else None


def location_path(raw: str) -> str | None:
    """Return the local path that a text names, a `file:` URL decoded; None for what is none."""
    path = raw.strip()
    if not path or len(path) > _MAX_PATH_CHARS or any(char in path for char in "\0\r\n"):
        return None
    lowered = path.lower()
    if lowered.startswith(("http://", "https://")):
        return None
    if lowered.startswith("file://"):
        try:
            return unquote(urlsplit(path).path) or None
        except ValueError:
            return None
    return path


def file_name(path: str) -> str:
    """Return the last part of a path or URL, for a name to show."""
    return PurePosixPath(path).name or path
