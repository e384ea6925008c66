"""Display groups and the question directory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.timeline import GroupCache, Timeline, group_timeline
from acp_notebook.timeline.questions import cut
from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    folded,
    message,
    output,
    plan,
    snapshot,
    text,
    thought,
    update,
    user,
)


def link(uri, **fields):
    """Return a resource link."""
    return {"type": "resource_link", "uri": uri, **fields}


def said(block, message_id="m"):
    """Return a chunk of the agent's message with this block."""
    return update("agent_message_chunk", content=block, messageId=message_id)


def shape(groups):
    """Return kind and item ids of each group."""
    return [(group.kind, group.item_ids) for group in groups]


class TestGrouping:
    """A turn is at most one user group and one assistant turn."""

    def test_by_user_boundaries(self):
        """Assistant items before the first user item form a turn too."""
        shot = snapshot(
            message("banner"),
            user("a", "u1"),
            user("b", "u2"),
            thought("t", "x"),
            call(),
            message("c"),
            user("d", "u3"),
        )
        groups = group_timeline(shot)
        assert shape(groups) == [
            ("assistant-turn", ("msg:assistant:~1:0",)),
            ("user", ("msg:user:u1:0", "msg:user:u2:0")),
            ("assistant-turn", ("thought:x:0", "tool:t1", "msg:assistant:~2:0")),
            ("user", ("msg:user:u3:0",)),
        ]
        assert [g.turn for g in groups] == [0, 1, 1, 2]
        assert len({g.id for g in groups}) == 4

    def test_prompts_are_turns_also_side_by_side(self):
        """A failed prompt and the next are two groups: an error stands between."""
        timeline = folded(prompt="a")
        timeline.settle_prompt(error={"message": "no"})
        timeline.begin_prompt([text("b")])
        assert shape(group_timeline(timeline.snapshot())) == [
            ("user", ("user:1",)),
            ("user", ("user:2",)),
        ]

    def test_blank_segments_are_in_no_group(self):
        """They are in the timeline (quirk 3)."""
        shot = snapshot(thought("\n\n", "t"), message(" ", "m"), user("  ", "u"))
        assert len(shot) == 3
        assert group_timeline(shot) == ()

    def test_meta_and_ids_decide_nothing(self):
        """Ownership is by place."""
        shot = snapshot(user("a", "u1"), message("x", "u1"), user("b", "u2"), message("y", "m2"))
        assert [g.copy_text for g in group_timeline(shot)] == ["a", "x", "b", "y"]

    def test_a_user_group_copies_its_prose(self):
        """One paragraph a message."""
        shot = snapshot(user("a", "u1"), user("b", "u2"))
        assert group_timeline(shot)[0].copy_text == "a\n\nb"

    @pytest.mark.parametrize(
        ("updates", "copied"),
        [
            ([message("Copy", "x1"), message(" to disk", "x2")], "Copy to disk"),
            ([message("a", "m"), call(), message("b", "m")], "a\n\nb"),
            ([message("a", "m"), thought("t"), plan("p"), message("b", "n")], "a\n\nb"),
            ([thought("t"), message("a", "m")], "a"),
            ([message("a"), thought(" "), message("b")], "ab"),
            ([call(content=[output("x")])], ""),
            ([message("a", "m"), message("\n", "n"), message("b", "o")], "ab"),
        ],
    )
    def test_a_turn_has_one_copy_text(self, updates, copied):
        """Joined by nothing side by side, by a blank line where others stand between."""
        groups = group_timeline(snapshot(*updates))
        assert "".join(g.copy_text for g in groups) == copied
        assert snapshot(*updates).turns[0].text == copied


class TestAttachments:
    """They are lifted into one ordered list a group, each once."""

    def lifted(self, timeline):
        return [part.name for g in group_timeline(timeline.snapshot()) for part in g.attachments]

    def test_from_messages_thoughts_and_tool_output(self):
        """In order of appearance."""
        timeline = folded(
            said(link("file:///a", name="a")),
            update("agent_thought_chunk", content=link("file:///b", name="b")),
            call(content=[{"type": "content", "content": link("file:///c", name="c")}]),
            plan("x"),
            said(link("file:///d", name="d")),
        )
        assert self.lifted(timeline) == ["a", "b", "c", "d"]

    def test_two_of_one_identity_collapse(self):
        """What is not resolved is not compared."""
        timeline = folded(said(link("file:///a", name="a")), said(link("file:///./a", name="b")))
        assert self.lifted(timeline) == ["a", "b"]
        for number in (0, 1):
            timeline.resolve_attachment(
                f"msg:assistant:m:0/{number}", {"state": "available", "identity": "i"}
            )
        assert self.lifted(timeline) == ["a"]

    def test_native_evidence_beats_a_supplement(self):
        """Also when the supplement stands before it."""
        timeline = Timeline(SESSION)
        timeline.apply(message("x", "m"))
        timeline.supplement(0, [link("file:///a", name="s")], source="s", evidence="e")
        timeline.apply(said(link("file:///a", name="n"), "n"))
        assert self.lifted(timeline) == ["s", "n"]
        for ref in ("msg:assistant:s-e:0/0", "msg:assistant:n:0/0"):
            timeline.resolve_attachment(ref, {"state": "available", "identity": "i"})
        assert self.lifted(timeline) == ["n"]

    def test_a_picture_shown_inline_suppresses_its_card(self):
        """By its reference or what that resolves to."""
        picture = {
            "type": "image",
            "data": "iVBORw0KGgo=",
            "mimeType": "image/png",
            "uri": "file:///a.png",
        }
        timeline = folded(
            said(link("file:///a.png", name="a")), said(picture), said(link("file:///b", name="b"))
        )
        assert self.lifted(timeline) == ["b"]
        timeline.resolve_attachment(
            "msg:assistant:m:0/1", {"state": "available", "identity": "file:///a.png"}
        )
        assert self.lifted(timeline) == []


class TestCache:
    """An unchanged group is the same object."""

    def test_between_two_calls(self):
        """Also within the open turn: the user's bubble stays while the answer streams."""
        cache = GroupCache()
        timeline = folded(message("a", "m"), prompt="one")
        first = cache.groups(timeline.snapshot())
        assert cache.groups(timeline.snapshot()) is first
        timeline.apply(message("b", "m"))
        second = cache.groups(timeline.snapshot())
        assert second == group_timeline(timeline.snapshot())
        assert second[0] is first[0]
        assert second[1] is not first[1]

    def test_a_new_state_makes_the_group_anew(self):
        """Its list of attachments may differ."""
        cache = GroupCache()
        timeline = folded(said(link("file:///a")), said(link("file:///b")))
        first = cache.groups(timeline.snapshot())
        timeline.resolve_attachment("msg:assistant:m:0/0", {"state": "available", "identity": "i"})
        assert cache.groups(timeline.snapshot())[0] is first[0]
        timeline.resolve_attachment("msg:assistant:m:0/1", {"state": "available", "identity": "i"})
        assert cache.groups(timeline.snapshot())[0] is not first[0]

    def test_over_many_turns(self):
        """Only the turn that changed is grouped again."""
        timeline = Timeline(SESSION)
        for number in range(150):
            timeline.begin_prompt([text(str(number))])
            timeline.apply(message("a", f"m{number}"))
            timeline.settle_prompt("end_turn")
        cache = GroupCache()
        first = cache.groups(timeline.snapshot())
        timeline.apply([message("late", "m70"), message("x", "new")])
        second = cache.groups(timeline.snapshot())
        assert second == group_timeline(timeline.snapshot())
        changed = [n for n, (a, b) in enumerate(zip(first, second, strict=True)) if a is not b]
        assert changed == [141, 299]

    def test_of_a_shorter_timeline(self):
        """Another session in the same view."""
        cache = GroupCache()
        cache.groups(folded(user("a", "u1"), message("b"), user("c", "u2")).snapshot())
        other = folded(message("x")).snapshot()
        assert cache.groups(other) == group_timeline(other)
        assert cache.groups(Timeline(SESSION).snapshot()) == ()

    @given(
        st.lists(st.sampled_from(["user", "say", "tool", "touch", "think", "prompt"]), max_size=30)
    )
    def test_equals_the_plain_grouping(self, steps):
        """Whatever happens between two looks."""
        cache, timeline = GroupCache(), Timeline(SESSION)
        for number, step in enumerate(steps):
            if step == "prompt":
                timeline.begin_prompt([text("q")])
            else:
                timeline.apply(
                    {
                        "user": user("u", f"u{number}"),
                        "say": message("a", f"m{number // 3}"),
                        "tool": call(f"t{number // 2}"),
                        "touch": call_update(f"t{number // 4}", title="x"),
                        "think": thought("t"),
                    }[step]
                )
            shot = timeline.snapshot()
            assert cache.groups(shot) == group_timeline(shot)


class TestQuestions:
    """The question directory."""

    def test_one_entry_a_user_segment(self):
        """Equal texts stay separate."""
        found = snapshot(user("hi", "u1"), message("x"), user("hi", "u2")).questions
        assert [(q.item_id, q.number, q.title) for q in found] == [
            ("msg:user:u1:0", 1, "hi"),
            ("msg:user:u2:0", 2, "hi"),
        ]
        assert (len(found), found[1].number, found[:1], found.hidden_count) == (
            2,
            2,
            (found[0],),
            0,
        )
        assert found.navigable
        assert not snapshot(user("hi", "u1")).questions.navigable

    @pytest.mark.parametrize(
        ("words", "title"),
        [
            ("\n  \n  a  b\tc \nd", "a b c"),
            ("x" * 80, "x" * 80),
            ("x" * 81, "x" * 80 + "…"),
            ("👩‍👩‍👧" * 81, "👩‍👩‍👧" * 80 + "…"),
            ("é" * 81, "é" * 80 + "…"),
            ("🇩🇪" * 81, "🇩🇪" * 80 + "…"),
            ("👍🏽" * 80, "👍🏽" * 80),
        ],
    )
    def test_a_title_is_the_first_line(self, words, title):
        """As plain text, cut as a reader counts."""
        assert snapshot(user(words, "u")).questions[0].title == title

    def test_a_question_without_text_has_a_fallback(self):
        """The words for it are the view's."""
        found = snapshot(
            update("user_message_chunk", content=link("file:///a"), messageId="u1"), user(" ", "u2")
        ).questions
        assert [(q.title, q.fallback) for q in found] == [(None, "attachment"), (None, "untitled")]

    def test_at_most_300_the_newest(self):
        """And it says how many are hidden."""
        found = snapshot(*(user("q", f"u{n}") for n in range(305))).questions
        assert (len(found), found.hidden_count, found[0].number) == (300, 5, 6)
        assert found is not None

    def test_is_made_once(self):
        """The same snapshot gives the same directory."""
        shot = snapshot(user("a", "u"))
        assert shot.questions is shot.questions

    def test_cutting_never_cuts_a_cluster(self):
        """Joined emoji, accents, flags and modifiers stay whole."""
        assert cut("ab", 5) == "ab"
        assert cut("🇩🇪🇫🇷🇮🇹x", 2) == "🇩🇪🇫🇷…"
        assert cut("e\u0301e\u0301e\u0301", 2) == "e\u0301e\u0301…"
