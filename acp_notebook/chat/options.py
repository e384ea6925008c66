"""What a chat is opened with: its agent, its policy, its limits, from arguments and configuration."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from acp_notebook import agents
from acp_notebook.agents.configuration import KEYS, configured
from acp_notebook.host.loop import host_loop
from acp_notebook.host.policy import Policy
from acp_notebook.host.session import ChatSession
from acp_notebook.host.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping


# For the gateway behind an address; they go to its bridge's environment and nowhere else.
_SECRETS = frozenset({"token", "password"})


def new_session(
    agent: Any,
    *,
    cwd: str,
    policy: Policy | str | None,
    session: str | None,
    name: str,
    settings: Settings | None,
    limits: Mapping[str, Any],
) -> ChatSession:
    """
    Return the host's side of a new chat, made on the host thread. Nothing is started.

    Raises:
        AgentNotFound, ValueError: see `Chat`.
    """
    secrets = {key: limits[key] for key in _SECRETS & limits.keys()}
    limits = {key: value for key, value in limits.items() if key not in secrets}
    return host_loop().ask(
        ChatSession,
        agents.resolve(agent, cwd=cwd, secrets=secrets),
        cwd=cwd,
        policy=Policy.of(policy if policy is not None else configured("policy") or "ask"),
        settings=_settings(settings, limits),
        name=name,
        session=session,
    )


def _settings(settings: Settings | None, limits: Mapping[str, Any]) -> Settings:
    """Return the limits: given by name, else the given settings, else as configured."""
    names = {field.name for field in fields(Settings)}
    if unknown := sorted(limits.keys() - names):
        raise ValueError(
            f"There is no option {', '.join(unknown)} (there are {', '.join(sorted(names))})."
        )
    if settings is None:
        found = {key: configured(key) for key in KEYS.keys() & names}
        settings = Settings(**{k: _frozen(v) for k, v in found.items() if v is not None})
    return replace(settings, **{k: _frozen(v) for k, v in limits.items()})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
