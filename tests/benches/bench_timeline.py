"""
What the timeline costs, as ratios taken in one run, best of five.

    python -m tests.benches.bench_timeline      prints all, ends with 1 when a bar is missed

A batch is 40 updates and a snapshot, as in a flush. Times are CPU seconds of this process.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from acp_notebook.timeline import GroupCache, Timeline
from acp_notebook.timeline.groups import group_turn
from tests.benches.streams import SESSION, BareFold, Params, chunk, long, mixed

BATCH = 40
ROUNDS = 5


@contextmanager
def own_garbage() -> Iterator[None]:
    """Keep the collector from passing over a large stream in the middle of what is measured."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one run."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def best(*sides: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Return the best of some runs of each side, taken in turn so that noise hits all of them."""
    runs = [[cpu(side) for side in sides] for _ in range(rounds)]
    return [min(times) for times in zip(*runs, strict=True)]


def batches(stream: list[Params]) -> list[list[Params]]:
    """Cut a stream into batches."""
    return [stream[at : at + BATCH] for at in range(0, len(stream), BATCH)]


def fold(stream: list[Params]) -> Timeline:
    """Fold a stream with a snapshot after each batch."""
    timeline = Timeline(SESSION)
    for batch in batches(stream):
        timeline.apply(batch)
        timeline.snapshot()
    return timeline


def bare_fold(stream: list[Params]) -> BareFold:
    """Fold a stream in the cheapest way."""
    bare = BareFold()
    for batch in batches(stream):
        for params in batch:
            bare.apply(params["update"])
        bare.changed.clear()
    return bare


def fold_ratio() -> float:
    """
    Compare 10,000 mixed updates with the bare fold of the same.

    The bare fold runs five times over, so that both sides are as long and as often interrupted.
    """
    stream = mixed(10_000)
    ours, bare = best(lambda: fold(stream), lambda: [bare_fold(stream) for _ in range(5)])
    return 5 * ours / bare


def flatness_ratio() -> float:
    """Compare the last tenth of 100,000 mixed updates with the first."""
    stream = mixed(100_000)
    tenth = len(stream) // 10

    def tenths() -> tuple[float, float]:
        timeline = Timeline(SESSION)
        marks = []
        with own_garbage():
            for batch in batches(stream):
                start = time.process_time()
                timeline.apply(batch)
                timeline.snapshot()
                marks.append(time.process_time() - start)
        edge = tenth // BATCH
        return sum(marks[:edge]), sum(marks[-edge:])

    first, last = zip(*(tenths() for _ in range(ROUNDS)), strict=True)
    return min(last) / min(first)


def long_message_ratio() -> float:
    """Compare an update of 100,000 chunks of one message with one of 10,000 chunks."""
    short, whole = long(10_000), long(100_000)
    few, many = best(lambda: fold(short), lambda: fold(whole))
    return (many / len(whole)) / (few / len(short))


def grouping_ratio() -> float:
    """Compare grouping at each flush at 2,000 items with the grouping of the open turn alone."""
    timeline = fold(mixed(24_000))
    timeline.apply({"sessionId": SESSION, "update": chunk("agent_message_chunk", "open", "open")})
    cache = GroupCache()
    snapshots = []
    for _ in range(200):
        timeline.apply({"sessionId": SESSION, "update": chunk("agent_message_chunk", "x", "open")})
        snapshots.append(timeline.snapshot())
    assert len(snapshots[-1]) >= 1_900
    cache.groups(snapshots[0])

    def cached() -> None:
        for _ in range(5):
            for snapshot in snapshots:
                cache.groups(snapshot)

    def alone() -> None:
        for _ in range(5):
            for snapshot in snapshots:
                group_turn(snapshot.turns[-1])

    ours, bare = best(cached, alone)
    return ours / bare


def memory_ratio() -> float:
    """Compare what is kept after 50,000 mixed updates with their bytes on the wire."""
    lines = [json.dumps(params, separators=(",", ":")) for params in mixed(50_000)]
    wire = sum(len(line) + 1 for line in lines)
    gc.collect()
    tracemalloc.start()
    try:
        timeline = Timeline(SESSION)
        for at in range(0, len(lines), BATCH):
            timeline.apply([json.loads(line) for line in lines[at : at + BATCH]])
            snapshot = timeline.snapshot()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(snapshot) > 4_000
    return kept / wire


BARS: dict[str, tuple[Callable[[], float], float]] = {
    "fold of 10,000 mixed updates, against a bare mutable fold": (fold_ratio, 6.0),
    "100,000 mixed updates, last tenth against first": (flatness_ratio, 2.0),
    "1.2 MB message in 100,000 chunks, per update against 10,000": (long_message_ratio, 2.0),
    "grouping per flush at 2,000 items, against the open turn alone": (grouping_ratio, 2.0),
    "memory after 50,000 updates, against the bytes on the wire": (memory_ratio, 1.5),
}


@pytest.mark.parametrize("name", BARS)
def test_a_ratio_is_within_its_bar(name: str) -> None:
    """Each bar of the timeline holds, measured against its own limit in this run."""
    measure, bar = BARS[name]
    ratio = measure()
    print(f"\n{name}: {ratio:.2f} (bar {bar})")
    assert ratio <= bar


def main() -> int:
    """Print all ratios; 1 when a bar is missed."""
    missed = 0
    for name, (measure, bar) in BARS.items():
        ratio = measure()
        missed += ratio > bar
        print(f"{ratio:6.2f}  bar {bar:4.1f}  {'ok    ' if ratio <= bar else 'MISSED'}  {name}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
