"""Random lives of a session, for the tests of its view: steps that change a `Timeline`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from acp_notebook.timeline import Timeline

Step = Callable[[Timeline], tuple[str, ...]]

ids = st.sampled_from(["a", "b", "c"])
texts = st.sampled_from(["", "one ", "two\n", "\U0001f600", "\ud83d", "x" * 50, "  "])
uris = st.sampled_from(["file:///w/a.txt", "file:///w/b.txt", "https://example.org/c"])
blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, texts),
    st.builds(lambda uri: {"type": "resource_link", "uri": uri, "name": "n"}, uris),
    st.just({"type": "image", "data": "aGk=", "mimeType": "image/png"}),
    st.just({"type": "hologram"}),
)
contents = st.lists(
    st.one_of(
        st.builds(lambda block: {"type": "content", "content": block}, blocks),
        st.builds(
            lambda old, new: {"type": "diff", "path": "/w/a", "oldText": old, "newText": new},
            st.none() | texts,
            texts,
        ),
        st.builds(lambda id_: {"type": "terminal", "terminalId": id_}, ids),
    ),
    max_size=3,
)
raw = st.none() | st.dictionaries(ids, texts | st.integers(0, 3), max_size=2)


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


chunks = st.builds(
    lambda kind, block, message: {"sessionUpdate": kind, "content": block, **message},
    st.sampled_from(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]),
    blocks,
    optional(messageId=ids),
)
tools = st.builds(
    lambda kind, id_, fields: {"sessionUpdate": kind, "toolCallId": id_, **fields},
    st.sampled_from(["tool_call", "tool_call_update"]),
    ids,
    optional(
        title=texts,
        kind=st.sampled_from(["read", "execute", "odd"]),
        status=st.sampled_from(["pending", "in_progress", "completed", "failed", "odd"]),
        content=contents,
        rawInput=raw,
        rawOutput=raw,
        locations=st.lists(
            st.builds(lambda line: {"path": "/w/a", "line": line}, st.integers(1, 9)), max_size=2
        ),
        _meta=st.builds(
            lambda id_, data: {"terminal_output": {"terminal_id": id_, "data": data}}, ids, texts
        ),
    ),
)
plans = st.builds(
    lambda entries: {"sessionUpdate": "plan", "entries": entries},
    st.lists(
        st.builds(
            lambda content, status: {"content": content, "status": status, "priority": "high"},
            texts,
            st.sampled_from(["pending", "completed"]),
        ),
        max_size=3,
    ),
)
others = st.one_of(
    st.builds(lambda id_: {"sessionUpdate": "plan_removed", "planId": id_}, ids),
    st.builds(lambda id_: {"sessionUpdate": "plan_update", "plan": {"type": "items", "id": id_, "planId": id_, "entries": []}}, ids),
    st.builds(lambda title: {"sessionUpdate": "session_info_update", "title": title}, texts),
    st.builds(lambda used: {"sessionUpdate": "usage_update", "used": used, "size": 100}, st.integers(0, 100)),
    st.builds(lambda id_: {"sessionUpdate": "current_mode_update", "currentModeId": id_}, ids),
    st.builds(lambda text: {"sessionUpdate": "notice", "level": "info", "message": text, "text": text}, texts),
    st.just({"sessionUpdate": "no such kind"}),
)  # fmt: skip
permission_params = st.builds(
    lambda id_, content, options: {
        "sessionId": "s",
        "toolCall": {"toolCallId": id_, "title": "t", "content": content},
        "options": options,
    },
    ids,
    contents,
    st.lists(
        st.builds(
            lambda id_, kind: {"optionId": id_, "name": id_, "kind": kind},
            ids,
            st.sampled_from(["allow_once", "reject_once"]),
        ),
        max_size=2,
    ),
)
outcomes = st.just({"outcome": "cancelled"}) | st.builds(
    lambda id_: {"outcome": "selected", "optionId": id_}, ids
)

steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(
        lambda updates, historical, at: (
            lambda tl: tl.apply(
                [{"sessionId": "s", "update": update} for update in updates],
                historical=historical,
                at=at,
            )
        ),
        st.lists(chunks | chunks | tools | tools | plans | others, min_size=1, max_size=6),
        st.sampled_from([False, False, False, True]),
        st.none() | st.integers(0, 9).map(float),
    ),
    st.builds(lambda b: lambda tl: tl.begin_prompt(b, at=1.0), st.lists(blocks, max_size=2)),
    st.builds(
        lambda reason, usage: lambda tl: tl.settle_prompt(reason, usage=usage, at=2.0),
        st.sampled_from(["end_turn", "max_tokens", None]),
        st.none() | st.just({"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}),
    ),
    st.just(lambda tl: tl.settle_prompt(error={"message": "no", "code": -1}, at=2.0)),
    st.just(lambda tl: tl.cancel_prompt(at=2.0)),
    st.just(lambda tl: tl.settle_all("gone", at=3.0)),
    st.builds(
        lambda id_, params: lambda tl: tl.request_permission(id_, params, at=1.0),
        ids | st.integers(0, 2),
        permission_params,
    ),
    st.builds(
        lambda id_, outcome: lambda tl: tl.resolve_permission(id_, outcome, "user"),
        ids | st.integers(0, 2),
        outcomes,
    ),
    st.builds(
        lambda id_, data, ended: lambda tl: tl.terminal_output(id_, data, ended),
        ids,
        texts,
        st.none() | st.just({"exitCode": 0, "signal": None}),
    ),
    st.builds(
        lambda at, state, identity: lambda tl: resolve_some(tl, at, state, identity),
        st.integers(0, 9),
        st.sampled_from(["pending", "available", "unavailable"]),
        ids,
    ),
    st.builds(
        lambda b, evidence: lambda tl: supplement_last(tl, b, evidence),
        st.lists(blocks, min_size=1, max_size=2),
        ids,
    ),
)


def resolve_some(timeline: Timeline, at: int, state: str, identity: str) -> tuple[str, ...]:
    """Tell what the host found for one of the attachments there are."""
    refs = sorted(timeline.snapshot().attachments)
    if not refs:
        return ()
    return timeline.resolve_attachment(refs[at % len(refs)], {"state": state, "identity": identity})


def supplement_last(timeline: Timeline, parts: list[Any], evidence: str) -> tuple[str, ...]:
    """Add to the last turn what is not from ACP."""
    turns = timeline.snapshot().turns
    if not turns:
        return ()
    return timeline.supplement(len(turns) - 1, parts, source="test", evidence=evidence)
