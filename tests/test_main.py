"""The command line, run as a person runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from acp_notebook import __version__
from acp_notebook.__main__ import COMMANDS, main

RECORD = [
    {"acp_notebook_record": 1, "agent": "x", "version": "1", "cwd": "/w", "started": 0},
    {"t": 1, "dir": "client->agent", "msg": {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/w"}}},
    {"t": 2, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}},
    {"t": 3, "dir": "client->agent", "msg": {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}}},
    {"t": 4, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello <b>you</b>"}}}}},
    {"t": 5, "dir": "agent->client", "msg": {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}}},
]  # fmt: skip


@dataclass
class Ended:
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


def process(*arguments: str, cwd: Path | None = None, stdin: str = "") -> Ended:
    """Run the command line as its own process."""
    run = subprocess.run(
        [sys.executable, "-P", "-m", "acp_notebook", *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Ended(run.returncode, run.stdout, run.stderr)


@pytest.fixture
def acp(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """The command line in this process; the agents that it starts are children all the same."""

    def run(*arguments: str) -> Ended:
        try:
            code = main(arguments)
        except SystemExit as ended:  # argparse
            code = int(ended.code or 0)
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in RECORD))
    return path


class TestCommandLine:
    def test_every_command_explains_itself(self, acp: Callable[..., Ended]) -> None:
        """The help names every command, and each has a help of its own."""
        shown = acp("--help").stdout
        for name in COMMANDS:
            assert name in shown
            help_of = acp(name, "--help")
            assert (0, True) == (help_of.returncode, "usage:" in help_of.stdout), help_of.stderr

    def test_the_version_loads_nothing_heavy(self) -> None:
        """--version prints it, and imports neither the SDK nor a widget nor any command."""
        program = (
            "import sys; from acp_notebook.__main__ import main\n"
            "try: main(['--version'])\n"
            "except SystemExit: pass\n"
            "print([m for m in ('acp', 'anywidget', 'acp_notebook.commands.ask') if m in sys.modules])"
        )
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert run.stdout == f"{__version__}\n[]\n"

    def test_a_workspace_cannot_stand_in_for_modules(self, tmp_path: Path) -> None:
        """A folder that holds signal.py and acp_notebook changes nothing, for us or for the agent."""
        (tmp_path / "signal.py").write_text("raise SystemExit('taken over')\n")
        (tmp_path / "acp_notebook").mkdir()
        (tmp_path / "acp_notebook" / "__init__.py").write_text("raise SystemExit('taken over')\n")
        run = process("ask", "explorer", "/help", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert "What I can do" in run.stdout

    def test_a_mistake_is_one_line(self, acp: Callable[..., Ended]) -> None:
        """An unknown agent is said on stderr with the names that there are, without a traceback."""
        run = acp("ask", "nobody", "hi")
        assert run.returncode == 1
        assert run.stderr.count("\n") == 1
        assert "explorer, claude, codex" in run.stderr


class TestAsk:
    def test_the_answer_is_printed(self, acp: Callable[..., Ended]) -> None:
        """Stdout holds the answer alone; a turn that ended well is exit code 0."""
        run = acp("ask", "explorer", "/help")
        assert run.returncode == 0
        assert run.stdout.startswith("I am the **explorer**")
        assert run.stdout.endswith("Say what this agent can do.\n\n")
        assert run.stderr == ""

    def test_the_prompt_can_come_on_stdin(self) -> None:
        """`-` reads the prompt; nobody can be asked then, so the demo's permission is not given."""
        run = process("ask", "explorer", "-", stdin="/demo instant")
        assert run.returncode == 0
        assert "Nobody answered. So no file was written." in run.stdout
        assert "[Write explorer-scratch.md, and remove it at the end: failed]" in run.stderr

    def test_the_policy_answers(self, acp: Callable[..., Ended], tmp_path: Path) -> None:
        """With a policy that allows it the demo edits its file."""
        arguments = ("--policy", "allow-all", "--cwd", str(tmp_path))
        run = acp("ask", "explorer", "/demo instant", *arguments)
        assert "[Change a line of explorer-scratch.md: completed]" in run.stderr

    def test_json_is_one_object_a_line(self, acp: Callable[..., Ended]) -> None:
        """--json prints every item by the timeline's names, then the turn."""
        run = acp("ask", "explorer", "/help", "--json")
        *items, turn = [json.loads(line) for line in run.stdout.splitlines()]
        assert [item["kind"] for item in items] == ["message-segment"] * 3
        assert turn["stopReason"] == "end_turn"
        assert turn["itemIds"] == [item["id"] for item in items]

    def test_another_stop_reason_is_another_code(
        self, acp: Callable[..., Ended], record: Path
    ) -> None:
        """A refusal is exit code 3: the stop reason is the code."""
        told = record.read_text().replace("end_turn", "refusal")
        record.write_text(told)
        replay = f"{sys.executable} -P -m acp_notebook.agents.replay {record}"
        run = acp("ask", replay, "hi")
        assert (3, "hello <b>you</b>\n") == (run.returncode, run.stdout)

    def test_escape_codes_are_made_visible(self, acp: Callable[..., Ended], record: Path) -> None:
        """What an agent writes cannot move the cursor of the terminal."""
        record.write_text(record.read_text().replace("hello", "\\u001b[2Jhello"))
        replay = f"{sys.executable} -P -m acp_notebook.agents.replay {record}"
        assert "\x1b" not in acp("ask", replay, "hi").stdout


class TestLists:
    def test_agents_as_json(self, acp: Callable[..., Ended]) -> None:
        """--json holds every known agent, and where each is installed."""
        rows = {row["name"]: row for row in json.loads(acp("agents", "--json").stdout)}
        assert rows["explorer"]["is_default"]
        assert rows["opencode"]["install"] == "npm install -g opencode-ai"

    def test_an_agent_without_a_list(self, acp: Callable[..., Ended]) -> None:
        """An agent that cannot list its sessions is said to be one."""
        run = acp("sessions", "explorer")
        assert (1, "Explorer cannot list sessions.\n") == (run.returncode, run.stderr)

    def test_sessions_are_listed(self, acp: Callable[..., Ended], record: Path) -> None:
        """One line a session, its fields apart by tabs; what a title holds makes no other line."""
        lines = [
            RECORD[0],
            {"dir": "client->agent", "msg": {"id": 1, "method": "initialize", "params": {}}},
            {"dir": "agent->client", "msg": {"id": 1, "result": {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"list": {}}}}}},
            {"dir": "client->agent", "msg": {"id": 2, "method": "session/list", "params": {}}},
            {"dir": "agent->client", "msg": {"id": 2, "result": {"sessions": [{"sessionId": "a", "cwd": "/w", "title": "one\n\ttwo", "updatedAt": "2026-01-01T00:00:00Z"}]}}},
        ]  # fmt: skip
        record.write_text("".join(json.dumps(line) + "\n" for line in lines))
        replay = f"{sys.executable} -P -m acp_notebook.agents.replay {record}"
        assert acp("sessions", replay).stdout == "a\t2026-01-01T00:00:00Z\t/w\tone two\n"


class TestRecords:
    def test_replay_prints_the_conversation(self, acp: Callable[..., Ended], record: Path) -> None:
        """A record reads as text."""
        assert acp("replay", str(record)).stdout == "> hi\n\nhello <b>you</b>\n"

    @pytest.mark.parametrize(
        ("suffix", "held"),
        [
            (".txt", "hello <b>you</b>"),
            (".md", "&lt;b"),
            (".html", "&lt;b"),
            (".json", '"kind": "message-segment"'),
        ],
    )
    def test_export_goes_by_the_suffix(
        self, acp: Callable[..., Ended], suffix: str, held: str, record: Path
    ) -> None:
        """The output's suffix chooses the form, and raw HTML is text where it would be read as HTML."""
        output = record.with_suffix(suffix)
        assert acp("export", str(record), "-o", str(output)).returncode == 0
        assert held in output.read_text()

    def test_export_refuses_a_suffix_it_does_not_know(
        self, acp: Callable[..., Ended], record: Path
    ) -> None:
        """No text is written under the name of a form that it is not, unless --format says so."""
        output = record.with_suffix(".pdf")
        run = acp("export", str(record), "-o", str(output))
        assert (1, False) == (run.returncode, output.exists())
        assert "none of .txt, .md, .html, .json" in run.stderr
        assert 0 == acp("export", str(record), "-o", str(output), "--format", "text").returncode

    def test_a_record_that_is_not_there(self, acp: Callable[..., Ended], tmp_path: Path) -> None:
        """The file is named, and what is wrong with it."""
        absent = tmp_path / "absent.jsonl"
        run = acp("replay", str(absent))
        assert (1, f"{absent}: No such file or directory\n") == (run.returncode, run.stderr)

    def test_a_file_that_is_no_record(self, acp: Callable[..., Ended], tmp_path: Path) -> None:
        """What is wrong is said in one line."""
        (tmp_path / "x").write_text("nonsense")
        run = acp("replay", str(tmp_path / "x"))
        assert run.returncode == 1
        assert "Traceback" not in run.stderr


class TestDoctor:
    def test_without_an_agent(self, acp: Callable[..., Ended]) -> None:
        """It names the versions, the way of clicks, and the known agents."""
        shown = acp("doctor").stdout
        assert f"acp_notebook {__version__}" in shown
        assert "clicks while a cell runs" in shown
        assert "explorer *" in shown

    def test_with_an_agent(self, acp: Callable[..., Ended]) -> None:
        """It starts the agent and shows phases with times, and the capabilities as a table."""
        run = acp("doctor", "explorer")
        assert run.returncode == 0
        assert "s  ready" in run.stdout
        capabilities = [line.split() for line in run.stdout.splitlines()]
        assert ["promptCapabilities.image", "yes"] in capabilities
        assert ["loadSession", "no"] in capabilities

    def test_an_agent_that_does_not_come_up(self, acp: Callable[..., Ended]) -> None:
        """Its end is said with the last lines of its stderr; the exit code is 1."""
        broken = f"{sys.executable} -c \"import sys; sys.exit('no licence')\""
        run = acp("doctor", broken)
        assert run.returncode == 1
        assert "no licence" in run.stdout

    def test_configured_secrets_are_not_shown(
        self, acp: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Values of an agent's env are in no report."""
        configured = {"mine": {"command": "x", "env": {"KEY": "hunter2"}}}
        monkeypatch.setenv("ACP_NOTEBOOK_AGENTS", json.dumps(configured))
        run = acp("doctor")
        assert "mine" in run.stdout
        assert "hunter2" not in run.stdout + run.stderr
