"""
Clicks on a chat while a cell blocks, on ipykernel 6: it has one queue, and the cell is before it.

The blocking wait calls `pump_clicks` every 50 ms. It takes the messages for our widgets out of the queue
and hands them to their comm, and puts all others back in their order. On ipykernel 7 there is no such
queue, and nothing happens here: subshells do it.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

log = logging.getLogger("acp_notebook.kernel")

_OURS = "acp_notebook."
_POLLIN = 1  # zmq.POLLIN


def pump_clicks(kernel: Any) -> None:
    """Deliver what pages have sent to our widgets. Never raises."""
    queue = getattr(kernel, "msg_queue", None)
    if queue is None or not hasattr(queue, "get_nowait"):
        return
    try:
        _pump(kernel, queue)
    except Exception:
        log.debug("clicks could not be taken from the queue", exc_info=True)


def _pump(kernel: Any, queue: Any) -> None:
    kernel.shell_stream.flush(_POLLIN)
    kept = []
    while not queue.empty():
        item = queue.get_nowait()
        if not _deliver(kernel, item):
            kept.append(item)
    for item in kept:
        queue.put_nowait(item)


def _deliver(kernel: Any, item: Any) -> bool:
    """Hand a queued message to its comm when it is a click on one of our widgets."""
    frames = item[2][0]
    session = kernel.session
    idents, parts = session.feed_identities(frames, copy=False)
    # Unpacked, not deserialized: a message that is read a second time counts as a replayed one.
    header = session.unpack(parts[1].bytes)
    if header.get("msg_type") != "comm_msg":
        return False
    content = session.unpack(parts[4].bytes)
    if not _is_ours(content.get("comm_id")):
        return False
    message = session.deserialize(parts, content=True, copy=False)
    kernel.comm_manager.comm_msg(kernel.shell_stream, idents, message)
    return True


def _is_ours(comm_id: Any) -> bool:
    """Whether a widget of this package listens on that comm."""
    widgets: Any = sys.modules.get("ipywidgets.widgets.widget")
    instances = getattr(widgets, "_instances", None) or {}
    widget = instances.get(comm_id)
    return widget is not None and type(widget).__module__.startswith(_OURS)
