"""Messages and thoughts: rules 1 to 9 and 18 of timeline.md."""

from __future__ import annotations

import pytest

from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    folded,
    ids,
    message,
    permission,
    plan,
    snapshot,
    text,
    texts,
    thought,
    update,
    user,
)

IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def test_an_update_of_another_session_changes_nothing():
    """Rule 1: only the message's own session id counts, never one in `_meta`."""
    timeline = folded()
    before = timeline.snapshot()
    foreign = {**message("x"), "sessionId": "other", "_meta": {"sessionId": SESSION}}
    assert timeline.apply(foreign) == ()
    assert timeline.snapshot() is before


def test_a_chunk_goes_to_its_messages_open_segment():
    """Rule 3: chunks of one messageId make one segment with one part."""
    shot = snapshot(message("a", "m1"), message("b", "m1"))
    assert {"msg:assistant:m1:0": "ab"} == texts(shot)
    assert 1 == len(shot["msg:assistant:m1:0"].parts)


@pytest.mark.parametrize(
    "other",
    [thought("t", "x"), call(), plan("a"), update("notice", severity="info", title="n")],
    ids=["thought", "tool-call", "plan", "notice"],
)
def test_another_item_first_seen_closes_all_segments(other):
    """Rule 3: text after it makes the message's next segment."""
    shot = snapshot(message("a", "m1"), message("x", "m2"), other, message("b", "m1"))
    assert texts(shot)["msg:assistant:m1:0"] == "a"
    assert texts(shot)["msg:assistant:m1:1"] == "b"
    assert shot["msg:assistant:m1:1"].segment_index == 1


def test_a_permission_closes_segments():
    """Rule 3: a permission request is an item too."""
    timeline = folded(call(), message("a", "m1"))
    timeline.request_permission(1, permission())
    timeline.apply(message("b", "m1"))
    assert ids(timeline)[-2:] == ["perm:1", "msg:assistant:m1:1"]


@pytest.mark.parametrize(
    "between",
    [
        call_update(status="in_progress"),
        update("usage_update", used=1, size=2),
        update("session_info_update", title="t"),
        update("available_commands_update", availableCommands=[]),
        update("current_mode_update", currentModeId="x"),
        update("hologram_update", z=1),
        message("", "m1"),
    ],
    ids=["known-tool", "usage", "info", "commands", "mode", "unknown", "empty"],
)
@pytest.mark.parametrize("message_id", ["m1", None])
def test_what_is_no_new_item_splits_nothing(between, message_id):
    """Rules 3 and 6: updates of known items, metadata and unknown kinds close no segment."""
    shot = snapshot(call(), message("a", message_id), between, message("b", message_id))
    assert list(texts(shot).values()) == ["ab"]


def test_a_message_of_another_id_leaves_the_first_open():
    """Rule 3: messages do not close each other, so two that interleave stay two segments."""
    shot = snapshot(message("a", "m1"), message("x", "m2"), message("b", "m1"), message("y", "m2"))
    assert texts(shot) == {"msg:assistant:m1:0": "ab", "msg:assistant:m2:0": "xy"}


@pytest.mark.parametrize("absent", [None, "", 5, ["m1"]])
def test_a_message_id_that_is_no_text_counts_as_absent(absent):
    """Rule 3: null, empty and other types are no id."""
    shot = snapshot(update("agent_message_chunk", content=text("a"), messageId=absent))
    assert texts(shot) == {"msg:assistant:~1:0": "a"}
    assert shot.items[0].message_id is None


def test_id_less_chunks_join_the_last_item_only():
    """Rule 4: an id-less chunk joins an id-less segment of its role that is the last item."""
    shot = snapshot(message("a"), message("b"), call(), message("c"), thought("d"), message("e"))
    assert list(texts(shot).values()) == ["ab", "c", "d", "e"]


def test_an_id_less_chunk_never_joins_a_segment_with_an_id():
    """Rule 4: warnings without an id stand apart from the answer (quirk 2)."""
    shot = snapshot(message("a", "m1"), message("warning"), message("b", "m1"))
    assert texts(shot) == {"msg:assistant:m1:0": "ab", "msg:assistant:~1:0": "warning"}


def test_a_new_prompt_ends_id_less_text():
    """Rule 4: text after the next prompt is a message of its own."""
    timeline = folded(message("a"), prompt="one")
    timeline.settle_prompt("end_turn")
    timeline.begin_prompt([text("two")])
    timeline.apply(message("b"))
    assert list(texts(timeline.snapshot()).values()) == ["one", "a", "two", "b"]


def test_a_thought_and_its_message_may_share_an_id():
    """Quirk 1: claude gives thought and answer one id; they stay two items."""
    shot = snapshot(thought("hm", "m1"), message("a", "m1"))
    assert texts(shot) == {"thought:m1:0": "hm", "msg:assistant:m1:0": "a"}


def test_text_closes_the_open_thought_of_its_message():
    """Rule 5: a thought that goes on after its message's text is the next segment."""
    shot = snapshot(thought("a", "m1"), message("x", "m1"), thought("b", "m1"))
    assert ids(shot) == ["thought:m1:0", "msg:assistant:m1:0", "thought:m1:1"]


def test_later_text_closes_a_thought_that_came_between():
    """Rule 5: text of a known segment closes the open thought of its messageId too."""
    shot = snapshot(message("x", "m2"), thought("a", "m1"), message("y", "m1"), thought("b", "m1"))
    assert texts(shot)["thought:m1:1"] == "b"


def test_text_of_one_message_leaves_other_thoughts_open():
    """Rule 5: only the thought of the same messageId is closed."""
    shot = snapshot(thought("a", "t"), message("x", "m"), thought("b", "t"))
    assert texts(shot) == {"thought:t:0": "ab", "msg:assistant:m:0": "x"}


def test_thoughts_coalesce_without_ids():
    """Rule 5: a fault of ClawX: a new thought item per chunk."""
    assert texts(snapshot(thought("a"), thought("b"))) == {"thought:~1:0": "ab"}


def test_half_a_character_is_given_up_when_its_segment_closes():
    """And the segment is touched by what closes it."""
    timeline = folded(message("a\ud83d", "m"))
    assert timeline.snapshot().items[0].text == "a"
    assert timeline.apply(call()) == ("msg:assistant:m:0", "tool:t1")
    assert timeline.snapshot().items[0].text == "a\ufffd"


def test_neighbouring_text_is_one_part_and_other_blocks_stand_between():
    """Rule 6: part order is block order."""
    shot = snapshot(
        message("a", "m"),
        update("agent_message_chunk", content=IMAGE, messageId="m"),
        message("b", "m"),
        message("c", "m"),
    )
    assert [part.kind for part in shot.items[0].parts] == ["markdown", "image", "markdown"]
    assert shot.items[0].text == "abc"


@pytest.mark.parametrize(
    "kind", ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]
)
def test_empty_text_makes_no_item(kind):
    """Rule 6: markers with empty text leave nothing (quirk 3)."""
    assert ids(snapshot(message("", "m", kind), message("", None, kind))) == []


@pytest.mark.parametrize("content", [None, 5, [], {}, {"type": "text"}, {"type": 5}, "words"])
def test_a_chunk_without_readable_content_is_counted(content):
    """Rule 17: a malformed field is counted by kind and field, and loses nothing around it."""
    shot = snapshot(
        message("a", "m"), update("agent_message_chunk", content=content, messageId="m")
    )
    assert shot.metadata.unrecognized == {"agent_message_chunk.content": 1}
    assert shot.items[0].text == "a"


def test_an_unreadable_first_chunk_makes_no_item():
    """Rule 17: nothing is shown for what could not be read."""
    shot = snapshot(update("agent_message_chunk", content={"type": "text"}))
    assert ids(shot) == []


def test_a_straggler_lands_in_its_own_turn():
    """Rule 3: late text of a message goes to it, open or not, also after the next prompt."""
    timeline = folded(message("alpha", "m1"), call(), prompt="one")
    timeline.settle_prompt("end_turn")
    timeline.begin_prompt([text("two")])
    touched = timeline.apply([message(" omega", "m1"), message("beta", "m2")])
    shot = timeline.snapshot()
    assert texts(shot)["msg:assistant:m1:0"] == "alpha omega"
    assert touched == ("msg:assistant:m1:0", "msg:assistant:m2:0", "user:2")
    assert [turn.text for turn in shot.turns] == ["alpha omega", "beta"]


def test_after_a_replay_ids_begin_anew():
    """Rule 18: a live message with a replayed id is another message."""
    timeline = folded(user("q", "u1"), message("old", "m1"), historical=True)
    timeline.begin_prompt([text("next")])
    timeline.apply(message("new", "m1"))
    shot = timeline.snapshot()
    assert shot["msg:assistant:m1:1"].text == "new"
    assert shot["msg:assistant:m1:0"].historical
    assert not shot["msg:assistant:m1:1"].historical


def test_a_replay_ends_open_segments():
    """Rule 18: an id-less live chunk does not join replayed text."""
    timeline = folded(message("old"), historical=True)
    timeline.apply(message("new"))
    assert list(texts(timeline.snapshot()).values()) == ["old", "new"]


def test_replayed_messages_without_ids_alternate():
    """Rule 9: alternating user and assistant chunks make alternating segments."""
    shot = snapshot(user("a"), message("b"), user("c"), message("d"), historical=True)
    assert list(texts(shot).values()) == ["a", "b", "c", "d"]
    assert [turn.prompt for turn in shot.turns] == ["a", "c"]


def test_equal_replayed_prompts_stay_apart():
    """Rule 8: two equal prompts are two bubbles."""
    shot = snapshot(user("hi", "u1"), user("hi", "u2"), historical=True)
    assert list(texts(shot).values()) == ["hi", "hi"]


class TestWholeMessages:
    """Rule 7: whole-message upserts of protocol v2."""

    def whole(self, kind, message_id, *content, **fields):
        return update(kind, messageId=message_id, content=list(content), **fields)

    def test_content_goes_into_the_last_segment(self):
        """Earlier segments lose their parts."""
        shot = snapshot(
            message("a", "m"),
            call(),
            message("b", "m"),
            self.whole("agent_message", "m", text("x"), text(""), text("y")),
            version=2,
        )
        assert texts(shot) == {"msg:assistant:m:0": "", "msg:assistant:m:1": "xy"}

    def test_an_earlier_segment_that_is_empty_already_is_not_touched(self):
        """It does not differ."""
        timeline = folded(
            message("a", "m"),
            self.whole("agent_message", "m"),
            call(),
            message("b", "m"),
            version=2,
        )
        touched = timeline.apply(self.whole("agent_message", "m", text("x")))
        assert touched == ("msg:assistant:m:1",)

    def test_content_makes_a_message_that_is_not_known(self):
        """It is an ordinary segment, and closes what a first chunk closes."""
        shot = snapshot(
            self.whole("agent_thought", "t", text("hm")),
            self.whole("agent_message", "m", text("a")),
            message("b", "m"),
            version=2,
        )
        assert texts(shot) == {"thought:t:0": "hm", "msg:assistant:m:0": "ab"}

    @pytest.mark.parametrize("fields", [{}, {"content": None}, {"content": []}])
    def test_nothing_makes_no_item(self, fields):
        """Omitted or empty content of an unknown message shows nothing."""
        assert ids(snapshot(update("agent_message", messageId="m", **fields), version=2)) == []

    def test_omitted_content_changes_nothing(self):
        """Only what is named is changed."""
        shot = snapshot(message("a", "m"), update("agent_message", messageId="m"), version=2)
        assert texts(shot) == {"msg:assistant:m:0": "a"}

    @pytest.mark.parametrize("content", [None, []])
    def test_null_and_empty_clear(self, content):
        """The segment stays at its place, without parts."""
        shot = snapshot(
            message("a", "m"), update("agent_message", messageId="m", content=content), version=2
        )
        assert shot.items[0].parts == ()

    def test_text_that_only_grew_keeps_its_origin(self):
        """A view may send the rest alone."""
        timeline = folded(message("a", "m"), version=2)
        old = timeline.snapshot().items[0].parts[0]
        timeline.apply(self.whole("agent_message", "m", text("abc")))
        new = timeline.snapshot().items[0].parts[0]
        assert new.origin is old.origin
        assert new.since(old.length) == "bc"

    def test_another_text_has_another_origin(self):
        """A view must send it whole."""
        timeline = folded(message("a", "m"), version=2)
        old = timeline.snapshot().items[0].parts[0]
        timeline.apply(self.whole("agent_message", "m", text("b")))
        assert timeline.snapshot().items[0].parts[0].origin is not old.origin

    def test_the_echo_of_a_prompt_confirms_it(self):
        """A whole user message after a prompt is its echo."""
        timeline = folded(
            self.whole("user_message", "u1", text("expanded")), prompt="/go", version=2
        )
        bubble = timeline.snapshot()["user:1"]
        assert (bubble.text, bubble.message_id, bubble.optimistic) == ("/go", "u1", False)

    def test_a_user_message_that_is_no_echo_stands_for_itself(self):
        """Another client's prompt in the same session."""
        shot = snapshot(self.whole("user_message", "u1", text("hi")), version=2)
        assert texts(shot) == {"msg:user:u1:0": "hi"}

    def test_a_user_message_without_content_is_no_echo(self):
        """It says nothing yet."""
        timeline = folded(update("user_message", messageId="u1"), prompt="a", version=2)
        assert timeline.snapshot()["user:1"].optimistic

    @pytest.mark.parametrize(
        ("fields", "counted"),
        [
            ({"content": [text("a")]}, "agent_message.messageId"),
            ({"messageId": "m", "content": "a"}, "agent_message.content"),
            ({"messageId": "m", "content": [5]}, "agent_message.content"),
        ],
    )
    def test_malformed_ones_are_counted(self, fields, counted):
        """Rule 17."""
        shot = snapshot(update("agent_message", **fields), version=2)
        assert shot.metadata.unrecognized == {counted: 1}

    def test_v1_does_not_know_them(self):
        """In protocol v1 they are unknown kinds."""
        shot = snapshot(self.whole("agent_message", "m", text("a")))
        assert shot.metadata.unrecognized == {"agent_message": 1}

    def test_replayed_segments_are_not_cleared_by_a_live_message(self):
        """Rule 18: the replayed message of that id is another one."""
        timeline = folded(message("old", "m"), historical=True, version=2)
        timeline.apply(self.whole("agent_message", "m", text("new")))
        assert texts(timeline.snapshot()) == {
            "msg:assistant:m:0": "old",
            "msg:assistant:m:1": "new",
        }


def test_foreign_ids_are_encoded_and_never_collide():
    """Contract: `:` and `#` are percent-encoded; ids that then are equal are told apart."""
    shot = snapshot(message("a", "x:y#z"), call(), message("b", "x%3Ay%23z"))
    assert ids(shot) == ["msg:assistant:x%3Ay%23z:0", "tool:t1", "msg:assistant:x%3Ay%23z:0#2"]
    assert shot.items[0].message_id == "x:y#z"


def test_a_third_collision_is_counted_on():
    """The number goes up."""
    shot = snapshot(
        message("a", "x:"), message("b", "x%3A"), message("c", "x%3A#"), message("d", "\ud800")
    )
    assert len(set(ids(shot))) == 4


def test_ids_with_lone_surrogates_are_made_valid():
    """Every id can be written as UTF-8."""
    shot = snapshot(message("a", "m\ud800"), message("b", "m\ud800"))
    assert ids(shot) == ["msg:assistant:m\ufffd:0"]
    assert shot.items[0].text == "ab"
