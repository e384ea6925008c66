"""Random kills: of the agent and of the kernel, at any moment, while anything goes on."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import Any

import psutil
import pytest

from acp_notebook.errors import AcpNotebookError
from acp_notebook.host.loop import host_loop
from tests.host.talk import AGENTS, Talk, text
from tests.kernels import kernel

Talks = Callable[..., Talk]

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP)
TERMINAL = 'request terminal/create {"command": "sleep", "args": ["60"]}'
PROMPTS = (
    "flood 3000",
    "ask ls",
    "wait 5",
    "say a\nthink b\nsay c",
    TERMINAL,
    "stderr " + "x" * 500,
    "exit 3",
)
LONGEST_S = 30


def agent_of(talk: Talk) -> psutil.Process | None:
    """The agent below its reaper, while there is one."""
    connection = talk.session.life.connection
    process = connection.process if connection is not None else None
    try:
        children = psutil.Process(process.pid).children() if process is not None else []
    except psutil.Error:
        return None
    return children[0] if children else None


class Storm:
    """One seeded run: things are done, and the agent is killed in between."""

    def __init__(self, talk: Talk, seed: int) -> None:
        self.talk = talk
        self.random = random.Random(seed)
        self.futures: list[Future[Any]] = []
        self.tick = threading.Event()

    def run(self) -> None:
        """Do twelve random things; what they raise is of our tree, and each of them ends."""
        for _ in range(12):
            self.random.choice(
                [self.prompt, self.prompt, self.kill, self.cancel, self.answer, self.operate]
            )()
            self.tick.wait(self.random.random() * 0.15)
        self.talk.run(self.talk.session.close(), LONGEST_S)
        for future in self.futures:
            try:
                error = future.exception(LONGEST_S)
            except FutureTimeout:
                raise AssertionError(f"something hangs: {self.talk.state}") from None
            assert error is None or isinstance(error, AcpNotebookError), error

    def prompt(self) -> None:
        prompt = self.talk.session.prompt(text(self.random.choice(PROMPTS)), headless=False)
        self.futures.append(host_loop().submit(prompt))

    def operate(self) -> None:
        session = self.talk.session
        operation = self.random.choice(
            [session.sessions.new, session.restart, session.sessions.fork, self.load]
        )
        self.futures.append(host_loop().submit(operation()))

    def load(self) -> Any:
        return self.talk.session.sessions.load(self.random.choice(["s-1", "s-2", "none"]))

    def cancel(self) -> None:
        self.talk.call(self.talk.session.cancel)

    def answer(self) -> None:
        self.talk.call(self.talk.session.answer, 0, self.random.choice(["yes", "no", None]))

    def kill(self) -> None:
        victim = agent_of(self.talk)
        if victim is not None:
            try:
                os.kill(victim.pid, self.random.choice(SIGNALS))
            except ProcessLookupError:
                return


def storm(talks: Talks, tmp_path: Path, seed: int) -> None:
    options = ["--store", str(tmp_path / "s.json"), "--grandchild", "--ignore-term"]
    talk = talks("polite", *options, stop_timeout_s=0.2, cancel_grace_s=0.3)
    Storm(talk, seed).run()
    assert talk.state.status == "closed"


@pytest.mark.parametrize("seed", range(16))
def test_kills_of_the_agent(talks: Talks, tmp_path: Path, seed: int) -> None:
    """Whatever is going on when the agent dies: nothing hangs, nothing stays, nothing odd is raised."""
    storm(talks, tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_many_kills_of_the_agent(talks: Talks, tmp_path: Path, seed: int) -> None:
    """The same, two hundred times."""
    storm(talks, tmp_path, seed)


def kill_kernel(tmp_path: Path, seed: int) -> None:
    """Start a chat in a kernel, send something, and kill the kernel at a random moment."""
    chosen = random.Random(seed)
    command = [
        sys.executable,
        str(AGENTS / "polite.py"),
        "--ignore-eof",
        "--ignore-term",
        "--grandchild",
    ]
    with kernel(tmp_path) as running:
        running.client.execute(
            "import acp_notebook, pathlib\n"
            f"chat = acp_notebook.Chat({command!r}, cwd={str(tmp_path)!r})\n"
            f"chat.send({chosen.choice(PROMPTS)!r})\n"
            "print('sent')"
        )
        threading.Event().wait(chosen.random() * 2)
        running.manager.signal_kernel(chosen.choice([signal.SIGKILL, signal.SIGTERM]))


@pytest.mark.kernel
@pytest.mark.parametrize("seed", range(4))
def test_kills_of_the_kernel(tmp_path: Path, seed: int) -> None:
    """A kernel that dies at any moment leaves no process (the fixtures of every test look)."""
    kill_kernel(tmp_path, seed)


@pytest.mark.soak
@pytest.mark.kernel
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_many_kills_of_the_kernel(tmp_path: Path, seed: int) -> None:
    """The same, forty times."""
    kill_kernel(tmp_path, seed)
