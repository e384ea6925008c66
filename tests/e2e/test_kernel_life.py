"""Nothing outlives the kernel, however it ends, and no file of the workspace is imported."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests import processes
from tests.kernels import Kernel, kernel
from tests.source import REPOSITORY

pytestmark = pytest.mark.kernel

STUBBORN = str(REPOSITORY / "tests" / "agents" / "stubborn.py")


def shut_down(running: Kernel) -> None:
    running.manager.shutdown_kernel(now=False)


def restart(running: Kernel) -> None:
    running.restart(now=False)


def restart_now(running: Kernel) -> None:
    running.restart(now=True)


def kill(running: Kernel) -> None:
    running.manager.signal_kernel(signal.SIGKILL)


def is_alive(process: psutil.Process) -> bool:
    """A zombie is not: it waits for a parent that has not looked yet."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def start_chat(running: Kernel) -> list[psutil.Process]:
    """Ask the stubborn agent once; returns it, its reaper and its children, all alive."""
    # ipykernel ends children by itself where it finds psutil; what is tested is ours.
    running.run("import sys; sys.modules['psutil'] = None")
    said = running.run(
        f"import acp_notebook\nchat = acp_notebook.Chat({[sys.executable, STUBBORN]!r})\nprint(chat.ask('Who is there?').text)"
    )
    agent, *children = (psutil.Process(int(pid)) for pid in said.split())
    family = [agent.parent(), agent, *children]
    assert [True] * 4 == [is_alive(process) for process in family]
    assert running.manager.provisioner.pid not in {process.pid for process in family}
    return family


@pytest.mark.parametrize("end", [shut_down, restart, restart_now, kill])
def test_no_agent_outlives_the_kernel(end: Callable[[Kernel], None], tmp_path: Path) -> None:
    """
    After shutdown, restart, forced restart and SIGKILL nothing is left of an agent that ignores
    end of input and signals and has children in and out of its process group.
    """
    with kernel(tmp_path) as running:
        family = start_chat(running)
        end(running)
        left = processes.survivors(lambda: [p for p in family if is_alive(p)], within_s=15)
        assert [] == left, processes.described(left)


def test_closing_a_chat_ends_its_agent_and_leaves_the_kernel(tmp_path: Path) -> None:
    """`chat.close()` returns when a stubborn agent and its children are gone; the kernel goes on."""
    with kernel(tmp_path) as running:
        family = start_chat(running)
        running.run("chat.close()")
        left = [process for process in family if is_alive(process)]
        assert [] == left, processes.described(left)
        assert "2" == running.run("print(1 + 1)").strip()


@pytest.mark.parametrize("agent", ["explorer", "stubborn"])
def test_a_workspace_with_our_names_in_it_changes_nothing(agent: str, tmp_path: Path) -> None:
    """A workspace that holds `signal.py`, `acp_notebook/` and more is never imported from."""
    workspace = tmp_path / "workspace"
    trap = (
        f"open({str(tmp_path / 'imported')!r}, 'a').write(__name__ + '\\n')\nraise SystemExit(9)\n"
    )
    for name in (
        "signal.py",
        "acp_notebook/__init__.py",
        "json.py",
        "asyncio.py",
        "sitecustomize.py",
    ):
        target = workspace / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(trap)
    command = "explorer" if agent == "explorer" else [sys.executable, "-P", STUBBORN]

    with kernel(tmp_path) as running:
        said = running.run(
            f"import os, acp_notebook\nos.chdir({str(workspace)!r})\n"
            f"with acp_notebook.Chat({command!r}, policy='deny') as chat:\n"
            "    turn = chat.ask('hello')\n"
            "    print(turn.ok, turn.stop_reason, len(turn.text) > 0)"
        )

    assert ["True", "end_turn", "True"] == said.split()
    assert not (tmp_path / "imported").exists()
