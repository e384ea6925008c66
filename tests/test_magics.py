"""The magics, in a real IPython shell and in a real kernel."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from acp_notebook import agents
from acp_notebook.agents.configuration import configured
from acp_notebook.chat import Chat
from acp_notebook.host.loop import host_loop
from tests.kernels import Kernel, kernel
from tests.test_main import RECORD

Magic = Callable[[str], Any]


@pytest.fixture
def start_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start a terminal-like IPython with the extension; it is unloaded and gone afterwards."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setattr(sys, "displayhook", sys.displayhook)

    def start(**acp_chat: Any) -> InteractiveShell:
        config = Config(AcpChat=Config(acp_chat))
        config.HistoryManager.enabled = False
        shell = InteractiveShell.instance(config=config)
        shell.run_line_magic("load_ext", "acp_notebook")
        return shell

    yield start
    if InteractiveShell.initialized():
        shell = InteractiveShell.instance()
        shell.run_line_magic("unload_ext", "acp_notebook")
        shell.restore_sys_module_state()
        InteractiveShell.clear_instance()


@pytest.fixture
def acp_chat(start_shell: Callable[..., Any]) -> Magic:
    """`%acp_chat` in a fresh shell."""
    shell = start_shell()
    return lambda line: shell.run_line_magic("acp_chat", line)


class TestChat:
    def test_it_shows_the_default_agent_and_starts_nothing(self, acp_chat: Magic) -> None:
        """Without arguments it is a chat named main with the default agent, which has not started."""
        chat = acp_chat("")
        assert repr(chat) == "<Chat 'main' with explorer>"
        assert chat.state.session_id is None
        assert len(chat.timeline.items) == 0

    def test_the_same_name_is_the_same_chat(self, acp_chat: Magic) -> None:
        """Run again it is another face of one session; another name is another session."""
        first = acp_chat("")
        assert acp_chat("").session is first.session
        assert Chat(name="main").session is first.session
        assert acp_chat("--name other").session is not first.session

    def test_a_chat_can_be_used_from_python(self, acp_chat: Magic) -> None:
        """What it returns answers a prompt."""
        assert "What I can do" in acp_chat("explorer").ask("/help").text

    def test_another_agent_under_the_same_name_is_refused(
        self, acp_chat: Magic, tmp_path: Path
    ) -> None:
        """A name stands for one agent and one folder; --new begins another chat under it."""
        first = acp_chat("")
        command = f"'{sys.executable} -m mine'"
        with pytest.raises(UsageError, match=r"runs another agent \(explorer\)"):
            acp_chat(command)
        with pytest.raises(UsageError, match=r"works in .* --new"):
            acp_chat(f"--cwd {tmp_path}")
        second = acp_chat(f"{command} --new --cwd {tmp_path}")
        assert first.status == "closed"
        assert second.state.cwd == str(tmp_path)
        assert second.session.spec.args == ("-m", "mine")

    def test_the_policy_of_a_running_chat_can_be_changed(self, acp_chat: Magic) -> None:
        """--policy on a chat that is there sets its policy."""
        chat = acp_chat("--policy deny")
        assert chat.policy.name == "deny"
        acp_chat("--policy allow-all")
        # The setter hops to the host thread; a question there comes after it.
        assert host_loop().ask(lambda: chat.policy.name) == "allow-all"

    def test_stop_ends_the_chat(self, acp_chat: Magic, capsys: pytest.CaptureFixture[str]) -> None:
        """--stop ends it and its agent; when there is none it says so and is no error."""
        chat = acp_chat("")
        chat.ask("/help")
        assert acp_chat("--stop") is None
        assert chat.status == "closed"
        assert acp_chat("--stop") is None
        assert capsys.readouterr().out.endswith("There is no chat 'main' to stop.\n")

    def test_a_record_is_replayed(self, acp_chat: Magic, tmp_path: Path) -> None:
        """--replay plays a record as the agent, and a file that is not there is named."""
        path = tmp_path / "my talk.jsonl"
        lines = [
            RECORD[0],
            {"dir": "client->agent", "msg": {"id": 0, "method": "initialize", "params": {}}},
            {"dir": "agent->client", "msg": {"id": 0, "result": {"protocolVersion": 1}}},
            *RECORD[1:],
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert acp_chat(f"--replay '{path}'").ask("hi").text == "hello <b>you</b>"
        with pytest.raises(UsageError, match=r"There is no record nowhere\.jsonl"):
            acp_chat("--replay nowhere.jsonl --new")
        with pytest.raises(UsageError, match="not both"):
            acp_chat(f"explorer --replay '{path}' --new")

    def test_a_record_is_written(self, acp_chat: Magic, tmp_path: Path) -> None:
        """--record writes what --replay plays."""
        path = tmp_path / "talk.jsonl"
        said = acp_chat(f"explorer --record {path}").ask("/help").text
        acp_chat("--stop")
        assert acp_chat(f"--replay {path}").ask("/help").text == said

    def test_a_comment_is_no_argument(self, acp_chat: Magic, tmp_path: Path) -> None:
        """What stands behind ` #` is left out, as in Python; a `#` in a word or in quotes is kept."""
        assert acp_chat("explorer  # or claude: don't wait").state.name == "main"
        assert acp_chat("# the default agent").state.name == "main"
        assert acp_chat("explorer --name a#b").state.name == "a#b"
        folder = tmp_path / "a #b"
        folder.mkdir()
        assert acp_chat(f"--name c --cwd '{folder}'  # quoted").state.cwd == str(folder)


class TestMistakes:
    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("opncode", "did you mean opencode"),
            ("--policy maybe", "invalid choice: 'maybe'"),
            ("--nonsense", "unrecognized arguments: --nonsense"),
            ("explorer codex", "unrecognized arguments: codex"),
            ("'explorer", "No closing quotation"),
        ],
    )
    def test_they_are_told_in_one_line(self, line: str, told: str, acp_chat: Magic) -> None:
        """A mistake is a usage error, which IPython shows without a traceback."""
        with pytest.raises(UsageError, match=told) as raised:
            acp_chat(line)
        assert "\n" not in str(raised.value)

    def test_an_absent_agent_shows_its_install_command(
        self, acp_chat: Magic, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing is downloaded; the person is told how to."""
        monkeypatch.setenv("PATH", "")
        with pytest.raises(UsageError, match="npm install -g @google/gemini-cli"):
            acp_chat("gemini")


class TestAgents:
    def test_the_table(self, start_shell: Callable[..., Any]) -> None:
        """%acp_agents returns the table of the known agents and of those that are configured."""
        shell = start_shell(agents={"mine": {"command": "x", "env": {"K": "hunter2"}}})
        table = shell.run_line_magic("acp_agents", "")
        assert {"explorer", "opencode", "mine"} <= {row.name for row in table}
        assert "hunter2" not in repr(table) + table._repr_html_()

    def test_configuration_reaches_chats(self, start_shell: Callable[..., Any]) -> None:
        """c.AcpChat sets agents, the default and the policy; unloading takes that back."""
        shell = start_shell(
            agents={"mine": [sys.executable, "x"]}, default_agent="mine", policy="deny"
        )
        chat = shell.run_line_magic("acp_chat", "")
        assert (chat.session.spec.name, chat.policy.name) == ("mine", "deny")
        shell.run_line_magic("config", "AcpChat.policy = 'allow-all'")
        assert Chat("explorer").policy.name == "allow-all"


class TestLoading:
    def test_reloading_leaves_one_of_everything(self, start_shell: Callable[..., Any]) -> None:
        """%reload_ext closes the chats and registers the magics once more, not twice."""
        shell = start_shell()
        chat = shell.run_line_magic("acp_chat", "")
        shell.run_line_magic("reload_ext", "acp_notebook")
        assert chat.status == "closed"
        assert repr(shell.run_line_magic("acp_chat", "")) == "<Chat 'main' with explorer>"
        assert len([c for c in shell.configurables if type(c).__name__ == "AcpChat"]) == 1
        chain = shell.strdispatchers["complete_command"].strs["%acp_chat"]
        assert len(chain.chain) == 1

    def test_unloading_leaves_nothing(self, start_shell: Callable[..., Any]) -> None:
        """After %unload_ext the magics, the completion and the configuration are gone."""
        shell = start_shell(policy="deny")
        shell.run_line_magic("unload_ext", "acp_notebook")
        assert shell.find_line_magic("acp_chat") is None
        assert shell.find_line_magic("acp_agents") is None
        assert "%acp_chat" not in shell.strdispatchers["complete_command"].strs
        shell.config.clear()
        assert configured("policy") is None


class TestCompletion:
    @pytest.mark.parametrize(
        ("line", "wanted", "unwanted"),
        [
            ("%acp_chat op", {"openclaw", "opencode"}, {"qwen"}),
            ("%acp_chat ", {"explorer", "opencode"}, set()),
            ("%acp_chat --po", {"--policy"}, {"--stop"}),
            ("%acp_chat explorer --policy a", {"ask", "accept-edits", "allow-all"}, {"deny"}),
            ("%acp_chat --new --n", {"--name"}, {"--new"}),
            ("%acp_chat --name ", {"main", "other"}, {"explorer"}),
        ],
    )
    def test_what_is_offered(
        self, line: str, wanted: set[str], unwanted: set[str], start_shell: Callable[..., Any]
    ) -> None:
        """Agents, options and what an option takes are completed, where each is due."""
        shell = start_shell()
        shell.run_line_magic("acp_chat", "")
        shell.run_line_magic("acp_chat", "--name other")
        with provisionalcompleter():
            offered = {c.text for c in shell.Completer.completions(line, len(line))}
        assert wanted <= offered
        assert not unwanted & offered

    def test_a_path_is_completed_by_ipython(
        self, start_shell: Callable[..., Any], tmp_path: Path
    ) -> None:
        """After --cwd the folders come, not the agents."""
        (tmp_path / "folder").mkdir()
        shell = start_shell()
        line = f"%acp_chat --cwd {tmp_path}/fo"
        with provisionalcompleter():
            offered = {c.text for c in shell.Completer.completions(line, len(line))}
        assert f"{tmp_path}/folder/" in offered
        assert "explorer" not in offered


def test_a_terminal_streams_text_and_asks_there(tmp_path: Path) -> None:
    """In a terminal IPython the turn is printed as it comes, and a permission is asked by input()."""
    spawned = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"],
        cwd=str(tmp_path),
        env=os.environ | {"IPYTHONDIR": str(tmp_path / "ipython")},
        encoding="utf-8",
        timeout=150,
    )
    try:
        for number, line in enumerate(
            ["%load_ext acp_notebook", "chat = %acp_chat", "turn = chat.ask('/demo instant')"], 1
        ):
            spawned.expect(rf"In \[{number}\]: ")
            spawned.sendline(line)
        spawned.expect("What an answer can hold")
        spawned.expect(r"The agent asks: Write explorer-scratch\.md.*1\) Write it.*: ")
        spawned.sendline("1")
        spawned.expect(r"\[Change a line of explorer-scratch\.md: completed\]")
        spawned.expect(r"In \[4\]: ")
        spawned.sendline("exit()")
        spawned.expect(pexpect.EOF)
    finally:
        spawned.close(force=True)


@dataclass
class Outputs:
    """What a cell sent: its reply, and its outputs in order."""

    reply: dict[str, Any]
    messages: list[dict[str, Any]]

    def text(self) -> str:
        """The streams, and the text/plain of what was displayed."""
        parts = []
        for message in self.messages:
            content = message["content"]
            if message["msg_type"] == "stream":
                parts.append(content["text"])
            elif message["msg_type"] in {"display_data", "execute_result"}:
                parts.append(content["data"]["text/plain"])
        return "\n".join(parts)


def execute(running: Kernel, source: str) -> Outputs:
    messages: list[dict[str, Any]] = []
    reply = running.client.execute_interactive(
        source, timeout=60, allow_stdin=False, output_hook=messages.append
    )
    return Outputs(reply["content"], messages)


@pytest.mark.kernel
class TestKernel:
    def test_a_day_in_a_notebook(self, tmp_path: Path) -> None:
        """In a kernel: the widget, a prompt, a mistake without traceback, and nothing left at the end."""
        with kernel(tmp_path) as running:
            execute(running, "%load_ext acp_notebook")
            shown = execute(running, "%acp_chat explorer")
            views = [
                m["content"]["data"]
                for m in shown.messages
                if "application/vnd.jupyter.widget-view+json" in m["content"].get("data", {})
            ]
            assert len(views) == 1
            assert "0x" not in views[0]["text/plain"]
            execute(running, "chat = %acp_chat --height 300px")
            assert running.run("print(chat.widget.height)") == "300px\n"
            assert running.run("print(chat.ask('/help').stop_reason)") == "end_turn\n"
            wrong = execute(running, "%acp_chat opncode")
            assert wrong.reply["ename"] == "UsageError"
            assert wrong.reply["traceback"] == []
            assert wrong.text().startswith("UsageError: There is no agent named 'opncode'")
            table = execute(running, "%acp_agents")
            data = table.messages[-2]["content"]["data"]
            assert data["text/html"].startswith("<table>")
            assert "npm install -g opencode-ai" in data["text/plain"]
            execute(running, "%acp_chat --stop")
            assert running.run("print(chat.status)") == "closed\n"

    def test_a_configured_agent(self, tmp_path: Path) -> None:
        """c.AcpChat.agents of a profile is found by the magic and by Chat, and its env by the agent."""
        profile = tmp_path / ".ipython" / "profile_default"
        profile.mkdir(parents=True)
        command = [*_explorer(), "--pace", "instant"]
        (profile / "ipython_config.py").write_text(
            f"c.AcpChat.agents = {{'mine': {{'command': {command!r}, 'title': 'My own'}}}}\n"
            "c.AcpChat.default_agent = 'mine'\n"
        )
        with kernel(tmp_path) as running:
            assert running.run("from acp_notebook import Chat\nprint(Chat())") == (
                "<Chat with mine>\n"
            )
            running.run("%load_ext acp_notebook\nchat = %acp_chat")
            assert running.run("print(chat.ask('/help').ok, chat)") == (
                "True <Chat 'main' with mine>\n"
            )

    def test_autoreload_keeps_a_running_chat(self, tmp_path: Path) -> None:
        """A reload of the modules under a chat loses neither the chat nor its session."""
        with kernel(tmp_path) as running:
            running.run("%load_ext acp_notebook\nchat = %acp_chat\nturn = chat.ask('/help')")
            running.run(
                "import importlib, acp_notebook.chat, acp_notebook.magics\n"
                "importlib.reload(acp_notebook.chat); importlib.reload(acp_notebook.magics)\n"
                "again = %acp_chat"
            )
            assert running.run("print(again.session is chat.session, len(again.turns))") == (
                "True 1\n"
            )


def _explorer() -> list[str]:
    spec = agents.find("explorer")
    return [spec.command, *spec.args]
