"""Random sessions: calls of a `Timeline` as data, for laws."""

from __future__ import annotations

from hypothesis import strategies as st

from acp_notebook.timeline import Timeline
from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    message,
    output,
    permission,
    plan,
    text,
    thought,
    update,
    user,
)

words = st.text(alphabet="ab \n😀é\ud83d\ude00", max_size=4)
message_ids = st.sampled_from([None, "m1", "m2"])
call_ids = st.sampled_from(["t1", "t2"])
statuses = st.sampled_from(["pending", "in_progress", "completed", "failed", "cancelled", "odd"])
links = st.sampled_from(["file:///a", "file:///b", ""]).map(
    lambda uri: {"type": "resource_link", "uri": uri, "name": "n"}
)
blocks = st.one_of(
    words.map(text), links, st.just({"type": "image"}), st.just({"type": "hologram"})
)
tool_content = st.lists(
    st.one_of(
        words.map(output),
        links.map(lambda block: {"type": "content", "content": block}),
        st.just({"type": "diff", "path": "/a", "newText": "n"}),
        st.just({"type": "terminal", "terminalId": "x"}),
        st.just({"type": "broken"}),
    ),
    max_size=3,
)
terminal_meta = st.sampled_from(
    [
        {"terminal_output": {"terminal_id": "x", "data": "out"}},
        {"terminal_exit": {"terminal_id": "x", "exit_code": 0}},
        {"agent": {"toolName": "Bash"}},
    ]
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["T", "U", None]),
        "kind": st.sampled_from(["read", "edit", None]),
        "status": statuses,
        "content": tool_content,
        "rawInput": st.sampled_from([{}, {"a": 1}, None, 0]),
        "rawOutput": st.sampled_from(["", "x", None]),
        "locations": st.sampled_from([[], [{"path": "/a"}], None]),
        "_meta": terminal_meta,
    },
)

updates = st.one_of(
    st.builds(message, words, message_ids),
    st.builds(message, words, message_ids),
    st.builds(thought, words, message_ids),
    st.builds(user, words, message_ids),
    st.builds(
        lambda b, i: update("agent_message_chunk", content=b, messageId=i), blocks, message_ids
    ),
    st.builds(lambda i, f: call(i, **f), call_ids, fields),
    st.builds(lambda i, f: call_update(i, **f), call_ids, fields),
    st.builds(plan, words),
    st.builds(lambda u: update("usage_update", used=u, size=10), st.integers(0, 10)),
    st.builds(lambda t: update("session_info_update", title=t), st.sampled_from(["t", None])),
    st.builds(lambda t: update("notice", severity="info", title=t), st.sampled_from(["n", ""])),
    st.builds(
        lambda i, c: update("compaction_summary_chunk", compactionId=i, content=text(c)),
        st.sampled_from(["c"]),
        words,
    ),
    st.builds(lambda p: update("plan_removed", planId=p), st.sampled_from(["p"])),
    st.builds(
        lambda c: update("plan_update", plan={"type": "markdown", "planId": "p", "content": c}),
        words,
    ),
    st.just(update("hologram", z=1)),
    st.just({"sessionId": "other", "update": {}}),
)
updates_v2 = st.one_of(
    updates,
    st.builds(
        lambda k, i, c: update(k, messageId=i, content=c),
        st.sampled_from(["user_message", "agent_message", "agent_thought"]),
        st.sampled_from(["m1", "m2"]),
        st.one_of(st.none(), st.lists(blocks, max_size=3)),
    ),
    st.builds(
        lambda i, c: update("tool_call_content_chunk", toolCallId=i, content=c),
        call_ids,
        st.one_of(words.map(output), st.just({"type": "terminal", "terminalId": "x"})),
    ),
    st.builds(
        lambda d: update("terminal_output_chunk", terminalId="x", data=d),
        st.sampled_from(["YQ==", "w6k=", "ww==", "%"]),
    ),
    st.builds(
        lambda s: update("state_update", state=s), st.sampled_from(["running", "idle", "odd"])
    ),
)
request_ids = st.sampled_from([0, 1, "a"])
calls = st.one_of(
    st.tuples(st.just("begin_prompt"), st.lists(blocks, max_size=3)),
    st.tuples(st.just("settle_prompt"), st.sampled_from(["end_turn", "cancelled", None])),
    st.tuples(st.just("fail"), st.just({"message": "no"})),
    st.tuples(st.just("cancel_prompt")),
    st.tuples(st.just("settle_all"), st.just("gone")),
    st.tuples(st.just("request_permission"), request_ids, st.builds(permission, call_ids)),
    st.tuples(
        st.just("resolve_permission"),
        request_ids,
        st.sampled_from(
            [{"outcome": "cancelled"}, {"outcome": "selected", "optionId": "reject_once"}]
        ),
    ),
    st.tuples(
        st.just("resolve_attachment"),
        st.sampled_from(["user:1/0", "msg:assistant:m1:0/0", "tool:t1/0"]),
        st.sampled_from([{"state": "available", "identity": "i"}, {"state": "unavailable"}]),
    ),
    st.tuples(st.just("terminal_output"), st.just("x"), words, st.sampled_from([None, 0])),
    st.tuples(
        st.just("apply_response"),
        st.just("session/new"),
        st.just({"modes": {"currentModeId": "m", "availableModes": []}}),
    ),
)


def sessions(version):
    """Return a strategy of steps: a call, or a batch of updates."""
    batch = st.lists(updates if version == 1 else updates_v2, max_size=6)
    return st.lists(st.one_of(batch.map(lambda b: ("apply", b)), calls), max_size=12)


def play(timeline, step, *, historical=False):
    """Make one step on a timeline and return what it touched."""
    name, *arguments = step
    if name == "apply":
        return timeline.apply(*arguments, historical=historical)
    if name == "fail":
        return timeline.settle_prompt(error=arguments[0])
    return getattr(timeline, name)(*arguments)


def new(version):
    """Return an empty timeline."""
    return Timeline(SESSION, version)
