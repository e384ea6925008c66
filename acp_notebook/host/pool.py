"""
Which chats share an agent's process: those of one agent, folder and set of limits.

A process lives as long as a chat uses it. An agent that has ended, or whose chat restarts it, is not
handed out again; the next chat that asks gets a new one.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from acp_notebook.host.connection import AgentConnection

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_notebook.host.settings import Settings
    from acp_notebook.host.spec import AgentSpec


@dataclass(slots=True, eq=False)
class _Shared:
    connection: AgentConnection
    started: asyncio.Task[None]
    users: set[object] = field(default_factory=set)


_shared: list[_Shared] = []
if hasattr(os, "register_at_fork"):
    # The agents of the parent process are no business of a forked child.
    os.register_at_fork(after_in_child=_shared.clear)


async def acquire(
    user: object, spec: AgentSpec, cwd: str, settings: Settings, on_phase: Callable[[str], None]
) -> AgentConnection:
    """
    Return a connection for `user`: one that runs already where it may be shared, else a new one.

    Raises:
        AgentNotFound, AgentStartError, ProtocolError: it did not come up; nothing is left of it.
    """
    entry = _find(spec, cwd, settings)
    if entry is None:
        connection = AgentConnection(spec, cwd, settings)
        entry = _Shared(connection, asyncio.ensure_future(connection.start(on_phase)))
        _shared.append(entry)
    else:
        on_phase(f"waiting for {entry.connection.info.title}")
    entry.users.add(user)
    try:
        await asyncio.shield(entry.started)
    except BaseException:
        await _leave(entry, user)
        raise
    return entry.connection


async def release(user: object, connection: AgentConnection) -> None:
    """Say that `user` needs the connection no more; the last one ends the agent."""
    for entry in [e for e in _shared if e.connection is connection]:
        await _leave(entry, user)


def retire(connection: AgentConnection) -> None:
    """Hand this connection out to nobody any more; who uses it keeps it."""
    for entry in _shared:
        if entry.connection is connection:
            entry.connection.shareable = False


def live() -> list[AgentConnection]:
    """Return every connection that somebody uses."""
    return [entry.connection for entry in _shared]


def _find(spec: AgentSpec, cwd: str, settings: Settings) -> _Shared | None:
    if not settings.share_agent or settings.record is not None:
        return None
    for entry in _shared:
        found = entry.connection
        same = (found.spec, found.cwd, found.settings) == (spec, cwd, settings)
        if same and found.alive and found.shareable:
            return entry
    return None


async def _leave(entry: _Shared, user: object) -> None:
    entry.users.discard(user)
    if entry.users or entry not in _shared:
        return
    _shared.remove(entry)
    if not entry.started.done():
        entry.started.cancel()
    await asyncio.gather(entry.started, return_exceptions=True)
    await entry.connection.close()
