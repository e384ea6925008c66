"""
One agent, connected: its process (or remote link), the SDK's JSON-RPC connection, its sessions.

The SDK (`acp.connection.Connection`, 0.12) keeps ids, pending answers and the tasks in which requests of
the agent are answered. Params and results stay raw here: the SDK's typed router spreads `_meta` over
arguments (so it can overwrite a session id) and refuses values that it does not know.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from acp_notebook import __version__
from acp_notebook.errors import AgentExited, AgentStartError, ProtocolError, RequestFailed
from acp_notebook.host.command import child_environment, resolve_command
from acp_notebook.host.failures import as_exception, read_error
from acp_notebook.host.loop import host_loop
from acp_notebook.host.process import AgentProcess
from acp_notebook.host.record import Recorder
from acp_notebook.host.requests import AgentRequests, Refused
from acp_notebook.host.router import Router
from acp_notebook.host.state import AgentInfo
from acp_notebook.host.trace import Trace
from acp_notebook.host.transport import AgentTransport, Call, Link
from acp_notebook.wire import LineDecoder, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from acp_notebook.host.settings import Settings
    from acp_notebook.host.spec import AgentSpec

PROTOCOL_VERSION = 1
_SDK_CLOSED = "Connection closed"
"""What the SDK says when a connection has ended: nothing that a person could use."""

CLIENT_CAPABILITIES: dict[str, Any] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
    "plan": {},
    "elicitation": {"form": {}, "url": {}},
    "auth": {"terminal": True},
    "_meta": {"terminal_output": True, "terminal-auth": True},
}
"""Exactly what this client can do."""


class NoAnswer(RequestFailed):
    """The agent did not answer a request in time."""


class ProcessLink:
    """Messages on the pipes of a child process."""

    def __init__(self, process: AgentProcess) -> None:
        self.process = process

    async def send(self, message: dict[str, Any]) -> int:
        """Write one line; waits while the agent does not read."""
        line = encode(message)
        self.process.write(line)
        await self.process.drain()
        return len(line)

    async def close(self) -> None:
        """End the process."""
        await self.process.stop()


class AgentConnection:
    """A connection to one agent. Host thread only."""

    def __init__(self, spec: AgentSpec, cwd: str, settings: Settings) -> None:
        self.spec = spec
        self.cwd = cwd
        self.settings = settings
        self.trace = Trace(settings.trace_entries)
        self.requests = AgentRequests()
        self.router = Router(self.trace, self.requests.withdraw)
        self.requests.router = self.router
        self.info = AgentInfo(spec.name, spec.shown_title)
        self.capabilities: dict[str, Any] = {}
        self.initialize_result: Any = None
        self.auth_methods: tuple[dict[str, Any], ...] = ()
        self.timings: dict[str, float] = {}
        self.process: AgentProcess | None = None
        self.ended = asyncio.Event()
        self.operations = asyncio.Lock()
        """Held by the operation that opens, loads or forks a session: one at a time."""
        self.recorder: Recorder | None = None
        self._transport: AgentTransport | None = None
        self._rpc: Any = None
        self._on_end: set[Callable[[], None]] = set()
        self._closing = False
        self._why_lost: str | None = None
        self._notices: set[asyncio.Future[None]] = set()
        self.shareable = True
        self._forget_exit: Callable[[], None] | None = None

    # --- life

    async def start(self, on_phase: Callable[[str], None]) -> None:
        """
        Start or reach the agent and initialize it.

        Raises:
            AgentNotFound: the command is not installed.
            AgentStartError: it did not come up, or not in time.
            ProtocolError: it speaks another version of the protocol.
        """
        began = time.monotonic()
        try:
            on_phase(f"starting {self.info.title}")
            link = await self._open_link()
            self.timings["spawn_s"] = time.monotonic() - began
            on_phase(f"waiting for {self.info.title}")
            await self._initialize()
            self.timings["initialize_s"] = time.monotonic() - began
        except BaseException:
            await self.close()
            raise
        del link

    async def close(self) -> None:
        """End the agent. Idempotent."""
        if self._closing:
            return
        self._closing = True
        if self._forget_exit is not None:
            self._forget_exit()
        if self._rpc is not None:
            await self._rpc.close()
        elif self._transport is not None:
            await self._transport.close()
        if self.recorder is not None:
            self.recorder.close()
        self._ended()

    def on_end(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` once when the agent has ended; returns what takes that back."""
        self._on_end.add(listener)
        return lambda: self._on_end.discard(listener)

    @property
    def alive(self) -> bool:
        """Whether messages can be sent."""
        return not self.ended.is_set() and not self._closing

    @property
    def returncode(self) -> int | None:
        """The exit code of the agent's process, if it has one."""
        return self.process.returncode if self.process else None

    @property
    def stderr_tail(self) -> str:
        """The last of what the agent wrote to stderr."""
        return self.process.stderr_tail if self.process else ""

    def how_it_ended(self) -> str:
        """Say with what code or signal the agent has ended."""
        from acp_notebook.host.terminals import signal_name

        if self.process is None:
            address = without_credentials(self.spec.remote_url or "")
            why = f": {self._why_lost}" if self._why_lost else "."
            return f"The connection to {address} was lost{why}"
        code = self.returncode
        if code is None:
            return "The agent closed its output."
        if code < 0:
            return f"The agent was ended by signal {-code} ({signal_name(-code)})."
        return f"The agent ended with exit code {code}."

    @property
    def command_line(self) -> list[str]:
        """How the agent's process was started, without the reaper."""
        return [self.spec.command, *self.spec.args]

    # --- requests

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        on_answer: Callable[[dict[str, Any]], None] | None = None,
    ) -> Any:
        """
        Send a request and return its raw result. `on_answer` sees the answer in wire order.

        Raises:
            RequestFailed: the agent answered with an error (AuthRequired, UnknownSession where it says so).
            AgentExited: the agent ended before it answered.
            NoAnswer: none came within `timeout_s`.
        """
        from acp.exceptions import RequestError

        call = Call(params)
        call.on_answer = on_answer
        try:
            async with asyncio.timeout(timeout_s):
                return await self._rpc.send_request(method, call)
        except RequestError as error:
            raw = {"code": error.code, "message": str(error), "data": error.data}
            raise as_exception(method, read_error(raw), self.auth_methods) from None
        except ConnectionError as error:
            await self._settle_exit()
            if self._why_lost is None and str(error) != _SDK_CLOSED:
                self._why_lost = str(error)
            raise self._exited() from None
        except TimeoutError:
            raise NoAnswer(
                method, None, f"The agent did not answer within {timeout_s:g} s."
            ) from None
        finally:
            call.on_answer = None

    def _withdraw(self, call: Call) -> None:
        """Tell the agent that nobody waits for this answer any more."""
        if call.request_id is not None and self.alive:
            task = asyncio.ensure_future(
                self.notify("$/cancel_request", {"requestId": call.request_id})
            )
            self._notices.add(task)
            task.add_done_callback(self._notices.discard)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification; to an agent that is gone, nothing happens."""
        with contextlib.suppress(ConnectionError):
            await self._rpc.send_notification(method, dict(params))

    # --- inside

    async def _open_link(self) -> Link:
        transport = AgentTransport(self.router, self.trace, self.settings, self._open_record())
        self._transport = transport
        if self.spec.remote_url:
            from acp_notebook.host.remote import open_remote

            transport.link = await open_remote(
                self.spec, transport, self._link_ended, self.settings
            )
        else:
            command = resolve_command(self.spec, self.cwd)
            decoder = LineDecoder(max_line_bytes=self.settings.max_line_bytes)

            def end() -> None:
                transport.feed(decoder.eof())
                self._link_ended()

            self.process = await AgentProcess.start(
                command,
                env=child_environment(self.spec.env),
                cwd=self.spec.cwd or self.cwd,
                on_data=lambda data: transport.feed(decoder.feed(data)),
                on_end=end,
                settings=self.settings,
            )
            transport.link = ProcessLink(self.process)
        self._forget_exit = host_loop().at_exit(self.close)
        # The import costs half a second of CPU; the agent comes up meanwhile.
        connection = await asyncio.to_thread(_sdk_connection)
        self._rpc = connection(self._handle, transport)
        return transport.link

    async def _handle(self, method: str, request: Any, _is_notification: bool) -> Any:  # noqa: FBT001
        """Answer a request of the agent, for the SDK."""
        from acp.exceptions import RequestError

        try:
            return await self.requests.handle(method, request)
        except Refused as error:
            raise RequestError(error.code, str(error), error.data) from None

    async def _initialize(self) -> None:
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": CLIENT_CAPABILITIES,
            "clientInfo": {
                "name": "acp-notebook",
                "title": "acp_notebook",
                "version": __version__,
            },
        }
        try:
            result = await self.request(
                "initialize", params, timeout_s=self.settings.start_timeout_s
            )
        except AgentExited as error:
            raise AgentStartError(
                f"{self.info.title} ended before it was ready. {self.how_it_ended()}",
                phase="initialize",
                returncode=error.returncode,
                stderr_tail=error.stderr_tail,
            ) from None
        except NoAnswer:
            raise AgentStartError(
                f"{self.info.title} did not speak ACP within {self.settings.start_timeout_s:g} s. "
                "Check that the command is an ACP agent (start_timeout_s sets the time).",
                phase="initialize",
                stderr_tail=self.stderr_tail,
            ) from None
        self._read_initialize(result)

    def _read_initialize(self, result: Any) -> None:
        answer: dict[str, Any] = result if isinstance(result, dict) else {}
        version = answer.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            raise ProtocolError(
                f"{self.info.title} answered with protocol version {version!r}; "
                f"only version {PROTOCOL_VERSION} is supported.",
                fault="agent",
                frame=result,
            )
        self.initialize_result = result
        capabilities = answer.get("agentCapabilities")
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        methods = answer.get("authMethods")
        self.auth_methods = tuple(
            method for method in (methods if isinstance(methods, list) else [])
            if isinstance(method, dict)
        )  # fmt: skip
        info = answer.get("agentInfo")
        if isinstance(info, dict):
            name = str(info.get("name") or self.spec.name)
            title = str(info.get("title") or self.spec.title or name)
            self.info = AgentInfo(name, title, str(info.get("version") or ""))
        self.requests.agent_name = f"{self.spec.name} {self.info.name}"

    def _open_record(self) -> Recorder | None:
        if self.settings.record is None:
            return None
        recorder = Recorder(self.settings.record, agent=self.spec.name, cwd=self.cwd)
        recorder.open()
        self.recorder = recorder
        return recorder

    def _link_ended(self) -> None:
        if self._transport is not None:
            self._transport.end()
        self._ended()

    def _ended(self) -> None:
        if self.ended.is_set():
            return
        self.ended.set()
        for listener in list(self._on_end):
            listener()
        self._on_end.clear()

    async def _settle_exit(self) -> None:
        """Let the exit code become known before it is told."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), self.settings.stop_timeout_s)

    def _exited(self) -> AgentExited:
        return AgentExited(
            self.how_it_ended(), returncode=self.returncode, stderr_tail=self.stderr_tail
        )


def without_credentials(url: str) -> str:
    """Return an address without user and password, for people."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def can(capabilities: Mapping[str, Any], *path: str) -> bool:
    """Whether the agent offers something: a flag that is true, or an object (also an empty one)."""
    value: Any = capabilities
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value is True or isinstance(value, dict)


def _sdk_connection() -> Any:
    from acp.connection import Connection

    return Connection
