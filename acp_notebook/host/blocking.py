"""
Waiting for the host from another thread: in a cell, in a script, in a terminal.

A blocked caller waits in steps of 50 ms and runs `idle()` in between, so that the kernel's own work goes
on. The first interrupt stops the turn and waits until the agent has confirmed it; then KeyboardInterrupt
is raised, so that Run All stops. The second gives up at once.

While it waits, an open request of the agent is answered by a click where one can arrive (the view
acknowledges what it shows), else through `input()` here, on the caller's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
import time
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar

from acp_notebook.errors import NotOnHostThread
from acp_notebook.host.loop import host_loop, log
from acp_notebook.host.questions import OpenRequest, ask_in_text

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from acp_notebook.host.session import ChatSession

T = TypeVar("T")

STEP_S = 0.05
TICK_S = 0.2
"""Of an awaited prompt: without it ipykernel does not deliver an interrupt to a cell that awaits."""


def _nothing() -> None:
    """Do nothing between two steps."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """
    Where a call was made.

    `headless`: nobody can be asked. `clicks`: a view may be shown, so a click is waited for before
    `ask` is used (`input()`; None when there is no standard input). `streams`: the turn is printed as it
    comes. `nested`: the caller's own running loop may be entered again (`nest_asyncio`).
    """

    headless: bool = True
    clicks: bool = False
    ask: Callable[[str], str] | None = None
    streams: bool = False
    nested: bool = False
    idle: Callable[[], None] = field(default=_nothing)


def plain_surroundings() -> Surroundings:
    """Return what a script or a terminal offers: somebody to ask when stdin and stdout are a tty."""
    tty = _is_tty(sys.stdin) and _is_tty(sys.stdout)
    return Surroundings(headless=not tty, ask=input if tty else None, streams=tty)


def check_thread() -> None:
    """
    Check that the caller may block.

    Raises:
        NotOnHostThread: it is the host's own thread.
    """
    if host_loop().is_current():
        raise NotOnHostThread(
            "A blocking call was made on the host thread (in a listener of the chat, for instance), "
            "where it would wait for itself. Await it there instead."
        )


class Interrupts:
    """
    Counts Ctrl-C while a call is on its way, in place of raising wherever it happens to be.

    An interrupt between the sending of a prompt and the wait for it would leave the turn running
    with nobody waiting. Elsewhere than on the main thread, and where somebody else handles SIGINT,
    nothing is changed.
    """

    def __init__(self) -> None:
        self.count = 0
        self._at_once = False
        self._installed = False

    def __enter__(self) -> Self:
        on_main = threading.current_thread() is threading.main_thread()
        if on_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._hit)
            self._installed = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Raise at once while this lasts: `input()` ends in no other way."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _hit(self, *_: object) -> None:
        if self._at_once:
            raise KeyboardInterrupt
        self.count += 1


class Waiter:
    """Waits for one future of a chat, and answers for the person meanwhile."""

    def __init__(
        self,
        session: ChatSession,
        surroundings: Surroundings,
        *,
        cancel: Callable[[], None],
        on_step: Callable[[], None] = _nothing,
        interrupts: Interrupts | None = None,
    ) -> None:
        self._session = session
        self._surroundings = surroundings
        self._cancel = cancel
        self._on_step = on_step
        self._seen: dict[str, float] = {}
        self._interrupts = interrupts or Interrupts()
        self._handled = 0

    def block(self, future: Future[T]) -> T:
        """
        Wait until the future is done and return its result.

        Raises:
            KeyboardInterrupt: after the first interrupt, once the turn has settled; or at the second.
        """
        check_thread()
        while not self.advance(future):
            pass
        return self.finished(future)

    def advance(self, future: Future[Any]) -> bool:
        """Wait one step; whether the future is done. The first interrupt stops the turn."""
        try:
            if self._wait(future):
                return True
            self.step()
        except KeyboardInterrupt:
            self._interrupts.count += 1
        while self._handled < self._interrupts.count:
            self._handled += 1
            if self._handled > 1:
                raise KeyboardInterrupt
            self._cancel()
        return False

    def finished(self, future: Future[T]) -> T:
        """Return the result of a future that is done; raises KeyboardInterrupt after an interrupt."""
        if self._interrupts.count:
            raise KeyboardInterrupt
        return future.result()

    async def follow(self, future: Future[T]) -> T:
        """Await the future; a cancelled caller stops the turn and waits for the agent's word first."""
        inner = asyncio.wrap_future(future)
        try:
            while not inner.done():
                await asyncio.wait({inner}, timeout=TICK_S)
                if not inner.done():
                    self.step()
            return inner.result()
        except asyncio.CancelledError:
            self._cancel()
            grace = self._session.settings.cancel_grace_s + 1
            await asyncio.wait({inner}, timeout=grace)
            raise

    def _wait(self, future: Future[Any]) -> bool:
        if not self._surroundings.nested:
            return bool(wait([future], STEP_S).done)
        loop = asyncio.get_running_loop()
        loop.run_until_complete(asyncio.wait({asyncio.wrap_future(future)}, timeout=STEP_S))
        return future.done()

    def step(self) -> None:
        """Do what is to be done between two waits."""
        self._surroundings.idle()
        self._on_step()
        if self._surroundings.ask is not None:
            self._answer_open()

    def _answer_open(self) -> None:
        """Ask in text what no view has acknowledged in time."""
        for request in host_loop().ask(self._session.open_requests):
            first_seen = self._seen.setdefault(request.key, time.monotonic())
            patience = self._session.settings.ack_timeout_s if self._surroundings.clicks else 0.0
            if request.acknowledged or time.monotonic() - first_seen < patience:
                continue
            self._ask(request)
            return

    def _ask(self, request: OpenRequest) -> None:
        ask = self._surroundings.ask
        assert ask is not None
        try:
            with self._interrupts.raising():
                answer = ask_in_text(request, ask)
        except (EOFError, RuntimeError) as error:
            # No standard input after all (nbclient raises StdinNotImplementedError, a RuntimeError).
            log.debug("Nobody could be asked: %s", error)
            answer = None
        host_loop().ask(self._session.answer_open, request, answer)


def nested_allowed() -> bool:
    """
    Let the caller's running loop be entered again, as `nest_asyncio` does; whether that was possible.

    For callers whose own loop must go on while they call the blocking API. It changes asyncio for the
    whole process, so it happens only when configured.

    Raises:
        RuntimeError: ipykernel 7 or newer runs here, which would lose messages of the kernel.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return False
    ipykernel = sys.modules.get("ipykernel")
    if ipykernel is not None and int(str(ipykernel.__version__).partition(".")[0]) >= 7:
        raise RuntimeError(
            "nest_asyncio is refused with ipykernel 7 or newer: a nested run loses messages of the "
            "kernel there. Use `await chat.prompt(...)`, or switch c.AcpChat.nest_asyncio off."
        )
    import nest_asyncio

    nest_asyncio.apply(loop)
    return True


def run_blocking(coroutine: Coroutine[Any, Any, T], surroundings: Surroundings) -> T:
    """Run a coroutine on the host and wait for it in steps; an interrupt gives it up."""
    check_thread_or_close(coroutine)
    future = host_loop().submit(coroutine)
    try:
        while not wait([future], STEP_S).done:
            surroundings.idle()
    except KeyboardInterrupt:
        future.cancel()
        raise
    return future.result()


def check_thread_or_close(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Check that the caller may block; a coroutine that will not run is closed."""
    try:
        check_thread()
    except NotOnHostThread:
        coroutine.close()
        raise


def _is_tty(stream: Any) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (AttributeError, ValueError):
        return False
