"""
Terminals that the agent runs through us (`terminal/*`): commands with an output ring.

Each runs under a reaper of its own, in a process group of its own, and ends with its session. stdout
and stderr are one stream, as on a screen. What is kept is the end of the output, up to the byte limit
that the agent asked for (and ours), cut where a character begins.
"""

from __future__ import annotations

import asyncio
import codecs
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_notebook.errors import AgentStartError
from acp_notebook.host.command import child_environment
from acp_notebook.host.process import AgentProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from acp_notebook.host.settings import Settings


class TerminalRefused(Exception):
    """A terminal request cannot be met; `code` is the JSON-RPC error code that says so."""

    def __init__(self, message: str, code: int = -32602) -> None:
        self.code = code
        super().__init__(message)


class OutputRing:
    """The end of an output, at most `limit` bytes, never a broken character at its start."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()
        self.truncated = False

    def add(self, data: bytes) -> None:
        """Append; forget the beginning past the limit."""
        self._data += data
        if len(self._data) > 2 * self._limit:
            self._cut()

    def text(self) -> str:
        """Return what is kept; bytes that are no UTF-8 become U+FFFD."""
        if len(self._data) > self._limit:
            self._cut()
        return self._data.decode("utf-8", "replace")

    def _cut(self) -> None:
        start = len(self._data) - self._limit
        while start < len(self._data) and self._data[start] & 0xC0 == 0x80:
            start += 1
        del self._data[:start]
        self.truncated = True


class Terminal:
    """One command that runs or has run."""

    def __init__(self, terminal_id: str, limit: int, on_output: Callable[..., None]) -> None:
        self.id = terminal_id
        self.ring = OutputRing(limit)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._on_output = on_output
        self._process: AgentProcess | None = None
        self._exited = asyncio.Event()
        self.exit_status: dict[str, Any] | None = None

    async def start(
        self, command: Sequence[str], env: Mapping[str, str], cwd: str, settings: Settings
    ) -> None:
        """Start the command; what it reads is empty."""
        self._process = await AgentProcess.start(
            command,
            env=env,
            cwd=cwd,
            on_data=self._on_data,
            on_end=self._on_end,
            settings=settings,
            merge_stderr=True,
        )

    async def wait(self) -> dict[str, Any]:
        """Wait for the end of the command and return `{exitCode, signal}`."""
        await self._exited.wait()
        return self.exit_status or {}

    async def kill(self) -> None:
        """End the command and all that came from it; its output stays."""
        if self._process is not None:
            await self._process.stop()

    def _on_data(self, data: bytes) -> None:
        self.ring.add(data)
        self._on_output(self.id, self._decoder.decode(data), None)

    def _on_end(self) -> None:
        code = self._process.returncode if self._process else None
        self.exit_status = {
            "exitCode": code if code is not None and code >= 0 else None,
            "signal": signal_name(-code) if code is not None and code < 0 else None,
        }
        self._on_output(self.id, self._decoder.decode(b"", final=True), self.exit_status)
        self._exited.set()


class Terminals:
    """The terminals of one session. `on_output(id, text, exit_status)` is told all that happens."""

    def __init__(self, cwd: str, settings: Settings, on_output: Callable[..., None]) -> None:
        self._cwd = cwd
        self._settings = settings
        self._on_output = on_output
        self._terminals: dict[str, Terminal] = {}
        self._next = 1
        self._closes = 0

    async def create(self, params: Mapping[str, Any]) -> str:
        """
        Start a command and return its terminal's id.

        Raises:
            TerminalRefused: too many terminals, no such command or folder, or malformed params.
        """
        if len(self._terminals) >= self._settings.max_terminals:
            raise TerminalRefused(f"{self._settings.max_terminals} terminals are open already")
        cwd = str(Path(self._cwd, _text(params.get("cwd")) or "."))
        env = child_environment(_variables(params.get("env")))
        command = _command_line(params, env, cwd)
        limit = params.get("outputByteLimit")
        most = self._settings.max_terminal_output_bytes
        kept = min(limit, most) if isinstance(limit, int) and limit >= 0 else most
        terminal = Terminal(f"term-{self._next}", kept, self._on_output)
        self._next += 1
        closes = self._closes
        try:
            await terminal.start(command, env, cwd, self._settings)
        except AgentStartError as error:
            raise TerminalRefused(str(error)) from error
        if closes != self._closes:
            await terminal.kill()
            raise TerminalRefused("the session has ended")
        self._terminals[terminal.id] = terminal
        return terminal.id

    def get(self, terminal_id: Any) -> Terminal:
        """
        Return a terminal that was not released.

        Raises:
            TerminalRefused: there is none of that id.
        """
        terminal = self._terminals.get(terminal_id) if isinstance(terminal_id, str) else None
        if terminal is None:
            raise TerminalRefused(f"there is no terminal {terminal_id!r}", -32002)
        return terminal

    async def release(self, terminal_id: Any) -> None:
        """End a terminal's command and forget it; what it has shown stays in the timeline."""
        terminal = self.get(terminal_id)
        del self._terminals[terminal.id]
        await terminal.kill()

    async def close(self) -> None:
        """End them all."""
        self._closes += 1
        terminals, self._terminals = list(self._terminals.values()), {}
        await asyncio.gather(*(terminal.kill() for terminal in terminals))


def signal_name(number: int) -> str:
    """Return `SIGTERM` for 15; the number as text where it has no name."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _command_line(params: Mapping[str, Any], env: Mapping[str, str], cwd: str) -> list[str]:
    """Return what to execute; a whole line given as the command goes to the shell, as agents mean it."""
    command = _text(params.get("command"))
    if not command:
        raise TerminalRefused("a command is needed")
    args = params.get("args")
    rest = [str(arg) for arg in args] if isinstance(args, list) else []
    path = str(Path(cwd, command)) if "/" in command else command
    found = shutil.which(path, path=env.get("PATH"))
    if found is not None:
        return [found, *rest]
    if not rest and any(char in command for char in " \t;|&<>$`\n"):
        return ["/bin/sh", "-c", command]
    raise TerminalRefused(f"the command {command!r} was not found", -32002)


def _variables(env: Any) -> dict[str, str]:
    if not isinstance(env, list):
        return {}
    return {
        entry["name"]: str(entry.get("value", ""))
        for entry in env
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
