"""The agent that plays cases: real pipes, every line of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases.case import cases, load
from tests.cases.reducer_player import all_messages

AGENT = Path(__file__).with_name("play_agent.py")
PLAYABLE = [case for case in cases("reducer") if case.mode == "updates"]


class Talk:
    """A client of the agent, for one test."""

    def __init__(self, case, log, *options):
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                str(AGENT),
                str(case.folder),
                "--cwd",
                "/project",
                "--log",
                str(log),
                *options,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.log = log

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait(30)
        self.process.stdout.close()
        self.process.stderr.close()

    def send(self, **message):
        """Send one message."""
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        """Read one message."""
        return json.loads(self.process.stdout.readline())

    def steps(self):
        """Return what the log says."""
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", PLAYABLE, ids=lambda case: case.name)
def test_an_updates_case_is_played_inside_a_prompt(case, tmp_path):
    """Initialize, session/new, one prompt a session; then its lines, then end_turn."""
    sessions = case.given.get("sessions", ["sess-1"])
    with Talk(case, tmp_path / "log") as talk:
        talk.send(id=0, method="initialize", params={})
        assert talk.read()["result"]["protocolVersion"] == 1
        for number, session in enumerate(sessions):
            talk.send(id=f"n{number}", method="session/new", params={})
            answer = talk.read()
            assert (answer["id"], answer["result"]["sessionId"]) == (f"n{number}", session)
            assert ("modes" in answer["result"]) == ("modes" in case.given)
        for number, session in enumerate(sessions):
            talk.send(id=10 + number, method="session/prompt", params={"sessionId": session})
        expected = [message["params"] for message in all_messages(case)]
        assert [talk.read()["params"] for _ in expected] == expected
        for number, _ in enumerate(sessions):
            answer = talk.read()
            assert (answer["id"], answer["result"]) == (10 + number, {"stopReason": "end_turn"})
    assert talk.process.returncode == 0
    assert talk.steps()[-1]["done"] is True


def test_a_script_waits_for_its_client(tmp_path):
    """Case 048: lines come when the prompt that they belong to has come."""
    case = load("048-straggler-after-next-prompt")
    with Talk(case, tmp_path / "log") as talk:
        talk.send(id=0, method="initialize", params={})
        assert talk.read()["id"] == 0
        talk.send(id=1, method="session/new", params={})
        assert talk.read()["result"]["sessionId"] == "sess-1"
        for number in (2, 3):
            talk.process.stdin.write(b"no json\n")
            talk.send(id=number, method="session/prompt", params={"sessionId": "sess-1"})
            lines = []
            while not lines or "id" not in lines[-1]:
                lines.append(talk.read())
            assert lines[-1]["id"] == number
    steps = talk.steps()
    assert [entry["do"] for entry in steps if "do" in entry] == case.given["script"]
    assert {"bad_input": "no json\n"}.items() <= next(e for e in steps if "bad_input" in e).items()


def test_steps_of_else_are_done_when_nothing_comes(tmp_path):
    """Case 076: a host that waits with its second load gets the answer to the first."""
    case = load("076-load-twice-not-doubled")
    with Talk(case, tmp_path / "log") as talk:
        talk.send(id=0, method="initialize", params={})
        talk.read()
        talk.send(id=1, method="session/load", params={"sessionId": "sess-1"})
        assert [talk.read()["method"] for _ in range(2)] == ["session/update"] * 2
        assert talk.read()["id"] == 1
        talk.send(id=2, method="session/load", params={"sessionId": "sess-1"})
        assert [talk.read()["method"] for _ in range(3)] == ["session/update"] * 3
        assert talk.read()["id"] == 2


def test_a_client_that_does_not_come_ends_it(tmp_path):
    """With its own exit code, and the log says for what it waited."""
    with Talk(
        load("019-future-kind-between-chunks"), tmp_path / "log", "--timeout", "0.05"
    ) as talk:
        talk.process.wait(30)
        assert talk.process.returncode == 3
        assert talk.steps()[-1]["timeout"] == "initialize"


def test_a_case_of_another_mode_is_refused(tmp_path):
    """A page or a bridge plays it."""
    case = cases(mode="ledger")[0]
    with Talk(case, tmp_path / "log") as talk:
        talk.process.wait(30)
        assert talk.process.returncode == 4
