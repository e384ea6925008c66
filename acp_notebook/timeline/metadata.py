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
        return self._option("model") or self.current_model_id

    @property
    def mode(self) -> str | None:
        """The current mode: `current_mode_id`, else the option of category `mode`."""
        return self.current_mode_id or self._option("mode")

    def _option(self, category: str) -> str | None:
        for option in self.config_options:
            value = option.get("currentValue")
            if option.get("category") == category and isinstance(value, str):
                return value
        return None
