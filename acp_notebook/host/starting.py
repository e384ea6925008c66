"""
What opening a chat does, by what was there before.

A session is shown when it is whole: one that is loaded is folded behind what is shown until its agent
has answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_notebook.host.bound import BoundSession
from acp_notebook.host.opening import is_folder

if TYPE_CHECKING:
    from acp_notebook.host.lifecycle import Lifecycle


async def open_shown(life: Lifecycle) -> None:
    """
    Open the session that is shown: the one that the chat was opened with, a new one, or, after its
    agent was started anew, the same one again.
    """
    chat = life.chat
    before = chat.shown
    connection = await life.connected()
    if before.session_id is None and before.key is not None:
        await _load(life, before, before.key)
    elif before.session_id is None:
        await life.opening("opening a session").new(before)
    elif before.connection is not connection:
        await _reopen(life, before)
    chat.changed(chat.shown, state=True, reset=True)


async def _load(life: Lifecycle, before: BoundSession, key: str) -> None:
    """Load the session with which the chat was opened; nothing of it shows before it is whole."""
    chat = life.chat
    fresh = BoundSession(chat, await chat.sessions.cwd_of(key), key=key)
    fresh.queue = before.queue
    fresh.read_only = not is_folder(fresh.cwd)
    life.coming = fresh
    await life.opening("loading the session").load(
        fresh, key, "session/load" if life.can_load or not life.can_resume else "session/resume"
    )
    before.queue = []
    life.show(fresh)


async def _reopen(life: Lifecycle, before: BoundSession) -> None:
    """Go on with a session after its agent was started anew."""
    chat, opener = life.chat, life.opening("opening the session again")
    fresh = BoundSession(chat, before.cwd, key=before.key)
    fresh.queue, fresh.first_prompt = before.queue, before.first_prompt
    session_id = before.session_id
    assert session_id is not None
    if not before.worth_keeping:
        fresh.key = None
        await opener.new(fresh)
    elif life.can_load:
        await opener.load(fresh, session_id, "session/load")
    elif life.can_resume:
        await opener.load(fresh, session_id, "session/resume")
        if not len(fresh.snapshot().items):
            before.take_over(fresh)
            return
    else:
        fresh.key = None
        await opener.new(fresh)
        before.read_only = True
        chat.note = (
            f"{chat.state.agent.title} cannot load sessions, so this is a new one. "
            "The conversation before can still be read."
        )
    fresh.prompts_sent = before.prompts_sent if fresh.session_id == session_id else 0
    before.queue = []
    life.show(fresh)
