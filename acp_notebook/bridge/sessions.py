"""The ACP sessions of this process: a bounded store, and the limit on how fast they are made."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_notebook.bridge.pending import Prompt


class SessionRefused(Exception):
    """A session cannot be made or found; the message is for the client."""


@dataclass(slots=True)
class Session:
    """
    One ACP session.

    `key` is the gateway's session key, replaced by the canonical one as soon as the gateway
    names it. `ledger_id` is the ACP id under which the ledger has it: a session that was loaded
    by its key goes on under the id that it had first. Until `quiet_until`, on the loop's clock,
    the gateway may still be at work on something that has ended for the client.
    """

    id: str
    key: str
    cwd: str
    ledger_id: str
    prefix_cwd: bool | None = None
    first_prompt: str = ""
    prompt: Prompt | None = field(default=None, repr=False)
    used_at: float = 0.0
    quiet_until: float = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether a prompt of it is not answered yet."""
        return self.prompt is not None and not self.prompt.is_answered


class Sessions:
    """Sessions by ACP id; the longest idle one makes room."""

    def __init__(
        self, limit: int, idle_s: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._idle_s = idle_s
        self._clock = clock
        self._sessions: dict[str, Session] = {}  # the longest unused first

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: str) -> Session | None:
        """Return the session, which counts as used now; None when it is not known."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.used_at = self._clock()
            self._sessions[session_id] = session
        return session

    def require(self, session_id: str) -> Session:
        """
        Return the session.

        Raises:
            SessionRefused: it is not known.
        """
        session = self.get(session_id)
        if session is None:
            raise SessionRefused(f"Session {session_id} not found")
        return session

    def add(self, session: Session) -> None:
        """
        Keep a session; idle ones make room.

        Raises:
            SessionRefused: all that are kept are busy.
        """
        now = self._clock()
        session.used_at = now
        if session.id not in self._sessions:
            self._reap(now)
        self._sessions.pop(session.id, None)
        self._sessions[session.id] = session

    def _reap(self, now: float) -> None:
        """Forget what was idle too long, then the longest idle until there is room."""
        for session in list(self._sessions.values()):
            if now - session.used_at < self._idle_s:
                break
            if not session.is_busy:
                del self._sessions[session.id]
        if len(self._sessions) < self._limit:
            return
        idle = next((s for s in self._sessions.values() if not s.is_busy), None)
        if idle is None:
            raise SessionRefused(
                f"ACP session limit reached (max {self._limit}). Close idle ACP clients and retry."
            )
        del self._sessions[idle.id]

    def remove(self, session_id: str) -> None:
        """Forget a session."""
        self._sessions.pop(session_id, None)


class CreationLimit:
    """At most so many session creations in a fixed window."""

    def __init__(
        self, limit: int, window_s: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._window_s = window_s
        self._clock = clock
        self._began = float("-inf")
        self._count = 0

    def take(self, method: str) -> None:
        """
        Count one creation.

        Raises:
            SessionRefused: too many in this window.
        """
        now = self._clock()
        if now - self._began >= self._window_s:
            self._began, self._count = now, 0
        if self._count >= self._limit:
            wait = max(1, -int(-(self._began + self._window_s - now) // 1))
            raise SessionRefused(
                f"ACP session creation rate limit exceeded for {method}; retry after {wait}s."
            )
        self._count += 1


@dataclass(frozen=True, slots=True)
class SessionMeta:
    """What a request's `_meta` says about its gateway session."""

    key: str | None = None
    label: str | None = None
    reset: bool | None = None
    require_existing: bool | None = None
    prefix_cwd: bool | None = None

    @classmethod
    def of(cls, params: dict[str, Any]) -> SessionMeta:
        """Read the first of the known names that is there and of the right type."""
        meta = params.get("_meta")
        if not isinstance(meta, dict):
            return cls()
        return cls(
            key=read_text(meta, "sessionKey", "session", "key"),
            label=read_text(meta, "sessionLabel", "label"),
            reset=read_bool(meta, "resetSession", "reset"),
            require_existing=read_bool(meta, "requireExistingSession", "requireExisting"),
            prefix_cwd=read_bool(meta, "prefixCwd"),
        )


def read_text(meta: Any, *names: str) -> str | None:
    """Return the first of these values that is a text with more than blanks, trimmed."""
    if isinstance(meta, dict):
        for name in names:
            value = meta.get(name)
            if isinstance(value, str) and value.strip():
                return value.strip()
    return None


def read_bool(meta: Any, *names: str) -> bool | None:
    """Return the first of these values that is a boolean."""
    if isinstance(meta, dict):
        for name in names:
            value = meta.get(name)
            if isinstance(value, bool):
                return value
    return None


def read_number(meta: Any, *names: str) -> float | None:
    """Return the first of these values that is a finite number."""
    if isinstance(meta, dict):
        for name in names:
            value = meta.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and value == value:  # noqa: PLR0124  # not NaN
                return value
    return None
