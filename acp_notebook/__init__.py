"""
A live chat with any Agent Client Protocol agent, inside a Jupyter notebook.

Everything public is listed in `__all__` and loaded when it is first used, so
that importing the package costs next to nothing: neither `acp` nor `anywidget`
is imported before an agent starts or a chat is shown.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Chat": "chat",
    "Turn": "chat",
    "Prompt": "chat",
    "ask": "chat",
    "Policy": "host.policy",
    "Rule": "host.policy",
    "Timeline": "timeline",
    "TimelineSnapshot": "timeline",
    "group_timeline": "timeline",
    "load_record": "timeline",
    "agents": "agents",
    "errors": "errors",
}

__all__ = [
    "Chat",
    "Policy",
    "Prompt",
    "Rule",
    "Timeline",
    "TimelineSnapshot",
    "Turn",
    "__version__",
    "agents",
    "ask",
    "errors",
    "group_timeline",
    "load_record",
]


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it, once."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{home}")
    value = module if home == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """Register the magics: `%load_ext acp_notebook`."""
    from acp_notebook.magics import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Stop every chat of this kernel and remove the magics."""
    from acp_notebook.magics import unload

    unload(ipython)


if TYPE_CHECKING:
    from acp_notebook import agents, errors
    from acp_notebook.chat import Chat, Prompt, Turn, ask
    from acp_notebook.host.policy import Policy, Rule
    from acp_notebook.timeline import Timeline, TimelineSnapshot, group_timeline, load_record
