"""
The host's receive path against the SDK's and against none, in one run (`make bench`).

An agent floods a `session/load` with 5,000 and 50,000 updates. Each path runs in a process of its own;
what counts is its CPU time after start-up, the longest time that its loop was stuck, and its memory.
The bars are those of the issue: at most 0.3 of the SDK's CPU, a third of its longest stall, twice the
CPU of no SDK at all, and three times the bytes on the wire.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.source import REPOSITORY

RUNS = 3


def measure(path: str, count: int) -> dict[str, float]:
    """The best of a few runs of one path."""
    runs = []
    for _ in range(RUNS):
        done = subprocess.run(
            [sys.executable, "-m", "tests.benches.host_paths", path, str(count)],
            cwd=REPOSITORY,
            check=True,
            capture_output=True,
            text=True,
        )
        runs.append(json.loads(done.stdout))
    return {key: min(run[key] for run in runs) for key in runs[0]}


@pytest.mark.parametrize("count", [5_000, 50_000])
@pytest.mark.timeout(600)
def test_a_replay_costs_a_fraction_of_the_sdks_path(count: int) -> None:
    """CPU and longest stall of ours, of the SDK with its models, of no SDK; and our memory."""
    ours, sdk, bare = (measure(path, count) for path in ("ours", "sdk", "bare"))
    report = {
        "updates": count,
        "cpu of ours / sdk": ours["cpu_s"] / sdk["cpu_s"],
        "cpu of ours / no sdk": ours["cpu_s"] / bare["cpu_s"],
        "longest stall of ours / sdk": ours["stall_s"] / sdk["stall_s"],
        "memory of ours / bytes on the wire": ours["memory"] / ours["wire"],
        "us an update": ours["cpu_s"] / count * 1e6,
    }
    print(
        "\n"
        + "  ".join(
            f"{k}: {v:.2f}" if isinstance(v, float) else f"{k}: {v}" for k, v in report.items()
        )
    )
    assert ours["items"] == bare["items"]
    assert report["cpu of ours / sdk"] <= 0.3
    assert report["longest stall of ours / sdk"] <= 1 / 3
    assert report["cpu of ours / no sdk"] <= 2
    assert report["memory of ours / bytes on the wire"] <= 3
