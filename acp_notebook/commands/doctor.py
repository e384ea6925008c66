"""`acp-notebook doctor`: what is installed here, and how an agent starts."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any

from acp_notebook import __version__, agents
from acp_notebook.agents.configuration import agents_file
from acp_notebook.agents.table import agent_table
from acp_notebook.chat import Chat
from acp_notebook.errors import AcpNotebookError
from acp_notebook.host.command import child_environment
from acp_notebook.host.questions import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from acp_notebook.host.state import Change

_PACKAGES = {
    "agent-client-protocol": "the protocol",
    "anywidget": "the panel",
    "ipywidgets": "the panel",
    "ipykernel": "the kernel",
    "jupyterlab": "the front end",
    "pandas": "to_frame()",
    "mcp": "extra: tools",
    "pillow": "extra: preview",
    "websockets": "extra: bridge",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    parser.add_argument("agent", nargs="?", help="start this one: a name, command or address")
    parser.add_argument("--cwd", default=".", help="the agent's folder")


def run(options: argparse.Namespace) -> int:
    """Print the report; 1 when the agent does not come up."""
    for line in _installation():
        sys.stdout.write(f"{line}\n")
    if options.agent is None:
        sys.stdout.write(f"\n{agent_table(cwd=options.cwd)!r}\n")
        return 0
    spec = agents.resolve(options.agent, cwd=options.cwd)
    sys.stdout.write(f"\n{spec.shown_title}: {agents.installed(spec, cwd=options.cwd)}\n")
    with Chat(spec, cwd=options.cwd, policy="deny") as chat:
        try:
            _start(chat)
        except AcpNotebookError as error:
            sys.stdout.write(f"{error}\n")
            if spec.auth_hint:
                sys.stdout.write(f"To log in: {spec.auth_hint}\n")
            return 1
    return 0


def _start(chat: Chat) -> None:
    """Start the agent and open a session, saying when each phase began."""
    started, phases = time.monotonic(), [""]

    def told(_change: Change) -> None:
        if (phase := chat.state.phase) and phase != phases[-1]:
            phases.append(phase)
            sys.stdout.write(f"  {time.monotonic() - started:6.2f} s  {phase}\n")

    chat.session.subscribe(told)
    chat.start()
    sys.stdout.write(f"  {time.monotonic() - started:6.2f} s  ready\n\n")
    sys.stdout.write(f"{visible(f'{chat.agent.title or chat.agent.name} {chat.agent.version}')}\n")
    for name, value in _flat(chat.state.capabilities):
        sys.stdout.write(visible(f"  {name:<44} {value}\n"))
    connection = chat.session.life.connection
    if connection is not None and (tail := connection.stderr_tail.strip()):
        sys.stdout.write(f"\nThe last lines of its stderr:\n{visible(tail)}\n")


def _installation() -> Iterator[str]:
    yield f"acp_notebook {__version__}, Python {platform.python_version()}, {platform.platform()}"
    for package, purpose in _PACKAGES.items():
        yield f"  {package:<24} {_version(package):<12} {purpose}"
    yield f"clicks while a cell runs   {_click_route(_version('ipykernel'))}"
    env = child_environment({})
    yield f"the agent's python is in   {env['PATH'].split(os.pathsep)[0]}"
    path = agents_file()
    yield f"agents are configured in   {path}{'' if path.exists() else ' (not there)'}"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "-"


def _click_route(ipykernel: str) -> str:
    """Say how a click reaches a kernel that is busy, by the version of ipykernel."""
    if ipykernel == "-":
        return "no kernel is installed"
    numbers = [int(part) for part in ipykernel.split(".")[:2] if part.isdigit()]
    if numbers >= [7, 4]:
        return "by a subshell of our own"
    if numbers >= [7]:
        return "by the front end's subshell"
    return "while chat.ask blocks"


def _flat(capabilities: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield each capability by its dotted name; `{}` means yes. What is in `_meta` may be secret."""
    for name, value in capabilities.items():
        if name == "_meta":
            continue
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        elif value is None or value is False:
            yield f"{prefix}{name}", "no"
        else:
            yield f"{prefix}{name}", "yes" if value is True or value == {} else str(value)
