"""
The host thread: one daemon thread with one asyncio loop in a process.

Timelines, connections and pending permissions live on this loop and are touched by nobody else.
A forked process has no host thread (threads do not survive a fork), so it builds its own at first use.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from acp_notebook.errors import NotOnHostThread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

T = TypeVar("T")
P = ParamSpec("P")

log = logging.getLogger("acp_notebook.host")

_EXIT_TIMEOUT_S = 5.0
_lock = threading.Lock()
_current: HostLoop | None = None


class HostLoop:
    """A running event loop on a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_note_exception)
        self._at_exit: set[Callable[[], Awaitable[None]]] = set()
        self._thread = threading.Thread(target=self._run, name="acp-notebook-host", daemon=True)
        self._thread.start()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop itself, for code that already runs on it."""
        return self._loop

    def is_current(self) -> bool:
        """Whether the caller is on the host thread."""
        return threading.current_thread() is self._thread

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the host thread; the future may be waited for on any other thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a function on the host thread soon, and return at once."""
        self._loop.call_soon_threadsafe(lambda: function(*args, **kwargs))

    def ask(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """
        Call a function on the host thread and return what it returns.

        On the host thread itself the function is simply called.
        """
        if self.is_current():
            return function(*args, **kwargs)

        async def call() -> T:
            return function(*args, **kwargs)

        return self.submit(call()).result()

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """
        Run a coroutine on the host thread and wait for its end.

        Raises:
            NotOnHostThread: the caller is the host thread, which would wait for itself.
        """
        if self.is_current():
            coroutine.close()
            raise NotOnHostThread("A blocking call was made on the host thread; await it instead.")
        return self.submit(coroutine).result(timeout_s)

    def at_exit(self, close: Callable[[], Awaitable[None]]) -> Callable[[], None]:
        """Have `close` awaited when the interpreter ends; returns what takes that back."""
        self._at_exit.add(close)
        return lambda: self._at_exit.discard(close)

    def close_all(self) -> None:
        """Run what was given to `at_exit`, all at once, within a deadline."""

        async def close() -> None:
            await asyncio.gather(*(f() for f in list(self._at_exit)), return_exceptions=True)

        try:
            self.submit(close()).result(_EXIT_TIMEOUT_S)
        except FutureTimeout:
            log.debug("Agents did not end in time; their reapers end them.")

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()


def host_loop() -> HostLoop:
    """Return the host loop of this process; it is started at the first call."""
    global _current  # noqa: PLW0603  one loop a process is the point
    with _lock:
        if _current is None:
            _current = HostLoop()
            atexit.register(_current.close_all)
        return _current


def _note_exception(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what no task has taken; stderr would land in a random cell."""
    log.debug("%s", context.get("message"), exc_info=context.get("exception"))


def _forget_after_fork() -> None:
    global _current, _lock
    if _current is not None:
        atexit.unregister(_current.close_all)
    _current, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
