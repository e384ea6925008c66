"""
Files that the agent reads and writes through us: `fs/read_text_file`, `fs/write_text_file`.

Roots are the session's folder and the additional ones. A path is checked after symbolic links are
resolved; what leaves the roots is refused unless a policy rule names that path. Writes are atomic and
keep the file's mode and line ends. A notebook is written only when a rule names it: it may be open in
the editor that shows this very chat.
"""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from acp_notebook.host.policy import Asked, resolved

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from acp_notebook.host.policy import Policy


class FileRefused(Exception):
    """A file request is refused; `code` is the JSON-RPC error code that says so."""

    def __init__(self, message: str, code: int = -32602) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class FileAccess:
    """What one session may reach. `missing_is_empty`: gemini takes no error for a missing file."""

    roots: tuple[Path, ...]
    cwd: str
    policy: Policy
    max_bytes: int
    missing_is_empty: bool = False

    @classmethod
    def of(
        cls, cwd: str, additional: Sequence[str], policy: Policy, max_bytes: int, agent: str
    ) -> FileAccess:
        """Return the access of a session in `cwd`."""
        roots = tuple(Path(root).resolve() for root in (cwd, *additional))
        return cls(roots, cwd, policy, max_bytes, "gemini" in agent.lower())

    def asked(self, kind: str, path: str) -> Asked:
        """Return a file request as the policy sees it."""
        return Asked(kind=kind, paths=(resolved(path, self.cwd),), cwd=resolved(".", self.cwd))

    def read(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """
        Return the text of a file, or `limit` lines from line `line` (counted from 1) on.

        Raises:
            FileRefused: outside the roots, missing, no regular file, too large, or not UTF-8.
        """
        target = self._allowed(path, "read")
        try:
            with _open_regular(target) as file:
                size = os.fstat(file.fileno()).st_size
                if size > self.max_bytes and line is None and limit is None:
                    raise FileRefused(f"{path} has {size:,} bytes, more than {self.max_bytes:,}")
                if line is None and limit is None:
                    return file.read()
                start = max((line or 1) - 1, 0)
                stop = None if limit is None else start + max(limit, 0)
                return self._bounded(islice(file, start, stop), path)
        except FileNotFoundError:
            if self.missing_is_empty:
                return ""
            raise FileRefused(f"{path} does not exist", -32002) from None
        except UnicodeDecodeError:
            raise FileRefused(f"{path} is not UTF-8 text") from None
        except OSError as error:
            raise FileRefused(f"{path}: {error.strerror}") from error

    def write(self, path: str, content: str) -> Path:
        """
        Write a file whole, through a temporary one beside it; returns the file that was written.

        Raises:
            FileRefused: outside the roots, a notebook without a rule, too large, or not writable.
        """
        target = self._allowed(path, "edit")
        data = content.encode("utf-8", "replace")
        if len(data) > self.max_bytes:
            raise FileRefused(f"{len(data):,} bytes are more than {self.max_bytes:,}")
        try:
            mode = None
            if target.exists():
                mode = stat.S_IMODE(target.stat().st_mode)
                if not target.is_file():
                    raise FileRefused(f"{path} is not a regular file")
                if _uses_crlf(target) and b"\r\n" not in data:
                    data = data.replace(b"\n", b"\r\n")
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, data, mode)
        except OSError as error:
            raise FileRefused(f"{path}: {error.strerror}") from error
        return target

    def _allowed(self, path: str, kind: str) -> Path:
        if not path or "\0" in path:
            raise FileRefused("a path is needed")
        try:
            target = Path(self.cwd, path).resolve()
        except (OSError, RuntimeError) as error:
            raise FileRefused(f"{path}: {error}") from error
        inside = any(target.is_relative_to(root) for root in self.roots)
        named = self.policy.opens(kind, str(target), str(Path(self.cwd).resolve()))
        if not inside and not named:
            raise FileRefused(f"{path} lies outside the session's folders")
        if kind == "edit" and target.suffix == ".ipynb" and not named:
            raise FileRefused(f"{path} is a notebook; no policy rule allows to write it")
        return target

    def _bounded(self, lines: Iterable[str], path: str) -> str:
        kept: list[str] = []
        size = 0
        for text in lines:
            size += len(text)
            if size > self.max_bytes:
                raise FileRefused(f"{path}: more than {self.max_bytes:,} characters were asked for")
            kept.append(text)
        return "".join(kept)


def _open_regular(target: Path) -> TextIO:
    """Open a file that was resolved before, without following a link put there since."""
    fd = os.open(target, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise FileRefused(f"{target.name} is not a regular file")
    return open(fd, encoding="utf-8", newline="")  # noqa: PTH123  it is a descriptor


def _uses_crlf(target: Path) -> bool:
    with target.open("rb") as file:
        head = file.read(65536)
    return b"\r\n" in head


def _replace(target: Path, data: bytes, mode: int | None) -> None:
    """Put the data in the file's place in one step; a new file gets the mode that the umask leaves."""
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        if mode is not None:
            beside.chmod(mode)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
