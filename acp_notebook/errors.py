"""
Every exception that this package raises, in one tree.

    AcpNotebookError
    +-- AgentNotFound           the command is not installed here
    +-- AgentStartError         the agent did not come up
    +-- AgentExited             the agent's process has ended
    +-- AuthRequired            the agent wants a login first
    +-- RequestFailed           the agent answered a request with an error
    +-- TurnFailed              a turn ended badly, and the caller asked to be told
    +-- ProtocolError           a frame broke the protocol; says whose fault
    +-- SessionError
    |   +-- UnknownSession
    |   +-- SessionBusy
    |   +-- WorkspaceMissing
    +-- AttachmentUnavailable
    +-- LimitExceeded
    +-- NotOnHostThread         a blocking call was made on the host's own thread

What an agent does in a turn never raises: it is found in `turn.error`. What is
raised is about the call itself, and each message says what to do next.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class AcpNotebookError(Exception):
    """
    Base of everything that this package raises.

        try:
            chat.ask("…", check=True)
        except acp_notebook.errors.AcpNotebookError as error:
            print(error)

    All of them pickle, with what they carry: they cross from a worker process to its caller.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # BaseException would call __init__ with the finished message alone.
        return (_rebuild, (type(self), self.args, self.__dict__))


class AgentNotFound(AcpNotebookError):
    """
    The agent's command was found in none of the places looked at.

    With `known`, it was meant as a name, and is none of these.
    """

    def __init__(
        self,
        command: str,
        looked_in: Sequence[str],
        install: str | None = None,
        *,
        known: Sequence[str] = (),
    ) -> None:
        self.command = command
        self.looked_in = tuple(looked_in)
        self.install = install
        if known:
            close = get_close_matches(command, known, n=1)
            guess = f"; did you mean {close[0]}?" if close else ""
            super().__init__(
                f"There is no agent named {command!r} (known are {', '.join(known)}{guess}). "
                "A command of one word is given as a path or a list."
            )
            return
        places = ", ".join(self.looked_in) or "PATH"
        hint = f" Install it with:  {install}" if install else " Check the command's spelling."
        super().__init__(
            f"The agent command {command!r} was not found (looked in: {places}).{hint}"
        )


class AgentStartError(AcpNotebookError):
    """The agent was started but did not become usable; `phase` says how far it came."""

    def __init__(
        self, message: str, *, phase: str, returncode: int | None = None, stderr_tail: str = ""
    ) -> None:
        self.phase = phase
        self.returncode = returncode
        self.stderr_tail = stderr_tail
        super().__init__(_with_tail(message, stderr_tail))


class AgentExited(AcpNotebookError):
    """The agent's process has ended; `returncode` is negative for a signal."""

    def __init__(
        self, message: str, *, returncode: int | None = None, stderr_tail: str = ""
    ) -> None:
        self.returncode = returncode
        self.stderr_tail = stderr_tail
        super().__init__(_with_tail(message, stderr_tail))


class AuthRequired(AcpNotebookError):
    """The agent wants a login; `methods` are the ways that it offers."""

    def __init__(self, methods: Sequence[Mapping[str, Any]], message: str = "") -> None:
        self.methods = tuple(methods)
        names = ", ".join(str(m.get("name") or m.get("id")) for m in self.methods)
        how = f" Ways to log in: {names} (chat.login(id))." if names else ""
        super().__init__((message or "The agent wants a login first.") + how)


class RequestFailed(AcpNotebookError):
    """The agent answered a request with an error; its own words are in `message` and `data`."""

    def __init__(self, method: str, code: int | None, message: str, data: Any = None) -> None:
        self.method = method
        self.code = code
        self.message = message
        self.data = data
        super().__init__(f"{method}: {message}" + (f" (code {code})" if code is not None else ""))


class TurnFailed(AcpNotebookError):
    """A turn ended with an error, and the caller asked to be told (`check=True`)."""

    def __init__(self, turn: Any, message: str) -> None:
        self.turn = turn
        super().__init__(message)


class ProtocolError(AcpNotebookError):
    """A frame broke the protocol. `fault` says whose: `agent` or `client`."""

    def __init__(
        self, message: str, *, fault: Literal["agent", "client"], frame: Any = None
    ) -> None:
        self.fault = fault
        self.frame = frame
        super().__init__(message)


class SessionError(AcpNotebookError):
    """An operation on a session could not be done."""


class UnknownSession(SessionError):
    """The agent does not know a session of this key."""


class SessionBusy(SessionError):
    """The session has a running prompt, which this operation may not disturb."""


class WorkspaceMissing(SessionError):
    """The folder of a session is missing or is not a directory."""


class AttachmentUnavailable(AcpNotebookError):
    """An attachment cannot be read; `reason` is one of the fixed list."""

    def __init__(self, reason: str, message: str = "") -> None:
        self.reason = reason
        super().__init__(message or f"The attachment is not available: {reason}")


class LimitExceeded(AcpNotebookError):
    """A configured limit was passed; `which` names the setting that raises it."""

    def __init__(self, which: str, value: int, message: str = "") -> None:
        self.which = which
        self.value = value
        super().__init__(message or f"The limit {which} = {value} was exceeded.")


class NotOnHostThread(AcpNotebookError):
    """A blocking call was made on the host's own thread, where it would wait for itself."""


STDERR_HEAD = "\n\nThe last lines that it wrote to stderr:\n"


def _with_tail(message: str, stderr_tail: str) -> str:
    tail = stderr_tail.strip()
    return f"{message}{STDERR_HEAD}{tail}" if tail else message


def _rebuild(
    kind: type[AcpNotebookError], args: tuple[Any, ...], state: dict[str, Any]
) -> AcpNotebookError:
    """Make an exception anew from its message and its attributes."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error
