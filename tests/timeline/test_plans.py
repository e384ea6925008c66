"""Plans: rule 14 of timeline.md."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import PlanEntry
from tests.timeline.updates import call, folded, ids, message, plan, snapshot, text, update


def planned(plan_id, form="items", **fields):
    """Return a `plan_update`."""
    return update("plan_update", plan={"planId": plan_id, "type": form, **fields})


def test_a_plan_replaces_the_one_of_its_turn():
    """Each update is the whole list."""
    shot = snapshot(plan("a", "b"), message("x", "m"), plan("c"))
    assert ids(shot) == ["plan:current", "msg:assistant:m:0"]
    assert shot.plan.entries == (PlanEntry("c", "medium", "pending"),)


def test_a_plan_of_a_later_turn_is_another_item():
    """Earlier ones keep their last state."""
    timeline = folded(plan("a"), prompt="one")
    for number in (2, 3):
        timeline.settle_prompt("end_turn")
        timeline.begin_prompt([text("next")])
        timeline.apply([plan("x"), plan(f"b{number}")])
    shot = timeline.snapshot()
    found = [i for i in ids(shot) if i.startswith("plan")]
    assert found == ["plan:current", "plan:current#2", "plan:current#3"]
    assert [shot[i].entries[0].content for i in found] == ["a", "b2", "b3"]
    assert shot.plan.id == "plan:current#3"


def test_unknown_statuses_are_kept():
    """And missing ones are None."""
    shot = snapshot(
        update("plan", entries=[{"content": "a", "status": "cancelled"}, {"content": "b"}])
    )
    assert [(e.status, e.priority) for e in shot.plan.entries] == [
        ("cancelled", None),
        (None, None),
    ]


def test_steps_that_cannot_be_read_are_counted():
    """The others are shown."""
    shot = snapshot(
        update("plan", entries=[5, {"content": 5}, {"content": "a"}]), update("plan", entries=5)
    )
    assert [e.content for e in shot.plan.entries] == ["a"]
    assert shot.metadata.unrecognized == {"plan.entries": 3}


def test_plans_by_id():
    """Steps, a Markdown text, or a file."""
    shot = snapshot(
        planned("p:1", entries=[{"content": "a"}]),
        planned("p2", "markdown", content="# x"),
        planned("p3", "file", uri="file:///p.md"),
        planned("p2", "markdown", content="# y"),
    )
    assert ids(shot) == ["plan:p%3A1", "plan:p2", "plan:p3"]
    assert [(p.plan_id, p.markdown, p.uri) for p in shot.items] == [
        ("p:1", None, None),
        ("p2", "# y", None),
        ("p3", None, "file:///p.md"),
    ]


def test_a_removed_plan_is_gone():
    """What stands around it stays, and new items go on."""
    timeline = folded(message("a", "m"), planned("p", entries=[]), call())
    before = timeline.snapshot()
    assert timeline.apply(update("plan_removed", planId="p")) == ("plan:p",)
    timeline.apply([message("b", "m"), planned("p", entries=[])])
    shot = timeline.snapshot()
    assert ids(shot) == ["msg:assistant:m:0", "tool:t1", "msg:assistant:m:1", "plan:p"]
    assert ids(before) == ["msg:assistant:m:0", "plan:p", "tool:t1"]
    assert before.items.position("tool:t1") == 2
    assert shot.items.position("tool:t1") == 1
    assert "plan:p" in before.items
    assert shot.turns[0].item_ids == tuple(ids(shot))


def test_the_last_item_can_be_removed():
    """And one that was never shown."""
    timeline = folded(planned("p", entries=[]))
    timeline.snapshot()
    timeline.apply([update("plan_removed", planId="p"), message("a")])
    assert ids(timeline) == ["msg:assistant:~1:0"]
    assert ids(snapshot(planned("p", entries=[]), update("plan_removed", planId="p"))) == []


def test_removing_what_is_not_there_changes_nothing():
    """Rule: nothing raises."""
    assert folded().apply(update("plan_removed", planId="p")) == ()


@pytest.mark.parametrize(
    ("broken", "counted"),
    [
        (update("plan_update"), "plan_update.plan"),
        (update("plan_update", plan={}), "plan_update.planId"),
        (planned("p", entries=5), "plan_update.entries"),
        (planned("p", "hologram"), "plan_update.type"),
        (planned("p", "markdown", content=5), "plan_update.type"),
        (update("plan_removed", planId=5), "plan_removed.planId"),
    ],
)
def test_malformed_ones_are_counted(broken, counted):
    """Rule 17."""
    shot = snapshot(broken)
    assert ids(shot) == []
    assert shot.metadata.unrecognized == {counted: 1}
