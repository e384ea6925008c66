"""What a session says about itself beside its items: modes, commands, options, usage, title."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


@frozen
class AgentInfo:
    """Who the agent says it is (`agentInfo` of the initialize response)."""

    name: str | None = None
    title: str | None = None
    version: str | None = None


@frozen
class Cost:
    """Money spent in the session."""

    amount: float
    currency: str | None


@frozen
class WindowUsage:
    """Tokens in the context window, its size, and the cost so far."""

    used: int | None
    size: int | None
    cost: Cost | None


@frozen
class Metadata:
    """
    The session's metadata, each value as last reported.

    Modes, commands, options and models are ACP's own objects without `_meta`. `unrecognized`
    counts what this version did not understand, by update kind or `kind.field`.
    """

    current_mode_id: str | None = None
    available_modes: tuple[Mapping[str, Any], ...] = ()
    available_commands: tuple[Mapping[str, Any], ...] = ()
    config_options: tuple[Mapping[str, Any], ...] = ()
    models: tuple[Mapping[str, Any], ...] = ()
    current_model_id: str | None = None
    usage: WindowUsage | None = None
    title: str | None = None
    updated_at: str | None = None
    unrecognized: Mapping[str, int] = field(default_factory=dict)

    @property
    def model(self) -> str | None:
        """The current model: the option of category `model`, else `current_model_id`."""
        for option in self.config_options:
            if option.get("category") == "model" and isinstance(option.get("currentValue"), str):
                return str(option["currentValue"])
        return self.current_model_id
