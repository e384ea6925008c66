"""Snapshots: lookup, sharing, equality, pickling, reprs, and their JSON."""

from __future__ import annotations

import dataclasses
import json
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
from acp_notebook.timeline.sequence import WIDTH, Chunks, Shared
from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    folded,
    message,
    output,
    permission,
    plan,
    snapshot,
    text,
    thought,
    update,
    user,
)

IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def rich():
    """Return a timeline with an item and a part of every kind."""
    timeline = Timeline(SESSION, generation=4)
    timeline.apply_response("initialize", {"agentInfo": {"name": "a"}})
    timeline.apply([user("old", "u0"), message("reply", "m0")], historical=True, at=1.0)
    timeline.begin_prompt([text("hi"), {"type": "resource_link", "uri": "file:///a"}], at=2.0)
    timeline.apply(
        [
            thought("hm", "m1"),
            message("a", "m1"),
            update("agent_message_chunk", content=IMAGE, messageId="m1"),
            update("agent_message_chunk", content={**IMAGE, "type": "audio"}, messageId="m1"),
            update("agent_message_chunk", content={"type": "hologram"}, messageId="m1"),
            call(
                title="T",
                kind="edit",
                rawInput={"a": [1, None]},
                locations=[{"path": "/a", "line": 1}],
                content=[
                    output("x"),
                    {"type": "diff", "path": "/a", "oldText": "o", "newText": "n"},
                    {"type": "diff", "changes": [{"operation": "add", "path": "/b"}]},
                    {"type": "terminal", "terminalId": "t"},
                    {"type": "diff"},
                    {"type": "content", "content": {"type": "resource", "resource": {"text": "e"}}},
                ],
            ),
            plan("one"),
            update("notice", severity="info", title="n"),
            update("usage_update", used=1, size=2, cost={"amount": 1, "currency": "EUR"}),
            update("hologram"),
        ]
    )
    timeline.terminal_output("t", "out", {"exitCode": 0})
    timeline.request_permission(7, permission())
    timeline.resolve_permission(7, {"outcome": "selected", "optionId": "allow_once"}, "user")
    timeline.supplement(1, [text("more")], source="s", evidence="e")
    timeline.settle_prompt("end_turn", usage={"totalTokens": 3}, at=4.0)
    timeline.begin_prompt([text("again")])
    timeline.settle_prompt(error={"code": 1, "message": "no", "data": {"x": 1}})
    return timeline


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


class TestSequence:
    """`Shared` is a sequence like a tuple."""

    def test_like_a_tuple(self):
        """Indexes, slices, iteration, equality."""
        members = tuple(range(200))
        shared = Shared(members)
        assert (len(shared), shared[0], shared[-1], shared[63], shared[64]) == (200, 0, 199, 63, 64)
        assert tuple(shared) == members
        assert shared[10:150:7] == members[10:150:7]
        assert shared == members
        assert shared == list(members)
        assert shared == Shared(members)
        assert shared != Shared(members[1:])
        assert shared != "x"
        assert pickle.loads(pickle.dumps(shared)) == shared
        assert repr(Shared([1, 2])) == "[1, 2]"
        for index in (200, -201):
            with pytest.raises(IndexError, match="there are 200"):
                shared[index]

    @pytest.mark.parametrize("start", [0, 1, 63, 64, 100, 190])
    @pytest.mark.parametrize("length", [0, 1, 5, 64, 100])
    def test_the_growing_side_slices_like_a_list(self, start, length):
        """Within a chunk and over many."""
        chunks = Chunks(range(300))
        assert chunks.slice(start, start + length) == tuple(range(start, start + length))

    def test_the_growing_side_grows_and_replaces(self):
        """Over the edge of a chunk."""
        chunks = Chunks(range(60))
        first = chunks.freeze()
        chunks.extend(range(60, 200))
        chunks.replace(3, -3)
        second = chunks.freeze()
        assert first == tuple(range(60))
        assert second == (0, 1, 2, -3, *range(4, 200))
        assert len(chunks) == 200


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


class TestJson:
    """Contract: `to_dict` has a fixed shape and `from_dict` reads it back."""

    def test_round_trip(self):
        """Through JSON, with and without the bytes."""
        shot = rich().snapshot()
        for blobs in (False, True):
            data = json.loads(json.dumps(shot.to_dict(blobs=blobs)))
            again = TimelineSnapshot.from_dict(data)
            assert again == shot
            assert again.to_dict(blobs=blobs) == data
            assert again.blobs == (shot.blobs if blobs else {})
            assert again.attachments == shot.attachments
            assert again.generation == 4

    def test_bytes_can_be_given_apart(self):
        """By their digest."""
        shot = rich().snapshot()
        assert TimelineSnapshot.from_dict(shot.to_dict(), shot.blobs).blobs == shot.blobs

    def test_the_shape(self):
        """Empty and null values are written, false marks are not."""
        assert Timeline("s").snapshot().to_dict() == {
            "schema": 1,
            "sessionId": "s",
            "generation": 0,
            "protocolVersion": 1,
            "agent": {"name": None, "title": None, "version": None},
            "items": [],
            "turns": [],
            "metadata": {
                "currentModeId": None,
                "availableModes": [],
                "availableCommands": [],
                "configOptions": [],
                "models": [],
                "currentModelId": None,
                "usage": None,
                "title": None,
                "updatedAt": None,
                "unrecognized": {},
            },
            "attachments": {},
        }

    def test_an_item_of_each_kind(self):
        """Names are the camelCase of the attributes."""
        data = {item["id"]: item for item in rich().snapshot().to_dict()["items"]}
        assert data["msg:user:u0:0"] == {
            "kind": "message-segment",
            "id": "msg:user:u0:0",
            "role": "user",
            "messageId": "u0",
            "segmentIndex": 0,
            "parts": [{"kind": "markdown", "text": "old"}],
            "historical": True,
        }
        tool = data["tool:t1"]
        assert {k: v for k, v in tool.items() if k != "outputParts"} == {
            "kind": "tool-call",
            "id": "tool:t1",
            "toolCallId": "t1",
            "title": "T",
            "name": None,
            "toolKind": "edit",
            "status": "pending",
            "agentStatus": None,
            "rawInput": {"a": [1, None]},
            "rawOutput": None,
            "locations": [{"path": "/a", "line": 1}],
            "error": None,
            "parentToolCallId": None,
            "startedAt": None,
            "endedAt": None,
            "noResult": True,
        }
        assert tool["outputParts"] == [
            {"kind": "markdown", "text": "x"},
            {"kind": "diff", "path": "/a", "oldText": "o", "newText": "n"},
            {
                "kind": "diff",
                "path": "/b",
                "patch": None,
                "changes": [{"operation": "add", "path": "/b"}],
            },
            {
                "kind": "terminal",
                "terminalId": "t",
                "output": "out",
                "exitStatus": {"exitCode": 0, "signal": None},
                "truncated": False,
            },
            {"kind": "error", "message": "This file change could not be read."},
            {
                "kind": "attachment",
                "refId": "tool:t1/0",
                "uri": None,
                "name": "",
                "mimeType": None,
                "size": None,
                "source": "resource",
                "blob": {
                    "sha256": "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea",
                    "size": 1,
                    "mimeType": "text/plain",
                },
            },
        ]
        assert data["perm:7"]["options"][0] == {
            "optionId": "allow_once",
            "name": "allow_once",
            "kind": "allow_once",
        }
        assert data["msg:assistant:s-e:0"]["supplement"] == "s"
        assert data["user:2"]["failed"] is True

    def test_a_turn(self):
        """With its items by their ids."""
        turn = rich().snapshot().to_dict()["turns"][2]
        assert turn == {
            "index": 2,
            "promptItemId": "user:2",
            "state": "failed",
            "stopReason": None,
            "stoppedByUser": False,
            "error": {"message": "no", "code": 1, "data": {"x": 1}},
            "startedAt": None,
            "endedAt": None,
            "usage": None,
            "agent": {"name": "a", "version": None, "model": None, "mode": None},
            "itemIds": ["user:2"],
        }

    def test_unknown_keys_are_kept(self):
        """At any place, and written again."""
        data = rich().snapshot().to_dict()
        data["future"] = None
        data["items"][0]["future"] = {"x": 1}
        data["items"][4]["parts"][0]["future"] = [1]
        data["turns"][1]["usage"]["future"] = 5
        assert TimelineSnapshot.from_dict(data).to_dict() == data

    @pytest.mark.parametrize("schema", [0, 2, "1", None])
    def test_an_unknown_schema_raises(self, schema):
        """It would be read wrongly."""
        with pytest.raises(ValueError, match="schema"):
            TimelineSnapshot.from_dict({**rich().snapshot().to_dict(), "schema": schema})

    def test_what_is_no_timeline_raises(self):
        """User files raise clearly."""
        for broken in (5, [], {}):
            with pytest.raises(ValueError, match="no timeline"):
                TimelineSnapshot.from_dict(broken)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda d: d.pop("items"),
            lambda d: d["items"][0].pop("role"),
            lambda d: d["items"][0].pop("kind"),
            lambda d: d["items"][0].update(parts=5),
            lambda d: d["items"][0]["parts"][0].update(text=5),
            lambda d: d["turns"][0].update(itemIds=["nope"]),
            lambda d: d.update(attachments=5),
        ],
    )
    def test_a_damaged_timeline_raises(self, damage):
        """And says what is wrong."""
        data = json.loads(json.dumps(rich().snapshot().to_dict()))
        damage(data)
        with pytest.raises(ValueError, match="damaged"):
            TimelineSnapshot.from_dict(data)

    @pytest.mark.parametrize("place", [("items", 0), ("items", 0, "parts", 0)])
    def test_an_unknown_kind_raises(self, place):
        """It could not be shown."""
        data = json.loads(json.dumps(rich().snapshot().to_dict()))
        found = data
        for key in place:
            found = found[key]
        found["kind"] = "hologram"
        with pytest.raises(ValueError, match="hologram"):
            TimelineSnapshot.from_dict(data)

    def test_a_snapshot_that_was_read_can_be_grouped_and_pickled(self):
        """It is a snapshot like any other."""
        again = TimelineSnapshot.from_dict(rich().snapshot().to_dict())
        assert pickle.loads(pickle.dumps(again)) == again
        assert again.turns[0].items[0] is again.items[0]


def test_a_part_can_be_made_by_hand():
    """For tests and supplements of other people."""
    assert Markdown(Text.of("a")).text == "a"
    assert Unsupported("x").kind == "unsupported"
