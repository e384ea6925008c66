"""
What stays of a chat in the notebook file: pictures to look at, never a history.

Two of them, both of the newest turns and of at most 200 KB, made at rest points only (a turn has
ended, a permission is asked, a session is loaded): the widget's `saved` trait, which a trusted
notebook with saved widget state shows again, and an output below the widget in HTML and Markdown,
which everything else shows. The page hides that output while the widget is live.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import logging
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_notebook.host.loop import host_loop
from acp_notebook.timeline import group_timeline
from acp_notebook.widget.view import SentView
from acp_notebook.widget.written import MAX_BYTES, WrittenTurns

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from acp_notebook.host.session import Change, ChatSession
    from acp_notebook.timeline import TimelineSnapshot

log = logging.getLogger("acp_notebook.widget")

INTERVAL_S = 0.5
"""Between two copies; the first one after quiet is made at once."""
AT_WORK = frozenset({"starting", "authenticating", "running", "stopping"})


class SavedCopies:
    """Keeps the copies of one chat up to date; `keep` takes the trait's new value."""

    def __init__(self, session: ChatSession, keep: Callable[[str], None]) -> None:
        self._session = session
        self._keep = keep
        self._display_id = uuid.uuid4().hex
        self._written = WrittenTurns()
        self._displayed = False
        self._copied: TimelineSnapshot | None = None
        self._copied_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._unsubscribe: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin to listen to the session; on the host thread."""
        self._unsubscribe = self._session.subscribe(self._changed)

    def stop(self) -> None:
        """Make a last copy when one is due, and listen no more; on the host thread."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        if self._timer is not None:
            self._copy()

    def display(self) -> None:
        """Put the copy below the widget, in the cell that displays it."""
        from IPython.display import display

        display(self._written.bundle(self._session.snapshot), raw=True, display_id=self._display_id)
        self._displayed = True

    def _changed(self, change: Change) -> None:
        if self._timer is not None or not (change.urgent or change.reset) or not self._rests():
            return
        loop = host_loop().loop
        due = self._copied_at + INTERVAL_S
        if due <= loop.time():
            self._copy()
        else:
            self._timer = loop.call_at(due, self._copy)

    def _rests(self) -> bool:
        """Whether nothing is streaming: the chat is at rest, or waits for an answer."""
        state, snapshot = self._session.state, self._session.snapshot
        return state.status not in AT_WORK or any(
            permission.status == "pending" for permission in snapshot.permissions
        )

    def _copy(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        snapshot = self._session.snapshot
        if snapshot is self._copied:
            return
        self._copied, self._copied_at = snapshot, host_loop().loop.time()
        try:
            self._keep(trait(self._session))
            if self._displayed:
                data = self._written.bundle(snapshot)
                contextvars.Context().run(update, data, self._display_id)
        except Exception:  # a copy that cannot be made must not stop the chat
            log.exception("The saved copy could not be made.")


def trait(session: ChatSession) -> str:
    """Return the newest part of the view as JSON, without what belongs to this moment only."""
    snapshot, state = session.snapshot, session.state
    view: Any = SentView(snapshot, group_timeline(snapshot), state).newest(MAX_BYTES // 2)
    meta = view["meta"]
    cwd = state.cwd
    with contextlib.suppress(ValueError, RuntimeError):
        cwd = f"~/{Path(cwd).relative_to(Path.home()).as_posix()}".removesuffix("/.")
    meta |= {"draft": "", "queue": [], "elicitations": [], "cwd": cwd}
    return json.dumps({"schema": 1, "view": view}, ensure_ascii=False, separators=(",", ":"))


def update(data: dict[str, str], display_id: str) -> None:
    """Replace what stands below the widget, wherever that is shown."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.display import display

    if InteractiveShell.initialized():
        display(data, raw=True, display_id=display_id, update=True)
