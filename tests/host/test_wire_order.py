"""What comes over the wire of a real child: order, odd frames, limits, requests taken back."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from acp_notebook.errors import LimitExceeded
from tests.host.talk import Talk, text

Talks = Callable[..., Talk]


def raw(*messages: object) -> str:
    """A prompt that makes the agent write these lines."""
    lines = (m if isinstance(m, str) else json.dumps({"jsonrpc": "2.0", **m}) for m in messages)
    return "\n".join(f"raw {line}" for line in lines)


def said(talk: Talk, text: str, **fields: object) -> dict:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {
        "method": "session/update",
        "params": {"sessionId": talk.state.session_id, "update": update, **fields},
    }


@pytest.fixture
def open_talk(talk: Talk) -> Talk:
    talk.start()
    return talk


def counts(talk: Talk) -> dict[str, int]:
    return dict(talk.session.life.connection.trace.counts)


class TestOddFrames:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("INFO starting up", "non-json-line"),
            ("[1, null]", "not-an-object"),
            ({"id": 99, "result": {}}, "unknown-response-id"),
            ({"id": [1], "result": {}}, "unknown-response-id"),
            (
                {"id": None, "error": {"code": -32700, "message": "Parse error"}},
                "unknown-response-id",
            ),
            ({"error": {"code": -32601, "message": "no"}}, "not-json-rpc"),
            ({"method": 5, "id": 1}, "not-json-rpc"),
            ({"method": "qwen/notify/x", "params": {}}, "ignored-notification:qwen/notify/x"),
            ({"method": "session/update", "params": {"update": {}}}, "malformed-update"),
            ({"method": "session/update", "params": [1]}, "malformed-update"),
            (
                {"method": "session/update", "params": {"sessionId": "other", "update": {}}},
                "unknown-session",
            ),
        ],
    )
    def test_is_counted_and_disturbs_nothing(
        self, open_talk: Talk, line: object, reason: str
    ) -> None:
        """An odd frame is counted under its reason, and the turn goes on around it."""
        turn = open_talk.prompt(f"say a\n{raw(line)}\nsay b")
        assert (turn.text, counts(open_talk).get(reason)) == ("ab", 2 if line == "[1, null]" else 1)

    def test_thousands_of_junk_lines(self, open_talk: Talk) -> None:
        """Junk costs nothing but time: what is kept of it is bounded, the turn is whole."""
        turn = open_talk.prompt("say a\n" + raw(*["junk"] * 3000) + "\nsay b")
        assert (turn.text, counts(open_talk)["non-json-line"]) == ("ab", 3000)
        assert len(open_talk.call(open_talk.session.trace)) == 500

    @pytest.mark.parametrize(
        ("error", "shown"),
        [("oops", "oops"), ({"code": "x"}, "The agent answered with an error."), ([], "[]")],
    )
    def test_an_error_of_another_shape(self, open_talk: Talk, error: object, shown: str) -> None:
        """An error that is no JSON-RPC error object fails the turn with what it says."""
        prompt_id = open_talk.session.life.connection._rpc._next_request_id
        turn = open_talk.prompt(raw({"id": prompt_id, "error": error}))
        assert (turn.state, turn.error.message) == ("failed", shown)

    def test_meta_does_not_choose_the_session(self, open_talk: Talk) -> None:
        """A session id in `_meta` changes nothing: the message's own id decides."""
        line = said(open_talk, "mine", _meta={"session_id": "other", "sessionId": "other"})
        assert open_talk.prompt(raw(line)).text == "mine"

    def test_an_unknown_update_is_counted_in_the_timeline(self, open_talk: Talk) -> None:
        """An unknown kind between two chunks splits nothing and is counted."""
        line = said(open_talk, "x")
        line["params"]["update"] = {"sessionUpdate": "from_the_future"}
        turn = open_talk.prompt(f"say a\n{raw(line)}\nsay b")
        assert (turn.text, len(turn.items)) == ("ab", 2)
        assert open_talk.session.snapshot.metadata.unrecognized == {"from_the_future": 1}


class TestOrder:
    def test_a_permission_stands_where_it_came(self, open_talk: Talk) -> None:
        """Updates of the same read after a permission request stand behind it."""
        request = {
            "id": "r1",
            "method": "session/request_permission",
            "params": {
                "sessionId": open_talk.state.session_id,
                "toolCall": {"toolCallId": "t", "title": "T"},
                "options": [{"optionId": "y", "name": "Y", "kind": "allow_once"}],
            },
        }
        lines = [
            json.dumps({"jsonrpc": "2.0", **m})
            for m in (said(open_talk, "a"), request, said(open_talk, "b"))
        ]
        turn = open_talk.send("raw " + "\\n".join(lines).replace("\\n", "\nraw "), headless=True)
        items = turn.result(20).snapshot.turns[-1].items
        assert [i.kind for i in items] == [
            "message-segment",
            "message-segment",
            "tool-call",
            "permission",
            "message-segment",
        ]

    def test_what_follows_the_answer_is_no_part_of_the_settled_turn(self, open_talk: Talk) -> None:
        """Updates behind the prompt's answer land in the timeline and do not set it running again."""
        prompt_id = open_talk.session.life.connection._rpc._next_request_id
        answer = {"id": prompt_id, "result": {"stopReason": "end_turn"}}
        turn = open_talk.prompt(raw(said(open_talk, "in"), answer, said(open_talk, "late")))
        assert turn.stop_reason == "end_turn"
        open_talk.until(lambda: open_talk.texts[-1] == "inlate")
        assert open_talk.state.status == "idle"


class TestRequests:
    @pytest.mark.parametrize("request_id", [0, "0", "uuid-1", -3])
    def test_ids_go_back_as_they_came(self, open_talk: Talk, request_id: object) -> None:
        """The id of a request is answered unchanged, also 0 and text."""
        request = {"id": request_id, "method": "no/such", "params": {}}
        open_talk.prompt(raw(request))
        sent = [
            e.message
            for e in open_talk.call(open_talk.session.trace)
            if e.direction == "client->agent" and e.kind == "answer"
        ]
        assert [(m["id"], m["error"]["code"]) for m in sent] == [(request_id, -32601)]

    def test_a_withdrawn_permission_is_inert(self, open_talk: Talk) -> None:
        """`$/cancel_request` closes the card, and a click after it does nothing."""
        turn = open_talk.send("ask ls\nsay on")
        request_id = open_talk.asked().permission.request.id
        cancel = {"method": "$/cancel_request", "params": {"requestId": request_id}}
        connection = open_talk.session.life.connection
        open_talk.call(connection.router.notification, cancel["method"], cancel["params"])
        assert not open_talk.call(open_talk.session.answer, request_id, "yes")
        assert turn.result(10).snapshot.turns[-1].text == "answer: cancelledon"
        assert open_talk.session.snapshot.permissions[-1].decided_by == "withdrawn by the agent"

    def test_too_many_requests_are_refused(self, talks: Talks) -> None:
        """Past `max_agent_requests` open ones, requests are answered with an error, and nothing piles up."""
        talk = talks(max_agent_requests=2)
        talk.start()
        ask = {"method": "session/request_permission", "params": {"sessionId": talk.state.session_id,
               "options": [{"optionId": "y", "name": "Y", "kind": "allow_once"}]}}  # fmt: skip
        turn = talk.send(raw(*({"id": f"r{n}", **ask} for n in range(5))) + "\nsay z\nwait 30")
        talk.until(lambda: "z" in talk.texts)
        assert counts(talk)["too-many-requests"] == 3
        assert len(talk.call(talk.session.open_requests)) == 2
        talk.call(talk.session.cancel)
        assert turn.result(10).snapshot.turns[-1].stop_reason == "cancelled"


class TestLimits:
    def test_a_line_that_is_too_long_is_told(self, talks: Talks) -> None:
        """A line past `max_line_bytes` is dropped alone, and the chat says so."""
        talk = talks(max_line_bytes=5000)
        talk.start()
        turn = talk.prompt(f"say a\n{raw(said(talk, 'x' * 6000))}\nsay b")
        assert turn.text == "ab"
        assert "max_line_bytes" in talk.state.note

    def test_a_prompt_that_is_too_large_is_refused(self, talks: Talks) -> None:
        """Text past `max_prompt_bytes` raises before anything is sent."""
        talk = talks(max_prompt_bytes=10)
        with pytest.raises(LimitExceeded, match="max_prompt_bytes"):
            talk.prompt("say éééééééé")

    def test_a_full_queue_is_said(self, talks: Talks) -> None:
        """A prompt past `max_queue` waiting ones raises."""
        talk = talks(max_queue=1)
        turn = talk.send("wait 30")
        talk.until(lambda: talk.state.status == "running")
        talk.call(talk.session.enqueue, text("one"))
        with pytest.raises(LimitExceeded, match="max_queue"):
            talk.call(talk.session.enqueue, text("two"))
        talk.call(talk.session.remove_queued, talk.state.queue[0].id)
        talk.call(talk.session.cancel)
        turn.result(10)
