"""Agents by name: the embedded ones, the known ones, and those that a person has configured."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from acp_notebook.agents import openclaw
from acp_notebook.agents.catalog import CATALOG, explorer
from acp_notebook.agents.configuration import configured
from acp_notebook.errors import AgentNotFound
from acp_notebook.host.command import find_command, split_command
from acp_notebook.host.spec import AgentSpec

DEFAULT = "explorer"

_REMOTE = re.compile(r"(?:wss?|https?)://\S+")
_TEXTS = ("cwd", "title", "install", "auth_hint", "remote_url")
_FIELDS = {"command", "args", "env", *_TEXTS}


def known() -> tuple[AgentSpec, ...]:
    """
    Return every agent that has a name here, the embedded one first, the rest by name.

    A configured agent takes the place of a known one of its name; what it leaves out is kept.

    Raises:
        ValueError: an agent is configured wrongly; the message says where.
    """
    specs = {spec.name: spec for spec in (explorer(), *CATALOG)}
    for name, fields in (configured("agents") or {}).items():
        specs[name] = _from_fields(name, fields, specs.get(name))
    return tuple(sorted(specs.values(), key=lambda spec: (spec.name != DEFAULT, spec.name)))


def find(name: str, *, cwd: str = ".") -> AgentSpec:
    """
    Return the agent of this name, if it can be started in `cwd`. Nothing is ever downloaded.

    Raises:
        AgentNotFound: there is none of this name, or its command is not installed; the message
            lists the names, or says how to install it.
        ValueError: an agent is configured wrongly.
    """
    specs = {spec.name: spec for spec in known()}
    spec = specs.get(name)
    if spec is None:
        raise AgentNotFound(name, (), known=tuple(specs))
    if installed(spec, cwd=cwd) is None:
        raise AgentNotFound(spec.command, ["node_modules/.bin", sys.prefix, "PATH"], spec.install)
    return spec


def installed(spec: AgentSpec, *, cwd: str = ".") -> str | None:
    """Return where the agent's command (or its address) is found, or None when it is not installed."""
    if spec.remote_url:
        return spec.remote_url
    if spec.command == sys.executable and "-m" in spec.args:
        package = spec.args[spec.args.index("-m") + 1].partition(".")[0]
        if importlib.util.find_spec(package) is None:
            return None
    return find_command(spec.command, cwd)


def default() -> str:
    """Return the name of the agent that is meant when none is named."""
    return configured("default_agent") or DEFAULT


def resolve(
    agent: AgentSpec | str | Sequence[str] | None = None,
    *,
    cwd: str = ".",
    secrets: Mapping[str, str] = MappingProxyType({}),
) -> AgentSpec:
    """
    Return the spec of whatever names an agent.

    A name, `None` for the default agent, a command (a list, or text with blanks or slashes), the
    `ws://`, `wss://`, `http://` or `https://` address of one that runs elsewhere, the
    `openclaw+ws://` or `openclaw+wss://` address of an OpenClaw gateway, or a spec. `secrets`,
    `token` and `password`, are for such a gateway.

    Raises:
        AgentNotFound: there is no agent of that name, or it is not installed.
        ValueError: the command is empty, secrets are given to another agent, or an agent is
            configured wrongly.
    """
    if secrets and not (isinstance(agent, str) and openclaw.ADDRESS.fullmatch(agent)):
        raise ValueError(f"{' and '.join(sorted(secrets))}: only for an openclaw+ws:// address.")
    if isinstance(agent, AgentSpec):
        return agent
    if agent is None:
        return find(default(), cwd=cwd)
    if isinstance(agent, str):
        if openclaw.ADDRESS.fullmatch(agent):
            return openclaw.through_bridge(agent, **secrets)
        if _REMOTE.fullmatch(agent):
            return AgentSpec(name=urlsplit(agent).hostname or "remote", remote_url=agent)
        if not re.search(r"[\s/\\]", agent):
            return find(agent, cwd=cwd)
    command, *args = split_command(agent) or [""]
    if not command:
        raise ValueError("The command of the agent is empty.")
    name = re.split(r"[/\\]", command)[-1].removesuffix(".exe")
    return AgentSpec(name=name, command=command, args=tuple(args))


def _from_fields(name: str, fields: Any, base: AgentSpec | None) -> AgentSpec:
    where = f"AcpChat.agents[{name!r}]"
    if isinstance(fields, str | list | tuple):
        fields = {"command": fields}
    if not isinstance(fields, Mapping):
        raise _wrong(where, f"must be a command or a table, not {type(fields).__name__}")
    if unknown := sorted(map(str, fields.keys() - _FIELDS)):
        raise _wrong(where, f"has no {', '.join(unknown)}; there are {', '.join(sorted(_FIELDS))}")
    for key in _TEXTS:
        if not isinstance(fields.get(key), str | None):
            raise _wrong(where, f"must have text as {key}")
    command, args = _command(where, fields, base)
    env = fields.get("env", {})
    if not isinstance(env, Mapping) or not all(
        isinstance(v, str) for kv in env.items() for v in kv
    ):
        # The values may be secrets: the message names none of them.
        raise _wrong(where, "must map names to text as env")
    texts = {key: fields.get(key, getattr(base, key, None)) for key in _TEXTS}
    if not command and not texts["remote_url"]:
        raise _wrong(where, "needs a command, or a remote_url")
    inherited = base.env if base is not None else {}
    return AgentSpec(name=name, command=command, args=args, env={**inherited, **env}, **texts)


def _command(
    where: str, fields: Mapping[str, Any], base: AgentSpec | None
) -> tuple[str, tuple[str, ...]]:
    """
    Return command and arguments.

    A list, or text without `args` beside it, brings its arguments along; with `args` the text is one
    path, blanks and all. Arguments that are given nowhere are those of the known agent.
    """
    command = fields.get("command", base.command if base is not None else "")
    if not isinstance(command, str) and not _is_texts(command):
        raise _wrong(where, "must have text, or a list of texts, as command")
    whole = isinstance(command, str) and ("args" in fields or "command" not in fields)
    words = [command] if whole else split_command(command)
    args = fields.get("args", words[1:] or (base.args if base is not None else ()))
    if not _is_texts(args):
        raise _wrong(where, "must have a list of texts as args")
    return words[0] if words else "", tuple(args)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)


def _wrong(where: str, what: str) -> ValueError:
    return ValueError(f"{where} {what}.")
