"""
Stdin and stdout of the process as ndjson messages, for the agents that come with the package.

They speak raw ACP on `wire`, because a child's start is what a person waits for: the SDK alone
costs about a second to import, this a tenth of it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from acp_notebook.wire import LineDecoder, encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from acp_notebook.wire import Frame

_READ_BYTES = 1 << 16


class Stdio:
    """
    The pipe to the client. Make one per process, inside the running loop.

    From then on stdout belongs to the protocol: what anything else prints goes to stderr. A thread
    reads stdin, since not every platform lets a loop watch it; writing blocks, so a client that
    does not read slows the agent down instead of filling its memory.
    """

    def __init__(self) -> None:
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), name="stdin", daemon=True).start()

    async def frames(self) -> AsyncIterator[Frame]:
        """Yield what the client writes, until it closes the pipe."""
        while (frame := await self._frames.get()) is not None:
            yield frame

    def send(self, message: dict[str, Any]) -> None:
        """Write one message; when the client is gone, do nothing."""
        self.send_bytes(encode(message))

    def send_bytes(self, data: bytes) -> None:
        """Write bytes as they are; when the client is gone, do nothing."""
        try:
            self._out.write(data)
            self._out.flush()
        except BrokenPipeError:
            # The reading side ends too; a broken pipe must not become a traceback at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        decoder = LineDecoder()
        stdin = sys.stdin.fileno()
        while data := os.read(stdin, _READ_BYTES):
            for frame in decoder.feed(data):
                loop.call_soon_threadsafe(self._frames.put_nowait, frame)
        for frame in decoder.eof():
            loop.call_soon_threadsafe(self._frames.put_nowait, frame)
        loop.call_soon_threadsafe(self._frames.put_nowait, None)
