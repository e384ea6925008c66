"""
One agent process, owned from its start to its end.

It is started through the reaper in a session of its own, so an interrupt of the kernel never reaches
it, and nothing of it outlives the kernel. Its three pipes are served from the first moment: stdout goes
to `on_data` as it is read, stderr into a bounded ring, stdin has a buffer that `drain` waits for.
It is stopped in three steps with a deadline each: end of input, SIGTERM, SIGKILL.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from acp_notebook.errors import AgentStartError
from acp_notebook.host.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_REAPER = str(Path(__file__).with_name("reaper.py"))
_LAST_OUTPUT_S = 1.0


class Tail:
    """The last bytes of a stream; costs what is kept, whatever has passed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Append, and forget what is older than the limit."""
        self.total += len(data)
        self._data += data
        if len(self._data) > 2 * self._limit:
            del self._data[: -self._limit]

    def text(self) -> str:
        """Return what is kept, as text."""
        return bytes(self._data[-self._limit :]).decode("utf-8", "replace")


class AgentProcess(asyncio.SubprocessProtocol):
    """A child process on ndjson pipes. Made by `AgentProcess.start` alone."""

    def __init__(
        self, on_data: Callable[[bytes], None], on_end: Callable[[], None], settings: Settings
    ) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._on_data = on_data
        self._on_end = on_end
        self._settings = settings
        self._stderr = Tail(settings.stderr_tail_bytes)
        self._transport: asyncio.SubprocessTransport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._exited = asyncio.Event()
        self._finished = asyncio.Event()
        self._ended = False

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        on_data: Callable[[bytes], None],
        on_end: Callable[[], None],
        settings: Settings | None = None,
        merge_stderr: bool = False,
    ) -> AgentProcess:
        """
        Start `command` (its first part is an absolute path).

        `on_end` is called once, when stdout has ended and the exit code is known. With
        `merge_stderr` stderr is part of stdout, and stdin is empty.

        Raises:
            AgentStartError: the operating system refuses (folder, permission, resources).
        """
        process = cls(on_data, on_end, settings or Settings())
        reaper = (sys.executable, "-I", "-S", _REAPER, "--parent", str(os.getpid()), "--")
        try:
            transport, _ = await process._loop.subprocess_exec(
                lambda: process,
                *reaper,
                *command,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                stdin=subprocess.DEVNULL if merge_stderr else subprocess.PIPE,
                stderr=subprocess.STDOUT if merge_stderr else subprocess.PIPE,
            )
        except OSError as error:
            raise AgentStartError(
                f"The agent could not be started in {cwd}: {error.strerror}.", phase="spawn"
            ) from error
        process._transport = transport
        return process

    @property
    def pid(self) -> int | None:
        """The reaper's process id; the agent is in its group."""
        return self._transport.get_pid() if self._transport else None

    @property
    def returncode(self) -> int | None:
        """The agent's exit code, negative for a signal; `None` while it runs."""
        return self._transport.get_returncode() if self._transport else None

    @property
    def stderr_tail(self) -> str:
        """The last of what the agent wrote to stderr."""
        return self._stderr.text()

    @property
    def stderr_bytes(self) -> int:
        """How much it wrote in all."""
        return self._stderr.total

    def write(self, data: bytes) -> None:
        """
        Hand bytes to the agent's stdin.

        Raises:
            ConnectionError: its stdin is closed.
        """
        pipe = self._stdin()
        if pipe is None or pipe.is_closing():
            raise ConnectionError("The agent's input is closed.")
        pipe.write(data)

    async def drain(self) -> None:
        """Wait until the agent has read enough of what was written."""
        await self._writable.wait()

    async def stop(self) -> None:
        """End the agent and all that came from it; returns when it is gone. Idempotent."""
        pipe = self._stdin()
        if pipe is not None and not pipe.is_closing():
            pipe.close()
        if not await self._gone_within(self._settings.stop_timeout_s):
            self._signal(signal.SIGTERM, group=False)
            if not await self._gone_within(self._settings.stop_timeout_s + 2):
                self._signal(signal.SIGKILL, group=True)
                await self._exited.wait()
        await self._finished.wait()

    async def wait(self) -> None:
        """Wait until the process has ended and all its output was handed on."""
        await self._finished.wait()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Hand on what was read."""
        if fd == 1:
            self._on_data(data)
        else:
            self._stderr.add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        """Note that a pipe has ended; the agent's end is told once the exit code is known too."""
        if fd == 0:
            self._writable.set()
        elif fd == 1 and not self._exited.is_set():
            # It closed its output and may still run: it can say nothing any more.
            self._loop.call_later(_LAST_OUTPUT_S, self._end)

    def process_exited(self) -> None:
        """Note the exit; what is still in the pipes is read first."""
        if self.returncode == -signal.SIGKILL:
            # The reaper itself may have been killed: what it watched over is in its group still.
            self._signal(signal.SIGKILL, group=True)
        self._exited.set()
        self._loop.call_later(_LAST_OUTPUT_S, self._end)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Note that all pipes have ended and the exit code is known."""
        self._end()

    def pause_writing(self) -> None:
        """Note that the agent does not read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Note that it reads again."""
        self._writable.set()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._writable.set()
            if self._transport is not None and self.returncode is not None:
                self._transport.close()
            self._on_end()
            self._finished.set()

    async def _gone_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._exited.wait(), seconds)
        return self._exited.is_set()

    def _signal(self, number: signal.Signals, *, group: bool) -> None:
        pid = self.pid
        if pid is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if group:
                os.killpg(pid, number)
            else:
                os.kill(pid, number)

    def _stdin(self) -> asyncio.WriteTransport | None:
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        return pipe if isinstance(pipe, asyncio.WriteTransport) else None
