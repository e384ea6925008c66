"""
Terminals (rule 16): the host's own, the agents' in `_meta`, and protocol v2's.

A terminal is shown by the cards that name it. What comes in grows its output; past the limit its
head and its tail are kept. A released terminal keeps its last output.
"""

from __future__ import annotations

from base64 import b64decode
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.content import append_part, terminal
from acp_notebook.timeline.parts import ExitStatus
from acp_notebook.timeline.plain import text_or_none, whole_number
from acp_notebook.timeline.text import Text, TextBuffer, head_and_tail

if TYPE_CHECKING:
    from acp_notebook.timeline.drafts import ToolDraft
    from acp_notebook.timeline.fold import Fold
    from acp_notebook.timeline.growing import TerminalDraft


def from_meta(fold: Fold, call: ToolDraft, meta: dict[str, Any]) -> None:
    """
    Read the terminal that an agent shows by itself.

    Seen from claude, codex, codex2 and pi: `terminal_info`, `terminal_output`,
    `terminal_output_delta` and `terminal_exit`, each with a `terminal_id`.
    """
    for key in ("terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"):
        value = meta.get(key)
        if not isinstance(value, dict):
            continue
        terminal_id = value.get("terminal_id")
        if not isinstance(terminal_id, str) or not terminal_id:
            fold.count(f"_meta.{key}")
            continue
        shown = terminal(fold, terminal_id)
        if call.id not in shown.cards:
            shown.cards[call.id] = call
            append_part(fold, call, shown)
        data = value.get("data")
        if isinstance(data, str):
            write(fold, shown, data)
        if key == "terminal_exit":
            leave(fold, shown, value.get("exit_code"), value.get("signal"))


def write(fold: Fold, shown: TerminalDraft, data: str) -> None:
    """Add output; past the limit the middle is dropped."""
    if not data:
        return
    shown.buffer.pending.append(data)
    shown.size += len(data)
    limit = fold.limits.max_output_chars
    if shown.size > limit:
        cut(shown, limit)
        fold.overflow_output()
    touch_cards(fold, shown)


def cut(shown: TerminalDraft, limit: int) -> None:
    """Keep the first and the last quarter, so that the next cut is half a limit away."""
    kept = head_and_tail(str(shown.buffer.text()), limit // 4)
    shown.buffer, shown.size = TextBuffer(Text.of(kept)), len(kept)
    shown.truncated = True


def leave(fold: Fold, shown: TerminalDraft, exit_code: Any, signal: Any) -> None:
    """Note how the command ended."""
    if shown.decoder is not None:
        write(fold, shown, shown.decoder.decode(b"", final=True))
    shown.exit_status = ExitStatus(whole_number(exit_code), text_or_none(signal))
    touch_cards(fold, shown)


def touch_cards(fold: Fold, shown: TerminalDraft) -> None:
    """Note that each card that shows this terminal differs."""
    for card in shown.cards.values():
        fold.touch(card)


def output(fold: Fold, terminal_id: str, data: str, exit_status: Any) -> None:
    """Take output of a terminal that the host runs."""
    shown = terminal(fold, terminal_id)
    write(fold, shown, data)
    if isinstance(exit_status, dict):
        leave(fold, shown, exit_status.get("exitCode"), exit_status.get("signal"))
    elif exit_status is not None:
        leave(fold, shown, exit_status, None)


def terminal_update(fold: Fold, update: dict[str, Any]) -> None:
    """Patch a terminal of the agent (v2): `output` replaces, `exitStatus` ends it."""
    shown = named(fold, update, "terminal_update")
    if shown is None:
        return
    if "output" in update:
        given = update["output"]
        shown.buffer, shown.size = TextBuffer(), 0
        shown.decoder = None
        shown.truncated = False
        touch_cards(fold, shown)
        if isinstance(given, dict):
            add_bytes(fold, shown, given.get("data"), "terminal_update.output")
        elif given is not None:
            fold.count("terminal_update.output")
    if "exitStatus" in update:
        status = update["exitStatus"]
        if isinstance(status, dict):
            leave(fold, shown, status.get("exitCode"), status.get("signal"))
        elif status is None:
            shown.exit_status = None
            touch_cards(fold, shown)
        else:
            fold.count("terminal_update.exitStatus")


def terminal_output_chunk(fold: Fold, update: dict[str, Any]) -> None:
    """Append bytes to a terminal of the agent (v2); a character may be cut between two chunks."""
    shown = named(fold, update, "terminal_output_chunk")
    if shown is not None:
        add_bytes(fold, shown, update.get("data"), "terminal_output_chunk.data")


def named(fold: Fold, update: dict[str, Any], kind: str) -> TerminalDraft | None:
    """Return the terminal that an update is about."""
    terminal_id = update.get("terminalId")
    if isinstance(terminal_id, str) and terminal_id:
        return terminal(fold, terminal_id)
    fold.count(f"{kind}.terminalId")
    return None


def add_bytes(fold: Fold, shown: TerminalDraft, data: Any, where: str) -> None:
    """Decode base64 and UTF-8, whatever the cuts."""
    try:
        raw = b64decode(data, validate=True)
    except (ValueError, TypeError):
        fold.count(where)
        return
    if shown.decoder is None:
        shown.decoder = getincrementaldecoder("utf-8")("replace")
    write(fold, shown, shown.decoder.decode(raw))
