"""
The face of a chat in a notebook: one anywidget, fed by the host.

Only the host thread writes traits and sends; every other thread hops there. A page's message may
come in any thread and only hops, too. Without a kernel all of it does nothing.
"""

from __future__ import annotations

import contextvars
import logging
from typing import TYPE_CHECKING, Any

import anywidget
from traitlets import Unicode, observe

from acp_notebook.host.loop import host_loop
from acp_notebook.widget.feed import Feed
from acp_notebook.widget.requests import STATIC, Requests
from acp_notebook.widget.saved import SavedCopies
from acp_notebook.widget.subshell import route_to_own_subshell
from acp_notebook.widget.written import PLAIN_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_notebook.host.session import ChatSession

log = logging.getLogger("acp_notebook.widget")


class ChatWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget is not looked into
    """
    Shows a session and lets a person work with it, in any number of views.

    `height` is a CSS length (a number counts pixels), `theme` is `light`, `dark` or empty for the
    notebook's own. `status`, `title`, `agent_name` and `session_key` follow the chat and can be
    observed and linked; observers run on the host thread and must be quick. With `saved` false,
    neither the notebook's outputs nor the widget's state hold a copy of the conversation.
    """

    _esm = STATIC / "widget.js"
    _css = STATIC / "widget.css"

    status = Unicode("idle").tag(sync=True)
    title = Unicode("").tag(sync=True)
    agent_name = Unicode("").tag(sync=True)
    session_key = Unicode("").tag(sync=True)
    height = Unicode("560px").tag(sync=True)
    theme = Unicode("").tag(sync=True)
    saved = Unicode("").tag(sync=True)

    def __init__(
        self,
        session: ChatSession,
        *,
        height: str | int = "560px",
        saved: bool = True,
        **kwargs: Any,
    ) -> None:
        self._session = session
        self._closed = True
        super().__init__(height=f"{height}px" if isinstance(height, int) else height, **kwargs)
        self._feed = Feed(session, self._post, self._follow)
        self._requests = Requests(session, self._feed, self._post)
        self._copies = SavedCopies(session, self._keep) if saved else None
        self.on_msg(self._received)
        self._closed = False
        host_loop().call(self._start)

    def __repr__(self) -> str:
        return PLAIN_TEXT

    def close(self) -> None:
        """Take the chat out of every view and leave nothing behind; the session goes on."""
        if not self._closed:
            self._closed = True
            host_loop().call(self._stop)
        super().close()

    # -- display

    def _ipython_display_(self) -> None:
        """Show the chat once, and below it the copy that is read when no kernel is there."""
        from IPython.display import display

        data: dict[str, Any] = {"text/plain": PLAIN_TEXT}
        metadata: dict[str, Any] = {}
        if self.comm is not None:
            data, metadata = self._repr_mimebundle_()
        display(data, metadata=metadata, raw=True)
        if self._copies is not None:
            self._copies.display()
        if not self._closed:
            host_loop().submit(self._session.start())  # how it fails is part of the state

    # -- the comm

    @observe("comm")  # type: ignore[untyped-decorator]
    def _comm_made(self, change: Any) -> None:
        """Have clicks arrive while a cell runs, whenever the widget gets a comm."""
        if change["new"] is not None:
            route_to_own_subshell(change["new"])

    def _send(self, msg: Any, buffers: Any = None) -> None:
        """
        Send from the host thread, whichever thread asks.

        In a fresh context: a task keeps the context of the cell that started it, and the kernel
        would name that cell as the parent of all that follows.
        """
        send: Callable[..., None] = super()._send
        host = host_loop()
        if host.is_current():
            contextvars.Context().run(send, msg, buffers)
        else:
            host.call(contextvars.Context().run, send, msg, buffers)

    def _post(self, message: Any, buffers: list[bytes] | None = None) -> None:
        self.send(message, buffers)

    def _received(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Take a page's message, in whatever thread it comes."""
        if not self._closed:
            host_loop().call(self._requests.receive, content)

    # -- on the host thread

    def _start(self) -> None:
        if not self._closed:
            self._feed.start()
            self._follow()
            if self._copies is not None:
                self._copies.start()

    def _stop(self) -> None:
        self._feed.stop()
        if self._copies is not None:
            self._copies.stop()

    def _follow(self) -> None:
        """Bring the traits up to the chat's state."""
        state = self._session.state
        agent = state.agent.title or state.agent.name
        try:
            with self.hold_sync():
                self.status = state.status
                self.title = state.title
                self.agent_name = agent
                self.session_key = state.session_key or ""
        except Exception:  # an observer's fault must not stop the chat
            log.exception("An observer of the chat failed.")

    def _keep(self, saved: str) -> None:
        self.saved = saved
