"""What the explorer remembers of one session, and what a command can do in its turn."""

from __future__ import annotations

import asyncio
import itertools
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_notebook.agents.peer import INVALID_PARAMS, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from acp_notebook.agents.peer import Peer

PACES = {"instant": 0.0, "natural": 10.0, "slow": 200.0}
"""Milliseconds a word."""

MODES = {
    "ask": ("Ask", "Asks before it writes a file."),
    "read-only": ("Read only", "Never writes a file."),
}


def pace_ms(value: str) -> float:
    """
    Return the milliseconds a word that a pace's name, or a number, stands for.

    Raises:
        ValueError: it is neither.
    """
    pace = PACES.get(value)
    pace = float(value) if pace is None else pace
    if not 0 <= pace <= 60_000:
        raise ValueError(value)
    return pace


@dataclass(slots=True)
class Session:
    """One session. Nothing in it outlives the process."""

    cwd: Path
    pace: float
    id: str = field(default_factory=lambda: f"explorer-{secrets.token_hex(8)}")
    mode: str = "ask"
    greeted: bool = False
    may_write: bool = False
    words_in: int = 0
    words_out: int = 0
    work: asyncio.Task[None] | None = None
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))


class Turn:
    """One prompt turn: sends updates at the session's pace. Message and call ids count up."""

    def __init__(self, peer: Peer, session: Session, capabilities: Mapping[str, Any]) -> None:
        self.session = session
        self._peer = peer
        self._capabilities = capabilities

    def offers(self, *path: str) -> bool:
        """Whether the client has said that it can do this, by `true` or an object, empty or not."""
        value: Any = self._capabilities
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value is not None and value is not False

    def new_id(self, prefix: str) -> str:
        """Return an id that this session has not used: `call-1`, `message-2`."""
        return f"{prefix}-{next(self.session.numbers)}"

    def update(self, kind: str, /, **fields: Any) -> None:
        """Send one session update of this kind."""
        self._peer.notify(
            "session/update",
            {"sessionId": self.session.id, "update": {"sessionUpdate": kind, **fields}},
        )

    async def request(self, method: str, **params: Any) -> Any:
        """Ask the client for something in this session. Raises `Refused`."""
        return await self._peer.request(method, {"sessionId": self.session.id, **params})

    async def say(self, text: str) -> None:
        """Stream a message, word by word."""
        await self._stream("agent_message_chunk", self.new_id("message"), text)

    async def think(self, text: str) -> None:
        """Stream a thought, word by word."""
        await self._stream("agent_thought_chunk", self.new_id("thought"), text)

    def show(self, block: dict[str, Any]) -> None:
        """Send a content block that is no text, as a message of its own."""
        self.update("agent_message_chunk", messageId=self.new_id("message"), content=block)

    async def pause(self, words: float = 1) -> None:
        """Let as much time pass as so many words take, and the loop run."""
        await asyncio.sleep(self.session.pace * words / 1000)

    async def _stream(self, kind: str, message_id: str, text: str) -> None:
        for word in re.findall(r"\s*\S+\s*", text):
            self.update(kind, messageId=message_id, content={"type": "text", "text": word})
            self.session.words_out += 1
            await self.pause()


def folder(params: Mapping[str, Any]) -> Path:
    """
    Return the working directory that a client asks for.

    Raises:
        Refused: it is missing, relative, or no directory.
    """
    cwd = params.get("cwd")
    path = Path(cwd) if isinstance(cwd, str) else None
    if path is None or not path.is_absolute() or not path.is_dir():
        raise Refused(INVALID_PARAMS, f"cwd must be an existing absolute folder, not {cwd!r}.")
    return path
