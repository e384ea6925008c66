"""
Prompt turns (rules 8, 12, 13, 19, 20).

A turn begins with `begin` and ends with `settle`; the agent says nothing of either on the wire.
When it ends, what the agent left open is closed: tool calls keep their last status and get
`no_result`, or become `cancelled` when the turn was stopped or the person said no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.content import append_block
from acp_notebook.timeline.drafts import SegmentDraft
from acp_notebook.timeline.plain import plain, text_or_none, whole_number
from acp_notebook.timeline.turns import TurnError, Usage

if TYPE_CHECKING:
    from acp_notebook.timeline.drafts import PermissionDraft, ToolDraft, TurnDraft
    from acp_notebook.timeline.fold import Fold


def begin(fold: Fold, blocks: list[Any]) -> None:
    """Begin a turn with an optimistic bubble of what is sent."""
    last = fold.last
    if last is not None and last.nameless:
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
    turn.state = "running"
    turn.started_at = fold.at
    fold.touch_turn(turn)
    fold.running.append(turn)


def settle(
    fold: Fold, stop_reason: str | None, error: TurnError | None, usage: Usage | None
) -> None:
    """End the oldest open turn; without one nothing changes."""
    if not fold.running:
        return
    turn = fold.running.pop(0)
    if error is not None and turn.stopped_by_user:
        error, stop_reason = None, "cancelled"
    cancelled = stop_reason == "cancelled"
    turn.usage = usage
    turn.error = error
    turn.stop_reason = stop_reason
    prompt = turn.prompt
    if error is not None and prompt is not None and prompt.optimistic:
        prompt.failed = True
    if prompt is not None and prompt.optimistic:
        prompt.optimistic = False
        fold.touch(prompt)
    for part in (turn, *turn.followers):
        close_turn(fold, part, cancelled=cancelled)
    turn.state = "failed" if error is not None else "idle"


def close_turn(fold: Fold, turn: TurnDraft, *, cancelled: bool, no_result: bool = False) -> None:
    """Close what the agent left open in a turn."""
    turn.settled = True
    turn.state = "idle"
    turn.ended_at = fold.at
    fold.touch_turn(turn)
    cancel_permissions(fold, turn)
    for call in list(turn.calls.values()):
        if cancelled or no_result or call.rejected:
            cancel_call(fold, call, no_result=no_result)
        else:
            call.no_result = True
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
    call.turn.calls.pop(call.id, None)
    fold.touch(call)


def cancel(fold: Fold) -> None:
    """Note that the person pressed Stop: open calls and requests of open turns end at once."""
    for running in fold.running:
        running.stopped_by_user = True
        fold.touch_turn(running)
        for turn in (running, *running.followers):
            cancel_permissions(fold, turn)
            for call in list(turn.calls.values()):
                cancel_call(fold, call)


def settle_all(fold: Fold, error: TurnError | None) -> None:
    """End everything: the agent is gone."""
    while fold.running:
        turn = fold.running[0]
        settle(fold, None, None if turn.stopped_by_user else error, None)
        if turn.stopped_by_user:
            turn.stop_reason = "cancelled"
    for turn in fold.turns:
        if turn.calls or turn.permissions:
            cancel_permissions(fold, turn)
            for call in list(turn.calls.values()):
                cancel_call(fold, call, no_result=True)


def error_of(error: Any) -> TurnError | None:
    """Read a JSON-RPC error: its message, else what its data says, else how it looks."""
    if error is None or isinstance(error, TurnError):
        return error
    if not isinstance(error, dict):
        return TurnError(plain(str(error)))
    data = plain(error.get("data"))
    message = text_or_none(error.get("message")) or ""
    code = whole_number(error.get("code"))
    inner = data if isinstance(data, str) else None
    if isinstance(data, dict):
        inner = next(
            (v for k in ("message", "details", "error") if isinstance(v := data.get(k), str) and v),
            None,
        )
    if not message or message.rstrip(".").lower() in {"internal error", "unknown error"}:
        message = inner or message or "The agent gave no reason."
    return TurnError(message, code, data)


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
