"""`acp-notebook bridge ledger`, run as a command."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from acp_notebook.bridge.ledger import Ledger

SESSION = "5f0c1c9e-0000-4000-8000-000000000001"
KEY = f"agent:main:acp-bridge:{SESSION}"
PROMPT = {
    "sessionUpdate": "user_message_chunk",
    "content": {"type": "text", "text": "hé\x1b[2Jllo"},
}
TOOL = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "exec"}


def look(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "acp_notebook.bridge", "ledger", "--state-dir", str(state)]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory with a ledger of three sessions: whole, open and incomplete."""
    with Ledger.open(tmp_path / "acp-notebook" / "ledger.sqlite") as ledger:
        ledger.begin_session(SESSION, KEY, "/w", 1_760_000_000_000)
        ledger.accept_prompt(SESSION, "r", [PROMPT], 1_760_000_001_000)
        ledger.append(SESSION, TOOL, run_id="r", at=1_760_000_002_000)
        ledger.settle_prompt(SESSION, "r", 1_760_000_003_000)
        ledger.begin_session("open", "k", "/w", 2)
        ledger.accept_prompt("open", "r", [PROMPT], 2)
        ledger.begin_session("short", "k", "/w", 1, complete=False)
    return tmp_path


def test_list(state: Path) -> None:
    """`list` has a line a session, the last written first, with its state and size."""
    done = look(state, "list")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [SESSION, "open", "short"] == [line[0] for line in lines]
    assert ["complete", "open", "incomplete"] == [line[3] for line in lines]
    assert ["2025-10-09", "08:53:23Z", "complete", "2", "events"] == lines[0][1:6]
    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("given", [SESSION, SESSION[:8], KEY])
def test_show(state: Path, given: str) -> None:
    """`show` has a line an event; an agent's escape codes do not reach the terminal."""
    done = look(state, "show", given)
    assert [
        f"session {SESSION}: complete, key {KEY}",
        r"     1  2025-10-09 08:53:21Z  user_message_chunk  hé\x1b[2Jllo",
        '     2  2025-10-09 08:53:22Z  tool_call  {"toolCallId": "t1", "title": "exec"}',
    ] == done.stdout.splitlines()


def test_export(state: Path) -> None:
    """`export` gives the notifications that were sent, a line each, exactly."""
    done = look(state, "export", SESSION)
    assert [
        {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": SESSION, "update": update},
        }
        for update in (PROMPT, TOOL)
    ] == [json.loads(line) for line in done.stdout.splitlines()]


def test_verify(state: Path) -> None:
    """`verify` says that the ledger holds, or what does not, and then its exit code is 1."""
    assert ("the ledger holds\n", 0) == (
        look(state, "verify").stdout,
        look(state, "verify").returncode,
    )
    with closing(sqlite3.connect(state / "acp-notebook" / "ledger.sqlite")) as db:
        db.execute("UPDATE sessions SET byte_count = 1 WHERE session_id = 'open'")
        db.commit()
    done = look(state, "verify")
    assert done.stdout.startswith("session open: byte_count is 1, there are ")
    assert 1 == done.returncode


def test_beside_a_running_bridge(state: Path) -> None:
    """What a bridge has written is seen at once, while it runs."""
    with Ledger.open(state / "acp-notebook" / "ledger.sqlite") as ledger:
        ledger.begin_session("new", "k", "/w", 1_770_000_000_000)
        assert look(state, "list").stdout.startswith("new ")


def test_nothing_is_changed(state: Path) -> None:
    """Looking changes no byte, and a ledger that is damaged stays where it is."""
    file = state / "acp-notebook" / "ledger.sqlite"
    before = file.read_bytes()
    for arguments in (["list"], ["show", SESSION], ["verify"], ["export", SESSION]):
        look(state, *arguments)
    assert before == file.read_bytes()
    file.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 16)
    damaged = file.read_bytes()
    done = look(state, "list")
    assert damaged == file.read_bytes()
    assert 1 == done.returncode
    assert "cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["show", "nobody"], ["export", "nobody"], ["show", ""]])
def test_unknown_session(state: Path, arguments: list[str]) -> None:
    """A session that is not there is said, with exit code 1."""
    done = look(state, *arguments)
    assert (1, "") == (done.returncode, done.stdout)
    assert "no session" in done.stderr


def test_no_ledger(tmp_path: Path) -> None:
    """Without a ledger none is made: the place that was looked at is said."""
    done = look(tmp_path, "list")
    assert 1 == done.returncode
    assert str(tmp_path / "acp-notebook" / "ledger.sqlite") in done.stderr
    assert [] == list(tmp_path.iterdir())


def test_reader_that_goes_away(state: Path) -> None:
    """A reader that has seen enough ends the command in peace."""
    command = [sys.executable, "-m", "acp_notebook.bridge", "ledger", "--state-dir", str(state)]
    with subprocess.Popen(
        [*command, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        child.stdout.close()
        assert b"" == child.stderr.read()
    assert 0 == child.returncode
