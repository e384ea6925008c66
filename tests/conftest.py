"""What holds for every test: no process outlives the test, or the fixture, that started it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import psutil
import pytest
from hypothesis import settings

from tests import processes

# An example that takes long on a busy machine is no fault of what is tested.
settings.register_profile("house", deadline=None)
settings.load_profile("house")


def _fail_if_any_is_left(before: set[int], mark: str, whose: str) -> None:
    left = processes.survivors(lambda: processes.started_since(before, mark), within_s=10)
    if left:
        lines = processes.described(left)
        processes.end(left)
        pytest.fail(f"processes outlived {whose}:\n{lines}")


@pytest.fixture(scope="session", autouse=True)
def run_mark() -> Iterator[str]:
    """Mark every descendant of this run; when it ends, none is alive."""
    mark = uuid.uuid4().hex
    os.environ[processes.MARK] = mark
    yield mark
    _fail_if_any_is_left(set(), mark, "the test run")


@pytest.fixture(autouse=True)
def _no_process_outlives_its_test(run_mark: str) -> Iterator[None]:
    """Fail a test whose children, or theirs, are alive after it."""
    before = set(psutil.pids())
    yield
    _fail_if_any_is_left(before, run_mark, "their test")
