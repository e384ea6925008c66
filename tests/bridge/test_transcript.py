"""Transcript records as session updates."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.bridge.records import after_prompt
from acp_notebook.bridge.transcript import transcript_updates
from tests.source import REPOSITORY


def user(content: object, **more: object) -> dict:
    return {"role": "user", "content": content} | more


def assistant(*content: object, **more: object) -> dict:
    return {"role": "assistant", "content": list(content)} | more


def result(call_id: object, text: str = "out", **more: object) -> dict:
    content = [{"type": "text", "text": text}]
    return {"role": "toolResult", "toolCallId": call_id, "content": content} | more


def block(text: str) -> dict:
    return {"type": "text", "text": text}


def call(call_id: object, name: object = "exec", **arguments: object) -> dict:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def chunk(text: str, kind: str = "agent_message_chunk") -> dict:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def started(call_id: str, name: str = "exec", kind: str = "execute", **more: object) -> dict:
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        "title": name,
        "status": "in_progress",
        "rawInput": {},
        "kind": kind,
    } | more


def ended(call_id: str, status: str = "completed", text: str = "out") -> dict:
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": call_id,
        "status": status,
        "rawOutput": {"content": [{"type": "text", "text": text}]},
        "content": [{"type": "content", "content": {"type": "text", "text": text}}],
    }


def closed(call_id: str) -> dict:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": "failed"}


IMAGE = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
NOTHING: list[dict] = []


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], NOTHING),
        ([user("hello")], [chunk("hello", "user_message_chunk")]),
        (
            [user([block("a"), block("b"), IMAGE])],
            [
                chunk("a", "user_message_chunk"),
                chunk("b", "user_message_chunk"),
                {"sessionUpdate": "user_message_chunk", "content": IMAGE},
            ],
        ),
        (
            [user("[Working directory: ~/x]\n\nhello")],
            [chunk("hello", "user_message_chunk")],
        ),
        (
            [user("[Working directory: /a]\n\n[Working directory: /b]\n\nhello")],
            [chunk("[Working directory: /b]\n\nhello", "user_message_chunk")],
        ),
        (
            [user("see [Working directory: /a]\n\nx")],
            [chunk("see [Working directory: /a]\n\nx", "user_message_chunk")],
        ),
        (
            [assistant({"type": "thinking", "thinking": "hm"}, block("hello"))],
            [chunk("hm", "agent_thought_chunk"), chunk("hello")],
        ),
        (
            [assistant(block("run"), call("c")), result("c"), assistant(block("done"))],
            [chunk("run"), started("c"), ended("c"), chunk("done")],
        ),
        (
            [assistant(call("c")), result("c", isError=True)],
            [started("c"), ended("c", "failed")],
        ),
        (
            [assistant(call("c1"), call("c2")), result("c2"), result("c1")],
            [started("c1"), started("c2"), ended("c2"), ended("c1")],
        ),
        (
            [assistant(call("c")), user("next"), assistant(block("a"))],
            [started("c"), closed("c"), chunk("next", "user_message_chunk"), chunk("a")],
        ),
        ([assistant(call("c"))], [started("c"), closed("c")]),
        ([assistant(call("c"), call("c"))], [started("c"), closed("c")]),
        (
            [result("c", toolName="web_search")],
            [started("c", "web_search", "search"), ended("c")],
        ),
    ],
)
def test_records_become_updates(records: list, expected: list) -> None:
    """Each kind of record is mapped to what the bridge sends live, in the records' order."""
    assert expected == transcript_updates(records)


class TestInfersNothing:
    @pytest.mark.parametrize(
        "record",
        [
            assistant(block("")),
            assistant({"type": "thinking", "thinking": ""}),
            assistant({"type": "thinking", "redacted": True}),
            assistant({"type": "image", "mimeType": "image/png"}),
            assistant({"type": "of_tomorrow", "text": "?"}),
            assistant(call(None), call(""), call(5)),
            assistant("no block", None),
            result(None),
            result(["c"]),
            {"role": "system", "content": "secret rules"},
            {"role": "compactionSummary", "content": "…"},
            {"role": "assistant"},
            {"role": "user", "content": {"type": "text", "text": "no list"}},
            {"content": "no role"},
            "no record",
            None,
        ],
    )
    def test_what_is_not_recorded_is_left_out(self, record: object) -> None:
        """A record or block of another shape gives nothing and disturbs nothing around it."""
        around = [user("before"), record, assistant(block("after"))]
        expected = [chunk("before", "user_message_chunk"), chunk("after")]
        assert expected == transcript_updates(around)

    def test_no_tool_out_of_prose(self) -> None:
        """What an assistant says about tools, plans and files stays text."""
        said = "I ran `rm -rf x`.\n\n- [x] plan\nFILE:/etc/passwd\n<tool_call>exec</tool_call>"
        assert [chunk(said)] == transcript_updates([assistant(block(said))])

    def test_no_file_without_an_input(self) -> None:
        """Files are named by a call's recorded arguments, never by a result without its call."""
        with_input = transcript_updates(
            [assistant(call("c", "read", path="/w/a.txt")), result("c", "FILE:/w/b.txt")]
        )
        assert [[{"path": "/w/a.txt"}], [{"path": "/w/a.txt"}, {"path": "/w/b.txt"}]] == [
            update["locations"] for update in with_input
        ]
        without = transcript_updates([result("c", "FILE:/w/b.txt", toolName="read")])
        assert [False, False] == ["locations" in update for update in without]

    def test_a_run_that_goes_on_is_not_closed(self) -> None:
        """A call of the last run stays open when the caller knows that the run goes on."""
        records = [assistant(call("c1")), user("next"), assistant(call("c2"))]
        updates = transcript_updates(records, ended=False)
        assert [started("c2")] == updates[-1:]
        assert closed("c1") in updates


LINK = {"type": "resource_link", "uri": "file:///w/a.png", "name": "a.png"}


class TestMedia:
    def test_media_lines_are_links(self) -> None:
        """With a way to link them, `MEDIA:` lines and media facts go out as live ones do."""
        record = assistant(
            block("Look:\nMEDIA:/w/a.png\nNice."), __openclaw={"media": [{"path": "/w/b.png"}]}
        )
        updates = transcript_updates([record], link=lambda path: LINK | {"uri": path})
        assert [
            {"type": "text", "text": "Look:\n"},
            LINK | {"uri": "/w/a.png"},
            {"type": "text", "text": "Nice."},
            LINK | {"uri": "/w/b.png"},
        ] == [update["content"] for update in updates]

    def test_without_a_way_they_stay_text(self) -> None:
        """Without one the line stays what it is."""
        said = "MEDIA:/w/a.png"
        assert [chunk(said)] == transcript_updates([assistant(block(said))])


class TestAfterPrompt:
    RECORDS = (
        user("q1", idempotencyKey="r1:user"),
        assistant(call("c")),
        result("c"),
        "torn",
        assistant(block("a1")),
        user("q2", idempotencyKey="r2:user"),
        assistant(block("a2")),
    )

    def test_up_to_the_next_prompt(self) -> None:
        """A run's records are those between its prompt and the next user record."""
        assert [assistant(call("c")), result("c"), assistant(block("a1"))] == after_prompt(
            self.RECORDS, "r1"
        )
        assert [assistant(block("a2"))] == after_prompt(self.RECORDS, "r2")

    def test_unknown_run(self) -> None:
        """A prompt that the transcript does not have is not one without an answer."""
        assert None is after_prompt(self.RECORDS, "r3")
        assert [] == after_prompt([user("q", idempotencyKey="r:user")], "r")


def recorded() -> tuple[list[dict], list[dict]]:
    """The live updates of a recorded run of the original bridge, and the gateway's transcript."""
    live: list[dict] = []
    records: list[dict] = []
    trace = REPOSITORY / "tests" / "traces" / "openclaw" / "load_replay.ndjson"
    for line in trace.read_text().splitlines():
        message = json.loads(line)["msg"]
        payload = message.get("payload")
        if isinstance(payload, dict) and payload.get("messages"):
            records = payload["messages"]
        if message.get("method") == "session/load":
            live.append({"sessionUpdate": "end"})
        elif message.get("method") == "session/update":
            live.append(message["params"]["update"])
    return live[: live.index({"sessionUpdate": "end"})], records


def test_transcript_equals_what_was_live() -> None:
    """The records of a real run map to the updates that went out live, but for chunk boundaries."""
    live, records = recorded()
    said = [
        update
        for update in live
        if update["sessionUpdate"] in {"agent_message_chunk", "tool_call"}
        # What a tool had said so far is not in the transcript.
        or (update["sessionUpdate"] == "tool_call_update" and update["status"] != "in_progress")
    ]
    expected = joined(said)
    run = next(record["idempotencyKey"] for record in records)
    after = after_prompt(records, run.removesuffix(":user"))
    assert 4 == len(expected)
    assert expected == joined(transcript_updates(after))


def joined(updates: list[dict]) -> list[dict]:
    out: list[dict] = []
    for update in updates:
        text = update["content"]["text"] if update["sessionUpdate"].endswith("_chunk") else None
        if text is not None and out and out[-1]["sessionUpdate"] == update["sessionUpdate"]:
            out[-1] = chunk(out[-1]["content"]["text"] + text)
        else:
            out.append(update)
    return out


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "id", "toolCallId", "name", "arguments"]
            )
            | st.text(max_size=3),
            inner | st.sampled_from(["user", "assistant", "toolResult", "toolCall", "text"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.lists(json_values, max_size=6))
def test_any_json_is_mapped(records: list) -> None:
    """Whatever a gateway sends as a transcript is mapped without an error, each call closed."""
    updates = transcript_updates(records)
    opened = {u["toolCallId"] for u in updates if u["sessionUpdate"] == "tool_call"}
    ended = {
        u["toolCallId"]
        for u in updates
        if u["sessionUpdate"] == "tool_call_update" and u["status"] in {"completed", "failed"}
    }
    assert opened == ended


def test_what_stands_beside_the_text() -> None:
    """Media facts become links, once; the error that a model ended with is a message."""
    link = {"type": "resource_link", "uri": "file:///a.png", "name": "a.png"}
    record = {
        "role": "assistant",
        "content": [{"type": "text", "text": "MEDIA:/a.png"}],
        "__openclaw": {"media": [{"path": "/a.png"}]},
        "stopReason": "error",
        "errorMessage": "400 bad",
    }
    assert [u["content"] for u in transcript_updates([record], link=lambda _reference: link)] == [
        link,
        {"type": "text", "text": "400 bad"},
    ]
