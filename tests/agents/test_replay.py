"""The replay agent: its rules as a pure player, and the whole as a child on real pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook import Chat, agents
from acp_notebook.agents.replay.player import END, Player, Step
from acp_notebook.agents.replay.record import Event, load
from tests.agents.raw_client import RawClient, agent

TRACES = sorted((Path(__file__).parent.parent / "traces" / "agents").glob("*.ndjson"))

HEAD = {"acp_notebook_record": 1, "agent": "x", "version": "1", "cwd": "/w", "started": 0}


def ask(request_id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def tell(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def reply(request_id: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def prompt(request_id: Any, text: str, session: str = "s1") -> dict[str, Any]:
    return ask(
        request_id, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}]
    )


def chunk(text: str, kind: str = "agent_message_chunk", session: str = "s1") -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return tell(
        "session/update", sessionId=session, update={"sessionUpdate": kind, "content": content}
    )


INITIALIZE = [(">", ask(0, "initialize", protocolVersion=1)), ("<", reply(0, protocolVersion=1))]
NEW = [(">", ask(1, "session/new", cwd="/w")), ("<", reply(1, sessionId="s1"))]
PERMISSION = ask("p1", "session/request_permission", sessionId="s1", options=[])
ALLOWED = reply("p1", outcome={"outcome": "selected", "optionId": "yes"})
TALK: list[tuple[str, dict[str, Any]]] = [
    *INITIALIZE,
    *NEW,
    (">", ask(2, "session/list")),
    ("<", reply(2, sessions=[])),
    (">", prompt(3, "one")),
    ("<", chunk("first ")),
    ("<", PERMISSION),
    (">", ALLOWED),
    ("<", chunk("answer")),
    ("<", reply(3, stopReason="end_turn", usage={"totalTokens": 7})),
    ("<", chunk("after it")),
    (">", prompt(4, "two")),
    ("<", chunk("second")),
    ("<", reply(4, stopReason="end_turn")),
]


def write(path: Path, lines: Iterable[tuple[str, Any]]) -> Path:
    sides = {">": "client->agent", "<": "agent->client", "!": "stderr"}
    body = [
        {"t": n * 10, "dir": sides[side], ("msg" if isinstance(what, dict) else "raw"): what}
        for n, (side, what) in enumerate(lines)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [HEAD, *body]))
    return path


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return write(tmp_path / "talk.jsonl", TALK)


def drain(player: Player) -> list[Step]:
    steps = []
    while (step := player.step()) is not None:
        steps.append(step)
    return steps


def texts(steps: Iterable[Step]) -> list[str]:
    return [
        step.message["params"]["update"]["content"]["text"]
        for step in steps
        if step.message is not None and step.message.get("method") == "session/update"
    ]


def answers(steps: Iterable[Step]) -> dict[Any, Any]:
    return {
        step.message["id"]: step.message.get("result", step.message.get("error"))
        for step in steps
        if step.message is not None and "method" not in step.message
    }


def start(player: Player) -> list[Step]:
    player.take(ask(10, "initialize"))
    player.take(ask(11, "session/new"))
    return drain(player)


class TestExactness:
    @pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
    def test_a_real_record_is_played_as_it_was(self, trace: Path) -> None:
        """To the recorded client the player says the recorded messages, each as often, in order."""
        events = load(trace)
        player = Player(events)
        said: list[dict[str, Any]] = []
        for event in events:
            if event.side == "client" and event.kind != "raw":
                player.take(event.message)
                said += [step.message for step in drain(player) if step.message is not None]
        recorded = [event.message for event in events if event.side == "agent" and event.message]
        unanswered = [
            e for e in events if e.side == "client" and e.kind == "request" and not e.pair
        ]
        assert [m for m in recorded if "method" in m] == [m for m in said if "method" in m]
        given_up = {json.dumps(event.message["id"]) for event in unanswered}
        kept = [m for m in said if "method" in m or json.dumps(m.get("id")) not in given_up]
        assert sorted(map(json.dumps, recorded)) == sorted(map(json.dumps, kept))

    def test_there_are_real_records(self) -> None:
        """The folder of traces is not empty."""
        assert len(TRACES) > 50

    def test_ids_are_the_clients(self) -> None:
        """A recorded answer goes out under the id with which the request came."""
        player = Player(events(TALK))
        assert answers(start(player)) == {10: {"protocolVersion": 1}, 11: {"sessionId": "s1"}}


def events(lines: Iterable[tuple[str, Any]]) -> list[Event]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        return load(write(Path(folder) / "record.jsonl", lines))


class TestWaiting:
    def test_a_permission_is_waited_for(self) -> None:
        """Nothing follows a recorded request until the client has answered it."""
        player = Player(events(TALK))
        start(player)
        player.take(prompt(12, "one"))
        assert drain(player)[-1].message == PERMISSION
        player.take(ALLOWED)
        steps = drain(player)
        assert texts(steps) == ["answer", "after it"]
        assert answers(steps) == {12: {"stopReason": "end_turn", "usage": {"totalTokens": 7}}}

    def test_another_answer_is_noted_and_played_over(self) -> None:
        """A rejection where the record allows is a line on stderr; the record goes on."""
        player = Player(events(TALK))
        start(player)
        player.take(prompt(12, "one"))
        drain(player)
        player.take(reply("p1", outcome={"outcome": "cancelled"}))
        steps = drain(player)
        assert steps[0].stderr == (
            "replay: the record holds another answer to session/request_permission"
        )
        assert texts(steps) == ["answer", "after it"]

    def test_another_prompt_is_noted_and_answered(self) -> None:
        """Prompts are matched by their order, not by their text."""
        player = Player(events(TALK))
        start(player)
        player.take(prompt(12, "something else"))
        steps = drain(player)
        assert steps[0].stderr == "replay: the record holds another prompt here: 'one'"
        assert texts(steps) == ["first "]

    def test_what_the_client_leaves_out_is_passed_over(self) -> None:
        """The recorded session/list is not waited for, and gets its answer when it comes late."""
        player = Player(events(TALK))
        start(player)
        player.take(prompt(12, "one"))
        assert answers(drain(player)) == {}
        player.take(ALLOWED)
        drain(player)
        player.take(ask(13, "session/list"))
        assert answers(drain(player)) == {13: {"sessions": []}}

    def test_prompts_at_once_come_out_one_after_the_other(self) -> None:
        """Two prompts recorded in flight are both answered to a client that sends them in turn."""
        player = Player(
            events(
                [
                    *INITIALIZE,
                    *NEW,
                    (">", prompt(2, "one")),
                    (">", prompt(3, "two")),
                    ("<", chunk("to one")),
                    ("<", reply(2, stopReason="end_turn")),
                    ("<", chunk("to two")),
                    ("<", reply(3, stopReason="end_turn")),
                ]
            )
        )
        start(player)
        player.take(prompt(12, "one"))
        first = drain(player)
        player.take(prompt(13, "two"))
        second = drain(player)
        assert (texts(first), list(answers(first))) == (["to one"], [12])
        assert (texts(second), list(answers(second))) == (["to two"], [13])

    def test_a_request_without_a_recorded_answer_is_given_up(self) -> None:
        """A record that breaks off does not leave the client waiting."""
        player = Player(events([*INITIALIZE, *NEW, (">", prompt(2, "one")), ("<", chunk("half"))]))
        start(player)
        player.take(prompt(12, "one"))
        steps = drain(player)
        assert texts(steps) == ["half"]
        assert answers(steps)[12]["message"] == "The record holds no answer to this request."

    def test_what_was_asked_before_initialize_does_not_count(self) -> None:
        """A client that initializes first does not get the error of one that did not."""
        early = [
            (">", ask(8, "session/new", cwd="/w")),
            ("<", {"jsonrpc": "2.0", "id": 8, "error": {"code": -32600, "message": "too early"}}),
        ]
        player = Player(events([*early, *TALK]))
        assert answers(start(player)) == {10: {"protocolVersion": 1}, 11: {"sessionId": "s1"}}

    def test_updates_name_the_session_that_was_asked(self) -> None:
        """Where the record speaks of several sessions, a turn's updates go to the one that asked."""
        player = Player(events(TALK))
        start(player)
        player.take(prompt(12, "one", session="mine"))
        assert {s.message["params"]["sessionId"] for s in drain(player) if s.message} == {"mine"}


class TestCancel:
    def test_an_unrecorded_cancel_ends_the_turn(self) -> None:
        """The rest of the turn is passed over, and its answer says cancelled."""
        player = Player(events(TALK))
        start(player)
        player.take(prompt(12, "one"))
        drain(player)
        player.take(tell("session/cancel", sessionId="s1"))
        steps = drain(player)
        assert answers(steps) == {12: {"stopReason": "cancelled"}}
        assert texts(steps) == ["after it"]
        player.take(prompt(13, "two"))
        assert texts(drain(player)) == ["second"]

    def test_a_recorded_cancel_is_not_waited_for(self) -> None:
        """A client that does not press Stop gets the recorded turn to its end."""
        lines = [
            *INITIALIZE,
            *NEW,
            (">", prompt(2, "one")),
            ("<", chunk("half")),
            (">", tell("session/cancel", sessionId="s1")),
            ("<", chunk("tail")),
            ("<", reply(2, stopReason="cancelled", usage=None)),
        ]
        player = Player(events(lines))
        start(player)
        player.take(prompt(12, "one"))
        steps = drain(player)
        assert texts(steps) == ["half", "tail"]
        assert answers(steps) == {12: {"stopReason": "cancelled", "usage": None}}

    def test_a_cancel_goes_on_after_the_recorded_one(self) -> None:
        """What the record holds between is passed over, what follows the cancel is played."""
        lines = [
            *INITIALIZE,
            *NEW,
            (">", prompt(2, "one")),
            ("<", PERMISSION),
            (">", ALLOWED),
            ("<", chunk("between")),
            (">", tell("session/cancel", sessionId="s1")),
            ("<", chunk("tail")),
            ("<", reply(2, stopReason="end_turn")),
        ]
        player = Player(events(lines))
        start(player)
        player.take(prompt(12, "one"))
        drain(player)
        player.take(tell("session/cancel", sessionId="s1"))
        steps = drain(player)
        assert texts(steps) == ["tail"]
        assert answers(steps) == {12: {"stopReason": "end_turn"}}


class TestSessions:
    def test_a_load_of_a_record_without_one_is_its_history(self) -> None:
        """Prompts come back as user messages, updates in order, under the client's session id."""
        player = Player(events(TALK))
        player.take(ask(10, "initialize"))
        drain(player)
        player.take(ask(11, "session/load", sessionId="mine", cwd="/w"))
        steps = drain(player)
        assert texts(steps) == ["one", "first ", "answer", "after it", "two", "second"]
        assert {s.message["params"]["sessionId"] for s in steps[:-1] if s.message} == {"mine"}
        assert answers(steps) == {11: {}}

    def test_a_recorded_load_is_played_under_the_clients_id(self) -> None:
        """Updates of a recorded load name the session that this client asked for."""
        lines = [
            *INITIALIZE,
            (">", ask(1, "session/load", sessionId="s1")),
            ("<", chunk("old", "user_message_chunk")),
            ("<", reply(1)),
            (">", prompt(2, "one")),
            ("<", chunk("new")),
            ("<", reply(2, stopReason="end_turn")),
        ]
        player = Player(events(lines))
        player.take(ask(10, "initialize"))
        drain(player)
        player.take(ask(11, "session/load", sessionId="mine"))
        player.take(prompt(12, "one", session="mine"))
        steps = drain(player)
        assert texts(steps) == ["old", "new"]
        assert {
            s.message["params"]["sessionId"] for s in steps if s.message and "method" in s.message
        } == {"mine"}

    def test_a_new_session_where_the_record_loads_one(self) -> None:
        """A client that opens a new session gets the recorded id and the prompts, not the history."""
        lines = [
            *INITIALIZE,
            (">", ask(1, "session/load", sessionId="s1")),
            ("<", chunk("old", "user_message_chunk")),
            ("<", reply(1)),
            (">", prompt(2, "one")),
            ("<", chunk("new")),
            ("<", reply(2, stopReason="end_turn")),
        ]
        player = Player(events(lines))
        assert answers(start(player))[11] == {"sessionId": "s1"}
        player.take(prompt(12, "one"))
        assert texts(drain(player)) == ["new"]

    def test_after_the_end_it_says_so(self) -> None:
        """A prompt more than the record holds is answered by a message, not an error."""
        player = Player(events([*INITIALIZE, *NEW]))
        start(player)
        player.take(prompt(12, "more"))
        steps = drain(player)
        assert texts(steps) == [END]
        assert answers(steps) == {12: {"stopReason": "end_turn"}}

    def test_what_is_not_recorded_is_refused(self) -> None:
        """An unrecorded method gets an error that says so."""
        player = Player(events([*INITIALIZE, *NEW]))
        start(player)
        player.take(ask(12, "session/set_mode", modeId="x"))
        assert (
            answers(drain(player))[12]["message"] == "The record holds no further session/set_mode."
        )


METHODS = ["initialize", "session/new", "session/list", "session/prompt", "session/load", "x"]

said_by_client = st.one_of(
    st.builds(
        lambda m, i: (">", ask(i, m, sessionId="s1")), st.sampled_from(METHODS), st.integers(0, 4)
    ),
    st.builds(lambda i: (">", reply(i)), st.integers(0, 4)),
    st.just((">", tell("session/cancel", sessionId="s1"))),
)
said_by_agent = st.one_of(
    st.builds(lambda i: ("<", reply(i)), st.integers(0, 4)),
    st.builds(lambda i: ("<", ask(i, "fs/read_text_file", sessionId="s1")), st.integers(0, 4)),
    st.just(("<", chunk("x"))),
    st.just(("<", "raw")),
)
records = st.lists(st.one_of(said_by_client, said_by_agent), max_size=25)
clients = st.lists(st.sampled_from([*METHODS, "session/cancel"]), max_size=12)


@given(records, clients)
def test_every_request_is_answered_once(lines: list[tuple[str, Any]], methods: list[str]) -> None:
    """Whatever the record and whatever the client does, no request hangs and none is answered twice."""
    player = Player(events(lines))
    answered: list[Any] = []

    def settle() -> None:
        waiting = True
        while waiting:
            waiting = False
            for step in drain(player):
                message = step.message or {}
                if "method" not in message and str(message.get("id")).startswith("mine-"):
                    answered.append(message["id"])
                elif "method" in message and "id" in message:
                    player.take(reply(message["id"]))
                    waiting = True

    sent = []
    for number, method in enumerate(methods):
        if method == "session/cancel":
            player.take(tell(method, sessionId="s1"))
        else:
            sent.append(f"mine-{number}")
            player.take(ask(sent[-1], method, sessionId="s1"))
        settle()
    assert sorted(sent) == sorted(answered)


@pytest.mark.parametrize(
    "trace",
    [t for t in TRACES if t.stem.endswith(("-tools-allow", "-tools-reject", "-cancel"))],
    ids=lambda path: path.stem,
)
def test_a_real_record_is_an_agent_for_a_chat(trace: Path, tmp_path: Path) -> None:
    """Asked the recorded prompts, every turn ends as recorded, and no word of the agent is lost."""
    recorded = load(trace)
    prompts = [e for e in recorded if e.side == "client" and e.method == "session/prompt"]
    ended = []
    with Chat(agents.recorded(trace), cwd=tmp_path, policy="allow-all") as chat:
        for event in prompts:
            blocks = event.params["prompt"]
            turn = chat.ask("\n".join(b["text"] for b in blocks if b["type"] == "text"))
            ended.append(turn.stop_reason)
        said = [
            item.text
            for item in chat.timeline.items
            if item.kind == "message-segment" and item.role == "assistant"
        ]
    answered = [recorded[event.pair].message if event.pair else {} for event in prompts]
    assert [a.get("result", {}).get("stopReason") for a in answered] == ended
    updates = [e.params["update"] for e in recorded if e.method == "session/update"]
    chunks = [u for u in updates if u["sessionUpdate"] == "agent_message_chunk"]
    # Late words of one message may stand before later ones in the timeline: letters are counted.
    assert Counter("".join(u["content"].get("text", "") for u in chunks)) == Counter("".join(said))


class TestProcess:
    def open(self, client: RawClient) -> str:
        client.request("initialize", protocolVersion=1)
        session: str = client.request("session/new", cwd="/w", mcpServers=[])["result"]["sessionId"]
        return session

    def test_a_talk_is_played_over_pipes(self, talk: Path) -> None:
        """Prompt, permission, answer and the end of the record, as a client sees them."""
        with agent("replay", str(talk)) as client:
            session = self.open(client)
            asked: list[dict[str, Any]] = []

            def answer(message: dict[str, Any]) -> dict[str, Any]:
                asked.append(message)
                return {"result": ALLOWED["result"]}

            assert client.prompt(session, "one", answer)["result"]["stopReason"] == "end_turn"
            assert asked == [PERMISSION]
            assert client.prompt(session, "two")["result"] == {"stopReason": "end_turn"}
            assert client.prompt(session, "three")["result"] == {"stopReason": "end_turn"}
            assert client.text() == f"first answerafter itsecond{END}"

    def test_recorded_pauses_are_kept_on_request(self, tmp_path: Path) -> None:
        """With --speed a cancel still comes through in a long pause, and the rest is left out."""
        path = write(
            tmp_path / "slow.jsonl",
            [
                *INITIALIZE,
                *NEW,
                (">", prompt(2, "one")),
                ("<", chunk("now")),
                ("<", chunk("in ten minutes")),
                ("<", chunk("in twenty minutes")),
                ("<", reply(2, stopReason="end_turn")),
            ],
        )
        with agent("replay", "--speed", "0.00002", str(path)) as client:
            session = self.open(client)
            request = client.start(
                "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "one"}]
            )
            client.until(lambda m: m.get("method") == "session/update")
            client.notify("session/cancel", sessionId=session)
            assert client.finish(request)["result"] == {"stopReason": "cancelled"}
            assert "twenty" not in client.text()

    def test_stderr_and_junk_are_played_too(self, tmp_path: Path) -> None:
        """Recorded stderr goes to stderr, a recorded line that is no JSON to stdout as it was."""
        path = write(tmp_path / "noise.jsonl", [("!", "a warning"), ("<", "not json"), *INITIALIZE])
        run = subprocess.run(
            [sys.executable, "-P", "-m", "acp_notebook.agents.replay", str(path)],
            input=json.dumps(ask(7, "initialize")).encode(),
            capture_output=True,
            check=True,
        )
        assert run.stdout == b'not json\n{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":1}}\n'
        assert run.stderr == b"a warning\n"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "No such file"),
            ("{\n", "line 1"),
            ("[]\n", "line 1 is no object"),
            ('{"acp_notebook_record": 2}\n', "a record of version 2; this reads version 1"),
        ],
    )
    def test_a_file_that_is_no_record(
        self, content: str | None, message: str, tmp_path: Path
    ) -> None:
        """A bad file ends the process at once, with the reason on stderr and no traceback."""
        path = tmp_path / "bad.jsonl"
        if content is not None:
            path.write_text(content)
        run = subprocess.run(
            [sys.executable, "-P", "-m", "acp_notebook.agents.replay", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 2
        assert message in run.stderr
        assert "Traceback" not in run.stderr
