"""
Agents on another machine: `ws://`, `wss://`, `http://`, `https://`, by the SDK's own client transports.

They bring whole messages, so there is nothing to frame. A lost link ends the connection, as the exit of
a process would; it is a person who reconnects. User and password of the address travel in a header.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from acp_notebook.errors import AgentStartError
from acp_notebook.host.loop import log
from acp_notebook.wire import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_notebook.host.settings import Settings
    from acp_notebook.host.spec import AgentSpec
    from acp_notebook.host.transport import AgentTransport


class RemoteLink:
    """A `Link` over one of the SDK's client transports."""

    def __init__(self, stream: Any, transport: AgentTransport, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._transport = transport
        self._on_end = on_end
        self._reader = asyncio.ensure_future(self._read())

    async def send(self, message: dict[str, Any]) -> int:
        """Send one message."""
        try:
            await self._stream.send(message)
        except Exception as error:
            raise ConnectionError(str(error) or type(error).__name__) from error
        return len(json.dumps(message))

    async def close(self) -> None:
        """End the connection."""
        await self._stream.close()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        try:
            while (message := await self._stream.receive()) is not None:
                if isinstance(message, dict):
                    self._transport.feed([Message(message, 0)])
        except Exception:  # noqa: BLE001  whatever broke, the link is gone
            log.debug("The link to the agent broke.", exc_info=True)
        finally:
            self._on_end()


async def open_remote(
    spec: AgentSpec, transport: AgentTransport, on_end: Callable[[], None], settings: Settings
) -> RemoteLink:
    """
    Connect to `spec.remote_url`.

    Raises:
        AgentStartError: the extra `remote` is missing, or nothing answers at the address.
    """
    url, headers = split_credentials(spec.remote_url or "")
    try:
        async with asyncio.timeout(settings.start_timeout_s):
            stream = await _open(url, headers)
    except ImportError as error:
        raise AgentStartError(
            "Agents at an address need:  pip install acp-notebook[remote]", phase="connect"
        ) from error
    except (OSError, TimeoutError) as error:
        reason = str(error) or "no answer"
        raise AgentStartError(f"{url} cannot be reached: {reason}", phase="connect") from error
    except Exception as error:
        raise AgentStartError(f"{url} did not accept: {error}", phase="connect") from error
    return RemoteLink(stream, transport, on_end)


def split_credentials(url: str) -> tuple[str, dict[str, str]]:
    """Return an address without user and password, and the header that carries them."""
    parts = urlsplit(url)
    if parts.username is None:
        return url, {}
    host = parts.netloc.rpartition("@")[2]
    token = base64.b64encode(f"{parts.username}:{parts.password or ''}".encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), {"Authorization": f"Basic {token}"}


async def _open(url: str, headers: dict[str, str]) -> Any:
    if url.startswith(("ws://", "wss://")):
        from acp.ws import create_websocket_stream

        return await create_websocket_stream(url, headers=headers)
    from acp.http import create_http_stream

    return create_http_stream(url, headers=headers)
