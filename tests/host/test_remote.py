"""Agents at an address, behind the SDK's own servers: WebSocket and streamable HTTP."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acp_notebook.errors import AgentStartError
from acp_notebook.host.remote import split_credentials
from acp_notebook.host.spec import AgentSpec
from tests.host.talk import AGENTS, Talk

Reach = Callable[[str], Talk]


class Server:
    """The agent's server, in a process of its own."""

    def __init__(self, port: int = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(AGENTS / "remote.py"), str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self.process.stdout.readline())

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.end()


@pytest.fixture
def reach(server: Server, tmp_path: Path) -> Iterator[Reach]:
    made: list[Talk] = []

    def open_chat(scheme: str) -> Talk:
        url = f"{scheme}://127.0.0.1:{server.port}/acp"
        made.append(Talk(AgentSpec("remote", remote_url=url), tmp_path))
        return made[-1]

    yield open_chat
    for talk in made:
        talk.close()


@pytest.mark.parametrize("scheme", ["ws", "http"])
class TestBoth:
    def test_a_prompt_streams(self, reach: Reach, scheme: str) -> None:
        """A prompt is answered in order and whole, and the agent says who it is."""
        talk = reach(scheme)
        words = " ".join(f"word{n}" for n in range(200))
        assert talk.prompt(words).text == words + " "
        assert (talk.state.agent.name, talk.state.session_id) == ("remote", "far-1")

    def test_permission_and_cancel(self, reach: Reach, scheme: str) -> None:
        """Permissions and cancels work as with a child."""
        talk = reach(scheme)
        turn = talk.send("ask")
        talk.call(talk.session.answer, talk.asked().permission.request.id, "y")
        assert turn.result(20).snapshot.turns[-1].text == "selected "
        turn = talk.send("wait")
        talk.until(lambda: talk.state.status == "running")
        talk.call(talk.session.cancel)
        assert turn.result(20).snapshot.turns[-1].stop_reason == "cancelled"

    def test_a_lost_link_is_said_and_can_be_made_again(
        self, reach: Reach, server: Server, scheme: str
    ) -> None:
        """When the link is lost the turn fails, Reconnect is offered, and works when the agent is back."""
        talk = reach(scheme)
        turn = talk.send("wait")
        talk.until(lambda: talk.state.status == "running")
        server.end()
        assert "lost" in turn.result(20).snapshot.turns[-1].error.message
        talk.until(lambda: talk.state.status == "exited")
        assert (talk.state.error.title, talk.state.error.actions) == (
            "The connection was lost",
            ("reconnect",),
        )
        again = Server(server.port)
        try:
            talk.run(talk.session.restart())
            assert talk.prompt("back").text == "back "
            talk.close()
        finally:
            again.end()


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_an_address_where_nobody_answers(tmp_path: Path, scheme: str) -> None:
    """An address that cannot be reached is a start error that names it."""
    spec = AgentSpec("remote", remote_url=f"{scheme}://127.0.0.1:9/acp")
    talk = Talk(spec, tmp_path, start_timeout_s=5)
    with pytest.raises(AgentStartError, match="127"):
        talk.start()
    talk.close()


@pytest.mark.parametrize(
    ("url", "bare", "header"),
    [
        ("ws://host/acp", "ws://host/acp", {}),
        ("wss://u:p@host:1/a?b", "wss://host:1/a?b", {"Authorization": "Basic dTpw"}),
        ("http://u@host", "http://host", {"Authorization": "Basic dTo="}),
    ],
)
def test_credentials_travel_in_a_header(url: str, bare: str, header: dict[str, str]) -> None:
    """User and password of an address are taken out of it."""
    assert split_credentials(url) == (bare, header)
