"""
Clicks, waiting, interrupts, `input()` and headless runs in three kernels: ipykernel 6.31, 7.3, 7.4.

Each cell asks for a permission in a real kernel, with a real agent behind it. Where a click can come
it decides; where none can, `input()` is used; where nobody is, the policy answers. Nothing hangs.
"""

from __future__ import annotations

import queue
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.host.talk import AGENTS
from tests.kernels import Kernel, kernel

pytestmark = pytest.mark.kernel

POLITE = [sys.executable, str(AGENTS / "polite.py")]
SETUP = """
import acp_notebook
chat = acp_notebook.Chat({agent!r}, cwd={cwd!r})
chat.widget
chat.start()
print(chat.session_id, chat.state.generation)
"""
BLOCKED = "turn = chat.ask('ask ls'); print(turn.text)"
AWAITED = "turn = await chat.prompt('ask ls'); print(turn.text)"


@dataclass
class Front:
    """A front end of one kernel: cells, clicks on the widget, answers to `input()`."""

    kernel: Kernel
    subshell: str | None = None
    comm_id: str = ""
    session: str | None = None
    generation: int = 0
    asked: list[str] = field(default_factory=list)

    def run(
        self,
        source: str,
        *,
        stdin: bool = True,
        click: str | None = None,
        answer: str | None = None,
        interrupt: int = 0,
    ) -> tuple[str, str]:
        """
        Run a cell; returns what it printed and its status (`ok`, or the exception's name).

        `click`: the option that is clicked when the widget shows a request; `answer`: what is typed
        when `input()` asks; `interrupt`: how often the kernel is interrupted, once the turn runs.
        """
        client = self.kernel.client
        message_id = client.execute(source, allow_stdin=stdin)
        printed, status, deadline = "", "ok", time.monotonic() + 60
        while time.monotonic() < deadline:
            if answer is not None:
                self._type(answer)
            try:
                message = client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                continue
            content, kind = message["content"], message["msg_type"]
            if kind == "comm_open" and "_esm" in content["data"].get("state", {}):
                self.comm_id = content["comm_id"]
            elif kind == "comm_msg" and content["comm_id"] == self.comm_id:
                if "perm:" in str(content["data"]) and click is not None:
                    self.say("ack", requestIds=[self.request_id])
                    self.say("answer", requestId=self.request_id, itemId="", optionId=click)
                    click = None
                if interrupt and "'status': 'running'" in str(content["data"]):
                    interrupt -= 1
                    self.kernel.manager.interrupt_kernel()
            elif message["parent_header"].get("msg_id") == message_id:
                if kind == "stream":
                    printed += content["text"]
                elif kind == "error":
                    status = content["ename"]
                elif kind == "status" and content["execution_state"] == "idle":
                    client.get_shell_msg(timeout=10)
                    return printed, status
        raise TimeoutError(printed)

    request_id: int = 0
    """Of the agent's next permission request."""

    def say(self, kind: str, **fields: Any) -> None:
        """Send a message of the page, in the main shell or in the page's subshell."""
        client = self.kernel.client
        address = {"session": self.session, "generation": self.generation, "epoch": None}
        content = {"kind": kind, "view": "page", **address, **fields}
        data = {"method": "custom", "content": content}
        message = client.session.msg("comm_msg", {"comm_id": self.comm_id, "data": data})
        if self.subshell is not None:
            message["header"]["subshell_id"] = self.subshell
        client.shell_channel.send(message)

    def open(self, agent: list[str], cwd: Path) -> None:
        """Open a chat with its widget, and make a subshell where the kernel has them."""
        printed, status = self.run(SETUP.format(agent=agent, cwd=str(cwd)))
        assert status == "ok", printed
        session, generation = printed.split()
        self.session, self.generation = session, int(generation)

    def make_subshell(self) -> None:
        """Ask the kernel for a subshell, as JupyterLab does for the widgets of a page."""
        client = self.kernel.client
        client.control_channel.send(client.session.msg("create_subshell_request"))
        reply = client.get_control_msg(timeout=10)
        self.subshell = reply["content"]["subshell_id"]

    def _type(self, answer: str) -> None:
        client = self.kernel.client
        try:
            message = client.get_stdin_msg(timeout=0)
        except queue.Empty:
            return
        self.asked.append(message["content"]["prompt"])
        client.input(answer)


@pytest.fixture(scope="module", params=["7.4", "7.3.0", "6.31.0"])
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    version = None if request.param == "7.4" else request.param
    with kernel(tmp_path_factory.mktemp("kernel"), ipykernel=version) as started:
        found = started.run("import ipykernel; print(ipykernel.__version__)")
        assert found.startswith(request.param)
        yield started


@pytest.fixture
def front(running: Kernel, tmp_path: Path) -> Iterator[Front]:
    front = Front(running)
    front.open(POLITE, tmp_path)
    yield front
    front.run("chat.close()")


def is_version(front: Front, prefix: str) -> bool:
    return front.run("print(ipykernel.__version__)")[0].startswith(prefix)


@pytest.mark.parametrize("cell", [BLOCKED, AWAITED], ids=["blocked", "awaited"])
def test_a_click_decides_or_input_asks(front: Front, cell: str) -> None:
    """
    A page that sends no subshell id: its click decides on 7.4 (our own subshell) and 6.31 (the pump);
    on 7.3 it cannot arrive, and `input()` asks instead.
    """
    printed, status = front.run(cell, click="yes", answer="2")
    assert status == "ok"
    if is_version(front, "7.3"):
        assert (printed.splitlines()[-1], len(front.asked)) == ("answer: no", 1)
        assert "$ ls" in front.asked[0]
    else:
        assert (printed, front.asked) == ("answer: yes\n", [])


@pytest.mark.parametrize("cell", [BLOCKED, AWAITED], ids=["blocked", "awaited"])
def test_a_click_of_a_page_with_subshells_decides(front: Front, cell: str) -> None:
    """A page that sends its own subshell id (JupyterLab's default on 7): its click decides."""
    if not is_version(front, "6"):
        front.make_subshell()
    printed, status = front.run(cell, click="yes", answer="2")
    assert (printed, status, front.asked) == ("answer: yes\n", "ok", [])


@pytest.mark.parametrize("cell", [BLOCKED, AWAITED], ids=["blocked", "awaited"])
def test_without_a_click_input_asks(front: Front, cell: str) -> None:
    """When no view acknowledges a request, it is asked in text, with what it is about."""
    printed, status = front.run(cell, answer="1")
    assert (printed.splitlines()[-1], status) == ("answer: yes", "ok")
    assert "1) Yes" in front.asked[0]


@pytest.mark.parametrize("cell", [BLOCKED, AWAITED], ids=["blocked", "awaited"])
def test_headless_the_policy_answers(front: Front, cell: str) -> None:
    """A cell that may not read standard input gets `cancelled`, and ends."""
    assert front.run(cell, stdin=False) == ("answer: cancelled\n", "ok")
    front.request_id += 1
    front.run("chat.policy = 'allow-all'")
    assert front.run(cell, stdin=False) == ("answer: yes\n", "ok")


@pytest.mark.parametrize(
    "cell",
    ["chat.ask('say a\\nwait 30')", "await chat.prompt('say a\\nwait 30')"],
    ids=["blocked", "awaited"],
)
def test_an_interrupt_stops_the_turn(front: Front, cell: str) -> None:
    """One interrupt ends the cell with an exception when the agent has confirmed; the chat goes on."""
    _, status = front.run(cell, interrupt=1)
    assert status in {"KeyboardInterrupt", "CancelledError"}
    printed, _ = front.run("print(chat.turns[-1].stop_reason, chat.status)")
    assert printed == "cancelled idle\n"
    assert front.run("print(chat.ask('say next').text)") == ("next\n", "ok")


def test_two_interrupts_give_up(front: Front) -> None:
    """A second interrupt, while the agent does not confirm, ends the cell at once."""
    began = time.monotonic()
    cell = (
        "import threading, os, signal\n"
        "def twice(change):\n"
        "    if chat.status == 'stopping': os.kill(os.getpid(), signal.SIGINT)\n"
        "chat.session.subscribe(twice)\n"
        "chat.ask('deaf 30')"
    )
    _, status = front.run(cell, interrupt=1)
    assert status == "KeyboardInterrupt"
    assert time.monotonic() - began < 20
