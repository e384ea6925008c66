"""A chat of the host with a real child, driven from a test's thread."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acp_notebook.host.loop import host_loop
from acp_notebook.host.session import Change, ChatSession, TurnResult
from acp_notebook.host.settings import Settings
from acp_notebook.host.spec import AgentSpec
from acp_notebook.timeline import TimelineSnapshot, Turn

AGENTS = Path(__file__).parents[1] / "agents"
WITHIN_S = 30.0


def agent(name: str, *args: str, env: dict[str, str] | None = None) -> AgentSpec:
    """The spec of a test agent."""
    command = (str(AGENTS / f"{name}.py"), *args)
    return AgentSpec(name=name, command=sys.executable, args=command, env=env or {})


def text(value: str) -> list[dict[str, Any]]:
    """A prompt of one text block."""
    return [{"type": "text", "text": value}]


class Talk:
    """A `ChatSession` whose methods are called on the host thread."""

    def __init__(self, spec: AgentSpec, cwd: Path | str, **options: Any) -> None:
        limits = {k: options.pop(k) for k in list(options) if k in Settings.__dataclass_fields__}
        settings = Settings(**limits)
        self.session = host_loop().ask(
            ChatSession, spec, cwd=str(cwd), settings=settings, **options
        )
        self.changes: list[Change] = []
        self.statuses: list[str] = []
        self.untold: list[tuple[str, ...]] = []
        self._seen = self.session.snapshot
        self._changed = threading.Condition()
        self._stop = host_loop().ask(self.session.subscribe, self._note)

    def _note(self, change: Change) -> None:
        before, self._seen = self._seen, self.session.snapshot
        if untold := untold_items(before, self._seen, change):
            self.untold.append(untold)
        with self._changed:
            self.changes.append(change)
            self.statuses.append(self.session.state.status)
            self._changed.notify_all()

    def until(self, condition: Callable[[], Any], within_s: float = WITHIN_S) -> Any:
        """Wait until the condition holds, looking after each change; returns what it gave."""
        deadline = time.monotonic() + within_s
        while True:
            seen = len(self.changes)
            if found := condition():
                return found
            with self._changed:
                left = deadline - time.monotonic()
                if not self._changed.wait_for(lambda: len(self.changes) > seen, left):  # noqa: B023
                    raise AssertionError(f"did not come about: {self.session.state}")

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call on the host thread."""
        return host_loop().ask(function, *args, **kwargs)

    def run(self, coroutine: Any, within_s: float = WITHIN_S) -> Any:
        """Run on the host thread and wait."""
        return host_loop().run(coroutine, within_s)

    def start(self) -> None:
        self.run(self.session.start())

    def send(self, value: str, **options: Any) -> Any:
        """Send a prompt; the future of its turn."""
        return host_loop().submit(self.session.prompt(text(value), **options))

    def prompt(self, value: str, within_s: float = WITHIN_S, **options: Any) -> Turn:
        """Send a prompt and wait for its turn."""
        result: TurnResult = self.send(value, **options).result(within_s)
        return result.snapshot.turns[result.index]

    def asked(self, count: int = 1) -> Any:
        """The newest permission request that waits, once there are so many."""
        return self.until(
            lambda: (
                (waiting := self.call(self.session.open_requests))
                and len(waiting) >= count
                and waiting[-1]
            )
        )

    @property
    def state(self) -> Any:
        return self.session.state

    @property
    def texts(self) -> list[str]:
        """The texts of all messages, in order."""
        return [item.text for item in self.session.snapshot.items if item.kind == "message-segment"]

    def close(self) -> None:
        """End it; every item that ever differed was named by the change that published it."""
        self.run(self.session.close())
        self._stop()
        assert self.untold == []


def untold_items(
    before: TimelineSnapshot, after: TimelineSnapshot, change: Change
) -> tuple[str, ...]:
    """The ids of items that a change made others and does not name: a view would never show them."""
    if change.reset or (before.session_id, before.generation) != (
        after.session_id,
        after.generation,
    ):
        return ()
    ids = {item.id for item in (*before.items, *after.items)} - set(change.touched)
    return tuple(sorted(i for i in ids if before.items.get(i) is not after.items.get(i)))
