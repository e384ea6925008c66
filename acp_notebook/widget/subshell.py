"""
Where a click is handled while a cell runs.

ipykernel 7.4 sends a comm message from the page to the (sub)shell that last published on that
comm, which for a widget made by a cell is the main shell: a click would wait for the cell. So the
comm of a chat is given one subshell of our own, whatever the front end asks for. That is private
API of ipykernel, so every step is guarded: where it is missing, nothing is changed and the front
end's own subshell id, or the order of messages, decides.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future
from typing import Any

log = logging.getLogger("acp_notebook.widget")

_CREATE_TIMEOUT_S = 2.0
_KEY = "_acp_notebook_subshell"


def route_to_own_subshell(comm: Any) -> str | None:
    """
    Have the page's messages on this comm handled by our own subshell.

    Returns its id, or None where the kernel cannot do that. To be called on the thread that made
    the comm, before the page knows of it.
    """
    try:
        return _route(comm)
    except Exception:
        log.debug("clicks cannot be routed to a subshell", exc_info=True)
        return None


def _route(comm: Any) -> str | None:
    from ipykernel.kernelbase import Kernel

    if not Kernel.initialized() or not hasattr(comm, "_reply_subshell_for"):
        return None
    channel = getattr(Kernel.instance(), "shell_channel_thread", None)
    if channel is None:
        return None
    subshells = channel.manager
    own = _own_subshell(channel)

    def choose(_data: object, default: str | None) -> str | None:
        """Our subshell while it lives: messages to one that was deleted would be lost."""
        return own if own in subshells.list_subshell() else default

    comm._reply_subshell_for = choose  # noqa: SLF001  # there is no public way
    return own


def _own_subshell(channel: Any) -> str:
    """Return the one subshell of all chats in this kernel; it is made at first use."""
    known: str | None = getattr(channel, _KEY, None)
    if known is not None and known in channel.manager.list_subshell():
        return known
    made: Future[str] = Future()

    def make() -> None:
        try:
            made.set_result(channel.manager._create_subshell())  # noqa: SLF001
        except BaseException as error:  # noqa: BLE001  # whoever waits is told
            made.set_exception(error)

    channel.io_loop.add_callback(make)  # subshells are made on the shell channel's thread only
    own = made.result(_CREATE_TIMEOUT_S)
    setattr(channel, _KEY, own)  # on the kernel's thread: reloading this module makes no second one
    return own
