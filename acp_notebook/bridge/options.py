"""What the bridge is told: one frozen value made of flags, environment and limits."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from acp_notebook.bridge.ledger_limits import LedgerLimits

Provenance = Literal["off", "meta", "meta+receipt"]

MAX_PROMPT_BYTES = 2 * 1024 * 1024


def default_state_dir() -> Path:
    """Where OpenClaw keeps its state: `OPENCLAW_STATE_DIR`, else `~/.openclaw`."""
    told = os.environ.get("OPENCLAW_STATE_DIR")
    return Path(told).expanduser() if told else Path.home() / ".openclaw"


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """
    Everything that the bridge can be told. The `*_s` fields are seconds.

    Args:
        url: the gateway's WebSocket URL.
        token, password: the gateway's shared secrets; never logged.
        session_key, session_label: the gateway session that a new ACP session is bound to.
        require_existing: the session key must exist on the gateway.
        reset_session: the gateway session is reset before its first use.
        prefix_cwd: prompts begin with a working-directory line.
        state_dir: OpenClaw's state directory; our own files are in `acp-notebook/` inside it.
        recovery_grace_s: how long a prompt that the gateway accepted waits for a lost link.
        unacknowledged_grace_s: how long one waits that the gateway has not accepted.
        recheck_s: after which a run is looked up again that the gateway knows nothing of.
        approval_timeout_s: how long a permission request stays open; None: as the gateway says.
        quiet_s: how long a prompt waits after a failed or silent end, or a changed option: one that
            comes at once is swallowed by the gateway, which steers it into the run that ends.
        silent_end_s: after a run's lifecycle has ended, how long its chat end may take.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    session_key: str | None = None
    session_label: str | None = None
    require_existing: bool = False
    reset_session: bool = False
    prefix_cwd: bool = True
    provenance: Provenance = "off"
    state_dir: Path = field(default_factory=default_state_dir)
    verbose: bool = False

    max_prompt_bytes: int = MAX_PROMPT_BYTES
    max_sessions: int = 5_000
    session_idle_s: float = 24 * 3600
    session_creations: int = 120
    session_creation_window_s: float = 10.0
    ledger: LedgerLimits = field(default_factory=LedgerLimits)

    recovery_grace_s: float = 600.0
    unacknowledged_grace_s: float = 5.0
    recheck_s: float = 5.0
    approval_timeout_s: float | None = None
    quiet_s: float = 1.0
    silent_end_s: float = 20.0
    challenge_timeout_s: float = 15.0
    request_timeout_s: float = 30.0
    snapshot_timeout_s: float = 10.0
    reconnect_first_s: float = 1.0
    reconnect_max_s: float = 30.0

    @property
    def home(self) -> Path:
        """The folder of our own files: ledger, device key and device token."""
        return self.state_dir / "acp-notebook"
