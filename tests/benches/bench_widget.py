"""What the widget costs: bytes on the wire and the kernel's time for a flush."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acp_notebook.host.state import ChatState
from acp_notebook.timeline import GroupCache, Timeline
from acp_notebook.widget.packing import packed
from acp_notebook.widget.view import SentView

SESSION = str(uuid.uuid4())
STATE = ChatState(session_key=SESSION, session_id=SESSION)
DELTA = "twelve chars"
ADDRESS = {"session": SESSION, "generation": 1, "epoch": "0123"}
ROUNDS = 5


def update(**fields: Any) -> dict[str, Any]:
    return {"sessionId": SESSION, "update": fields}


def chunk(text: str, message_id: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return update(sessionUpdate=kind, messageId=message_id, content=content)


def session_of(items: int) -> Timeline:
    """A loaded session of so many items, five a turn, and a running turn with an open message."""
    timeline = Timeline(SESSION)
    for number in range(items // 5):
        timeline.begin_prompt([{"type": "text", "text": f"question {number}"}])
        timeline.apply(chunk("a thought " * 10, f"t{number}", "agent_thought_chunk"))
        for call in ("read", "execute"):
            timeline.apply(
                update(
                    sessionUpdate="tool_call",
                    toolCallId=f"{call}{number}",
                    title=call,
                    status="completed",
                    rawInput={"path": "/w/a.py"},
                )
            )
        timeline.apply(chunk("an answer " * 30, f"m{number}"))
        timeline.settle_prompt("end_turn")
    timeline.begin_prompt([{"type": "text", "text": "the last question"}])
    timeline.apply(chunk("so ", "open"))
    return timeline


class Widget:
    """What a flush does, without the comm."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.cache = GroupCache()
        self.version = 0
        snapshot = timeline.snapshot()
        self.view = SentView(snapshot, self.cache.groups(snapshot), STATE)

    def flush(self, touched: Any) -> list[bytes]:
        """The messages of one flush, as the kernel writes them."""
        snapshot = self.timeline.snapshot()
        ops = self.view.ops(snapshot, lambda: self.cache.groups(snapshot), STATE, touched)
        return [self._message(some) for some in packed(ops)]

    def _message(self, ops: list[Any]) -> bytes:
        self.version += 1
        message = {**ADDRESS, "kind": "ops", "version": self.version, "ops": ops}
        return json.dumps(message, ensure_ascii=False).encode()


def interleaved(*sides: Callable[[], float]) -> Iterator[list[float]]:
    """Measure the sides in turn, so that a busy machine is busy for all of them."""
    for _ in range(ROUNDS):
        yield [side() for side in sides]


@pytest.mark.parametrize(
    ("message_id", "deltas_a_flush"),
    [("message-1", 1), ("message-1", 20), (str(uuid.uuid4()), 8), (str(uuid.uuid4()), 20)],
    ids=["short id, slow", "short id", "long id, slow", "long id"],
)
def test_bytes_of_a_streamed_message(message_id: str, deltas_a_flush: int) -> None:
    """A 100 KB message in 12-character deltas costs at most 1.5 times its text and 200 bytes a flush."""
    timeline = Timeline(SESSION)
    timeline.begin_prompt([{"type": "text", "text": "tell me everything"}])
    timeline.apply(chunk("so ", message_id))
    widget = Widget(timeline)
    sent = flushes = text = 0
    while text < 100_000:
        some = [chunk(DELTA, message_id)] * deltas_a_flush
        text += len(DELTA) * deltas_a_flush
        flushes += 1
        sent += sum(map(len, widget.flush(timeline.apply(some))))

    allowed = 1.5 * text + 200 * flushes
    print(
        f"\n{text:,} characters, {deltas_a_flush} deltas a flush: {sent:,} bytes sent,"
        f" {sent / allowed:.2f} of what is allowed; {(sent - text) / flushes:.0f} bytes a flush"
    )
    assert sent <= allowed


def test_a_flush_costs_what_has_changed() -> None:
    """A flush of streamed text in a session of 2,000 items costs at most 1.3 times one of 100."""
    small, large = Widget(session_of(100)), Widget(session_of(2000))

    def flushes(widget: Widget) -> Callable[[], float]:
        def run() -> float:
            start = time.process_time()
            for _ in range(400):
                widget.flush(widget.timeline.apply(chunk(DELTA, "open")))
            return (time.process_time() - start) / 400

        return run

    rounds = list(interleaved(flushes(small), flushes(large)))
    at_100, at_2000 = (min(one[side] for one in rounds) for side in (0, 1))
    print(
        f"\na flush at 100 items {at_100 * 1e6:.0f} µs, at 2,000 items {at_2000 * 1e6:.0f} µs: {at_2000 / at_100:.2f} times"
    )
    assert at_2000 <= 1.3 * at_100


def test_a_flush_of_a_tool_call_costs_what_has_changed() -> None:
    """So does, at most 1.5 times, a flush in which a tool call comes or ends."""
    small, large = Widget(session_of(100)), Widget(session_of(2000))

    def flushes(widget: Widget) -> Callable[[], float]:
        def run() -> float:
            start = time.process_time()
            for _ in range(10):
                id_ = f"call{widget.version}"
                call = update(sessionUpdate="tool_call", toolCallId=id_, title="t")
                widget.flush(widget.timeline.apply(call))
                end = update(sessionUpdate="tool_call_update", toolCallId=id_, status="completed")
                widget.flush(widget.timeline.apply(end))
            return (time.process_time() - start) / 20

        return run

    rounds = list(interleaved(flushes(small), flushes(large)))
    at_100, at_2000 = (min(one[side] for one in rounds) for side in (0, 1))
    print(
        f"\na flush at 100 items {at_100 * 1e6:.0f} µs, at 2,000 items {at_2000 * 1e6:.0f} µs: {at_2000 / at_100:.2f} times"
    )
    assert at_2000 <= 1.5 * at_100


def test_a_snapshot_costs_its_items() -> None:
    """Opening 2,000 items costs the kernel at most 3 times one dump of the whole to_dict."""
    timeline = session_of(2000)
    snapshot = timeline.snapshot()

    def whole() -> float:
        start = time.process_time()
        json.dumps(snapshot.to_dict())
        return time.process_time() - start

    def pieces() -> float:
        start = time.process_time()
        for piece in Widget(timeline).view.pieces():
            json.dumps(piece)
        return time.process_time() - start

    rounds = list(interleaved(whole, pieces))
    dump, ours = (min(one[side] for one in rounds) for side in (0, 1))
    print(
        f"\nto_dict and dump {dump * 1e3:.1f} ms, pieces and dump {ours * 1e3:.1f} ms: {ours / dump:.2f} times"
    )
    assert ours <= 3 * dump
