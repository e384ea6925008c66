"""
What the agent may ask of us: permission, files, terminals, a form. Anything else is -32601.

Each request runs in a task of the SDK, and is answered exactly once, also when the agent takes it back
(`$/cancel_request`) or its params are nonsense.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from acp_notebook.host.failures import METHOD_NOT_FOUND, REQUEST_CANCELLED
from acp_notebook.host.files import FileRefused
from acp_notebook.host.loop import log
from acp_notebook.host.permissions import CANCELLED, request_key
from acp_notebook.host.policy import Asked
from acp_notebook.host.terminals import TerminalRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from acp_notebook.host.files import FileAccess
    from acp_notebook.host.router import Router
    from acp_notebook.host.terminals import Terminals
    from acp_notebook.host.transport import AgentRequest

INVALID_PARAMS = -32602
INTERNAL = -32603


class Refused(Exception):
    """A request of the agent is answered with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.code = code
        self.data = data
        super().__init__(message)


class SessionServices(Protocol):
    """What a session does for its agent."""

    terminals: Terminals

    async def permission_outcome(self, request: AgentRequest) -> dict[str, Any]:
        """Return the `outcome` of a permission request."""

    async def elicit(self, request: AgentRequest) -> dict[str, Any]:
        """Return the answer to an elicitation."""

    def file_access(self, agent: str) -> FileAccess:
        """Return what may be read and written."""

    def refuses(self, asked: Asked) -> bool:
        """Whether the policy rejects this outright."""

    def note_written(self, path: Path) -> None:
        """The agent has written a file through us."""


class AgentRequests:
    """Answers the requests of one agent."""

    def __init__(self) -> None:
        self.router: Router | None = None
        self.agent_name = ""
        self._open: dict[str, asyncio.Future[Any]] = {}
        self._methods: dict[str, Callable[[SessionServices, AgentRequest], Awaitable[Any]]] = {
            "session/request_permission": self._permission,
            "elicitation/create": self._elicit,
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
            "terminal/create": self._create_terminal,
            "terminal/output": self._terminal_output,
            "terminal/wait_for_exit": self._wait_terminal,
            "terminal/kill": self._kill_terminal,
            "terminal/release": self._release_terminal,
        }

    async def handle(self, method: str, request: AgentRequest) -> Any:
        """
        Return the result of one request.

        Raises:
            Refused: and nothing else; it is the error that is answered.
        """
        answer = self._methods.get(method)
        if answer is None:
            raise Refused(METHOD_NOT_FOUND, "Method not found", {"method": method})
        key = request_key(request.id)
        task = asyncio.ensure_future(self._answered(answer, request))
        self._open[key] = task
        try:
            return await task
        except asyncio.CancelledError:
            if task.cancelled() and not _being_cancelled():
                raise Refused(REQUEST_CANCELLED, "Request cancelled") from None
            task.cancel()
            raise
        except (FileRefused, TerminalRefused) as error:
            raise Refused(error.code, str(error)) from None
        except (TypeError, ValueError, KeyError) as error:
            raise Refused(INVALID_PARAMS, f"Invalid params: {error}") from None
        except Exception as error:  # noqa: BLE001  each request is answered
            log.exception("A request of the agent failed: %s", method)
            raise Refused(INTERNAL, f"The client failed: {error}") from None
        finally:
            self._open.pop(key, None)

    def withdraw(self, request_id: Any) -> None:
        """The agent takes one of its requests back (`$/cancel_request`)."""
        key = request_key(request_id)
        task = self._open.get(key)
        if self.router is not None and self.router.withdraw(request_id):
            return  # a person was asked: that request is answered `cancelled`
        if task is not None:
            task.cancel()

    # --- one method each

    async def _answered(
        self,
        answer: Callable[[SessionServices, AgentRequest], Awaitable[Any]],
        request: AgentRequest,
    ) -> Any:
        session: Any = None
        if self.router is not None:
            session = self.router.sink(request.params.get("sessionId"))
        if session is None:
            if request.method == "session/request_permission":
                return {"outcome": dict(CANCELLED)}
            if request.method == "elicitation/create":
                return {"action": "cancel"}
            raise ValueError("unknown sessionId")
        return await answer(session, request)

    async def _permission(self, session: SessionServices, request: AgentRequest) -> Any:
        return {"outcome": await session.permission_outcome(request)}

    async def _elicit(self, session: SessionServices, request: AgentRequest) -> Any:
        return await session.elicit(request)

    async def _read(self, session: SessionServices, request: AgentRequest) -> Any:
        params = request.params
        access = session.file_access(self.agent_name)
        line, limit = _whole(params, "line"), _whole(params, "limit")
        content = await asyncio.to_thread(access.read, _string(params, "path"), line, limit)
        return {"content": content}

    async def _write(self, session: SessionServices, request: AgentRequest) -> Any:
        path, content = _string(request.params, "path"), _string(request.params, "content")
        access = session.file_access(self.agent_name)
        if session.refuses(access.asked("edit", path)):
            raise FileRefused(f"{path}: the policy of this chat refuses edits")
        session.note_written(await asyncio.to_thread(access.write, path, content))
        return {}

    async def _create_terminal(self, session: SessionServices, request: AgentRequest) -> Any:
        params = request.params
        args = params.get("args")
        line = [_string(params, "command"), *(args if isinstance(args, list) else [])]
        if session.refuses(Asked(kind="execute", command=" ".join(map(str, line)))):
            raise TerminalRefused("the policy of this chat refuses commands")
        return {"terminalId": await session.terminals.create(params)}

    async def _terminal_output(self, session: SessionServices, request: AgentRequest) -> Any:
        terminal = session.terminals.get(request.params.get("terminalId"))
        output = terminal.ring.text()
        answer = {"output": output, "truncated": terminal.ring.truncated}
        if terminal.exit_status is not None:
            answer["exitStatus"] = terminal.exit_status
        return answer

    async def _wait_terminal(self, session: SessionServices, request: AgentRequest) -> Any:
        return await session.terminals.get(request.params.get("terminalId")).wait()

    async def _kill_terminal(self, session: SessionServices, request: AgentRequest) -> Any:
        await session.terminals.get(request.params.get("terminalId")).kill()
        return {}

    async def _release_terminal(self, session: SessionServices, request: AgentRequest) -> Any:
        await session.terminals.release(request.params.get("terminalId"))
        return {}


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _string(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if isinstance(value, str):
        return value
    raise ValueError(f"{name} must be a string")


def _whole(params: Mapping[str, Any], name: str) -> int | None:
    value = params.get(name)
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError(f"{name} must be a whole number")
