"""The client's side of the wire: frames on the stdout that was kept for them, requests on stdin."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any

from acp.meta import PROTOCOL_VERSION

from acp_notebook import wire

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger(__name__)

_READ_BYTES = 256 * 1024
_WRITE_BYTES = 1024 * 1024
_FLUSH_S = 0.5


class StdioTransport:
    """
    ACP messages over two file descriptors, as the SDK's `Connection` wants them.

    `write` never waits; `send` waits while the client lets more than a megabyte stand.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_request: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._on_request = on_request
        self._decoder = wire.LineDecoder()
        self._frames: list[wire.Frame] = []
        self._ended = False
        self.eof = asyncio.Event()

    def write(self, message: dict[str, Any]) -> None:
        """Write one message. A client that is gone is noticed where stdin ends, not here."""
        if not self._writer.is_closing():
            self._writer.write(wire.encode(message))

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message and let the client catch up."""
        if self._on_request is not None and "method" in message and "id" in message:
            self._on_request(message)
        self.write(message)
        if self._writer.transport.get_write_buffer_size() > _WRITE_BYTES:
            try:
                await self._writer.drain()
            except ConnectionError:
                self.eof.set()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end of stdin."""
        while True:
            while self._frames:
                frame = self._frames.pop(0)
                if isinstance(frame, wire.Message):
                    return normalized(frame.value)
                _log.warning("a line on stdin is no message (%s): %.200s", frame.reason, frame.text)
            if self._ended:
                self.eof.set()
                return None
            data = await self._reader.read(_READ_BYTES)
            self._ended = not data
            self._frames = self._decoder.feed(data) if data else self._decoder.eof()

    async def close(self) -> None:
        """Let what was written reach the client, half a second at most, then end."""
        self._writer.transport.set_write_buffer_limits(0)
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(_FLUSH_S):
                await self._writer.drain()
        self._writer.transport.abort()


def normalized(message: dict[str, Any]) -> dict[str, Any]:
    """
    Return the message; an `initialize` whose version is no uint16 gets ours.

    Some clients send MCP's date strings, which schema validation would refuse.
    """
    params = message.get("params")
    if message.get("method") != "initialize" or not isinstance(params, dict):
        return message
    version = params.get("protocolVersion")
    if isinstance(version, int) and not isinstance(version, bool) and 0 <= version <= 0xFFFF:
        return message
    return {**message, "params": {**params, "protocolVersion": PROTOCOL_VERSION}}


async def open_stdio(
    frames: int, on_request: Callable[[dict[str, Any]], None] | None = None
) -> StdioTransport:
    """Return a transport over stdin and the descriptor that stands for stdout."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_READ_BYTES)
    try:
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb", buffering=0)
        )
    except ValueError:  # a regular file
        reader.feed_data(await asyncio.to_thread(_read_all, 0))
        reader.feed_eof()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(frames, "wb", buffering=0)
    )
    transport.set_write_buffer_limits(high=_WRITE_BYTES)
    return StdioTransport(reader, asyncio.StreamWriter(transport, protocol, None, loop), on_request)


def _read_all(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read()
