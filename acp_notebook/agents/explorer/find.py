"""`/find`: search the text files of the working directory."""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp_notebook.agents.explorer.session import Turn

MAX_MATCHES = 50
MAX_FILE_BYTES = 1_000_000
MAX_LINE_CHARS = 200

_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages"}


@dataclass(frozen=True, slots=True)
class Match:
    """A line that holds the text; `path` is relative to the folder, `line` counts from 1."""

    path: str
    line: int
    text: str


async def find(turn: Turn, text: str) -> None:
    """Search for `text`, whatever its case, and answer with the lines that hold it."""
    if not text:
        await turn.say("Say what to look for: `/find total`.")
        return
    call = turn.new_id("call")
    turn.update(
        "tool_call",
        toolCallId=call,
        title=f"Search for {text!r}",
        kind="search",
        status="in_progress",
        rawInput={"text": text},
    )
    cancelled = threading.Event()
    try:
        found, more = await asyncio.to_thread(search, turn.session.cwd, text, cancelled)
    finally:
        cancelled.set()
    listing = "\n".join(f"{match.path}:{match.line}: {match.text}" for match in found)
    turn.update(
        "tool_call_update",
        toolCallId=call,
        status="completed",
        locations=[{"path": str(turn.session.cwd / m.path), "line": m.line} for m in found],
        content=[_text(listing or "No match.")],
        rawOutput={"matches": len(found), "more": more},
    )
    files = len({match.path for match in found})
    if not found:
        await turn.say("No line of a text file here holds that.")
    else:
        count = f"the first {len(found)} lines" if more else _number(len(found), "line")
        await turn.say(f"Found {count} in {_number(files, 'file')}.")


def search(folder: Path, text: str, cancelled: threading.Event) -> tuple[list[Match], bool]:
    """
    Return the matching lines in the order of paths and lines, and whether there are more.

    Hidden folders and files, installed packages, files above 1 MB and files that are no text are
    passed over; symbolic links are not followed.
    """
    found: list[Match] = []
    wanted = text.casefold()
    for path in _files(folder):
        if cancelled.is_set():
            break
        for number, line in enumerate(_lines(path), 1):
            if wanted in line.casefold():
                if len(found) == MAX_MATCHES:
                    return found, True
                name = path.relative_to(folder).as_posix()
                found.append(Match(name, number, line.strip()[:MAX_LINE_CHARS]))
    return found, False


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS
        )
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def _lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return []
        return path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return []


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _text(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}
