"""Content that is not from ACP (rule 18a): marked with its source, placed in its turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.content import replace_blocks
from acp_notebook.timeline.drafts import SegmentDraft
from acp_notebook.timeline.fold import encoded
from acp_notebook.timeline.plain import plain

if TYPE_CHECKING:
    from acp_notebook.timeline.drafts import TurnDraft
    from acp_notebook.timeline.fold import Fold


def add(fold: Fold, turn: TurnDraft, blocks: list[Any], source: str, evidence: str) -> None:
    """Add a segment at the end of its turn, or replace what this evidence brought before."""
    key = (source, evidence)
    segment = fold.supplements.get(key)
    if segment is None:
        segment = SegmentDraft(
            fold.unique(f"msg:assistant:{encoded(plain(source))}-{encoded(plain(evidence))}:0"),
            "assistant",
            None,
            0,
            historical=fold.historical,
        )
        segment.closed = True
        segment.supplement = plain(source)
        fold.supplements[key] = segment
        fold.place(segment, turn)
        turn.has_agent_items = True
        if turn is not fold.turns[-1]:
            fold.moved = True
    replace_blocks(fold, segment, blocks, "supplement.content")


def times(fold: Fold, turn: TurnDraft, started_at: float | None, ended_at: float | None) -> None:
    """Take the times of a turn of which ACP told none."""
    if (turn.started_at, turn.ended_at) == (None, None) != (started_at, ended_at):
        turn.started_at, turn.ended_at = started_at, ended_at
        fold.touch_turn(turn)
