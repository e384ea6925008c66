"""
The link to the gateway: one WebSocket at a time, opened again whenever it closes.

Four callbacks tell what happens: `on_hello` when a link is usable, `on_event` for each event,
`on_close` once when a usable link is lost, `on_connect_error` when an attempt failed (`fatal`:
no further one is made). A request fails when the link that carried it closes. The rules:

- each connection: challenge (15 s), `connect` signed with the device key, hello; only then is
  it usable. "Sidecars are starting" is waited for and not reported;
- between attempts 1 s, doubled to 30 s, begun anew by each hello. What only a person can mend
  (wrong token, missing pairing, another protocol) ends the attempts; pairing is tried twice;
- nothing heard for two ticks and no request open: the link is dead, and closed with 4000.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import random
import sys
import time
import uuid
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from acp_notebook.bridge import protocol
from acp_notebook.bridge.device import Device, DeviceTokens
from acp_notebook.bridge.protocol import GatewayClosed, GatewayError

if TYPE_CHECKING:
    from acp_notebook.bridge.options import BridgeOptions

_log = logging.getLogger(__name__)

_CONNECT_ERRORS = (OSError, TimeoutError, InvalidHandshake, InvalidURI, GatewayError, GatewayClosed)
NO_TIMEOUT = float("inf")


class GatewayListener(Protocol):
    """Who is told. The callbacks run on the loop and must not block it."""

    def on_hello(self, hello: dict[str, Any]) -> None:
        """A link is usable."""

    def on_event(self, event: protocol.Event) -> None:
        """The gateway tells something."""

    def on_close(self, code: int, reason: str) -> None:
        """A usable link was lost."""

    def on_connect_error(self, error: Exception, *, fatal: bool) -> None:
        """An attempt failed; `fatal`: it was the last one."""


class PairingRequired(Exception):
    """A person has to approve this device on the gateway first; the message says how."""

    def __init__(self, device_id: str, error: GatewayError) -> None:
        details = error.details if isinstance(error.details, dict) else {}
        request = details.get("requestId")
        which = request if isinstance(request, str) and request else "--latest"
        super().__init__(
            f"{error.message}: device {device_id} is not approved on the gateway."
            f" Approve it there with:  openclaw devices approve {which}"
        )


class Gateway:
    """
    The client's side of the link.

    Raises (constructor):
        OSError, ValueError: the device key can be neither read nor made.
    """

    def __init__(self, options: BridgeOptions, listener: GatewayListener) -> None:
        self._options = options
        self._listener = listener
        self._device = Device.load(options.home / "device.pem")
        self._tokens = DeviceTokens(options.home / "device-tokens.json")
        self._socket: ClientConnection | None = None
        self._up = asyncio.Event()
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._heard_at = 0.0
        self._max_payload = protocol.MAX_PAYLOAD_BYTES
        self._closed = (1006, "not connected yet")
        self._use_device_token = False
        self.methods: frozenset[str] = frozenset()
        self.ahead_ms = 0  # of the gateway's clock, as each challenge tells it

    @property
    def is_connected(self) -> bool:
        """Whether a request can be sent now."""
        return self._socket is not None

    @property
    def last_close(self) -> tuple[int, str]:
        """Code and reason of the newest close."""
        return self._closed

    async def wait_connected(self) -> None:
        """Return as soon as a request can be sent."""
        await self._up.wait()

    async def run(self) -> None:
        """Keep the link up until it is cancelled or a fatal error was reported."""
        delay, pairings = self._options.reconnect_first_s, 0
        while True:
            pause = delay
            try:
                await self._connect_once()
                delay, pairings = self._options.reconnect_first_s, 0
                pause = delay
            except _CONNECT_ERRORS as error:
                if isinstance(error, GatewayError) and error.is_starting:
                    _log.info("the gateway is starting")
                    await asyncio.sleep(error.retry_after_s or 0.5)
                    continue
                if self._may_use_device_token(error):
                    self._use_device_token = True
                    continue
                told: Exception = error
                fatal = (
                    isinstance(error, GatewayError) and error.reason in protocol.FATAL_AUTH_CODES
                )
                if isinstance(error, GatewayError) and error.reason == "PAIRING_REQUIRED":
                    pairings += 1
                    fatal = pairings > 1
                    told = PairingRequired(self._device.id, error)
                    if not fatal:
                        _log.warning("%s", told)
                        await asyncio.sleep(pause)
                        continue
                self._listener.on_connect_error(told, fatal=fatal)
                if fatal:
                    return
            await asyncio.sleep(pause * random.uniform(0.9, 1.1))  # noqa: S311  # spreads bridges, no secret
            delay = min(delay * 2, self._options.reconnect_max_s)

    async def request(self, method: str, params: dict[str, Any], *, timeout_s: float = 0) -> Any:
        """
        Send a request and return its payload.

        `timeout_s` 0 is the default of 30 s, `NO_TIMEOUT` none.

        Raises:
            BadParams: the parameters do not fit the method; nothing was sent.
            GatewayError: the gateway refused.
            GatewayClosed: there is no link, or it closed first.
            TimeoutError: no answer in time.
        """
        protocol.check_params(method, params)
        ident = str(uuid.uuid4())
        text = protocol.request(ident, method, params)
        if len(text) > self._max_payload // 4 and len(text.encode()) > self._max_payload:
            raise protocol.BadParams(
                f"{method} exceeds the gateway's maximum frame of {self._max_payload} bytes"
            )
        socket = self._socket
        if socket is None:
            raise GatewayClosed(*self._closed)
        return await self._exchange(socket, ident, method, text, timeout_s)

    async def _exchange(
        self, socket: ClientConnection, ident: str, method: str, text: str, timeout_s: float
    ) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = future
        limit = timeout_s or self._options.request_timeout_s
        try:
            await socket.send(text)
            if limit == NO_TIMEOUT:
                return await future
            return await asyncio.wait_for(future, limit)
        except ConnectionClosed:
            raise GatewayClosed(*_close_of(socket)) from None
        except TimeoutError:
            raise TimeoutError(f"gateway request timeout for {method}") from None
        finally:
            del self._waiting[ident]
            future.cancel()

    async def close(self) -> None:
        """Close the link in order; it takes a second at most."""
        socket, self._socket = self._socket, None
        if socket is not None:
            with contextlib.suppress(Exception):
                await socket.close()

    async def _connect_once(self) -> None:
        """Open one connection and serve it until it closes; raises when it never became usable."""
        async with connect(
            self._options.url,
            open_timeout=self._options.challenge_timeout_s,
            close_timeout=0.5,
            max_size=protocol.MAX_PAYLOAD_BYTES,
            max_queue=256,
            compression=None,
            proxy=None,
            ping_interval=20,
            ping_timeout=60,
        ) as socket:
            try:
                hello = await self._handshake(socket)
            except ConnectionClosed:
                code, reason = _close_of(socket)
                raise GatewayClosed(code, reason) from None
            self._adopt(hello)
            self._socket = socket
            self._up.set()
            watch = asyncio.create_task(self._watch(socket, _tick_s(hello)))
            try:
                self._tell(self._listener.on_hello, hello)
                await self._read(socket)
            finally:
                watch.cancel()
                self._socket = None
                self._up.clear()
        self._closed = _close_of(socket)
        self._fail_waiting()
        self._tell(self._listener.on_close, *self._closed)

    async def _handshake(self, socket: ClientConnection) -> dict[str, Any]:
        async with asyncio.timeout(self._options.challenge_timeout_s):
            nonce = await self._challenge(socket)
        auth, token = self._auth()
        client = {**protocol.CLIENT, "platform": sys.platform}
        ident = str(uuid.uuid4())
        params: dict[str, Any] = {
            "minProtocol": protocol.VERSION,
            "maxProtocol": protocol.VERSION,
            "client": client,
            "caps": list(protocol.CAPS),
            "role": protocol.ROLE,
            "scopes": list(protocol.SCOPES),
            "auth": auth,
            "device": self._device.block(client, token=token, nonce=nonce),
        }
        protocol.check_params("connect", params)
        await socket.send(protocol.request(ident, "connect", params))
        async with asyncio.timeout(self._options.request_timeout_s):
            while True:
                frame = protocol.parse(await socket.recv())
                if isinstance(frame, protocol.Response) and frame.id == ident:
                    break
        if not frame.ok:
            raise GatewayError(frame.error)
        hello = frame.payload if isinstance(frame.payload, dict) else {}
        if hello.get("protocol") != protocol.VERSION:
            message = f"the gateway speaks protocol {hello.get('protocol')}, not {protocol.VERSION}"
            raise GatewayError({"message": message, "details": {"code": "PROTOCOL_MISMATCH"}})
        return hello

    async def _challenge(self, socket: ClientConnection) -> str:
        while True:
            frame = protocol.parse(await socket.recv())
            if isinstance(frame, protocol.Event) and frame.name == "connect.challenge":
                told = frame.payload.get("ts")
                if isinstance(told, int):
                    self.ahead_ms = told - time.time_ns() // 1_000_000
                return str(frame.payload.get("nonce") or "")

    def _auth(self) -> tuple[dict[str, str], str]:
        """`connect.auth`, and the token that is part of the signed text."""
        options = self._options
        stored = self._tokens.get(options.url)
        if options.token and not (self._use_device_token and stored):
            return {"token": options.token}, options.token
        if options.password:
            return {"password": options.password}, ""
        return ({"token": stored}, stored) if stored else ({}, "")

    def _may_use_device_token(self, error: Exception) -> bool:
        """One retry with the stored token when the shared one is refused; only to this machine."""
        return (
            isinstance(error, GatewayError)
            and error.reason == "AUTH_TOKEN_MISMATCH"
            and not self._use_device_token
            and self._tokens.get(self._options.url) is not None
            and is_loopback(urlsplit(self._options.url).hostname or "")
        )

    def _adopt(self, hello: dict[str, Any]) -> None:
        """Keep what a hello says: methods, limits, the device token, the default agent."""
        features = hello.get("features")
        methods = features.get("methods") if isinstance(features, dict) else None
        self.methods = frozenset(m for m in methods or () if isinstance(m, str))
        policy = hello.get("policy")
        limit = policy.get("maxPayload") if isinstance(policy, dict) else None
        if isinstance(limit, int) and limit > 0:
            self._max_payload = limit
        auth = hello.get("auth")
        token = auth.get("deviceToken") if isinstance(auth, dict) else None
        if isinstance(token, str) and token:
            self._tokens.put(self._options.url, token)

    async def _read(self, socket: ClientConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for text in socket:
                self._heard_at = time.monotonic()
                frame = protocol.parse(text)
                if isinstance(frame, protocol.Response):
                    self._answered(frame)
                elif isinstance(frame, protocol.Event):
                    self._tell(self._listener.on_event, frame)

    def _answered(self, frame: protocol.Response) -> None:
        future = self._waiting.get(frame.id)
        if future is None or future.done():
            return
        if frame.ok:
            future.set_result(frame.payload)
        else:
            future.set_exception(GatewayError(frame.error))

    def _fail_waiting(self) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(GatewayClosed(*self._closed))

    async def _watch(self, socket: ClientConnection, tick_s: float) -> None:
        self._heard_at = time.monotonic()
        while True:
            await asyncio.sleep(tick_s)
            if time.monotonic() - self._heard_at > 2 * tick_s and not self._waiting:
                await socket.close(protocol.CLOSE_TICK_TIMEOUT, "tick timeout")
                return

    @staticmethod
    def _tell(callback: Any, *arguments: Any) -> None:
        """A fault in a callback is logged and never ends the reader."""
        try:
            callback(*arguments)
        except Exception:  # noqa: BLE001  # whatever the fault, the reader goes on
            _log.exception("fault in %s", getattr(callback, "__name__", callback))


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _close_of(socket: ClientConnection) -> tuple[int, str]:
    return socket.close_code or 1006, socket.close_reason or ""


def _tick_s(hello: dict[str, Any]) -> float:
    policy = hello.get("policy")
    tick = policy.get("tickIntervalMs") if isinstance(policy, dict) else None
    return (tick if isinstance(tick, int) and tick > 0 else protocol.TICK_INTERVAL_MS) / 1000
