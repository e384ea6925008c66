"""Every limit and time-out of the host, with its default and unit; the names are the contract's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Settings:
    """
    Limits and time-outs of one chat. Times are seconds, sizes are bytes.

    Defaults lie well above honest use; what passes a limit is dropped with one visible note, and
    the rest goes on.
    """

    start_timeout_s: float = 60.0
    """From the start of the process to the answer of `initialize`."""
    open_timeout_s: float = 120.0
    """For `session/new`, `load`, `resume` and `fork`."""
    request_timeout_s: float = 60.0
    """For the other requests (list, delete, modes, options, authenticate has no limit)."""
    cancel_grace_s: float = 10.0
    """After `session/cancel`, until a turn without an answer is settled here."""
    stop_timeout_s: float = 2.0
    """For the agent to leave after end of input, and again after SIGTERM."""
    permission_timeout_s: float | None = None
    """A request waits for a view without limit by default: a closed laptop cancels nothing."""
    headless_timeout_s: float = 600.0
    """Without any update and with nobody to ask, a turn ends here."""
    ack_timeout_s: float = 1.5
    """For a view to acknowledge a permission request before `input()` is tried."""

    publish_interval_s: float = 1 / 30
    """The shortest time between two published snapshots while updates stream."""
    late_replay_quiet_s: float = 1.0
    """Silence that ends a replay which began after the answer of `session/load`."""

    max_line_bytes: int = 64 * 1024 * 1024
    max_prompt_bytes: int = 2 * 1024 * 1024
    """UTF-8 bytes of text in one prompt."""
    max_queue: int = 100
    """Prompts that wait."""
    max_waiting_room_bytes: int = 256 * 1024 * 1024
    """Updates held for a session that is being opened."""
    max_file_bytes: int = 64 * 1024 * 1024
    """Of one `fs/read_text_file` or `fs/write_text_file`."""
    max_terminals: int = 64
    """Terminals that one session may hold at a time."""
    max_terminal_output_bytes: int = 8 * 1024 * 1024
    """Kept of one terminal, whatever limit the agent asks for."""
    max_agent_requests: int = 256
    """Requests of the agent that may be open at a time; the next ones are refused."""
    stderr_tail_bytes: int = 64 * 1024
    trace_entries: int = 500

    share_agent: bool = True
    """Chats of one agent and folder share its process."""
    record: str | None = None
    """A file to which the traffic is recorded."""
    mcp_servers: tuple[Mapping[str, Any], ...] = ()
    """Passed on to the agent with every session that is opened."""
    additional_directories: tuple[str, ...] = ()
    """Folders beside `cwd` in which the agent may read and write files."""
