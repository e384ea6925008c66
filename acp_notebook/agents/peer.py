"""JSON-RPC on stdio for an agent: requests are tasks, notifications are taken in order, at once."""

from __future__ import annotations

import asyncio
import itertools
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from acp_notebook.wire import BadLine

if TYPE_CHECKING:
    from acp_notebook.agents.stdio import Stdio

Params = dict[str, Any]
Requests = Mapping[str, Callable[[Params], Awaitable[Any]]]
Notifications = Mapping[str, Callable[[Params], None]]

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002


class Refused(Exception):
    """A request that was answered with an error, by either side."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


class Peer:
    """The agent's end of one connection."""

    def __init__(self, stdio: Stdio) -> None:
        self._stdio = stdio
        self._ids = itertools.count()
        self._waiting: dict[Any, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def notify(self, method: str, params: Params) -> None:
        """Send a notification."""
        self._stdio.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Params) -> Any:
        """
        Send a request and wait for its result.

        Raises:
            Refused: the client answered with an error.
        """
        request_id = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        self._stdio.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        try:
            return await answer
        finally:
            self._waiting.pop(request_id, None)

    async def run(self, requests: Requests, notifications: Notifications) -> None:
        """Serve the client until it closes the pipe; then end what still runs."""
        async for frame in self._stdio.frames():
            if isinstance(frame, BadLine):
                self._fail(None, PARSE_ERROR, f"That line is no message: {frame.reason}")
                continue
            message = frame.value
            method = message.get("method")
            if not isinstance(method, str):
                self._settle(message)
            elif "id" in message:
                task = asyncio.create_task(
                    self._answer(message["id"], requests.get(method), method, _params(message))
                )
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            elif take := notifications.get(method):
                take(_params(message))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(
        self,
        request_id: Any,
        call: Callable[[Params], Awaitable[Any]] | None,
        method: str,
        params: Params,
    ) -> None:
        if call is None:
            self._fail(request_id, METHOD_NOT_FOUND, f"This agent has no method {method!r}.")
            return
        try:
            result = await call(params)
        except Refused as error:
            self._fail(request_id, error.code, error.message)
        except Exception as error:  # noqa: BLE001 - a request without an answer would hang the client
            traceback.print_exc()
            self._fail(request_id, INTERNAL_ERROR, f"{method}: {error!r}")
        else:
            self._stdio.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _settle(self, message: dict[str, Any]) -> None:
        request_id = message.get("id")
        answer = self._waiting.get(request_id) if isinstance(request_id, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if isinstance(error, dict):
            answer.set_exception(
                Refused(error.get("code", INTERNAL_ERROR), str(error.get("message", "")))
            )
        else:
            answer.set_result(message.get("result"))

    def _fail(self, request_id: Any, code: int, text: str) -> None:
        self._stdio.send(
            {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}
        )


def _params(message: dict[str, Any]) -> Params:
    params = message.get("params")
    return params if isinstance(params, dict) else {}
