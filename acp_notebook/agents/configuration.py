"""
What a person has configured, from all the places where that can be done.

The first that has a value wins: the environment (`ACP_NOTEBOOK_<KEY>`), the configuration of IPython
(`c.AcpChat.<key>`), the user's `agents.toml`. An argument of a call comes before all of them and is
the caller's matter.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import platformdirs

if TYPE_CHECKING:
    from pathlib import Path

KEYS: dict[str, type] = {
    "default_agent": str,
    "agents": dict,
    "policy": str,
    "mcp_servers": list,
    "additional_directories": list,
    "start_timeout_s": float,
    "open_timeout_s": float,
    "cancel_grace_s": float,
    "max_prompt_bytes": int,
    "max_line_bytes": int,
    "save_transcript": bool,
    "tools": bool,
    "nest_asyncio": bool,
}
"""The keys of `AcpChat`, each with the type of its value."""

_ALIASES = {"default_agent": "ACP_NOTEBOOK_AGENT"}

# Values set while the kernel runs (`%config AcpChat.default_agent = "claude"`). A reload of this
# module must not lose them.
_set_here: dict[str, Any] = globals().get("_set_here", {})


def configured(key: str) -> Any:
    """
    Return the value of a key, or None when it is set nowhere.

    Raises:
        ValueError: the value, or the file that holds it, cannot be read; the message says where.
    """
    for name in (f"ACP_NOTEBOOK_{key.upper()}", _ALIASES.get(key)):
        if name and (text := os.environ.get(name)):
            return _typed(key, text, f"the environment variable {name}")
    if key in _set_here:
        return _set_here[key]
    if (value := _ipython(key)) is not None:
        return _typed(key, value, f"c.AcpChat.{key}")
    path = agents_file()
    value = _read(path, _stamp(path)).get(key)
    return None if value is None else _typed(key, value, f"{key} in {path}")


def set_here(key: str, value: Any) -> None:
    """Set a key for this process, as IPython's configuration; None takes that back."""
    if value is None:
        _set_here.pop(key, None)
    else:
        _set_here[key] = _typed(key, value, f"c.AcpChat.{key}")


def agents_file() -> Path:
    """Return where the user's `agents.toml` lies, whether it exists or not."""
    return platformdirs.user_config_path("acp_notebook", appauthor=False) / "agents.toml"


def _ipython(key: str) -> Any:
    """Read IPython's configuration, where IPython runs; nothing is imported for it."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    section = shell.config.get("AcpChat") if shell is not None else None
    value: Any = section.get(key) if section else None
    # `c.AcpChat.agents.update(…)` leaves what is to be done to a default that nobody has made yet.
    return value.get_value({}) if hasattr(value, "get_value") else value


def _stamp(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


@lru_cache(maxsize=1)
def _read(path: Path, stamp: int | None) -> Mapping[str, Any]:
    """Read the file; the stamp makes a changed one be read again."""
    if stamp is None:
        return {}
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _typed(key: str, value: Any, where: str) -> Any:
    """Return the value as the key's type. Text stands for any type, as in an environment variable."""
    wanted = KEYS[key]
    if isinstance(value, str) and wanted is not str:
        if key == "additional_directories" and not value.lstrip().startswith("["):
            return value.split(os.pathsep)
        try:
            value = json.loads(value.lower() if wanted is bool else value)
        except ValueError as error:
            raise ValueError(f"{where} is no JSON: {error}") from error
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if wanted is dict and isinstance(value, Mapping):
        return dict(value)
    if wanted is list and isinstance(value, tuple):
        return list(value)
    if wanted is bool and value in {0, 1}:
        return bool(value)
    if isinstance(value, bool) is (wanted is bool) and isinstance(value, wanted):
        return value
    raise ValueError(f"{where} must be a {wanted.__name__}, not a {type(value).__name__}.")
