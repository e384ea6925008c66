"""
The prompts of a chat, in order: one on the wire at a time, the others wait and can still be changed.

A prompt belongs to the session that is shown, or is being opened, when it is entered. A queued prompt
never ends the running turn; only `send_now` does.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from acp_notebook.errors import LimitExceeded
from acp_notebook.host.prompts import Blocks, Entry, allowed_blocks, check_size, queued

if TYPE_CHECKING:
    from acp_notebook.host.bound import BoundSession
    from acp_notebook.host.session import ChatSession


class PromptQueue:
    """What a person can do with the prompts of one chat. Host thread only."""

    def __init__(self, chat: ChatSession) -> None:
        self._chat = chat

    def submit(
        self,
        blocks: Blocks,
        *,
        timeout_s: float | None = None,
        headless: bool = False,
        awaited: bool = False,
    ) -> Entry:
        """
        Queue a prompt; its `done` resolves with the settled turn.

        `timeout_s` is the longest silence of the agent, `headless` says that nobody can be asked. When
        the session cannot be opened, an `awaited` prompt is told; another one comes back as the draft.

        Raises:
            ValueError: the prompt is empty or malformed. LimitExceeded: it is too large, or the queue full.
            SessionError: the chat is closed, or its session can only be read.
        """
        chat = self._chat
        chat.life.check_usable()
        shown = queued(blocks)
        check_size(blocks, chat.settings.max_prompt_bytes)
        queue = chat.life.target.queue
        if len(queue) >= chat.settings.max_queue:
            raise LimitExceeded("max_queue", chat.settings.max_queue)
        entry = Entry(
            shown, asyncio.get_running_loop().create_future(), timeout_s, headless, awaited
        )
        queue.append(entry)
        chat.changed(None, state=True, urgent=True)
        chat.life.pump()
        return entry

    def edit(self, prompt_id: str, blocks: Blocks) -> bool:
        """Replace what a queued prompt says; False when it is not queued any more."""
        entry = self.find(prompt_id)
        if entry is None:
            return False
        shown = replace(queued(blocks), id=prompt_id)
        check_size(blocks, self._chat.settings.max_prompt_bytes)
        entry.shown = shown
        self._chat.changed(None, state=True, urgent=True)
        return True

    def remove(self, prompt_id: str) -> bool:
        """Take a prompt out of the queue; False when it is not there any more."""
        entry = self.find(prompt_id)
        if entry is None:
            return False
        self._chat.life.target.queue.remove(entry)
        self._chat.life.give_back(entry, draft=False)
        self._chat.changed(None, state=True, urgent=True)
        return True

    def send_now(self, prompt_id: str) -> bool:
        """Cancel the running turn and send this prompt next; False when it is not queued any more."""
        entry = self.find(prompt_id)
        if entry is None:
            return False
        queue = self._chat.life.target.queue
        queue.remove(entry)
        queue.insert(0, entry)
        if not self._chat.shown.cancel():
            self._chat.life.pump()
        self._chat.changed(None, state=True, urgent=True)
        return True

    def find(self, prompt_id: str) -> Entry | None:
        """Return a prompt that waits."""
        return next((e for e in self._chat.life.target.queue if e.shown.id == prompt_id), None)

    def begin(self, bound: BoundSession, entry: Entry) -> None:
        """Send a prompt that has left the queue, in the form that its agent takes."""
        capabilities = bound.connection.capabilities if bound.connection else {}
        blocks, notes = allowed_blocks(entry.shown.blocks, capabilities)
        if not blocks:
            if not entry.done.done():
                entry.done.set_exception(ValueError(" ".join(notes)))
            return
        entry.shown = replace(entry.shown, blocks=tuple(blocks))
        if notes:
            bound.note(" ".join(notes))
        bound.begin(entry)
