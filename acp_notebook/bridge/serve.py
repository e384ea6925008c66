"""
The bridge as a process: gateway first, then stdin.

Start order: the link says hello, the old ledger is taken over, and only then is stdin read, so
that early requests wait in the pipe. The end comes with stdin's, with SIGINT or with SIGTERM:
what is being answered is answered, the ledger is written, the link is closed; two seconds at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from typing import TYPE_CHECKING, Any

from acp.connection import Connection

from acp_notebook.bridge.agent import OpenClawAgent
from acp_notebook.bridge.dispatch import Dispatch
from acp_notebook.bridge.gateway import Gateway
from acp_notebook.bridge.ledger import Ledger
from acp_notebook.bridge.legacy import migrate_file_ledger
from acp_notebook.bridge.stdio import StdioTransport, open_stdio

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from acp_notebook.bridge.options import BridgeOptions
    from acp_notebook.bridge.protocol import Event

_log = logging.getLogger("acp_notebook.bridge")

_ANSWER_S = 1.0


class Client:
    """The ACP client, as the agent sees it."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.transport: StdioTransport | None = None
        self._ids: dict[int, Any] = {}

    def write(self, message: dict[str, Any]) -> None:
        """Send one message without waiting; before the connection is there it is dropped."""
        if self.transport is not None:
            self.transport.write(message)

    def note_request(self, message: dict[str, Any]) -> None:
        """Remember the id under which a request of ours went out."""
        self._ids[id(message.get("params"))] = message["id"]

    async def ask(self, params: dict[str, Any]) -> Any:
        """Ask for a permission; a caller that is cancelled withdraws the question."""
        assert self.connection is not None
        try:
            return await self.connection.send_request("session/request_permission", params)
        except asyncio.CancelledError:
            ident = self._ids.get(id(params))
            if ident is not None:
                self.write(
                    {
                        "jsonrpc": "2.0",
                        "method": "$/cancel_request",
                        "params": {"requestId": ident},
                    }
                )
            raise
        finally:
            self._ids.pop(id(params), None)


class Bridge:
    """Holds link, agent and connection for one run of the process."""

    def __init__(self, options: BridgeOptions) -> None:
        self._options = options
        self._client = Client()
        self._agent: OpenClawAgent | None = None
        self._dispatch: Dispatch | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open_requests = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._gateway = Gateway(options, self)

    # GatewayListener

    def on_hello(self, hello: dict[str, Any]) -> None:
        """The link is usable."""
        _log.info("connected to the gateway")
        if not self._ready.done():
            self._ready.set_result(None)
        if self._agent is not None:
            self._agent.on_hello(hello)

    def on_event(self, event: Event) -> None:
        """What comes before there is a client is nobody's."""
        if self._agent is not None:
            self._agent.on_event(event)

    def on_close(self, code: int, reason: str) -> None:
        """The link was lost."""
        _log.info("gateway disconnected: %s: %s", code, reason)
        if self._agent is not None:
            self._agent.on_close()

    def on_connect_error(self, error: Exception, *, fatal: bool) -> None:
        """Before the first hello any failure ends the start; after it only a fatal one ends waiting."""
        if not self._ready.done():
            self._ready.set_exception(error)
            return
        _log.warning("gateway connection failed: %s", error)
        if fatal and self._agent is not None:
            self._agent.on_link_failed(error)

    # The run

    async def run(self, frames: int) -> int:
        """Serve until the end; return the exit code."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        link = asyncio.create_task(self._gateway.run(), name="gateway link")
        try:
            await _first(asyncio.wait({self._ready}), stop.wait())
            if stop.is_set():
                return 0
            try:
                self._ready.result()
            except Exception as error:  # noqa: BLE001  # whatever it is, the person is told
                return self._failed(error)
            await self._serve(frames, stop)
            return 0
        finally:
            link.cancel()
            await self._gateway.close()
            with contextlib.suppress(asyncio.CancelledError):
                await link

    def _failed(self, error: Exception) -> int:
        said = str(error) or type(error).__name__
        where = "" if "gateway" in said.lower() else f"the gateway at {self._options.url}: "
        sys.stderr.write(f"ACP bridge failed: {where}{said}\n")
        return 1

    async def _serve(self, frames: int, stop: asyncio.Event) -> None:
        options = self._options
        ledger = Ledger.open(
            options.home / "ledger.sqlite",
            options.ledger,
            warn=_log.warning,
            call_later=asyncio.get_running_loop().call_later,
        )
        try:
            old = options.state_dir / "acp" / "event-ledger.json"
            await asyncio.to_thread(migrate_file_ledger, old, ledger, warn=_log.warning)
            transport = await open_stdio(frames, self._client.note_request)
            self._client.transport = transport
            self._agent = OpenClawAgent(
                self._gateway, options, ledger, self._client.write, self._client
            )
            self._dispatch = Dispatch(self._agent)
            connection = Connection(self._handle, transport)
            self._client.connection = connection
            _log.info("ready")
            await self._until_end(transport, stop)
            self._agent.close()
            await connection.close()
        finally:
            ledger.close()

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:  # noqa: FBT001  # the SDK's signature
        assert self._dispatch is not None
        counts = method != "session/prompt"
        self._open_requests += counts
        self._idle.clear()
        try:
            return await self._dispatch(method, params, is_notification)
        finally:
            self._open_requests -= counts
            if not self._open_requests:
                self._idle.set()

    async def _until_end(self, transport: StdioTransport, stop: asyncio.Event) -> None:
        """Wait for a signal or the end of stdin; what was asked before that is still answered."""
        await _first(stop.wait(), transport.eof.wait())
        await asyncio.sleep(0)  # what was read last begins to run
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ANSWER_S):
                await _first(stop.wait(), self._idle.wait())
        await asyncio.sleep(0)  # and its answer is written


async def _first(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of them is over; the others are cancelled."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def serve(options: BridgeOptions, frames: int) -> int:
    """Run the bridge; `frames` is the descriptor that stands for stdout. Return the exit code."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if options.verbose else logging.WARNING,
        format="[acp] %(message)s",
    )
    logging.getLogger("websockets").setLevel(logging.ERROR)

    async def run() -> int:
        try:
            bridge = Bridge(options)
        except (OSError, ValueError) as error:
            sys.stderr.write(f"ACP bridge failed: no device key: {error}\n")
            return 1
        return await bridge.run(frames)

    return asyncio.run(run())
