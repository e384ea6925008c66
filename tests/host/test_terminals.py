"""Terminals that the agent runs through the host."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_notebook.host.policy import Policy
from acp_notebook.host.terminals import OutputRing
from tests.host.talk import Talk


def ask(talk: Talk, method: str, **params: object) -> dict:
    return json.loads(talk.prompt(f"request terminal/{method} {json.dumps(params)}").text)


def create(talk: Talk, command: str, *args: str, **params: object) -> str:
    answer = ask(talk, "create", command=command, args=list(args), **params)
    return answer["result"]["terminalId"]


def test_a_command_runs_to_its_end(talk: Talk, tmp_path: Path) -> None:
    """A command runs in the session's folder; its output and exit code are told."""
    terminal = create(talk, "sh", "-c", "pwd; echo $COLOUR >&2; exit 3",
                      env=[{"name": "COLOUR", "value": "red"}])  # fmt: skip
    status = {"exitCode": 3, "signal": None}
    assert ask(talk, "wait_for_exit", terminalId=terminal) == {"result": status}
    assert ask(talk, "output", terminalId=terminal) == {
        "result": {"exitStatus": status, "output": f"{tmp_path}\nred\n", "truncated": False}
    }


def test_kill_keeps_the_output_and_release_forgets(talk: Talk) -> None:
    """A killed command's output can be read; a released terminal is unknown."""
    terminal = create(talk, "sh", "-c", "echo on; exec sleep 600")
    while ask(talk, "output", terminalId=terminal)["result"]["output"] != "on\n":
        pass
    assert ask(talk, "kill", terminalId=terminal) == {"result": {}}
    answer = ask(talk, "output", terminalId=terminal)["result"]
    assert (answer["output"], answer["exitStatus"]["signal"]) == ("on\n", "SIGTERM")
    assert ask(talk, "release", terminalId=terminal) == {"result": {}}
    assert ask(talk, "output", terminalId=terminal)["error"]["code"] == -32002


def test_a_whole_line_goes_to_the_shell(talk: Talk) -> None:
    """A command line without arguments is run by the shell, as agents mean it."""
    terminal = create(talk, "echo a && echo b | tr b c")
    ask(talk, "wait_for_exit", terminalId=terminal)
    assert ask(talk, "output", terminalId=terminal)["result"]["output"] == "a\nc\n"


def test_what_cannot_run_is_an_error(talk: Talk) -> None:
    """An unknown command, a missing folder and no command at all are errors."""
    codes = [
        ask(talk, "create", command="no-such-command", args=["x"])["error"]["code"],
        ask(talk, "create", command="ls", cwd="/no/such/folder")["error"]["code"],
        ask(talk, "create", args=[])["error"]["code"],
    ]
    assert codes == [-32002, -32602, -32602]


def test_there_is_a_limit(talks: Callable[..., Talk]) -> None:
    """Past `max_terminals` no more are started."""
    talk = talks(max_terminals=1)
    create(talk, "sleep", "600")
    assert "open already" in ask(talk, "create", command="ls")["error"]["message"]


def test_a_policy_that_denies_refuses_commands(talk: Talk) -> None:
    """Under `deny`, no command runs."""
    talk.call(talk.session.set_policy, Policy.of("deny"))
    assert "refuses" in ask(talk, "create", command="ls")["error"]["message"]


def test_commands_end_with_the_session(talk: Talk) -> None:
    """When the chat closes, what still runs in its terminals is ended."""
    create(talk, "sleep", "600")
    terminal = talk.session.shown.terminals.get("term-1")
    talk.close()
    assert terminal.exit_status["signal"] == "SIGTERM"


def test_output_streams_into_the_card(talk: Talk) -> None:
    """What a terminal prints is in the tool card that names it."""
    talk.prompt('request terminal/create {"command": "echo", "args": ["hello"]}')
    card = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t1",
        "title": "echo",
        "content": [{"type": "terminal", "terminalId": "term-1"}],
    }
    params = {"sessionId": talk.state.session_id, "update": card}
    line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})
    talk.prompt(f"raw {line}")
    ask(talk, "wait_for_exit", terminalId="term-1")
    (call,) = talk.session.snapshot.tool_calls
    (part,) = call.output_parts
    assert (part.kind, part.output) == ("terminal", "hello\n")


@pytest.mark.parametrize(
    ("pieces", "limit", "text", "truncated"),
    [
        ([b"abc"], 3, "abc", False),
        ([b"abc", b"def"], 3, "def", True),
        (["aé".encode(), "é".encode()], 3, "é", True),
        (["日本".encode()], 4, "本", True),
        ([b"abc"], 0, "", True),
        ([b"\xff\xff"], 4, "\ufffd\ufffd", False),
    ],
)
def test_the_ring_cuts_between_characters(
    pieces: list[bytes], limit: int, text: str, truncated: bool
) -> None:
    """What is kept is the end, within the limit, and begins with a whole character."""
    ring = OutputRing(limit)
    for piece in pieces:
        ring.add(piece)
    assert (ring.text(), ring.truncated) == (text, truncated)
