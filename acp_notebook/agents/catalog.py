"""
The agents that are known by name: how each is started, got, and logged in to.

Start commands were measured on the wire with the versions of 2026-11; packages and logins are the
projects' own. Whatever is not here is added by configuration.
"""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

import acp_notebook
from acp_notebook.host.spec import AgentSpec


def embedded(module: str, *args: str, name: str, title: str) -> AgentSpec:
    """
    Return the spec of an agent that comes with this package, run by this very interpreter.

    `-P` keeps the workspace off its import path; a package that is not installed (a source tree) is
    named in PYTHONPATH instead.
    """
    home = str(Path(acp_notebook.__file__).parent.parent)
    env = {}
    if home not in {*site.getsitepackages(), site.getusersitepackages()}:
        inherited = os.environ.get("PYTHONPATH")
        env["PYTHONPATH"] = f"{home}{os.pathsep}{inherited}" if inherited else home
    return AgentSpec(
        name=name,
        command=sys.executable,
        args=("-P", "-m", f"acp_notebook.agents.{module}", *args),
        env=env,
        title=title,
    )


def explorer() -> AgentSpec:
    """Return the spec of the agent that needs no key and no network."""
    return embedded("explorer", name="explorer", title="Explorer")


def recorded(path: str | os.PathLike[str], *, speed: float | None = None) -> AgentSpec:
    """
    Return the spec of the agent that plays this record.

    With a `speed` it keeps the recorded pauses (2: in half the time); without it does not pause.
    """
    pace = () if speed is None else ("--speed", f"{speed:g}")
    record = Path(path).expanduser().absolute()
    return embedded("replay", *pace, str(record), name="replay", title=f"Replay of {record.name}")


CATALOG: tuple[AgentSpec, ...] = (
    AgentSpec(
        name="claude",
        title="Claude Agent",
        command="claude-agent-acp",
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        auth_hint="run `claude` once and log in, or set ANTHROPIC_API_KEY",
    ),
    AgentSpec(
        name="codex",
        title="Codex",
        command="codex-acp",
        install="npm install -g @agentclientprotocol/codex-acp",
        auth_hint="run `codex login`, or set OPENAI_API_KEY",
    ),
    AgentSpec(
        name="deepagents",
        title="Deep Agents",
        command=sys.executable,
        args=("-P", "-m", "deepagents_acp"),
        install="pip install deepagents-acp",
        auth_hint="set the key of the model's provider, ANTHROPIC_API_KEY by default",
    ),
    AgentSpec(
        name="gemini",
        title="Gemini CLI",
        command="gemini",
        args=("--acp",),
        install="npm install -g @google/gemini-cli",
        auth_hint="run `gemini` once and log in, or set GEMINI_API_KEY",
    ),
    AgentSpec(
        name="gptme",
        title="gptme",
        command="gptme-acp",
        install="pip install gptme-acp",
        auth_hint="set the key of the model's provider, such as OPENAI_API_KEY",
    ),
    AgentSpec(
        name="hermes",
        title="Hermes Agent",
        command="hermes-acp",
        install="pip install 'hermes-agent[acp]'",
        auth_hint="run `hermes model` and choose a provider",
    ),
    AgentSpec(
        name="openclaw",
        title="OpenClaw",
        command="openclaw",
        args=("acp",),
        install="npm install -g openclaw",
        auth_hint="start the gateway, and set OPENCLAW_GATEWAY_TOKEN",
    ),
    AgentSpec(
        name="opencode",
        title="OpenCode",
        command="opencode",
        args=("acp",),
        install="npm install -g opencode-ai",
        auth_hint="run `opencode auth login`",
    ),
    AgentSpec(
        name="pi",
        title="Pi",
        command="pi-acp",
        install="npm install -g pi-acp @earendil-works/pi-coding-agent",
        auth_hint="run `pi` once and log in, or set the key of the model's provider",
    ),
    AgentSpec(
        name="qwen",
        title="Qwen Code",
        command="qwen",
        args=("--acp",),
        install="npm install -g @qwen-code/qwen-code",
        auth_hint="run `qwen` once and log in, or set OPENAI_API_KEY",
    ),
)
