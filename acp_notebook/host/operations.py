"""One operation of a chat at a time: it can be stopped, and none begins after the chat is closed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from acp_notebook.errors import AgentStartError, SessionError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

CLOSED = "This chat is closed. Open a new one."


class Operations:
    """Runs operations in the order in which they are asked for. Host thread only."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self.closed = False

    @property
    def busy(self) -> bool:
        """Whether one runs or waits."""
        return self._lock.locked()

    def check(self) -> None:
        """Check that operations can begin; raises SessionError when the chat is closed."""
        if self.closed:
            raise SessionError(CLOSED)

    async def run(self, operation: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """
        Run an operation when those before it have ended.

        Raises:
            SessionError: the chat is closed, or was while this ran.
            AgentStartError: it was stopped. Else whatever it raises.
        """
        async with self._lock:
            self.check()
            task = self._task = asyncio.ensure_future(operation())
            try:
                await task
            except asyncio.CancelledError:
                current = asyncio.current_task()
                if current is not None and current.cancelling():
                    raise
                self.check()
                raise AgentStartError("This was stopped.", phase="stopped") from None
            finally:
                self._task = None

    def stop(self) -> None:
        """Stop the one that runs."""
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Stop the one that runs, let none begin any more, and wait until it has ended."""
        self.closed = True
        self.stop()
        async with self._lock:
            return
