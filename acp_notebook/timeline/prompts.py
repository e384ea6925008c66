"""
Prompt turns (rules 8, 12, 13, 19, 20).

A turn begins with `begin` and ends with `settle`; the agent says nothing of either on the wire.
When it ends, what the agent left open is closed: tool calls keep their last status and get
`no_result`, or become `cancelled` when the turn was stopped or the person said no.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.content import append_block
from acp_notebook.timeline.drafts import SegmentDraft
from acp_notebook.timeline.plain import plain, whole_number
from acp_notebook.timeline.text import valid
from acp_notebook.timeline.turns import TurnError, Usage

if TYPE_CHECKING:
    from acp_notebook.timeline.drafts import PermissionDraft, ToolDraft, TurnDraft
    from acp_notebook.timeline.fold import Fold


def begin(fold: Fold, blocks: list[Any]) -> None:
    """Begin a turn with an optimistic bubble of what is sent."""
    last = fold.last
    if isinstance(last, SegmentDraft) and last.nameless:
        fold.close(last)
    fold.echoing = None
    fold.awaiting_echo = [bubble for bubble in fold.awaiting_echo if not bubble.turn.settled]
    fold.prompts += 1
    turn = fold.new_turn()
    turn.begun = True
    turn.state = "running"
    turn.started_at = fold.at
    bubble = SegmentDraft(
        fold.unique(f"user:{fold.prompts}"), "user", None, 0, historical=fold.historical
    )
    bubble.optimistic = bubble.closed = True
    turn.prompt = bubble
    fold.place(bubble, turn)
    for block in blocks:
        append_block(fold, bubble, block, "prompt.content")
    fold.running.append(turn)
    fold.awaiting_echo.append(bubble)
    fold.last = bubble


def resume(fold: Fold) -> None:
    """Begin work that no prompt of ours asked for (v2's `running`)."""
    turn = fold.turns[-1] if fold.turns else None
    if turn is None or turn.begun or turn.settled:
        turn = fold.new_turn()
        fold.awaiting_echo.clear()
    turn.state = "running"
    turn.started_at = fold.at
    fold.touch_turn(turn)
    fold.running.append(turn)


def settle(
    fold: Fold,
    stop_reason: str | None,
    error: TurnError | None = None,
    usage: Usage | None = None,
    *,
    gone: bool = False,
) -> None:
    """End the oldest open turn; without one nothing changes. `gone`: the agent is not there."""
    if not fold.running:
        return
    turn = fold.running.pop(0)
    if error is not None and turn.stopped_by_user:
        error, stop_reason = None, "cancelled"
    turn.usage = usage
    turn.error = error
    turn.stop_reason = stop_reason
    bubble = turn.prompt
    if bubble is not None and bubble.optimistic:
        bubble.optimistic = False
        bubble.failed = error is not None
        fold.touch(bubble)
    for part in (turn, *turn.followers):
        close_turn(fold, part, cancelled=stop_reason == "cancelled" or gone, gone=gone)
    turn.state = "failed" if error is not None else "idle"


def close_turn(fold: Fold, turn: TurnDraft, *, cancelled: bool, gone: bool) -> None:
    """Close what the agent left open in a turn."""
    turn.settled = True
    turn.state = "idle"
    turn.ended_at = fold.at
    fold.touch_turn(turn)
    cancel_permissions(fold, turn)
    for call in list(turn.calls.values()):
        if cancelled or call.rejected:
            cancel_call(fold, call, no_result=gone)
        else:
            call.no_result = True
            call.settle()
            fold.touch(call)
    turn.calls.clear()


def cancel_permissions(fold: Fold, turn: TurnDraft) -> None:
    """Withdraw the pending requests of a turn."""
    for permission in list(turn.permissions.values()):
        cancel_permission(fold, permission)


def cancel_permission(
    fold: Fold, permission: PermissionDraft, decided_by: str | None = None
) -> None:
    """Withdraw a pending request; its call, if still open at the end, counts as rejected."""
    permission.status = "cancelled"
    permission.decided_by = decided_by
    permission.turn.permissions.pop(permission.id, None)
    if permission.call is not None:
        permission.call.rejected = True
    fold.touch(permission)


def cancel_call(fold: Fold, call: ToolDraft, *, no_result: bool = False) -> None:
    """Close a call on the client's side."""
    call.status = "cancelled"
    call.held = True
    call.no_result = no_result
    call.ended_at = fold.at
    call.settle()
    call.turn.calls.pop(call.id, None)
    fold.touch(call)


def cancel(fold: Fold) -> None:
    """Note that the person pressed Stop: open calls and requests of open turns end at once."""
    for running in fold.running:
        if not running.stopped_by_user:
            running.stopped_by_user = True
            fold.touch_turn(running)
        for turn in (running, *running.followers):
            cancel_permissions(fold, turn)
            for call in list(turn.calls.values()):
                cancel_call(fold, call)


def settle_all(fold: Fold, error: TurnError | None) -> None:
    """End everything: the agent is gone."""
    while fold.running:
        settle(fold, None, error, gone=True)
    for turn in fold.turns:
        cancel_permissions(fold, turn)
        for call in list(turn.calls.values()):
            cancel_call(fold, call, no_result=True)


def error_of(error: Any) -> TurnError | None:
    """
    Read a JSON-RPC error in words for a person.

    Seen from agents: the text in `message` (opencode, claude), in `data.message` (codex), in
    `data.details` (qwen), in `data` itself, or as JSON inside either (gemini, codex).
    """
    if error is None or isinstance(error, TurnError):
        return error
    if not isinstance(error, dict):
        return TurnError(valid(str(error)))
    data = plain(error.get("data"))
    message = words(error.get("message"))
    if message is None or message.strip().rstrip(".").lower() in SAYS_NOTHING:
        message = words(data) or message or "The agent gave no reason."
    return TurnError(message, whole_number(error.get("code")), data)


SAYS_NOTHING = frozenset({"internal error", "unknown error", "server error"})


def words(value: Any, depth: int = 4) -> str | None:
    """Return the text that an error carries, also inside JSON that it carries as text."""
    if isinstance(value, str):
        text = valid(value).strip()
        if depth and text.startswith("{"):
            try:
                inner = json.loads(text)
            except (ValueError, RecursionError):
                inner = None
            return words(inner, depth - 1) or text
        return text or None
    if isinstance(value, dict) and depth:
        for key in ("message", "details", "error"):
            found = words(value.get(key), depth - 1)
            if found:
                return found
    return None


def usage_of(usage: Any) -> Usage | None:
    """Read the token usage of a prompt's response."""
    if usage is None or isinstance(usage, Usage):
        return usage
    if not isinstance(usage, dict):
        return None
    return Usage(
        *(
            whole_number(usage.get(key))
            for key in (
                "totalTokens",
                "inputTokens",
                "outputTokens",
                "thoughtTokens",
                "cachedReadTokens",
                "cachedWriteTokens",
            )
        )
    )
