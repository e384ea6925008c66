"""A turn as it comes: what `Chat.stream` iterates over."""

from __future__ import annotations

import asyncio
import queue
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

from acp_notebook.chat.prompt import Prompt
from acp_notebook.chat.turn import Turn
from acp_notebook.host.blocking import Waiter, check_thread
from acp_notebook.host.loop import host_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from acp_notebook.host.blocking import Surroundings
    from acp_notebook.host.prompts import Entry
    from acp_notebook.host.session import ChatSession
    from acp_notebook.host.state import Change
    from acp_notebook.timeline import Item, TimelineSnapshot


@dataclass(frozen=True, slots=True)
class Step:
    """What has come since the step before: text that was added, items that are new or changed."""

    text: str
    items: tuple[Item, ...]
    snapshot: TimelineSnapshot = field(repr=False)


class TurnStream:
    """Iterates over the steps of one prompt, and last over its `Turn`. To be used once."""

    def __init__(
        self, session: ChatSession, submit: Callable[[], Entry], around: Surroundings, chat: Any
    ) -> None:
        self._session = session
        self._steps: queue.SimpleQueue[Step] = queue.SimpleQueue()
        self._text = ""
        self._entry: Entry | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self.prompt = Prompt(session, host_loop().ask(self._begin, submit), chat)
        self._waiter = Waiter(session, around, cancel=self.prompt.cancel)

    def _begin(self, submit: Callable[[], Entry]) -> Entry:
        """Listen, then send: no change of the turn is missed (host thread)."""
        take = WeakMethod(self._take)  # the session must not keep what keeps its chat

        def listener(change: Change) -> None:
            if (taken := take()) is not None:
                taken(change)

        self._unsubscribe = self._session.subscribe(listener)
        self._entry = submit()
        return self._entry

    def __iter__(self) -> Iterator[Step | Turn]:
        check_thread()
        try:
            while not self._waiter.advance(self.prompt.future):
                yield from self._waiting()
            turn = Turn.of(self._waiter.finished(self.prompt.future))
            yield from self._waiting()
            yield turn
        finally:
            host_loop().call(self._unsubscribe)

    async def __aiter__(self) -> AsyncIterator[Step | Turn]:
        inner = asyncio.wrap_future(self.prompt.future)
        try:
            while not inner.done():
                await asyncio.wait({inner}, timeout=0.05)
                self._waiter.step()
                for step in self._waiting():
                    yield step
            turn = Turn.of(inner.result())
            for step in self._waiting():
                yield step
            yield turn
        finally:
            if not inner.done():
                self.prompt.cancel()
            host_loop().call(self._unsubscribe)

    def _take(self, change: Change) -> None:
        """Note a published change of the running turn (host thread)."""
        run = self._entry.run if self._entry is not None else None
        snapshot = self._session.snapshot
        if run is None or snapshot is not self._session.shown.snapshot():
            return
        own = snapshot.turns[run.index]
        items = tuple(i for i in own.items if i.id in change.touched)
        text = own.text
        added = text.removeprefix(self._text)
        if items or added:
            self._text = text
            self._steps.put(Step(added, items, snapshot))

    def _waiting(self) -> Iterator[Step]:
        while True:
            try:
                yield self._steps.get_nowait()
            except queue.Empty:
                return
