"""Snapshots: lookup, sharing, equality, pickling, reprs, and their JSON."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from acp_notebook.timeline import (
    Markdown,
    Text,
    Timeline,
    TimelineSnapshot,
    Unsupported,
)
from acp_notebook.timeline.frozen import frozen
from acp_notebook.timeline.sequence import WIDTH
from tests.timeline.rich import rich
from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    folded,
    message,
    snapshot,
    update,
)


class TestLookup:
    """Items are found by place and by id."""

    def test_by_id(self):
        """In the snapshot and in its items."""
        shot = snapshot(call(), message("a", "m"))
        assert shot["tool:t1"] is shot.items[0]
        assert shot.items.get("msg:assistant:m:0") is shot.items[1]
        assert shot.items.get("nope") is None
        assert "tool:t1" in shot.items
        assert shot.items[0] in shot.items
        with pytest.raises(KeyError, match="nope"):
            shot["nope"]

    def test_an_older_snapshot_does_not_know_later_items(self):
        """Though the index is shared."""
        timeline = folded(call("a"))
        old = timeline.snapshot()
        timeline.apply(call("b"))
        timeline.snapshot()
        assert old.items.get("tool:b") is None
        assert "tool:b" not in old.items
        assert len(old) == 1

    def test_by_kind(self):
        """The usual questions have properties."""
        shot = rich().snapshot()
        assert [c.id for c in shot.tool_calls] == ["tool:t1"]
        assert [p.id for p in shot.permissions] == ["perm:7"]
        assert [t.id for t in shot.thoughts] == ["thought:m1:0"]
        assert shot.plan.id == "plan:current"
        assert snapshot().plan is None
        assert not shot.running

    def test_a_turn_answers_by_itself(self):
        """It holds its items."""
        turn = rich().snapshot().turns[1]
        assert (turn.prompt, turn.text) == ("hi", "a\n\nmore")
        assert [t.text for t in turn.thoughts] == ["hm"]
        assert [c.title for c in turn.tool_calls] == ["T"]
        assert [d.path for d in turn.diffs] == ["/a", "/b"]
        assert turn.duration == 2.0
        assert not turn.silent

    def test_code_and_tables_of_a_turn(self):
        """Taken out of its text."""
        words = "```py\nx = 1\n```\n\n| a |\n|---|\n| 1 |\n"
        turn = snapshot(message(words)).turns[0]
        assert [(b.language, b.text) for b in turn.code_blocks] == [("py", "x = 1")]
        assert [t.rows for t in turn.tables] == [(("1",),)]


def test_a_timeline_knows_its_session():
    """Id and generation, for routing."""
    timeline = Timeline("s", generation=7)
    assert (timeline.session_id, timeline.generation) == ("s", 7)


class TestSharing:
    """What has not changed is the same object."""

    def test_no_news_is_the_same_snapshot(self):
        """Taking one costs nothing then."""
        timeline = rich()
        assert timeline.snapshot() is timeline.snapshot()
        timeline.apply({"sessionId": "other", "update": {}})
        assert timeline.snapshot() is timeline.snapshot()

    def test_untouched_items_and_turns_are_the_same_objects(self):
        """Also in the changed turn."""
        timeline = rich()
        old = timeline.snapshot()
        touched = timeline.apply(call_update(title="U"))
        new = timeline.snapshot()
        assert touched == ("tool:t1",)
        assert [a is b for a, b in zip(old.items, new.items, strict=True)].count(False) == 1
        assert [a is b for a, b in zip(old.turns, new.turns, strict=True)] == [True, False, True]
        assert old["tool:t1"].title == "T"

    def test_only_the_chunks_that_changed_are_made_anew(self):
        """A flush costs one pointer for each 64 items beside what it changes."""
        timeline = folded(*(call(str(n)) for n in range(3 * WIDTH)))
        old = timeline.snapshot().items.chunks
        timeline.apply(call_update(str(WIDTH), title="x"))
        new = timeline.snapshot().items.chunks
        assert [a is b for a, b in zip(old, new, strict=True)] == [True, False, True]


class TestEquality:
    """Two snapshots are equal when session, items, turns and metadata are."""

    def test_generation_and_states_do_not_count(self):
        """They are of this kernel and this disk."""
        one, two = rich(), rich()
        two.resolve_attachment("user:1/0", {"state": "available"})
        assert one.snapshot() == two.snapshot()
        other = Timeline(SESSION, generation=9)
        assert other.snapshot() == Timeline(SESSION).snapshot()

    @pytest.mark.parametrize(
        "change",
        [message("x"), update("session_info_update", title="x"), call_update(title="x")],
    )
    def test_anything_else_counts(self, change):
        """Items, turns, metadata."""
        one, two = rich(), rich()
        two.apply(change)
        assert one.snapshot() != two.snapshot()

    def test_other_things_are_not_equal(self):
        """Nor sessions of other ids, nor hashable."""
        assert Timeline("a").snapshot() != Timeline("b").snapshot()
        assert Timeline("a").snapshot() != "a"
        with pytest.raises(TypeError):
            hash(Timeline("a").snapshot())

    def test_pickling_keeps_everything(self):
        """Bytes and states of attachments too."""
        shot = rich().snapshot()
        copy = pickle.loads(pickle.dumps(shot))
        assert copy == shot
        assert copy.blobs == shot.blobs
        assert copy.attachments == shot.attachments
        assert copy.generation == 4
        assert copy["tool:t1"] == shot["tool:t1"]

    def test_pickling_keeps_keys_of_a_later_version(self):
        """As writing the JSON again does."""
        data = {**rich().snapshot().to_dict(), "future": 1}
        shot = TimelineSnapshot.from_dict(data)
        assert pickle.loads(pickle.dumps(shot)).to_dict() == shot.to_dict() == data


class TestFrozen:
    """Items and parts are frozen dataclasses with slots."""

    def test_they_cannot_be_changed(self):
        """Nor get attributes."""
        item = snapshot(call()).items[0]
        assert dataclasses.is_dataclass(item)
        with pytest.raises(dataclasses.FrozenInstanceError):
            item.title = "x"
        assert not hasattr(item, "__dict__")
        assert dataclasses.replace(item, title="x").title == "x"

    def test_the_quick_init_is_dataclasss(self):
        """Same signature: required, default, made by a factory."""

        @frozen
        class Point:
            x: int
            y: int = 2
            z: list = dataclasses.field(default_factory=list)

        assert (Point(1), Point(1, z=[3]), Point(x=1, y=5).y) == (
            Point(1, 2, []),
            Point(1, 2, [3]),
            5,
        )
        assert Point(1).z is not Point(1).z
        with pytest.raises(TypeError, match=r"Point\.__init__"):
            Point()


class TestReprs:
    """Short and stable: no ids, times or addresses (nbval compares them)."""

    def test_of_everything(self):
        """One line each."""
        shot = rich().snapshot()
        assert repr(shot) == "<TimelineSnapshot: 3 turns, 11 items>"
        assert repr(folded(call()).snapshot()) == "<TimelineSnapshot: 1 turn, 1 item>"
        assert [repr(item) for item in shot.items] == [
            "<MessageSegment user: 'old'>",
            "<MessageSegment assistant: 'reply'>",
            "<MessageSegment user: 'hi'>",
            "<Thought: 'hm'>",
            "<MessageSegment assistant: 'a'>",
            "<ToolCall 'T': pending>",
            "<Plan: 1 entries>",
            "<Notice info: 'n'>",
            "<Permission 'T': selected>",
            "<MessageSegment assistant: 'more'>",
            "<MessageSegment user: 'again'>",
        ]
        assert [repr(turn) for turn in shot.turns] == [
            "<Turn 0: idle, 'reply'>",
            "<Turn 1: idle, 'a more'>",
            "<Turn 2: failed, ''>",
        ]

    def test_long_text_is_cut(self):
        """One line of forty characters."""
        assert repr(snapshot(message("word " * 100)).items[0]) == (
            "<MessageSegment assistant: 'word word word word word word word word…'>"
        )
        turn = folded(prompt="x")
        turn.settle_prompt("max_tokens")
        assert repr(turn.snapshot().turns[0]) == "<Turn 0: idle (max_tokens), ''>"


def test_a_part_can_be_made_by_hand():
    """For tests and supplements of other people."""
    assert Markdown(Text.of("a")).text == "a"
    assert Unsupported("x").kind == "unsupported"
