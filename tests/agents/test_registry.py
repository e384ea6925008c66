"""Agents by name: what is known, what is installed, what a person has configured."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import agents
from acp_notebook.agents import configuration
from acp_notebook.agents.catalog import CATALOG
from acp_notebook.agents.table import agent_table
from acp_notebook.errors import AgentNotFound
from acp_notebook.host.spec import AgentSpec


@pytest.fixture(autouse=True)
def _nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the environment nor the files of whoever runs the tests count."""
    for name in [name for name in os.environ if name.startswith("ACP_NOTEBOOK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(configuration, "_set_here", {})
    monkeypatch.setattr(
        "platformdirs.user_config_path", lambda *_a, **_k: tmp_path / "config" / "acp_notebook"
    )


def configure(**values: Any) -> None:
    for key, value in values.items():
        configuration.set_here(key, value)


def write_file(text: str) -> Path:
    path = configuration.agents_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def named(name: str) -> AgentSpec:
    return next(spec for spec in agents.known() if spec.name == name)


class TestKnown:
    def test_the_embedded_agent_comes_first_and_the_rest_by_name(self) -> None:
        """Explorer leads; the real ones follow in the order of their names."""
        names = [spec.name for spec in agents.known()]
        assert names[0] == "explorer"
        assert names[1:] == sorted(spec.name for spec in CATALOG)

    def test_every_known_agent_says_how_to_get_it_and_log_in(self) -> None:
        """A person who lacks an agent is told the one command, and one who has it the login."""
        for spec in CATALOG:
            assert spec.install is not None
            assert spec.install.startswith(("npm install -g ", "pip install "))
            assert spec.auth_hint
            assert spec.title

    def test_the_embedded_agent_is_installed(self) -> None:
        """What comes with the package runs with this interpreter, without the workspace on its path."""
        spec = agents.find("explorer")
        assert spec.command == sys.executable
        assert spec.args == ("-P", "-m", "acp_notebook.agents.explorer")

    def test_specs_pickle(self) -> None:
        """Every known agent can be sent to another process."""
        assert pickle.loads(pickle.dumps(agents.known())) == agents.known()


class TestFind:
    def test_an_unknown_name_lists_the_names(self) -> None:
        """The error names what there is, and the nearest of it."""
        with pytest.raises(AgentNotFound, match=r"explorer, claude, .*did you mean opencode\?"):
            agents.find("opncode")

    def test_an_absent_agent_says_how_to_install_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing is downloaded: the error holds the install command."""
        monkeypatch.setenv("PATH", "")
        with pytest.raises(AgentNotFound, match="npm install -g opencode-ai") as raised:
            agents.find("opencode")
        assert raised.value.command == "opencode"

    @pytest.mark.parametrize("place", ["node_modules/.bin", "bin"])
    def test_where_it_is_looked_for(
        self, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """node_modules/.bin of the folder and PATH are looked at."""
        path = executable(tmp_path / place / "opencode")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        assert agents.installed(named("opencode"), cwd=str(tmp_path)) == str(path)

    def test_a_module_agent_needs_its_module(self) -> None:
        """An agent that is a Python module is installed when the module can be found."""
        there = AgentSpec(name="x", command=sys.executable, args=("-m", "json.tool"))
        absent = AgentSpec(name="x", command=sys.executable, args=("-m", "no_such_module.x"))
        assert agents.installed(there) is not None
        assert agents.installed(absent) is None

    def test_a_remote_agent_is_always_there(self) -> None:
        """An address needs no command."""
        configure(agents={"far": {"remote_url": "wss://host/acp"}})
        assert agents.find("far").remote_url == "wss://host/acp"


class TestConfigured:
    @pytest.mark.parametrize(
        ("fields", "command", "args"),
        [
            ("my-agent acp", "my-agent", ("acp",)),
            (["my agent", "acp"], "my agent", ("acp",)),
            ({"command": "my-agent", "args": ["--acp"]}, "my-agent", ("--acp",)),
            ({"command": "/opt/my agent/run", "args": []}, "/opt/my agent/run", ()),
            ({"command": "my-agent --x 'a b'"}, "my-agent", ("--x", "a b")),
        ],
    )
    def test_a_command_in_all_its_forms(
        self, fields: Any, command: str, args: tuple[str, ...]
    ) -> None:
        """Text is split unless its arguments stand beside it; a list is taken as it is."""
        configure(agents={"mine": fields})
        assert (command, args) == (named("mine").command, named("mine").args)

    def test_a_known_agent_is_changed_where_it_is_named(self) -> None:
        """What is left out of a known agent's table stays as it is known."""
        configure(agents={"opencode": {"command": "/opt/opencode", "env": {"A": "1"}}})
        spec = named("opencode")
        assert (spec.command, spec.args, dict(spec.env)) == ("/opt/opencode", ("acp",), {"A": "1"})
        assert spec.install == "npm install -g opencode-ai"

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (7, "must be a command or a table"),
            ({}, "needs a command"),
            ({"command": 7}, "as command"),
            ({"command": "x", "args": "y"}, "a list of texts as args"),
            ({"command": "x", "title": 7}, "text as title"),
            ({"command": "x", "comand": "y"}, "has no comand; there are args, auth_hint, command"),
        ],
    )
    def test_a_wrong_agent_is_named(self, fields: Any, message: str) -> None:
        """The error says which agent, and what about it."""
        configure(agents={"mine": fields})
        with pytest.raises(ValueError, match=rf"agents\['mine'\].*{message}"):
            agents.known()

    def test_a_wrong_env_shows_no_value(self) -> None:
        """Values of env may be secrets: the message names none."""
        configure(agents={"mine": {"command": "x", "env": {"KEY": ["hunter2"]}}})
        with pytest.raises(ValueError, match="env") as raised:
            agents.known()
        assert "hunter2" not in str(raised.value)

    def test_secrets_are_not_shown(self) -> None:
        """The repr of a spec holds neither values of env nor an address, which may hold a token."""
        fields = {"env": {"KEY": "hunter2"}, "remote_url": "ws://h/?token=hunter2"}
        configure(agents={"mine": fields})
        assert named("mine").env["KEY"] == "hunter2"
        assert "hunter2" not in repr(named("mine"))


class TestResolve:
    def test_nothing_means_the_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """explorer, unless the environment or the configuration names another."""
        assert agents.resolve().name == "explorer"
        configure(agents={"mine": [sys.executable]}, default_agent="mine")
        assert agents.resolve().name == "mine"
        monkeypatch.setenv("ACP_NOTEBOOK_AGENT", "explorer")
        assert agents.resolve().name == "explorer"

    @pytest.mark.parametrize(
        ("agent", "name", "command", "args"),
        [
            (["my agent", "x"], "my agent", "my agent", ("x",)),
            ("python -m mine", "python", "python", ("-m", "mine")),
            ("/opt/mine", "mine", "/opt/mine", ()),
        ],
    )
    def test_a_command(self, agent: Any, name: str, command: str, args: tuple[str, ...]) -> None:
        """A list, or text with blanks or slashes, is a command and needs no configuration."""
        spec = agents.resolve(agent)
        assert (name, command, args) == (spec.name, spec.command, spec.args)

    def test_an_address(self) -> None:
        """A ws or http address is an agent that runs elsewhere; it is named by its host."""
        address = "wss://me:secret@example.org:8443/acp"
        spec = agents.resolve(address)
        assert (spec.name, spec.remote_url) == ("example.org", address)

    def test_a_spec_is_itself(self) -> None:
        """A spec that a program made is used as it is."""
        spec = AgentSpec(name="x", command="y")
        assert agents.resolve(spec) is spec

    @pytest.mark.parametrize("agent", [[], [""], " "])
    def test_an_empty_command_is_refused(self, agent: Any) -> None:
        """Nothing to run is a mistake of the caller."""
        with pytest.raises(ValueError, match="empty"):
            agents.resolve(agent)


class TestPrecedence:
    def test_environment_before_ipython_before_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each place hides those after it."""
        assert configuration.configured("policy") is None
        write_file('policy = "deny"\n')
        assert configuration.configured("policy") == "deny"
        configure(policy="ask")
        assert configuration.configured("policy") == "ask"
        monkeypatch.setenv("ACP_NOTEBOOK_POLICY", "allow-all")
        assert configuration.configured("policy") == "allow-all"

    def test_the_file_is_read_again_when_it_changes(self) -> None:
        """An edit of agents.toml counts from the next look on."""
        path = write_file('[agents.mine]\ncommand = "one"\n')
        assert named("mine").command == "one"
        write_file('[agents.mine]\ncommand = "two"\n')
        os.utime(path, ns=(1, 1))
        assert named("mine").command == "two"

    def test_ipython_configuration_counts_without_the_extension(self) -> None:
        """`c.AcpChat.agents` reaches the registry in a kernel where nothing was loaded."""
        program = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
c = Config()
c.AcpChat.agents = {"mine": {"command": sys.executable}}
c.AcpChat.default_agent = "mine"
InteractiveShell.instance(config=c)
from acp_notebook import agents
print(json.dumps([agents.resolve().name, agents.find("mine").command]))
"""
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        assert json.loads(run.stdout) == ["mine", sys.executable]

    @pytest.mark.parametrize(
        ("key", "text", "value"),
        [
            ("start_timeout_s", "7", 7.0),
            ("max_line_bytes", "1000", 1000),
            ("save_transcript", "False", False),
            ("save_transcript", "1", True),
            ("additional_directories", os.pathsep.join(["/a", "/b"]), ["/a", "/b"]),
            ("agents", '{"mine": {"command": "x"}}', {"mine": {"command": "x"}}),
        ],
    )
    def test_text_in_the_environment(
        self, key: str, text: str, value: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A variable is read as the type of its key."""
        monkeypatch.setenv(f"ACP_NOTEBOOK_{key.upper()}", text)
        assert configuration.configured(key) == value
        assert type(configuration.configured(key)) is type(value)

    @pytest.mark.parametrize(
        ("key", "text"),
        [("agents", "[]"), ("max_line_bytes", "1.5"), ("start_timeout_s", "true"), ("tools", "2")],
    )
    def test_a_wrong_type_is_named(
        self, key: str, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A value of another type says where it stands and what it must be."""
        monkeypatch.setenv(f"ACP_NOTEBOOK_{key.upper()}", text)
        with pytest.raises(ValueError, match=rf"ACP_NOTEBOOK_{key.upper()} must be a"):
            configuration.configured(key)

    def test_a_broken_file_is_named(self) -> None:
        """A file that is no TOML raises with its path."""
        path = write_file("[agents\n")
        with pytest.raises(ValueError, match=str(path)):
            agents.known()


class TestTable:
    def test_it_says_what_is_installed_and_what_to_do(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An absent agent shows its install command, one that is there how to log in."""
        monkeypatch.setenv("PATH", "")
        executable(tmp_path / "node_modules/.bin/opencode")
        lines = repr(agent_table(cwd=str(tmp_path))).splitlines()
        rows = {line.split("  ")[0].strip(): line.split() for line in lines}
        assert rows["explorer *"] == ["explorer", "*", "Explorer", "yes"]
        assert rows["opencode"][:3] == ["opencode", "OpenCode", "yes"]
        assert rows["qwen"][3:] == ["no", "npm", "install", "-g", "@qwen-code/qwen-code"]

    def test_no_form_of_it_holds_a_secret_or_lets_html_through(self) -> None:
        """Values of env and an address's credentials are in none; names are escaped in HTML."""
        configure(
            agents={
                "<b>": {"command": "x", "env": {"K": "hunter2"}, "install": "<script>"},
                "far": {"remote_url": "wss://me:hunter2@host/acp?token=hunter2"},
            }
        )
        table = agent_table()
        for text in (repr(table), table._repr_html_(), table.to_json(), str(list(table))):
            assert "hunter2" not in text
        assert "<script>" not in table._repr_html_()
        assert "&lt;b&gt;" in table._repr_html_()


def test_a_replay_is_an_agent(tmp_path: Path) -> None:
    """The path of a record becomes the arguments of an embedded agent, blanks and all."""
    spec = agents.recorded(tmp_path / "my talk.jsonl", speed=2)
    assert spec.args[-3:] == ("--speed", "2", str(tmp_path / "my talk.jsonl"))
    assert spec.shown_title == "Replay of my talk.jsonl"
