"""The check that no process outlives its test can fail."""

from __future__ import annotations

import subprocess
import sys

import psutil

from tests import processes

# Starts a grandchild in a session of its own, prints its pid, and ends.
ORPHANING = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True, stdout=subprocess.DEVNULL)
print(child.pid)
"""


def test_an_orphan_is_found_and_ended(run_mark: str) -> None:
    """A grandchild that left its session and lost its parent is found by its mark, then ended."""
    before = set(psutil.pids())
    parent = subprocess.run(
        [sys.executable, "-c", ORPHANING], stdout=subprocess.PIPE, text=True, check=True
    )
    orphan = int(parent.stdout)

    found = processes.started_since(before, run_mark)
    processes.end(found)

    assert [orphan] == [process.pid for process in found]
    left = processes.survivors(lambda: processes.started_since(before, run_mark), within_s=10)
    assert [] == left


def test_what_an_older_process_started_is_not_its_tests(run_mark: str) -> None:
    """A child of a process that was there before, as a server of the whole run is, is not reported."""
    before = set(psutil.pids())
    with subprocess.Popen(
        [sys.executable, "-c", "import signal; print(flush=True); signal.pause()"],
        stdout=subprocess.PIPE,
    ) as child:
        child.stdout.readline()
        assert [child.pid] == [p.pid for p in processes.started_since(before, run_mark)]
        assert [] == processes.started_since({*before, child.pid}, run_mark)
        child.kill()
