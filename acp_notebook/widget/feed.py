"""
From a chat to its pages: what has changed, at its pace, in version order.

A `Feed` lives on the host thread. It counts one version for all pages: `ops` go to everybody, a
`snapshot` to the page that asks. Until the first page has asked, nothing is kept and nothing sent.
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Protocol

from acp_notebook.host.loop import host_loop
from acp_notebook.timeline import GroupCache
from acp_notebook.widget.pacing import Pace
from acp_notebook.widget.packing import packed
from acp_notebook.widget.view import SentView

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from acp_notebook.host.session import Change, ChatSession
    from acp_notebook.widget.messages import Address, Json

log = logging.getLogger("acp_notebook.widget")

EVERYBODY = "*"


class Post(Protocol):
    """Sends a custom message to all pages."""

    def __call__(self, message: Json, buffers: list[bytes] | None = None) -> None:
        """Send; callable on the host thread only."""


class Feed:
    """Sends the view of a session and its changes through `post`."""

    def __init__(self, session: ChatSession, post: Post, at_flush: Callable[[], None]) -> None:
        self._session = session
        self._post = post
        self._at_flush = at_flush
        self._epoch = secrets.token_hex(2)
        self._first: int | None = None
        """The generation that was opened where there was none."""
        self._version = 0
        self._pace = Pace()
        self._sent: SentView | None = None
        self._groups = GroupCache()
        self._touched: dict[str, None] = {}
        self._urgent = False
        self._reset = False
        self._timer: asyncio.TimerHandle | None = None
        self._unsubscribe: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin to listen to the session."""
        if self._unsubscribe is None:
            self._unsubscribe = self._session.subscribe(self._changed)

    def stop(self) -> None:
        """Send what is left and listen no more."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        if self._timer is not None:
            self._flush()

    @property
    def address(self) -> Address:
        """What the next message says it is about."""
        state = self._session.state
        return {
            "session": state.session_key,
            "generation": state.generation,
            "epoch": self._epoch,
        }

    def is_current(self, session: str | None, generation: int) -> bool:
        """
        Whether a page that shows this shows the chat as it is.

        What was sent before a session was open is meant for the first one that is opened then.
        """
        state = self._session.state
        if (session, generation) == (state.session_key, state.generation):
            return True
        opened = self._first in {None, state.generation}
        return generation == 0 and opened and session in {None, state.session_key}

    def snapshot_for(self, page: str) -> None:
        """Bring a page up to date: first everybody with what is pending, then this one with all."""
        self._flush()
        if self._sent is None:
            self._sent = self._view()
        self._send_snapshot(page)

    def blob(self, sha256: str) -> tuple[bytes, str] | None:
        """The bytes of a blob of the view and their MIME type; None when it is in it no more."""
        return self._sent.blob(sha256) if self._sent is not None else None

    def _view(self) -> SentView:
        snapshot = self._session.snapshot
        return SentView(snapshot, self._groups.groups(snapshot), self._session.state)

    def _changed(self, change: Change) -> None:
        self._touched.update(dict.fromkeys(change.touched))
        self._urgent = self._urgent or change.urgent
        self._reset = self._reset or change.reset
        state = self._session.state
        if not state.generation:
            self._first = None
        elif self._first is None:
            self._first = state.generation
        now = self._now()
        due = self._pace.due(now, urgent=self._urgent or self._reset)
        if due <= now:
            self._flush()
        elif self._timer is None or due < self._timer.when():
            self._cancel_timer()
            self._timer = host_loop().loop.call_at(due, self._flush)

    def _flush(self) -> None:
        self._cancel_timer()
        touched, self._touched = self._touched, {}
        reset, self._reset, self._urgent = self._reset, False, False
        self._at_flush()
        sent = self._sent
        if sent is None:
            return
        snapshot, state = self._session.snapshot, self._session.state
        if reset or not sent.shows(snapshot, state):
            self._begin_anew()
            return
        address = self.address
        ops = sent.ops(snapshot, lambda: self._groups.groups(snapshot), state, touched)
        for some in packed(ops):
            self._version += 1
            self._say({**address, "kind": "ops", "version": self._version, "ops": some})

    def _begin_anew(self) -> None:
        """Show all pages another session, or another life of this one."""
        self._groups = GroupCache()
        self._sent = self._view()
        self._version += 1
        self._send_snapshot(EVERYBODY)

    def _send_snapshot(self, page: str) -> None:
        assert self._sent is not None
        pieces = self._sent.pieces()
        for number, piece in enumerate(pieces):
            self._say(
                {
                    **self.address,
                    "kind": "snapshot",
                    "version": self._version,
                    "for": page,
                    "piece": number,
                    "pieces": len(pieces),
                    **piece,
                }
            )

    def _say(self, message: Json) -> None:
        self._pace.sent(self._now())
        self._post(message)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @staticmethod
    def _now() -> float:
        return host_loop().loop.time()
