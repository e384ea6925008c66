"""The handed cases of levels `transport` and `host`, played by a real child."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cases.case import Played, Sentences, assert_expected, assert_subset, cases, load
from tests.host.case_player import HostPlayer
from tests.host.talk import Talk

SCRIPTED = [c for level in ("transport", "host") for c in cases(level, "scripted")]

TEXT_BACK = {"061-stop-before-session-exists"}
"""Of two accepted outcomes, ours: no bubble, and the text is back in the composer."""

must = Sentences()
see = Sentences()


@pytest.fixture
def player(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HostPlayer]:
    player = HostPlayer(request.param, tmp_path)
    yield player
    player.close()


@pytest.mark.parametrize("player", SCRIPTED, indirect=True, ids=lambda case: case.name)
def test_case(player: HostPlayer) -> None:
    """The case comes out as its `expect` says, each of its sentences included."""
    played = player.play()
    expect = played.case.expect
    if played.case.name in TEXT_BACK:
        expect = {k: v for k, v in expect.items() if k not in {"timeline", "turn"}}
    assert_expected(replace(played, case=replace(played.case, expect=expect)))
    assert_sent(expect.get("client_sends", ()), played)
    assert_states(expect, played)
    must.assert_all(played)
    for seen in expect.get("ui", ()):
        see.checks[seen["see"]](played)


def assert_states(expect: dict[str, Any], played: Played) -> None:
    """What is to be read from the host after the last step."""
    talk, log = talk_of(played), played.seen["log"]
    connection = talk.session.life.last_connection
    if "state" in expect:
        assert expect["state"] == talk.state.status
    if expect.get("connection") == "alive":
        assert connection.alive
    if "processes" in expect:
        alive = [pid for pid in log.processes if is_alive(pid)]
        wanted = expect["processes"]
        assert (wanted["spawned"], wanted["alive"]) == (len(log.processes), len(alive))
    if "diagnostics" in expect and expect["diagnostics"]["kind"] != "unknown-update":
        wanted = expect["diagnostics"]
        assert connection.trace.counts[wanted["kind"]] >= wanted["min"]
    for limit, seconds in (("within_ms", 0.001), ("maxSeconds", 1)):
        if limit in expect:
            assert played.seen["seconds"] < expect[limit] * seconds + 2  # the start of Python


def assert_sent(expected: Any, played: Played) -> None:
    """The messages that the agent got from the client."""
    got = played.seen["log"].got
    for wanted in expected:
        if "method" in wanted:
            found = [
                m
                for m in got
                if m.get("method") == wanted["method"] and fits(wanted.get("params"), m)
            ]
        else:
            found = [m for m in got if m.get("id") == wanted["id"] and "method" not in m]
        count = wanted.get("count", None)
        if count == "0 or 1":
            assert len(found) <= 1
        elif count is not None:
            assert count == len(found), wanted
        else:
            assert found, wanted
        for message in found:
            assert_answer(wanted, message)


def fits(params: Any, message: dict[str, Any]) -> bool:
    return params is None or all(message["params"].get(k) == v for k, v in params.items())


def assert_answer(wanted: dict[str, Any], message: dict[str, Any]) -> None:
    for kind in ("result", "error"):
        if wanted.get(kind) is True:
            assert kind in message
        elif kind in wanted:
            assert_subset(wanted[kind], message[kind], kind)
    if "oneOf" in wanted:
        assert any(subset_holds(one, message) for one in wanted["oneOf"]), message


def subset_holds(wanted: Any, message: Any) -> bool:
    try:
        assert_subset(wanted, message, "")
    except AssertionError:
        return False
    return True


def talk_of(played: Played) -> Talk:
    return played.seen["talk"]


def is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def everything(played: Played) -> str:
    """All that views may show of the timeline, as text."""
    return json.dumps(played.snapshot.to_dict(), ensure_ascii=False)


# --- what the cases say in words


@must("junk lines go to a bounded log, never to the transcript")
def junk_is_apart(played: Played) -> None:
    """The lines are in the trace and nowhere in the timeline."""
    trace = talk_of(played).call(talk_of(played).session.trace)
    junk = [e.message for e in trace if e.reason == "non-json-line"]
    assert junk
    assert not [line for line in junk if line in everything(played)]


@must("image bytes are not copied into every later state sync")
def bytes_are_apart(played: Played) -> None:
    """The dictionary names the image by its hash; the bytes are in the blobs."""
    assert len(everything(played)) < 10_000


@must("U+FFFD anywhere")
def no_replacement(played: Played) -> None:
    assert "\ufffd" not in everything(played)


@must("the prompt resolves with end_turn although the process ends right after")
def resolves(played: Played) -> None:
    assert played.snapshot.turns[-1].stop_reason == "end_turn"


@must("exit code 0 after a settled turn is no error banner")
def no_banner(played: Played) -> None:
    talk = talk_of(played)
    talk.until(lambda: talk.state.status == "exited")
    assert talk.state.error is None


@must("one error item that says the agent ended")
def says_that_it_ended(played: Played) -> None:
    assert "ended" in played.snapshot.turns[-1].error.message


@must("raw JSON fragment visible")
def no_fragment(played: Played) -> None:
    assert "jsonrpc" not in everything(played)


@must("cards change at once on Stop, before the agent answers")
def cards_at_once(played: Played) -> None:
    """A published snapshot had the cards cancelled while the turn was not settled."""
    stopping = [
        shot
        for state, shot in zip(played.seen["states"], played.seen["snapshots"], strict=True)
        if state.status == "stopping"
    ]
    assert stopping
    assert {call.status for call in stopping[0].tool_calls} == {"cancelled"}


@must("detail kept in the diagnostics")
def detail_in_trace(played: Played) -> None:
    trace = talk_of(played).call(talk_of(played).session.trace)
    assert [e for e in trace if "The operation was aborted" in json.dumps(e.message)]


@must("red error item; the user asked to stop")
def no_error(played: Played) -> None:
    assert played.snapshot.turns[-1].error is None
    assert talk_of(played).state.error is None


@must("a next prompt is either sent or clearly queued; never swallowed")
def next_is_sent(played: Played) -> None:
    talk = talk_of(played)
    talk.send("next")
    talk.until(lambda: played.snapshot.turns and talk.session.snapshot.turns[-1].prompt == "next")


@must("the user's text is back in the composer or resendable")
def text_is_back(played: Played) -> None:
    assert talk_of(played).state.draft == "hello"


@must("auto-approve", "approved without a user action")
def nothing_approved(played: Played) -> None:
    decisions = talk_of(played).session.decisions
    assert not [d for d in decisions if d.decided_by != "user" and d.option_id is not None]


@must("exception in kernel or browser")
def nothing_raised(played: Played) -> None:
    """The late click is refused as data."""
    assert played.seen["before"][-1][1] is False


@must("a note that the agent sent no history")
def note_of_no_history(played: Played) -> None:
    talk = talk_of(played)
    talk.until(lambda: "no history" in talk.state.note)


@must("composer usable")
def composer_usable(played: Played) -> None:
    state = talk_of(played).state
    assert (state.status, state.read_only) == ("idle", False)


@must("items of the session shown before", "old transcript presented as loaded")
def nothing_shown(played: Played) -> None:
    assert len(played.snapshot.items) == 0


@must("error says the command didn't speak ACP in time")
def says_no_acp(played: Played) -> None:
    assert "did not speak ACP" in talk_of(played).state.error.message


@must("child and its children are gone")
def children_gone(played: Played) -> None:
    assert not [pid for pid in played.seen["log"].processes if is_alive(pid)]


@must("only a bounded tail is kept")
def tail_is_bounded(played: Played) -> None:
    process = talk_of(played).session.life.connection.process
    assert process.stderr_bytes >= 4_000_000
    assert len(process.stderr_tail) <= 65536


@must("stderr never enters the transcript")
def no_stderr(played: Played) -> None:
    assert "xxxx" not in everything(played)


@must("nothing is created in {TMP}/outside")
def nothing_outside(played: Played) -> None:
    assert list((played.seen["player"].tmp / "outside").iterdir()) == []


@must("ok.txt holds 'fine'")
def inside_is_written(played: Played) -> None:
    assert (played.seen["player"].cwd / "ok.txt").read_text() == "fine"


@must("set_mode sent unasked at start")
def no_set_mode_unasked(played: Played) -> None:
    assert [
        m["params"]["modeId"]
        for m in played.seen["log"].got
        if m.get("method") == "session/set_mode"
    ] == ["plan"]


@must("no failure on the extra field")
def usage_is_taken(played: Played) -> None:
    turn = played.snapshot.turns[-1]
    assert turn.error is None
    assert turn.usage is not None


@must("composer usable; prompt can be resent")
def can_be_resent(played: Played) -> None:
    talk = talk_of(played)
    assert talk.state.status == "idle"
    talk.call(talk.session.enqueue, [{"type": "text", "text": "again"}])
    talk.until(lambda: talk.state.status == "running")


@must("an unknown stop reason is shown raw, no crash")
def stop_reason_kept(played: Played) -> None:
    """A neighbour of this case: tests/test_chat.py shows an unknown one as it is."""
    assert played.snapshot.turns[-1].stop_reason == "max_tokens"


# --- what a person sees, as the state that views draw


@see("elapsed time of the running turn, before stop")
def elapsed(played: Played) -> None:
    (_, state), *_ = played.seen["before"]
    assert state.running_since is not None


@see("'stopping' then an offer to restart the agent")
def stopping_then_restart(played: Played) -> None:
    states = played.seen["states"]
    stopping = [n for n, s in enumerate(states) if s.status == "stopping"]
    offered = [n for n, s in enumerate(states) if s.error and "restart" in s.error.actions]
    assert stopping[0] < offered[0]


@see("composer usable", "composer usable, draft can be resent")
def usable(played: Played) -> None:
    assert talk_of(played).state.status in {"idle", "running"}


@see("two requests still open, a second after the first was allowed")
def two_open(played: Played) -> None:
    """When the second was chosen, it and the third were open."""
    shots = [s for s in played.seen["snapshots"] if len(s.permissions) == 3]
    open_ones = [[p.status for p in s.permissions].count("pending") for s in shots]
    assert 2 in open_ones
    assert open_ones == sorted(open_ones, reverse=True)


@see("the open request, once a view is displayed")
def request_is_open(played: Played) -> None:
    action, state = next(b for b in played.seen["before"] if b[0] == "display a view")
    assert (action, state.status) == ("display a view", "running")


@see("card is inert with 'no longer needed'")
def card_is_inert(played: Played) -> None:
    assert played.snapshot.permissions[-1].status == "cancelled"


@see("error that names the lost session, with 'start new'")
def lost_session(played: Played) -> None:
    error = talk_of(played).state.error
    assert "new" in error.actions
    assert "session" in error.title


@see("a visible line that the agent refused / gave no output", "'the agent gave no output'")
def no_output(played: Played) -> None:
    assert played.snapshot.turns[-1].silent


@see("agent ended (signal 15), with restart")
def ended_by_signal(played: Played) -> None:
    error = talk_of(played).state.error
    assert "signal 15" in error.message
    assert "restart" in error.actions


@see("starting… with elapsed time")
def starting(played: Played) -> None:
    assert [s for s in played.seen["states"] if s.status == "starting" and s.phase]


@see("both methods by name")
def both_methods(played: Played) -> None:
    state = next(s for s in played.seen["states"] if s.status == "auth-failed")
    assert [m["name"] for m in state.auth_methods] == ["Saved login", "Browser login"]
    assert "login" in state.error.actions


@see("offer to restart the agent process")
def restart_offered(played: Played) -> None:
    assert "restart" in talk_of(played).state.error.actions


@see("hint that the agent may need a login, with its advertised methods")
def login_hint(played: Played) -> None:
    error = talk_of(played).state.error
    methods = talk_of(played).session.life.last_connection.auth_methods
    assert all(str(m["name"]) in error.message for m in methods)
    assert "login" in error.message


@see("sign in again")
def sign_in(played: Played) -> None:
    error = talk_of(played).state.error
    assert (error.title, error.actions[0]) == ("Sign in again", "login")


@see("a short error; chat usable")
def short_error(played: Played) -> None:
    state = talk_of(played).state
    assert len(state.error.message) < 200
    assert state.status == "idle"


@see("'usage limit reached' and the reset time")
def limit_and_reset(played: Played) -> None:
    message = played.snapshot.turns[-1].error.message
    assert "usage limit reached" in message
    assert "3h 21min" in message


@see("raw data behind a details toggle")
def raw_data(played: Played) -> None:
    assert played.snapshot.turns[-1].error.data["errorKind"] == "rate_limit"


@see("says that the answer was cut")
def answer_was_cut(played: Played) -> None:
    from acp_notebook.chat import Turn

    assert "cut" in Turn(played.snapshot, -1).error.message


@must("comm, ledger and export all work", "UnicodeEncodeError")
def valid_text(played: Played) -> None:
    """What comes out is valid UTF-8 in each form that leaves the process."""
    shot = played.snapshot
    for form in (everything(played), shot.to_text(), shot.to_markdown(), shot.to_html()):
        form.encode("utf-8")


@pytest.mark.parametrize("player", [load("178-lone-surrogate")], indirect=True)
def test_updates_case(player: HostPlayer) -> None:
    """A cut escape in a stream from a real child harms nothing (178)."""
    played = player.play()
    assert_expected(played)
    must.assert_all(played)
