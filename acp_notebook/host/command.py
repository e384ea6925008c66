"""Where an agent's command is found, and the environment in which it runs."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from acp_notebook.errors import AgentNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acp_notebook.host.spec import AgentSpec


def split_command(command: str | Sequence[str], *, windows: bool = os.name == "nt") -> list[str]:
    """
    Return a command as a list; a list stays as it is, blanks and all.

    A string is split as the platform's shell would; on Windows backslashes are kept and quotes taken off.
    """
    if not isinstance(command, str):
        return [str(part) for part in command]
    if not windows:
        return shlex.split(command)
    return [part.strip('"') for part in shlex.split(command, posix=False)]


def search_path(cwd: str | Path) -> list[str]:
    """Return the folders where a bare command is looked for, first one first."""
    folders = [str(Path(cwd) / "node_modules" / ".bin"), str(Path(sys.executable).parent)]
    if (prefix := str(Path(sys.prefix) / "bin")) not in folders:
        folders.append(prefix)
    return folders + [part for part in os.environ.get("PATH", "").split(os.pathsep) if part]


def find_command(command: str, cwd: str | Path) -> str | None:
    """Return the absolute path of an executable, or `None`; a path is taken relative to `cwd`."""
    if os.sep in command or (os.altsep and os.altsep in command) or command.startswith("~"):
        path = Path(cwd, Path(command).expanduser())
        return which(str(path))
    return which(command, path=os.pathsep.join(search_path(cwd)))


def resolve_command(spec: AgentSpec, cwd: str | Path) -> list[str]:
    """
    Return the command line of an agent with its absolute executable.

    Raises:
        AgentNotFound: it is in none of the places looked at. Nothing is ever downloaded.
    """
    found = find_command(spec.command, cwd)
    if found is None:
        looked_in = ["node_modules/.bin", str(Path(sys.executable).parent), "PATH"]
        raise AgentNotFound(spec.command, looked_in, spec.install)
    return [found, *spec.args]


def child_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """
    Return the environment of an agent: the kernel's, with the kernel's Python first.

    So the agent's `python` has the user's packages. Matplotlib's inline backend is taken out, since it
    draws into a cell that the agent's own Python processes do not have.
    """
    env = dict(os.environ)
    folder = str(Path(sys.executable).parent)
    rest = [part for part in env.get("PATH", "").split(os.pathsep) if part and part != folder]
    env["PATH"] = os.pathsep.join([folder, *rest])
    _match(env, "VIRTUAL_ENV", inside=sys.prefix != sys.base_prefix)
    _match(env, "CONDA_PREFIX", inside=(Path(sys.prefix) / "conda-meta").is_dir())
    if "inline" in env.get("MPLBACKEND", ""):
        del env["MPLBACKEND"]
    env.update(extra)
    return env


def _match(env: dict[str, str], name: str, *, inside: bool) -> None:
    """Let the variable name the kernel's own environment, or nothing."""
    if inside:
        env[name] = sys.prefix
    else:
        env.pop(name, None)
