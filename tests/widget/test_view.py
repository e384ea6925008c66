"""The ops of a flush turn the old view into the new one, in the page's real store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_notebook.host.state import AgentInfo, ChatError, ChatState, QueuedPrompt
from acp_notebook.timeline import GroupCache, Timeline, group_timeline
from acp_notebook.widget import form, packing
from acp_notebook.widget.packing import packed
from acp_notebook.widget.view import SentView
from tests.widget.page import Page, page
from tests.widget.updates import steps

STATE = ChatState(session_key="s", session_id="s", agent=AgentInfo("agent"))


@pytest.fixture(scope="module")
def browser_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with page(tmp_path_factory.mktemp("page")) as started:
        yield started


def whole(timeline: Timeline, state: ChatState = STATE) -> SentView:
    snapshot = timeline.snapshot()
    return SentView(snapshot, group_timeline(snapshot), state)


def as_new(browser_page: Page, timeline: Timeline, state: ChatState = STATE) -> Any:
    """What a page shows that opens now."""
    browser_page.snapshot(whole(timeline, state).pieces())
    return browser_page.shown()


def chunk(text: str, kind: str = "agent_message_chunk", **fields: Any) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {"sessionId": "s", "update": {"sessionUpdate": kind, "content": content, **fields}}


def tool(**fields: Any) -> dict[str, Any]:
    return {"sessionId": "s", "update": {"sessionUpdate": "tool_call", "toolCallId": "t", **fields}}


class Follower:
    """A view that is kept up to date by ops alone."""

    def __init__(self, timeline: Timeline, state: ChatState = STATE) -> None:
        self.timeline = timeline
        self.state = state
        self.cache = GroupCache()
        snapshot = timeline.snapshot()
        self.view = SentView(snapshot, self.cache.groups(snapshot), state)
        self.first = self.view.pieces()
        self.messages: list[list[Any]] = []

    def follow(self, touched: Any, state: ChatState | None = None) -> list[Any]:
        """Flush; returns the ops."""
        self.state = state or self.state
        snapshot = self.timeline.snapshot()
        ops = self.view.ops(snapshot, lambda: self.cache.groups(snapshot), self.state, touched)
        said = list(packed(json.loads(json.dumps(ops))))
        self.messages += said
        return [op for some in said for op in some]

    def shown(self, browser_page: Page) -> Any:
        """What a page shows that got the first snapshot and all ops since."""
        browser_page.snapshot(self.first)
        for ops in self.messages:
            browser_page.apply(ops)
        return browser_page.shown()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(steps, min_size=1, max_size=3), min_size=1, max_size=12), st.integers(0, 5)
)
def test_following_by_ops_equals_opening_anew(browser_page, flushes, opened):
    """Whatever a session does, a page that follows it shows what a page shows that opens now."""
    timeline = Timeline("s")
    follower = None
    for number, some in enumerate(flushes):
        if number == min(opened, len(flushes) - 1):
            follower = Follower(timeline)
        touched: dict[str, None] = {}
        for step in some:
            touched |= dict.fromkeys(step(timeline))
        if follower is not None:
            follower.follow(touched)
    assert follower is not None
    assert as_new(browser_page, timeline) == follower.shown(browser_page)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=20))
def test_a_page_shows_the_snapshot(browser_page, some):
    """What a page shows are the items, turns, groups and metadata of `to_dict`, under their names."""
    timeline = Timeline("s")
    for step in some:
        step(timeline)
    snapshot = timeline.snapshot()
    shown = as_new(browser_page, timeline)
    data = json.loads(json.dumps(snapshot.to_dict()))

    assert data["items"] == shown["items"]
    assert data["metadata"] == shown["meta"]["metadata"]
    assert data["attachments"] == shown["meta"]["attachments"]
    assert [turn | {"itemIds": []} for turn in data["turns"]] == [
        turn | {"itemIds": []} for turn in shown["turns"]
    ]
    assert [(g.id, list(g.item_ids), g.turn) for g in group_timeline(snapshot)] == [
        (g["id"], g["itemIds"], g["turnIndex"]) for g in shown["groups"]
    ]
    assert [q.item_id for q in snapshot.questions] == [
        entry["itemId"] for entry in shown["meta"]["questions"]["entries"]
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(steps, min_size=1, max_size=4), min_size=1, max_size=8))
def test_a_view_in_many_small_pieces_is_the_same_view(browser_page, flushes):
    """Cut into tiny pieces, with texts and fields above tiny limits, a view comes out whole."""
    timeline = Timeline("s")
    expected_timeline = Timeline("s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "FIRST_PIECE_BYTES", 300)
        patch.setattr(packing, "PIECE_BYTES", 400)
        patch.setattr(packing, "MESSAGE_BYTES", 200)
        patch.setattr(packing, "TEXT_CHARS", 7)
        follower = None
        for some in flushes:
            touched: dict[str, None] = {}
            for step in some:
                touched |= dict.fromkeys(step(timeline))
                step(expected_timeline)
            if follower is None:
                follower = Follower(timeline)
            else:
                follower.follow(touched)
        assert follower is not None
        cut = as_new(browser_page, timeline)
        followed = follower.shown(browser_page)
    expected = as_new(browser_page, expected_timeline)

    assert expected == cut
    assert expected == followed


def test_a_streamed_text_costs_its_text():
    """Each flush of a growing message is one append of what was added."""
    timeline = Timeline("s")
    timeline.begin_prompt([{"type": "text", "text": "hi"}])
    timeline.apply(chunk("start"))
    follower = Follower(timeline)

    assert [{"op": "append", "id": "msg:assistant:~1:0", "part": 0, "text": " more"}] == (
        follower.follow(timeline.apply(chunk(" more")))
    )


def test_a_replaced_text_that_goes_on_costs_what_was_added(browser_page):
    """An agent that sends its whole tool output anew each time costs the difference."""
    timeline = Timeline("s")
    output = {"type": "content", "content": {"type": "text", "text": "line 1\n"}}
    timeline.apply(tool(content=[output]))
    follower = Follower(timeline)
    longer = {"type": "content", "content": {"type": "text", "text": "line 1\nline 2\n"}}
    ops = follower.follow(timeline.apply(tool(content=[longer])))

    assert [{"op": "append", "id": "tool:t", "part": 0, "text": "line 2\n"}] == ops
    other = {"type": "content", "content": {"type": "text", "text": "other"}}
    follower.follow(timeline.apply(tool(content=[other])))
    assert as_new(browser_page, timeline) == follower.shown(browser_page)


def test_only_what_is_touched_is_sent():
    """A status of one tool call among many items is one small op."""
    timeline = Timeline("s")
    for number in range(50):
        timeline.apply(chunk("x", messageId=str(number)))
    timeline.apply(tool(title="t", rawInput={"a": 1}))
    follower = Follower(timeline)

    ops = follower.follow(timeline.apply(tool(status="in_progress"), at=1.0))
    assert [{"op": "set", "id": "tool:t", "fields": {"status": "in_progress"}}] == [
        op for op in ops if op["op"] != "turns"
    ]


def test_the_chat_state_is_told_by_the_fields_that_changed(browser_page):
    """A new status, error and queue are one op; an equal state is none."""
    timeline = Timeline("s")
    follower = Follower(timeline)
    error = ChatError("It failed", "why", "detail", "tail", ("retry",))
    queue = (QueuedPrompt("1", "q" * 10_000, ()),)
    state = replace(STATE, status="exited", error=error, queue=queue)

    (op,) = follower.follow((), state)
    assert {"status", "error", "queue"} == op["fields"].keys()
    assert (False, 4096) == (
        op["fields"]["queue"][0]["whole"],
        len(op["fields"]["queue"][0]["text"]),
    )
    assert "tail" == op["fields"]["error"]["stderrTail"]
    assert [] == follower.follow((), replace(state))
    assert as_new(browser_page, timeline, state) == follower.shown(browser_page)


def test_another_session_is_not_a_later_moment():
    """A view knows whether a snapshot belongs to what it shows."""
    view = whole(Timeline("s"))

    assert view.shows(Timeline("s").snapshot(), STATE)
    assert not view.shows(Timeline("other").snapshot(), STATE)
    assert not view.shows(Timeline("s", generation=1).snapshot(), STATE)
    assert not view.shows(Timeline("s").snapshot(), replace(STATE, session_key="key"))


def test_a_large_field_stays_in_the_kernel_until_somebody_looks():
    """A large raw output is a blob in the view, and gone from it once it is replaced."""
    timeline = Timeline("s")
    large = {"lines": ["x" * 100] * 5000}
    timeline.apply(
        tool(rawOutput=large, content=[{"type": "diff", "path": "/a", "newText": "y" * 200_000}])
    )
    follower = Follower(timeline)
    (item,) = follower.first[0]["view"]["items"]
    ref = item["deferred"]["rawOutput"]
    diff = item["outputParts"][0]

    assert item["rawOutput"] is None
    assert (large, "application/json") == (
        json.loads(follower.view.blob(ref["sha256"])[0]),
        follower.view.blob(ref["sha256"])[1],
    )
    assert ref["size"] == len(follower.view.blob(ref["sha256"])[0])
    assert form.HEAD_CHARS == len(diff["newText"])
    assert (b"y" * 200_000, "text/plain") == follower.view.blob(
        diff["deferred"]["newText"]["sha256"]
    )
    (op,) = [
        op
        for op in follower.follow(timeline.apply(tool(rawOutput={"small": 1})))
        if op["op"] == "set"
    ]
    assert {"rawOutput": {"small": 1}, "deferred": {}} == op["fields"]
    assert follower.view.blob(ref["sha256"]) is None


def test_a_large_field_is_hashed_once():
    """A second page gets the same reference without looking at the value again."""
    timeline = Timeline("s")
    timeline.apply(tool(rawOutput={"lines": ["x" * 100] * 5000}))
    view = whole(timeline)
    first, second = (
        view.pieces()[0]["view"]["items"][0]["deferred"]["rawOutput"] for _ in range(2)
    )
    assert first is second


def test_image_bytes_are_a_reference():
    """An image travels as its digest, and its bytes are there for who asks."""
    timeline = Timeline("s")
    image = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
    timeline.apply(
        {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": image}}
    )
    view = whole(timeline)
    blob = view.pieces()[0]["view"]["items"][0]["parts"][0]["blob"]

    assert {"sha256", "size", "mimeType"} == blob.keys()
    assert (b"hello", "image/png") == view.blob(blob["sha256"])
    assert view.blob("0" * 64) is None


@pytest.mark.parametrize("text", ["x", "\x1b", "\U0001f600", "\u4e2d"])
def test_no_message_is_above_the_limit(browser_page, text):
    """A 12 MB tool output, whatever its characters, comes in messages below 4 MiB, and whole."""
    timeline = Timeline("s")
    timeline.apply(chunk("before"))
    follower = Follower(timeline)
    output = text * (12_000_000 // len(text.encode()))
    follower.follow(
        timeline.apply(
            tool(content=[{"type": "content", "content": {"type": "text", "text": output}}])
        )
    )
    pieces = whole(timeline).pieces()

    for message in [*pieces, *follower.messages]:
        sent = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
        assert len(sent) < packing.MAX_MESSAGE_BYTES - 1000
    assert output == as_new(browser_page, timeline)["items"][1]["outputParts"][0]["text"]
    assert output == follower.shown(browser_page)["items"][1]["outputParts"][0]["text"]


def test_the_newest_items_come_first():
    """The first piece of a large view holds its end, and the state of the chat."""
    timeline = Timeline("s")
    for number in range(3000):
        timeline.begin_prompt([{"type": "text", "text": f"question {number}"}])
        timeline.apply(chunk("answer " * 50, messageId=str(number)))
        timeline.settle_prompt("end_turn")
    pieces = whole(timeline).pieces()

    assert len(pieces) > 2
    assert "msg:assistant:2999:0" == pieces[0]["view"]["items"][-1]["id"]
    assert 2999 == pieces[0]["view"]["turns"][-1]["index"]
    assert ["meta" in piece["view"] for piece in pieces] == [True] + [False] * (len(pieces) - 1)
    assert max(form.size_of(piece) for piece in pieces) < packing.MAX_MESSAGE_BYTES


def test_a_long_list_is_cut_and_the_whole_is_there_for_who_asks(browser_page):
    """A plan of thousands of entries travels as its first ones; the whole is a blob."""
    timeline = Timeline("s")
    entries = [{"content": "step " * 20, "status": "pending", "priority": "low"}] * 2000
    timeline.apply({"sessionId": "s", "update": {"sessionUpdate": "plan", "entries": entries}})
    view = whole(timeline)
    (plan,) = view.pieces()[0]["view"]["items"]
    held = view.blob(plan["deferred"]["entries"]["sha256"])
    assert held

    assert 0 < len(plan["entries"]) < 2000
    assert entries[0]["content"] == plan["entries"][0]["content"]
    assert 2000 == len(json.loads(held[0]))


@pytest.mark.parametrize(
    ("large", "expected"),
    [
        ("x" * 500_000, "x" * form.HEAD_CHARS),
        ([1] * 500_000, [1] * form.MAX_META_BYTES),
        ({"a": "x" * 500_000}, None),
        ("short", "short"),
        (None, None),
        (1.5, 1.5),
    ],
    ids=["text", "list", "object", "short", "nothing", "number"],
)
def test_what_is_no_item_is_bounded(large, expected):
    """Metadata and errors above a limit are cut where that has a meaning, and left out else."""
    found = form.bounded(large)

    assert expected[: len(found)] == found if isinstance(expected, list) else expected == found
    assert len(str(found)) <= 4 * form.MAX_META_BYTES


def test_many_commands_are_cut_in_the_metadata(browser_page):
    """An agent with far too many commands costs the first ones only, by ops as well as anew."""
    timeline = Timeline("s")
    follower = Follower(timeline)
    commands = [{"name": f"c{n}", "description": "d" * 100} for n in range(5000)]
    touched = timeline.apply(
        {
            "sessionId": "s",
            "update": {"sessionUpdate": "available_commands_update", "availableCommands": commands},
        }
    )
    follower.follow(touched)
    shown = follower.shown(browser_page)

    assert 100 < len(shown["meta"]["metadata"]["availableCommands"]) < 5000
    assert as_new(browser_page, timeline) == shown
