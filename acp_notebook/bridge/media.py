"""
Media that an assistant names: `MEDIA:` lines in its text, and the gateway's media facts. Pure.

A media line is a whole line outside a code fence, `MEDIA:` in any case and one reference: a
local path, `~/…`, a `file:` URL, a path below the working directory, or http(s). It is
quoted if it has blanks. Such a line leaves the text and goes out as a `resource_link`, so that
a client needs no transcript; anything that is not exactly that stays text.
"""

from __future__ import annotations

import mimetypes
import posixpath
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from acp_notebook.bridge.mapping import file_name

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_REFERENCE_CHARS = 4096
_WORD = "MEDIA:"
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_MEDIA_LINE = re.compile(
    r"\s*MEDIA:\s*(?:`([^`]+)`|\"([^\"]+)\"|'([^']+)'|(\S+))\s*", re.IGNORECASE
)


def media_link(
    reference: str, cwd: str, home: str, mime_type: str | None = None
) -> dict[str, Any] | None:
    """Return the `resource_link` of a reference; None when it is neither a path nor a URL of ours."""
    reference = reference.strip()
    if not reference or len(reference) > _MAX_REFERENCE_CHARS or "\0" in reference:
        return None
    lowered = reference.lower()
    if lowered.startswith(("http://", "https://")):
        return _link(reference, unquote(_url_path(reference)) or reference, mime_type)
    if lowered.startswith("file:"):
        path = unquote(_url_path(reference))
    elif re.match(r"[a-z][a-z0-9+.-]+:", lowered):
        return None
    elif reference == "~" or reference.startswith("~/"):
        path = home + reference[1:]
    else:
        path = reference
    if not path.startswith("/"):
        path = posixpath.normpath(posixpath.join(cwd, path))
        if not path.startswith(cwd.rstrip("/") + "/"):
            return None
    return _link(f"file://{quote(path, errors='surrogateescape')}", path, mime_type)


def _link(uri: str, path: str, mime_type: str | None) -> dict[str, Any]:
    link = {"type": "resource_link", "uri": uri, "name": file_name(path)}
    mime = mime_type or mimetypes.guess_type(path)[0]
    return {**link, "mimeType": mime} if mime else link


def _url_path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


class MediaLines:
    """
    Takes a message's text in pieces and gives it back as texts and links, in order.

    A line that may still become a media line is held until it is decided; everything else
    passes at once.
    """

    def __init__(self, link: Callable[[str], dict[str, Any] | None]) -> None:
        self._link = link
        self._line = ""
        self._sent = 0
        self._fence = ""

    def feed(self, text: str) -> list[str | dict[str, Any]]:
        """Return the texts and links that this piece decides."""
        out: list[str | dict[str, Any]] = []
        for part in _LINES.findall(text):
            self._add(part, out)
        return out

    def end(self) -> list[str | dict[str, Any]]:
        """Return what is still held: the message's last line needs no newline."""
        out: list[str | dict[str, Any]] = []
        if self._line:
            self._decide(out)
        self._fence = ""
        return out

    def _add(self, part: str, out: list[str | dict[str, Any]]) -> None:
        self._line += part
        if part.endswith("\n"):
            self._decide(out)
        elif not self._may_be_media():
            _push(out, self._line[self._sent :])
            self._sent = len(self._line)

    def _decide(self, out: list[str | dict[str, Any]]) -> None:
        line, sent = self._line, self._sent
        self._line, self._sent = "", 0
        reference = None if sent or self._fence else _reference(line)
        link = self._link(reference) if reference else None
        if link is None:
            self._toggle_fence(line)
            _push(out, line[sent:])
        else:
            out.append(link)

    def _may_be_media(self) -> bool:
        if self._sent or self._fence or len(self._line) > _MAX_REFERENCE_CHARS + 100:
            return False
        start = self._line.lstrip(" \t").upper()[: len(_WORD)]
        return _WORD.startswith(start)

    def _toggle_fence(self, line: str) -> None:
        fence = _FENCE.match(line)
        if fence is None:
            return
        if not self._fence:
            self._fence = fence[1]
        elif fence[1].startswith(self._fence) and not line[fence.end() :].strip():
            self._fence = ""


def _reference(line: str) -> str | None:
    match = _MEDIA_LINE.fullmatch(line)
    return None if match is None else next(g for g in match.groups() if g is not None)


def _push(out: list[str | dict[str, Any]], text: str) -> None:
    """Add a text; neighbouring texts stay one, so that a delta without media is one chunk."""
    if not text:
        return
    if out and isinstance(out[-1], str):
        out[-1] += text
    else:
        out.append(text)
