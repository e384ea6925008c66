"""A prompt on its way, and what a prompt is made of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from acp_notebook.chat.turn import Turn
from acp_notebook.host.blocking import Interrupts, Surroundings, Waiter, check_thread
from acp_notebook.host.loop import host_loop
from acp_notebook.kernel.surroundings import surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from concurrent.futures import Future

    from acp_notebook.host.prompts import Entry
    from acp_notebook.host.session import ChatSession
    from acp_notebook.host.state import TurnResult

Content = str | Sequence[Mapping[str, Any]]
NO_PROMPT = "A prompt is text or a list of content blocks"


class Prompt:
    """
    A prompt on its way, or waiting. Awaitable; `result()` blocks.

    It keeps the `chat` that sent it: an unnamed one is closed when nothing refers to it any more.
    """

    def __init__(self, session: ChatSession, entry: Entry, chat: Any = None) -> None:
        self._session = session
        self._chat = chat
        self.entry = entry
        self.future: Future[TurnResult] = host_loop().submit(_outcome(entry))

    @property
    def text(self) -> str:
        """What was asked."""
        return self.entry.shown.text

    @property
    def position(self) -> int | None:
        """How many prompts are before it; None once it has been sent."""
        ids = [queued.id for queued in self._session.state.queue]
        return ids.index(self.entry.shown.id) if self.entry.shown.id in ids else None

    @property
    def done(self) -> bool:
        """Whether its turn has settled."""
        return self.future.done()

    def result(self, timeout_s: float | None = None) -> Turn:
        """
        Wait for the turn.

        Raises:
            TimeoutError: it has not settled within `timeout_s`; it goes on. Else as `Chat.ask`.
        """
        check_thread()
        if timeout_s is not None:
            return Turn.of(self.future.result(timeout_s))
        with Interrupts() as interrupts:
            return self.wait(surroundings(), interrupts)

    def cancel(self) -> None:
        """Stop it, or take it out of the queue; other prompts are not touched."""
        host_loop().call(self._session.cancel_entry, self.entry)

    def edit(self, prompt: Content, *, context: Sequence[Any] = ()) -> bool:
        """Change what it says while it waits; False when it has been sent."""
        blocks = content_blocks(prompt, context)
        return host_loop().ask(self._session.edit_queued, self.entry.shown.id, blocks)

    def wait(
        self,
        around: Surroundings,
        interrupts: Interrupts,
        on_step: Callable[[], None] = lambda: None,
    ) -> Turn:
        """Block as `Chat.ask` does."""
        waiter = Waiter(
            self._session, around, cancel=self.cancel, on_step=on_step, interrupts=interrupts
        )
        return Turn.of(waiter.block(self.future))

    async def follow(self, around: Surroundings) -> Turn:
        """Await as `Chat.prompt` does."""
        waiter = Waiter(self._session, around, cancel=self.cancel)
        return Turn.of(await waiter.follow(self.future))

    def __await__(self) -> Generator[Any, None, Turn]:
        return self.follow(surroundings()).__await__()

    def __repr__(self) -> str:
        return f"<Prompt {'done' if self.done else 'on its way'}: {self.text[:60]!r}>"


def content_blocks(prompt: Content, context: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """
    Return the content blocks of a prompt: text, or blocks as they are, then its context.

    A path (or text that names an existing file) becomes a link to that file, a mapping is a block.

    Raises:
        TypeError: the prompt, or something of the context, is none of these.
    """
    if isinstance(prompt, str):
        blocks: list[dict[str, Any]] = [{"type": "text", "text": prompt}] if prompt else []
    else:
        if isinstance(prompt, Mapping) or not isinstance(prompt, Iterable):
            raise TypeError(f"{NO_PROMPT}, not {type(prompt).__name__}.")
        if wrong := [block for block in prompt if not isinstance(block, Mapping)]:
            raise TypeError(f"{NO_PROMPT}, not of {type(wrong[0]).__name__}.")
        blocks = [dict(block) for block in prompt]
    return blocks + [_context_block(value) for value in context]


def _context_block(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str) and value.startswith(("file:", "http:", "https:")):
        name = unquote(urlsplit(value).path.rstrip("/").rpartition("/")[2])
        return {"type": "resource_link", "uri": value, "name": name or value}
    if isinstance(value, str | os.PathLike):
        path = Path(value).expanduser().absolute()
        if path.exists():
            return {"type": "resource_link", "uri": path.as_uri(), "name": path.name}
        raise FileNotFoundError(f"context names {value}, which does not exist")
    raise TypeError(f"context cannot hold a {type(value).__name__}")


async def _outcome(entry: Entry) -> TurnResult:
    result: TurnResult = await entry.done
    return result
