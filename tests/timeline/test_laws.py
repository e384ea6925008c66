"""Laws of the timeline, over random sessions."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_notebook.timeline import GroupCache, TimelineSnapshot, group_timeline
from tests.timeline.streams import calls, new, play, sessions, updates, updates_v2
from tests.timeline.updates import SESSION, call, message, output, texts

VERSIONS = pytest.mark.parametrize("version", [1, 2])
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(alphabet="aé\ud800", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "uri", "path", "_meta", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
KINDS = [
    "agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update",
    "plan", "plan_update", "plan_removed", "available_commands_update", "current_mode_update",
    "config_option_update", "session_info_update", "usage_update", "notice", "compaction_update",
    "compaction_summary_chunk", "user_message", "agent_message", "agent_thought", "state_update",
    "tool_call_content_chunk", "terminal_update", "terminal_output_chunk",
]  # fmt: skip
FIELDS = [
    "content", "messageId", "toolCallId", "title", "kind", "status", "rawInput", "rawOutput", "locations",
    "_meta", "entries", "plan", "planId", "availableCommands", "currentModeId", "configOptions", "used",
    "size", "cost", "severity", "description", "compactionId", "summary", "error", "state", "stopReason",
    "usage", "terminalId", "data", "output", "exitStatus", "name", "updatedAt",
]  # fmt: skip


def batches(stream, cuts):
    """Cut a list at these places."""
    places = sorted({min(cut, len(stream)) for cut in cuts})
    return [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]


@VERSIONS
@relaxed
@given(data=st.data())
def test_any_split_into_batches_gives_the_same_snapshot(version, data):
    """Also when a snapshot is taken after each batch, and one update at a time."""
    stream = data.draw(st.lists(updates if version == 1 else updates_v2, max_size=25))
    cuts = data.draw(st.lists(st.integers(0, 25), max_size=5))
    whole, cut, single = new(version), new(version), new(version)
    whole.apply(stream)
    for batch in batches(stream, cuts):
        cut.apply(batch)
        cut.snapshot()
    for one in stream:
        single.apply(one)
        single.snapshot()
    assert whole.snapshot() == cut.snapshot() == single.snapshot()
    assert whole.snapshot().to_dict() == single.snapshot().to_dict()


@VERSIONS
@relaxed
@given(data=st.data())
def test_replayed_and_live_differ_in_historical_only(version, data):
    """One code path: the same calls with and without `historical`."""
    stream = data.draw(
        st.lists(st.lists(updates if version == 1 else updates_v2, max_size=6), max_size=6)
    )
    live, replayed = new(version), new(version)
    for batch in stream:
        assert live.apply(batch) == replayed.apply(batch, historical=True)
    one, two = live.snapshot().to_dict(), replayed.snapshot().to_dict()
    for item in two["items"]:
        assert item.pop("historical") is True
    assert one == two


@VERSIONS
@relaxed
@given(data=st.data())
def test_what_is_touched_is_what_differs(version, data):
    """Every item that differs is among the touched ids, and none that was not touched."""
    timeline = new(version)
    before = timeline.snapshot()
    for step in data.draw(sessions(version)):
        touched = play(timeline, step)
        after = timeline.snapshot()
        assert len(set(touched)) == len(touched)
        known = {item.id: item for item in before.items}
        now = {item.id: item for item in after.items}
        changed = {i for i in known.keys() | now.keys() if known.get(i) is not now.get(i)}
        assert changed <= set(touched)
        untouched = now.keys() - set(touched)
        assert all(now[i] is known[i] for i in untouched)
        for old, new_turn in zip(before.turns, after.turns, strict=False):
            assert old is new_turn or touched or old != new_turn
        before = after


@VERSIONS
@relaxed
@given(data=st.data())
def test_snapshots_are_frozen(version, data):
    """What comes later changes nothing in an older one."""
    timeline = new(version)
    kept = []
    for step in data.draw(sessions(version)):
        shot = timeline.snapshot()
        kept.append((shot, pickle.dumps(shot.to_dict())))
        play(timeline, step)
    for shot, was in kept:
        assert pickle.loads(was) == shot.to_dict()


@VERSIONS
@relaxed
@given(data=st.data())
def test_growing_text_keeps_its_promise(version, data):
    """Of one origin: the old text is a prefix of the new, and `since` is the rest."""
    timeline = new(version)
    before = {}
    for step in data.draw(sessions(version)):
        play(timeline, step)
        now = {}
        for item in timeline.snapshot().items:
            for number, part in enumerate(
                getattr(item, "parts", None) or getattr(item, "output_parts", ())
            ):
                if hasattr(part, "origin"):
                    now[item.id, number] = part
        for key, part in now.items():
            old = before.get(key)
            if old is not None and old.origin is part.origin:
                assert part.length >= old.length
                assert str(old.body) + part.since(old.length) == str(part.body)
        before = now


@VERSIONS
@relaxed
@given(data=st.data())
def test_json_and_back_is_the_same(version, data):
    """Through real JSON text; and every text in it is valid UTF-8."""
    timeline = new(version)
    for step in data.draw(sessions(version)):
        play(timeline, step)
    shot = timeline.snapshot()
    written = json.dumps(shot.to_dict(blobs=True), ensure_ascii=False).encode()
    again = TimelineSnapshot.from_dict(json.loads(written))
    assert again == shot
    assert again.blobs == shot.blobs
    assert again.attachments == shot.attachments
    assert pickle.loads(pickle.dumps(shot)) == shot


@VERSIONS
@relaxed
@given(data=st.data())
def test_turns_groups_and_items_agree(version, data):
    """Turns hold all items in order; each is at most one user group and one assistant turn."""
    timeline, cache = new(version), GroupCache()
    for step in data.draw(sessions(version)):
        play(timeline, step)
        shot = timeline.snapshot()
        assert [item for turn in shot.turns for item in turn.items] == list(shot.items)
        assert [turn.index for turn in shot.turns] == list(range(len(shot.turns)))
        groups = cache.groups(shot)
        assert groups == group_timeline(shot)
        kinds = [(group.turn, group.kind) for group in groups]
        assert len(set(kinds)) == len(kinds)
        assert kinds == sorted(kinds, key=lambda k: (k[0], k[1] != "user"))
        for turn in shot.turns:
            copied = "".join(
                g.copy_text for g in groups if (g.turn, g.kind) == (turn.index, "assistant-turn")
            )
            assert copied == turn.text


@VERSIONS
@relaxed
@given(data=st.data())
def test_when_all_is_settled_nothing_is_open(version, data):
    """After the agent has gone: no running turn, open call or pending request, no caret."""
    timeline = new(version)
    for step in data.draw(sessions(version)):
        play(timeline, step)
    timeline.settle_all("gone")
    shot = timeline.snapshot()
    assert not shot.running
    assert shot.streaming_segments == ()
    assert not [c for c in shot.tool_calls if c.is_open]
    assert {p.status for p in shot.permissions} <= {"selected", "cancelled"}


@VERSIONS
@relaxed
@given(
    junk=st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=6),
        ),
        max_size=12,
    )
)
def test_junk_in_any_field_never_raises_and_loses_nothing(version, junk):
    """Good updates before and after it stand whole, and the snapshot can be written."""
    timeline = new(version)
    timeline.apply([message("before", "good"), call("good", status="in_progress")])
    timeline.apply(
        [
            {"sessionId": SESSION, "update": {**fields, "sessionUpdate": kind}}
            for kind, fields in junk
        ]
    )
    timeline.apply([message("after", "good2"), call("good2", content=[output("x")])])
    shot = timeline.snapshot()
    assert texts(shot)["msg:assistant:good:0"].startswith("before")
    assert texts(shot)["msg:assistant:good2:0"] == "after"
    assert shot["tool:good2"].text == "x"
    written = json.dumps(shot.to_dict(blobs=True), ensure_ascii=False, allow_nan=False).encode()
    assert TimelineSnapshot.from_dict(json.loads(written)) == shot


@VERSIONS
@relaxed
@given(step=calls, params=json_values, outcome=json_values)
def test_junk_in_requests_and_responses_never_raises(version, step, params, outcome):
    """Permission requests, their answers, and results of requests."""
    timeline = new(version)
    play(timeline, step)
    timeline.apply([params, {"sessionId": SESSION, "update": params}])
    timeline.request_permission(params, params)
    timeline.request_permission(
        outcome, {"toolCall": params, "options": outcome, "subject": outcome}
    )
    timeline.resolve_permission(params, outcome)
    timeline.settle_prompt(error=params, usage=outcome)
    for method in ("initialize", "session/new", "session/set_mode", "session/set_model"):
        timeline.apply_response(method, params, outcome)
        timeline.apply_response(
            method,
            {"modes": params, "models": params, "configOptions": params, "agentInfo": params},
        )
    json.dumps(timeline.snapshot().to_dict(), allow_nan=False, ensure_ascii=False).encode()
