"""
What type checkers know of the timeline; read by mypy, never run.

`assert_type` fails the check when a type becomes vaguer or another.
"""

from __future__ import annotations

from typing import Any, assert_type

from acp_notebook import Timeline, TimelineSnapshot, group_timeline, load_record
from acp_notebook.timeline import (
    AssistantTurn,
    Attachment,
    Audio,
    CodeBlock,
    Diff,
    Error,
    GroupCache,
    Image,
    Markdown,
    MessageSegment,
    Notice,
    Permission,
    PermissionOption,
    Plan,
    Question,
    Table,
    Terminal,
    Thought,
    ToolCall,
    ToolCalls,
    Turn,
    TurnError,
    Unsupported,
    Usage,
    UserGroup,
)


def calls(timeline: Timeline, update: dict[str, Any]) -> None:
    """Every mutating method tells the ids that it touched."""
    assert_type(timeline.apply(update), tuple[str, ...])
    assert_type(timeline.apply([update], historical=True, at=1.0), tuple[str, ...])
    assert_type(timeline.begin_prompt([{"type": "text", "text": "hi"}]), tuple[str, ...])
    assert_type(timeline.settle_prompt("end_turn", usage={"totalTokens": 1}), tuple[str, ...])
    assert_type(timeline.settle_prompt(error=TurnError("no")), tuple[str, ...])
    assert_type(timeline.request_permission(1, update), tuple[str, ...])
    assert_type(timeline.snapshot(), TimelineSnapshot)


def lookups(snapshot: TimelineSnapshot) -> None:
    """Items are a union that `kind` and `isinstance` narrow."""
    item = snapshot["tool:t1"]
    assert_type(item, MessageSegment | Thought | ToolCall | Permission | Plan | Notice)
    if isinstance(item, ToolCall):
        assert_type(item.status, str)
        assert_type(item.duration, float | None)
        assert_type(item.diffs, tuple[Diff, ...])
    elif isinstance(item, MessageSegment):
        part = item.parts[0]
        assert_type(
            part, Markdown | Image | Audio | Attachment | Diff | Terminal | Error | Unsupported
        )
        if isinstance(part, Markdown | Terminal):
            assert_type(part.since(3), str)
    elif isinstance(item, Permission):
        assert_type(item.selected, PermissionOption | None)
    assert_type(snapshot.turns[-1], Turn)
    assert_type(snapshot.turns[:2], tuple[Turn, ...])
    assert_type(snapshot.tool_calls.where(kind="edit"), ToolCalls)
    assert_type(snapshot.plan, Plan | None)
    assert_type(snapshot.questions[0], Question)
    assert_type(snapshot.metadata.title, str | None)
    assert_type(snapshot.blobs, dict[str, bytes])


def turns(turn: Turn) -> None:
    """A turn answers by itself."""
    assert_type(turn.text, str)
    assert_type(turn.error, TurnError | None)
    assert_type(turn.usage, Usage | None)
    assert_type(turn.tool_calls, ToolCalls)
    assert_type(turn.code_blocks, tuple[CodeBlock, ...])
    assert_type(turn.tables, tuple[Table, ...])
    for diff in turn.diffs:
        assert_type(diff.apply(), bool)


def views(snapshot: TimelineSnapshot) -> None:
    """Views are text, frames are whatever the library makes."""
    assert_type(snapshot.to_text(), str)
    assert_type(snapshot.to_markdown(thoughts=True), str)
    assert_type(snapshot.to_html(), str)
    assert_type(snapshot.to_dict(), dict[str, Any])
    assert_type(TimelineSnapshot.from_dict(snapshot.to_dict()), TimelineSnapshot)
    assert_type(load_record("talk.jsonl"), TimelineSnapshot)


def groups(snapshot: TimelineSnapshot) -> None:
    """Groups are of two kinds."""
    assert_type(group_timeline(snapshot), tuple[UserGroup | AssistantTurn, ...])
    assert_type(GroupCache().groups(snapshot)[0].copy_text, str)
