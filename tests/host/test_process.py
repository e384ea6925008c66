"""The agent's process: what it gets, how it ends, and that nothing of it stays."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from acp_notebook.errors import AgentNotFound, AgentStartError
from acp_notebook.host.command import (
    child_environment,
    find_command,
    resolve_command,
    split_command,
)
from acp_notebook.host.process import AgentProcess, Tail
from acp_notebook.host.settings import Settings
from acp_notebook.host.spec import AgentSpec

REAPER = Path(__file__).parents[2] / "acp_notebook" / "host" / "reaper.py"
PYTHON = sys.executable

FAMILY = """
import os, signal, subprocess, sys, time
for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
kids = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=own)
        for own in (False, True)]
print(os.getpid(), *(k.pid for k in kids), flush=True)
time.sleep(600)
"""
"""An agent that ignores its end, with a child in its group and one that left it."""


class Child:
    """A process of the host, and what it wrote."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.ends = 0
        self.came = asyncio.Event()

    def on_data(self, data: bytes) -> None:
        self.output += data
        self.came.set()

    def on_end(self) -> None:
        self.ends += 1

    async def start(self, *command: str, **options: object) -> AgentProcess:
        return await AgentProcess.start(
            command,
            env=options.pop("env", os.environ),
            cwd=str(options.pop("cwd", ".")),
            on_data=self.on_data,
            on_end=self.on_end,
            settings=Settings(stop_timeout_s=0.3),
            **options,
        )

    async def line(self) -> str:
        while b"\n" not in self.output:
            self.came.clear()
            await asyncio.wait_for(self.came.wait(), 20)
        return self.output.decode()


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def gone(pids: list[int], within_s: float = 5) -> bool:
    """Whether all of them end within that time."""
    processes = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    return not psutil.wait_procs(processes, timeout=within_s)[1]


class TestProcess:
    async def test_pipes_and_exit_code(self) -> None:
        """What it writes is handed on, what it reads was written, its exit code is passed on."""
        child = Child()
        process = await child.start(
            PYTHON, "-c", "import sys; print(input().upper()); sys.stderr.write('e'); sys.exit(7)"
        )
        process.write(b"hello\n")
        await process.wait()
        assert child.output == b"HELLO\n"
        assert (process.returncode, process.stderr_tail, child.ends) == (7, "e", 1)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
    async def test_a_signal_is_passed_on(self, number: signal.Signals) -> None:
        """An agent that is ended by a signal shows as ended by that signal."""
        child = Child()
        process = await child.start(PYTHON, "-c", f"import os; os.kill(os.getpid(), {number})")
        await process.wait()
        assert process.returncode == -number

    async def test_output_after_the_last_newline_is_handed_on(self) -> None:
        """All output is there when the end is told, also a last line without its newline."""
        child = Child()
        process = await child.start(PYTHON, "-c", "import sys; sys.stdout.write('x' * 300000)")
        await process.wait()
        assert len(child.output) == 300000

    async def test_a_flood_on_stderr_does_not_block_it(self) -> None:
        """Stderr is read from the first moment, and only its tail is kept."""
        child = Child()
        process = await child.start(
            PYTHON, "-c", "import sys; sys.stderr.write('a' * 4_000_000 + 'end'); print('done')"
        )
        await process.wait()
        assert child.output == b"done\n"
        assert (process.stderr_bytes, len(process.stderr_tail)) == (4_000_003, 65536)
        assert process.stderr_tail.endswith("aend")

    async def test_stop_ends_the_whole_family(self) -> None:
        """After `stop` an agent that ignores its end is gone, and its children in and out of its group."""
        child = Child()
        process = await child.start(PYTHON, "-c", FAMILY)
        pids = [int(pid) for pid in (await child.line()).split()]
        await process.stop()
        assert [alive(pid) for pid in [*pids, process.pid]] == [False] * 4

    async def test_a_polite_agent_gets_the_end_of_input_only(self) -> None:
        """An agent that ends at the end of its input is sent no signal."""
        child = Child()
        process = await child.start(PYTHON, "-c", "import sys; sys.stdin.read(); sys.exit(5)")
        await process.stop()
        assert process.returncode == 5

    async def test_what_a_launcher_leaves_is_ended(self) -> None:
        """When the command ends by itself, the children that it left end too."""
        child = Child()
        process = await child.start("/bin/sh", "-c", "sleep 600 & echo $!; setsid sleep 600 &")
        await process.wait()
        assert process.returncode == 0
        assert gone([int(child.output)])

    async def test_a_killed_reaper_takes_its_group_along(self) -> None:
        """When somebody kills the reaper, the host ends what was in its group."""
        child = Child()
        process = await child.start(PYTHON, "-c", FAMILY)
        pids = [int(pid) for pid in (await child.line()).split()]
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        assert gone(pids[:2])
        os.kill(pids[2], signal.SIGKILL)  # it had left the group, and its reaper is dead

    async def test_arguments_with_blanks_stay_whole(self, tmp_path: Path) -> None:
        """A path and arguments with blanks reach the child unchanged."""
        folder = tmp_path / "Agent Tools"
        folder.mkdir()
        script = folder / "agent"
        script.write_text(f"#!{PYTHON}\nimport json, sys\nprint(json.dumps(sys.argv))\n")
        script.chmod(0o755)
        child = Child()
        argv = [str(script), "--config", str(tmp_path / "My Files" / "agent.json")]
        process = await child.start(*argv)
        await process.wait()
        assert json.loads(child.output) == argv

    async def test_a_folder_that_is_missing_is_said(self, tmp_path: Path) -> None:
        """A start in a missing folder raises an error that names the folder."""
        with pytest.raises(AgentStartError, match="nowhere"):
            await Child().start(PYTHON, cwd=tmp_path / "nowhere")

    async def test_a_file_that_cannot_be_executed_ends_with_127(self, tmp_path: Path) -> None:
        """What the system cannot execute ends with 127 and says why on stderr."""
        script = tmp_path / "agent"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o755)
        child = Child()
        process = await child.start(str(script))
        await process.wait()
        assert process.returncode == 127
        assert "cannot start" in process.stderr_tail


class TestReaper:
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
    def test_the_family_ends_with_its_parent(self, how: signal.Signals, tmp_path: Path) -> None:
        """When the process that started the reaper is killed, agent and children end."""
        program = (
            "import os, subprocess, sys, time\n"
            f"p = subprocess.Popen([sys.executable, '-I', '-S', {str(REAPER)!r}, '--parent', str(os.getpid()), '--',"
            f" sys.executable, '-c', {FAMILY!r}], stdin=subprocess.PIPE, start_new_session=True)\n"
            "time.sleep(600)\n"
        )
        with subprocess.Popen([PYTHON, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
            pids = [int(pid) for pid in parent.stdout.readline().split()]
            assert all(alive(pid) for pid in pids)
            reaper = psutil.Process(pids[0]).ppid()
            parent.send_signal(how)
            parent.wait(10)
            assert gone([*pids, reaper])

    def test_a_parent_that_is_gone_already_counts(self) -> None:
        """A reaper whose parent ended before it looked ends its agent too."""
        command = [PYTHON, "-I", "-S", str(REAPER), "--parent", "999999", "--", "/bin/cat"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
            assert process.wait(10) == -signal.SIGTERM

    def test_default_signals_for_the_agent(self) -> None:
        """The agent starts with default signal handling, whatever Python ignores."""
        command = [PYTHON, "-I", "-S", str(REAPER), "--parent", str(os.getpid()), "--"]
        done = subprocess.run(
            [*command, "/bin/grep", "SigIgn", "/proc/self/status"],
            capture_output=True,
            text=True,
            check=True,
            start_new_session=True,
        )
        ignored = int(done.stdout.split()[1], 16)
        # Those that the C library keeps for itself (32, 33) may come ignored from far above.
        assert not ignored & sum(1 << number - 1 for number in signal.valid_signals())


class TestCommand:
    @pytest.mark.parametrize(
        ("command", "windows", "parts"),
        [
            ("agent --acp", False, ["agent", "--acp"]),
            ("'/My Tools/agent' \"a b\"", False, ["/My Tools/agent", "a b"]),
            (r'"C:\My Tools\agent.exe" --acp', True, [r"C:\My Tools\agent.exe", "--acp"]),
            (["a b", "c"], False, ["a b", "c"]),
        ],
    )
    def test_text_is_split_as_the_platform_does(
        self, command: object, windows: bool, parts: list[str]
    ) -> None:
        """A command as text is split by the platform's rules; a list stays as it is."""
        assert split_command(command, windows=windows) == parts

    def test_where_a_command_is_found(self, tmp_path: Path) -> None:
        """`node_modules/.bin` of the folder comes first; a path counts from the folder."""
        for place in ("node_modules/.bin/agent", "tools/agent"):
            path = tmp_path / place
            path.parent.mkdir(parents=True)
            path.write_text("#!/bin/sh\n")
            path.chmod(0o755)
        assert find_command("agent", tmp_path) == str(tmp_path / "node_modules/.bin/agent")
        assert find_command("./tools/agent", tmp_path) == str(tmp_path / "tools/agent")
        assert find_command("no-such-thing", tmp_path) is None
        with pytest.raises(AgentNotFound, match="node_modules"):
            resolve_command(AgentSpec("x", "no-such-thing"), tmp_path)

    def test_the_kernels_python_is_the_agents(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """PATH begins with the folder of this Python, and the environment is this one's."""
        monkeypatch.setenv("VIRTUAL_ENV", "/some/other")
        monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        env = child_environment({"KEY": "secret"})
        assert env["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
        expected = sys.prefix if sys.prefix != sys.base_prefix else None
        assert env.get("VIRTUAL_ENV") == expected
        assert (env["KEY"], env.get("MPLBACKEND"), env["HOME"]) == (
            "secret",
            None,
            os.environ["HOME"],
        )


@pytest.mark.parametrize(
    "pieces", [[b"abcdefgh"], [b"ab", b"cd", b"efgh"], [b"x" * 50, b"abcdefgh"]]
)
def test_a_tail_keeps_the_end(pieces: list[bytes]) -> None:
    """The tail is the last bytes, however they came."""
    tail = Tail(4)
    for piece in pieces:
        tail.add(piece)
    assert (tail.text(), tail.total) == ("efgh", sum(map(len, pieces)))
