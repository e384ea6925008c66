"""
Agents by name, and the two that come with the package.

    agents.known()                  every agent that has a name here
    agents.find("opencode")         how it is started; raises AgentNotFound with the way to get it
    agents.installed(spec)          where its command lies, or None
    agents.recorded("talk.jsonl") an agent that plays a record
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acp_notebook.agents.catalog import recorded
    from acp_notebook.agents.registry import default, find, installed, known, resolve

__all__ = ["default", "find", "installed", "known", "recorded", "resolve"]


def __getattr__(name: str) -> Any:
    """Load the registry when it is asked for: the agents' own processes never need it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from acp_notebook.agents import catalog, registry

    return getattr(catalog if name == "recorded" else registry, name)
