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


def is_marked(process: psutil.Process, mark: str) -> bool:
    """Whether a living process inherited the mark."""
    try:
        return process.environ().get(MARK) == mark
    except psutil.Error:  # gone meanwhile, a zombie, or another user's
        return False


def started_since(before: Iterable[int], mark: str) -> list[psutil.Process]:
    """Marked processes whose pid is not in `before` and that no marked process in `before` started."""
    old = set(before)
    fresh = []
    for process in psutil.process_iter():
        if process.pid in old or not is_marked(process, mark):
            continue
        try:
            elders = [parent for parent in process.parents() if parent.pid in old]
            # Python's own, alive as long as the interpreter that first used multiprocessing.
            own = "multiprocessing.resource_tracker" in " ".join(process.cmdline())
        except psutil.Error:
            continue
        if not own and not any(is_marked(elder, mark) for elder in elders):
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
