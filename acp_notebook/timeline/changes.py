"""
File changes applied and taken back, by a person's own call.

This is the one place of the package's core that touches files. It looks at the file first: what
is not as the change expects it is left alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from os import PathLike

    from acp_notebook.timeline.parts import Diff

HEADER = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NO_FILE = "/dev/null"
UNEXPECTED = "{} is not as this change expects it; nothing was written."


class Hunk(NamedTuple):
    """A run of lines before and after, and the line (from 1) where each stands."""

    old_line: int
    old: str
    new_line: int
    new: str


class FileChange(NamedTuple):
    """The hunks of one file; a name is None where there is no file."""

    old_name: str | None
    new_name: str | None
    hunks: list[Hunk]

    def reverted(self) -> FileChange:
        """Return the change that takes this one back."""
        hunks = [Hunk(h.new_line, h.new, h.old_line, h.old) for h in self.hunks]
        return FileChange(self.new_name, self.old_name, hunks)


def apply(diff: Diff, cwd: str | PathLike[str] | None = None, *, revert: bool = False) -> bool:
    """
    Make the change, or take it back; False when the files are that way already.

    Relative paths are below `cwd`. Raises: ValueError when a file is not as the change expects
    it (then no file is written), OSError when one cannot be read or written.
    """
    root = Path(cwd) if cwd is not None else Path.cwd()
    texts: dict[Path, str | None] = {}
    if diff.patch is not None:
        for change in parsed(diff):
            patch(root, change.reverted() if revert else change, texts)
    elif diff.path is None or diff.new_text is None:
        raise ValueError("This change names files but not what is in them.")
    else:
        old, new = (diff.new_text, diff.old_text) if revert else (diff.old_text, diff.new_text)
        path = root / diff.path
        texts[path] = replaced(path, old, new)
    changed = {path: text for path, text in texts.items() if text != read(path)}
    for path, text in changed.items():
        write(path, text)
    return bool(changed)


def read(path: Path) -> str | None:
    """Return a file's text with its own line ends, None when there is no file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


def write(path: Path, text: str | None) -> None:
    """Write a file with the line ends that the text has; None removes it."""
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


def replaced(path: Path, old: str | None, new: str | None) -> str | None:
    """Return the file's new text: the old one is the whole file or one place in it."""
    now = read(path)
    if now in {new, old} or (old is None and now == ""):
        return new
    if now is not None and old and new is not None:
        # A new text that holds the old one (a line added behind another) leaves it in the file.
        olds = now.count(old)
        if new and now.count(new) == 1 and olds == new.count(old):
            return now
        if olds == 1:
            return now.replace(old, new)
    raise ValueError(UNEXPECTED.format(path))


def patch(root: Path, change: FileChange, texts: dict[Path, str | None]) -> None:
    """Put the new text of each file that one change touches into `texts`."""
    source = root / change.old_name if change.old_name is not None else None
    target = root / change.new_name if change.new_name is not None else None
    before = read(source) if source is not None else ""
    text = patched(before, change.hunks) if before is not None else None
    if source is None and target is not None and read(target):
        text = None  # a new file, but there is one already
    if text is not None and (target is not None or not text):
        if source is not None and source != target:
            texts[source] = None
        if target is not None:
            texts[target] = text
        return
    there = read(target) if target is not None else ""
    back = patched(there, change.reverted().hunks) if there is not None else None
    if back is None or (source is None and back) or (target is None and before is not None):
        raise ValueError(UNEXPECTED.format(target or source))


def patched(text: str, hunks: list[Hunk]) -> str | None:
    """Return the text after its hunks, None when one does not fit in exactly one place."""
    shift = 0
    for hunk in hunks:
        at = place(text, hunk.old, hunk.old_line + shift)
        if at is None:
            return None
        text = text[:at] + hunk.new + text[at + len(hunk.old) :]
        shift += hunk.new.count("\n") - hunk.old.count("\n")
    return text


def place(text: str, piece: str, line: int) -> int | None:
    """Return where these lines stand: their only place, else the one on the given line."""
    if not piece:
        return 0 if not text else None
    end = "" if piece.endswith("\n") else r"\Z"  # a last line without an end is a whole line too
    whole = f"^(?={re.escape(piece)}{end})"
    found = [match.start() for match in re.finditer(whole, text, re.MULTILINE)]
    if len(found) == 1:
        return found[0]
    return next((at for at in found if text.count("\n", 0, at) + 1 == line), None)


def parsed(diff: Diff) -> list[FileChange]:
    """Read a git patch. Raises: ValueError for what is none."""
    changes: list[FileChange] = []
    lines = (diff.patch or "").split("\n")
    old_name: str | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        header = HEADER.match(line)
        if line.startswith("--- "):
            old_name = named(diff, line[4:])
        elif line.startswith("+++ "):
            changes.append(FileChange(old_name, named(diff, line[4:]), []))
        elif header is not None and changes:
            counts = int(header[2] or 1), int(header[4] or 1)
            old, new, at = sides(lines, at, *counts)
            changes[-1].hunks.append(Hunk(int(header[1]), old, int(header[3]), new))
    if not changes or not all(c.hunks and (c.old_name or c.new_name) for c in changes):
        raise ValueError("This patch could not be read.")
    return changes


def sides(lines: list[str], at: int, old_left: int, new_left: int) -> tuple[str, str, int]:
    """Read the lines of one hunk: before, after, and where the hunk ends."""
    old: list[str] = []
    new: list[str] = []
    while at < len(lines) and (old_left > 0 or new_left > 0 or lines[at].startswith("\\")):
        mark, line = lines[at][:1] or " ", lines[at][1:]
        at += 1
        if mark == "\\":  # "\ No newline at end of file" is said of the line before
            last = lines[at - 2][:1]
            for side, marks in ((old, "- "), (new, "+ ")):
                if last in marks and side:
                    side[-1] = side[-1].removesuffix("\n")
            continue
        if mark != "+":
            old.append(f"{line}\n")
            old_left -= 1
        if mark != "-":
            new.append(f"{line}\n")
            new_left -= 1
    return "".join(old), "".join(new), at


def named(diff: Diff, name: str) -> str | None:
    """Return the path that a patch names, by the change whose path ends like it."""
    short = name.split("\t", maxsplit=1)[0].strip()
    if short == NO_FILE:
        return None
    short = short[2:] if short[:2] in {"a/", "b/"} else short
    for change in diff.changes or ():
        for key in ("path", "oldPath"):
            path = change.get(key)
            if isinstance(path, str) and (path == short or path.endswith(f"/{short}")):
                return path
    return short
