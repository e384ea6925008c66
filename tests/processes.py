"""
Which processes a test run has started, and which of them are still alive.

A mark in the environment is inherited by every descendant, and stays readable when a parent dies
and its children are adopted by another process; walking the tree of children would lose those.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import psutil

MARK = "ACP_NOTEBOOK_TEST_RUN"


def marked(mark: str) -> dict[int, psutil.Process]:
    """Living processes, by pid, that inherited the mark."""
    found = {}
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark:
                found[process.pid] = process
        except psutil.Error:  # gone meanwhile, a zombie, or another user's
            continue
    return found


def started_since(before: Iterable[int], mark: str) -> list[psutil.Process]:
    """Marked processes that are not in `before` and that nothing in `before` has started."""
    old = set(before)
    fresh = []
    for process in marked(mark).values():
        try:
            line = {process.pid, *(parent.pid for parent in process.parents())}
            # Python's own, alive as long as the interpreter that first used multiprocessing.
            own = "multiprocessing.resource_tracker" in " ".join(process.cmdline())
        except psutil.Error:
            continue
        if not line & old and not own:
            fresh.append(process)
    return fresh


def survivors(find: Callable[[], list[psutil.Process]], *, within_s: float) -> list[psutil.Process]:
    """What `find` still finds when nothing more ends within that time."""
    deadline = time.monotonic() + within_s
    while (alive := find()) and (left := deadline - time.monotonic()) > 0:
        psutil.wait_procs(alive, timeout=min(left, 0.2))
    return alive


def described(processes: Iterable[psutil.Process]) -> str:
    """One line a process, for a failure's message."""
    lines = []
    for process in processes:
        try:
            lines.append(f"{process.pid} (parent {process.ppid()}): {' '.join(process.cmdline())}")
        except psutil.Error:
            lines.append(f"{process.pid} (gone meanwhile)")
    return "\n".join(lines)


def end(processes: Iterable[psutil.Process]) -> None:
    """Kill what a failed test left, so that the next test starts clean."""
    for process in processes:
        try:
            process.kill()
        except psutil.Error:
            continue
