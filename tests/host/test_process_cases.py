"""The handed cases of mode `process`: the life of the child."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import psutil
import pytest

from acp_notebook.host.loop import host_loop
from acp_notebook.host.spec import AgentSpec
from tests.cases.case import cases, load
from tests.host.talk import AGENTS, Talk
from tests.kernels import kernel

POLITE = str(AGENTS / "polite.py")
BOUND = {
    "094-grandchild-killed",
    "096-kernel-sigkill-child-ends",
    "097-two-hosts-own-children",
    "099-command-path-with-space",
}


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def tree(talk: Talk) -> list[int]:
    """The agent's reaper and all below it."""
    reaper = psutil.Process(talk.session.life.connection.process.pid)
    return [reaper.pid, *(child.pid for child in reaper.children(recursive=True))]


def test_every_process_case_is_bound() -> None:
    """Each case of this mode has its test here."""
    assert {case.name for case in cases("host", "process")} == BOUND


def test_a_launchers_agent_ends_with_the_chat(tmp_path: Path) -> None:
    """A shell that started the agent and waits: no process of the tree is alive after close (094)."""
    case = load("094-grandchild-killed")
    spec = AgentSpec("launcher", "/bin/sh", ("-c", f"{sys.executable} {POLITE}; true"))
    talk = Talk(spec, tmp_path)
    talk.start()
    pids = tree(talk)
    assert len(pids) == 3
    began = time.monotonic()
    talk.close()
    assert time.monotonic() - began < case.expect["within_ms"] / 1000
    assert [pid for pid in pids if alive(pid)] == []


@pytest.mark.kernel
def test_the_agent_ends_with_a_killed_kernel(tmp_path: Path) -> None:
    """After SIGKILL of the kernel the agent's tree ends in time (096)."""
    case = load("096-kernel-sigkill-child-ends")
    with kernel(tmp_path) as running:
        out = running.run(
            "import acp_notebook, json\n"
            f"chat = acp_notebook.Chat({[sys.executable, POLITE]!r}, cwd={str(tmp_path)!r})\n"
            "chat.start()\n"
            "print(chat.session.life.connection.process.pid)\n"
        )
        reaper = psutil.Process(json.loads(out))
        family = [reaper, *reaper.children(recursive=True)]
        assert len(family) == 2
        running.manager.provisioner.process.kill()
        _, left = psutil.wait_procs(family, timeout=case.expect["within_ms"] / 1000)
        assert left == []


def test_two_hosts_have_their_own_children(tmp_path: Path) -> None:
    """Closing one chat ends its child; the other's prompt is answered by its own (097)."""
    spec = AgentSpec("polite", sys.executable, (POLITE,))
    one, two = (Talk(spec, tmp_path, share_agent=False) for _ in range(2))
    one.start()
    two.start()
    first, second = tree(one), tree(two)
    assert not set(first) & set(second)
    one.close()
    assert [pid for pid in first if alive(pid)] == []
    assert two.prompt("say mine").text == "mine"
    assert tree(two) == second
    two.close()


def test_blanks_in_command_and_arguments(tmp_path: Path) -> None:
    """The argv of the case reaches the child unchanged, three items (099)."""
    case = load("099-command-path-with-space")
    command, *args = (part.replace("{TMP}", str(tmp_path)) for part in case.given["command"])
    script = Path(command)
    script.parent.mkdir(parents=True)
    script.write_text(
        f"#!{sys.executable}\nimport json, sys\nopen({str(tmp_path / 'argv')!r}, 'w').write(json.dumps(sys.argv))\n"
        f"sys.argv = [{POLITE!r}]\nsys.path.insert(0, {str(AGENTS)!r})\n__file__ = {POLITE!r}\nexec(open(__file__).read())\n"
    )
    script.chmod(0o755)
    talk = Talk(AgentSpec("agent", command, tuple(args)), tmp_path)
    assert talk.prompt("say hi").text == "hi"
    assert json.loads((tmp_path / "argv").read_text()) == [command, *args]
    talk.close()


def test_the_host_thread_is_a_daemon() -> None:
    """The host never keeps an interpreter alive."""
    assert host_loop()._thread.daemon
