"""What there is to know about an agent before it runs: how to start it, and how to get it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """
    An agent by name. `command` is what is executed, `args` follow it.

    `env` is added to the kernel's environment (secrets belong there, never in `args`), `cwd` is the
    folder of the process (default: the chat's). `install` is the command that a person would type
    to get the agent, `auth_hint` says how to log in. With `remote_url` nothing is started: the agent
    is reached at that `ws://`, `wss://`, `http://` or `https://` address.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    cwd: str | None = None
    title: str | None = None
    install: str | None = None
    auth_hint: str | None = None
    remote_url: str | None = field(default=None, repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by value: a mapping proxy does not."""
        values = (
            self.name, self.command, self.args, dict(self.env), self.cwd,
            self.title, self.install, self.auth_hint, self.remote_url,
        )  # fmt: skip
        return (type(self), values)

    @property
    def shown_title(self) -> str:
        """The title for people; the name where there is none."""
        return self.title or self.name
