"""What is sent and its echo: rule 8 of timeline.md."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import Timeline
from tests.timeline.updates import (
    SESSION,
    call,
    folded,
    ids,
    message,
    text,
    texts,
    thought,
    update,
    user,
)

LINK = {"type": "resource_link", "uri": "file:///w/a.txt", "name": "a.txt"}


class TestEcho:
    """Rule 8: what is sent shows at once, and its echo makes no second bubble."""

    def test_a_prompt_shows_at_once(self):
        """The bubble is optimistic until the agent says something."""
        timeline = Timeline(SESSION)
        assert timeline.begin_prompt([text("hi")], at=5.0) == ("user:1",)
        bubble = timeline.snapshot()["user:1"]
        assert (bubble.text, bubble.optimistic, bubble.message_id) == ("hi", True, None)

    @pytest.mark.parametrize("message_id", ["u1", None])
    @pytest.mark.parametrize("pieces", [["hello world"], ["hel", "lo ", "world"], ["expanded!"]])
    def test_the_echo_confirms_it(self, pieces, message_id):
        """In one piece or many, with or without id, whatever its text."""
        timeline = folded(*(user(piece, message_id) for piece in pieces), prompt="hello world")
        shot = timeline.snapshot()
        assert ids(shot) == ["user:1"]
        bubble = shot["user:1"]
        assert (bubble.text, bubble.optimistic, bubble.message_id) == (
            "hello world",
            False,
            message_id,
        )

    def test_an_echo_may_get_its_id_late(self):
        """A first piece without id and a second with one are the same echo."""
        shot = folded(user("a"), user("b", "u1"), user("c"), prompt="abc").snapshot()
        assert [item.message_id for item in shot.items] == ["u1"]

    def test_attachments_that_the_echo_leaves_out_stay(self):
        """The bubble keeps what was sent, and what the host found out about it."""
        timeline = Timeline(SESSION)
        timeline.begin_prompt([text("see"), LINK])
        timeline.resolve_attachment("user:1/0", {"state": "available", "identity": "i"})
        timeline.apply(
            [user("see", "u1"), update("user_message_chunk", content=LINK, messageId="u1")]
        )
        shot = timeline.snapshot()
        assert [part.kind for part in shot["user:1"].parts] == ["markdown", "attachment"]
        assert shot.attachments == {"user:1/0": {"state": "available", "identity": "i"}}

    def test_another_message_id_is_a_message_of_its_own(self):
        """It ends the echo."""
        shot = folded(user("hi", "u1"), user("more", "u2"), user("x", "u1"), prompt="hi").snapshot()
        assert texts(shot) == {"user:1": "hi", "msg:user:u2:0": "more", "msg:user:u1:0": "x"}

    def test_an_agents_item_ends_the_echo(self):
        """A user chunk after that is a message of its own, and begins a turn."""
        timeline = folded(user("hi", "u1"), message("a"), user("hi", "u1"), prompt="hi")
        assert list(texts(timeline.snapshot()).values()) == ["hi", "a", "hi"]

    def test_an_answer_confirms_a_prompt_that_is_never_echoed(self):
        """An agent that never echoes is normal."""
        timeline = folded(prompt="hi")
        assert timeline.apply(message("a", "m")) == ("msg:assistant:m:0", "user:1")
        assert not timeline.snapshot()["user:1"].optimistic

    def test_metadata_confirms_nothing(self):
        """It is no word about the prompt."""
        timeline = folded(update("usage_update", used=1, size=2), prompt="hi")
        assert timeline.snapshot()["user:1"].optimistic

    def test_a_notice_is_no_answer(self):
        """codex2 sends one before the echo."""
        timeline = folded(
            update("notice", title="n"), user("hi", "u1"), message("a", "m"), prompt="hi"
        )
        shot = timeline.snapshot()
        assert ids(shot) == ["user:1", "notice:1", "msg:assistant:m:0"]
        assert (shot["user:1"].message_id, len(shot.turns)) == ("u1", 1)

    def test_two_prompts_at_once_have_an_echo_each(self):
        """Two equal prompts stay two bubbles."""
        timeline = folded(prompt="hi")
        timeline.begin_prompt([text("hi")])
        timeline.apply([user("hi", "u1"), user("hi", "u2")])
        assert [item.message_id for item in timeline.snapshot().items] == ["u1", "u2"]

    def test_a_failed_prompt_stays_and_is_marked(self):
        """Nothing came back: its text is offered again."""
        timeline = folded(prompt="hi")
        assert timeline.settle_prompt(error={"code": -32603, "message": "no"}) == ("user:1",)
        bubble = timeline.snapshot()["user:1"]
        assert (bubble.failed, bubble.optimistic) == (True, False)

    def test_a_late_echo_takes_the_mark_away(self):
        """Once the agent has echoed, it is an ordinary bubble whatever the end."""
        timeline = folded(prompt="hi")
        timeline.settle_prompt(error={"message": "no"})
        timeline.apply(user("hi", "u1"))
        bubble = timeline.snapshot()["user:1"]
        assert (bubble.failed, bubble.message_id) == (False, "u1")

    @pytest.mark.parametrize("came", [user("hi"), message("a"), thought("a"), call()])
    def test_a_prompt_that_was_answered_is_not_marked(self, came):
        """The error stands in the turn."""
        timeline = folded(came, prompt="hi")
        timeline.settle_prompt(error={"message": "no"})
        shot = timeline.snapshot()
        assert not shot["user:1"].failed
        assert shot.turns[0].state == "failed"

    def test_a_second_prompt_after_a_failed_one_takes_the_next_echo(self):
        """A bubble whose turn is over waits for no echo once another is sent."""
        timeline = folded(prompt="one")
        timeline.settle_prompt(error={"message": "no"})
        timeline.begin_prompt([text("two")])
        timeline.apply(user("two", "u2"))
        assert [item.message_id for item in timeline.snapshot().items] == [None, "u2"]
