"""
What a fold costs us and what it costs others, over the same stream in one run.

    python -m tests.benches.peers --clawx CHECKOUT [--use-acp CHECKOUT --node-modules FOLDER]

ClawX's reducer and use-acp's store are read from their checkouts and bundled by the esbuild of
`js/`; use-acp needs a folder of node modules with `zustand` and `react`. The SDK's
`SessionAccumulator` is measured at 800 updates, since it copies everything at each. Ends with 1
when we are less than 40 times as fast as ClawX at 10,000 mixed updates.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from acp_notebook.timeline import Timeline
from tests.benches.bench_timeline import BATCH, best, fold
from tests.benches.streams import SESSION, Params, mixed

ROOT = Path(__file__).parents[2]
COUNT = 10_000
SDK_COUNT = 800
BAR = 40.0


def ours(stream: list[Params]) -> float:
    """Return our CPU microseconds an update, in batches as a host folds them."""
    (seconds,) = best(lambda: fold(stream))
    return seconds / len(stream) * 1e6


def one_by_one(stream: list[Params]) -> float:
    """Return our CPU microseconds an update when each is followed by a snapshot."""

    def run() -> None:
        timeline = Timeline(SESSION)
        for params in stream:
            timeline.apply(params)
            timeline.snapshot()

    (seconds,) = best(run)
    return seconds / len(stream) * 1e6


def node_peer(peer: str, checkout: Path, stream: Path, *more: Path) -> float:
    """Return the CPU microseconds an update of a reducer in TypeScript."""
    script = Path(__file__).with_name("peers.mjs")
    command = ["node", str(script), peer, str(checkout), str(stream), str(ROOT / "js")]
    done = subprocess.run(
        [*command, *map(str, more)], capture_output=True, text=True, check=True, timeout=600
    )
    found = json.loads(done.stdout)
    if found["updates"] < COUNT:
        print(f"  ({peer} stopped at {found['updates']:,} of {COUNT:,} updates)")
    return float(found["cpu_s"]) / int(found["updates"]) * 1e6


def sdk_accumulator(stream: list[Params]) -> float:
    """Return the CPU microseconds an update of the Python SDK's accumulator."""
    from acp.contrib.session_state import SessionAccumulator
    from acp.schema import SessionNotification

    notifications = [SessionNotification.model_validate(params) for params in stream]
    start = time.process_time()
    accumulator = SessionAccumulator()
    for notification in notifications:
        accumulator.apply(notification)
    return (time.process_time() - start) / len(stream) * 1e6


def main() -> int:
    """Print a table; 1 when the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clawx", type=Path, required=True)
    parser.add_argument("--use-acp", type=Path)
    parser.add_argument("--node-modules", type=Path)
    arguments = parser.parse_args()
    stream = mixed(COUNT)
    costs = {f"acp_notebook, batches of {BATCH} with a snapshot each": ours(stream)}
    costs["acp_notebook, a snapshot after each update"] = one_by_one(stream)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.ndjson"
        path.write_text("".join(json.dumps(params) + "\n" for params in stream), "utf-8")
        clawx = costs["ClawX's reducer"] = node_peer("clawx", arguments.clawx, path)
        if arguments.use_acp is not None:
            more = [arguments.node_modules] if arguments.node_modules is not None else []
            costs["use-acp's store and grouping"] = node_peer(
                "use-acp", arguments.use_acp, path, *more
            )
    costs[f"SDK's SessionAccumulator, {SDK_COUNT} updates"] = sdk_accumulator(stream[:SDK_COUNT])
    base = next(iter(costs.values()))
    for name, cost in costs.items():
        print(f"{cost:10.2f} us an update {cost / base:9.1f} x  {name}")
    print(f"{clawx / base:.0f} x ClawX at {COUNT:,} mixed updates (bar {BAR:.0f})")
    return int(clawx / base < BAR)


if __name__ == "__main__":
    sys.exit(main())
