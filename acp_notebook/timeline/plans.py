"""
Plans (rule 14): each update is a whole plan.

It replaces the plan of its id in place; in a later turn it makes a new item, and the earlier
one keeps its last state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.drafts import PlanDraft
from acp_notebook.timeline.fold import encoded
from acp_notebook.timeline.items import PlanEntry
from acp_notebook.timeline.plain import plain, text_or_none
from acp_notebook.timeline.text import valid

if TYPE_CHECKING:
    from acp_notebook.timeline.fold import Fold


def plan(fold: Fold, update: dict[str, Any]) -> None:
    """Take the current plan."""
    given = entries(fold, update.get("entries"), "plan.entries")
    if given is not None:
        draft = known_or_new(fold, None)
        if draft is not None:
            draft.entries = given


def plan_update(fold: Fold, update: dict[str, Any]) -> None:
    """Take a plan by its id: entries, a Markdown text, or a file."""
    given = update.get("plan")
    if not isinstance(given, dict):
        fold.count("plan_update.plan")
        return
    plan_id, form = given.get("planId"), given.get("type")
    if not isinstance(plan_id, str) or not plan_id:
        fold.count("plan_update.planId")
        return
    steps: tuple[PlanEntry, ...] | None = ()
    markdown = uri = None
    if form == "items":
        steps = entries(fold, given.get("entries"), "plan_update.entries")
        if steps is None:
            return
    elif form == "markdown" and isinstance(given.get("content"), str):
        markdown = plain(given["content"])
    elif form == "file" and isinstance(given.get("uri"), str):
        uri = plain(given["uri"])
    else:
        fold.count("plan_update.type")
        return
    draft = known_or_new(fold, plan_id)
    if draft is not None:
        draft.entries, draft.markdown, draft.uri = steps or (), markdown, uri


def plan_removed(fold: Fold, update: dict[str, Any]) -> None:
    """Take a plan out of the timeline."""
    plan_id = update.get("planId")
    if not isinstance(plan_id, str) or not plan_id:
        fold.count("plan_removed.planId")
        return
    draft = fold.plans.pop(plan_id, None)
    if draft is not None:
        fold.remove(draft)


def known_or_new(fold: Fold, plan_id: str | None) -> PlanDraft | None:
    """Return the plan of this id in the current turn, noted as touched."""
    draft = fold.plans.get(plan_id)
    if draft is not None and draft.turn is fold.current_turn():
        fold.touch(draft)
        return draft
    if not fold.room():
        return None
    fold.close_all()
    name = "current" if plan_id is None else encoded(plain(plan_id))
    draft = fold.plans[plan_id] = PlanDraft(
        fold.unique(f"plan:{name}"),
        None if plan_id is None else plain(plan_id),
        historical=fold.historical,
    )
    fold.add(draft)
    return draft


def entries(fold: Fold, value: Any, where: str) -> tuple[PlanEntry, ...] | None:
    """Read the steps; what is no step is counted, no list at all gives None."""
    if not isinstance(value, list):
        fold.count(where)
        return None
    kept = []
    for member in value:
        content = member.get("content") if isinstance(member, dict) else None
        if not isinstance(content, str):
            fold.count(where)
            continue
        priority, status = member.get("priority"), member.get("status")
        kept.append(PlanEntry(valid(content), text_or_none(priority), text_or_none(status)))
    return tuple(kept)
