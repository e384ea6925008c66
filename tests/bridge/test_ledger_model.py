"""The ledger against a plain model of it: random operations, two writers, small limits."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from acp_notebook.bridge.ledger import Ledger
from acp_notebook.bridge.ledger_limits import LedgerLimits

LIMITS = LedgerLimits(max_sessions=4, max_session_events=9, max_total_bytes=1500)

session_ids = st.sampled_from(["s1", "s2", "s3", "s4", "s5", "s6"])
run_ids = st.sampled_from(["r1", "r2", "r3"])
writers = st.sampled_from([0, 1])
texts = st.text(st.characters(codec="utf-8"), max_size=20)
chunks = st.builds(
    lambda kind, text, message_id: {
        "sessionUpdate": kind,
        **({"messageId": message_id} if message_id else {}),
        "content": {"type": "text", "text": text},
    },
    st.sampled_from(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]),
    texts,
    st.sampled_from([None, None, "m1"]),
)
tools = st.builds(
    lambda call, text: {"sessionUpdate": "tool_call", "toolCallId": call, "title": text},
    st.sampled_from(["t1", "t2"]),
    texts,
)
updates = st.lists(chunks | chunks | tools, max_size=6)

operations = st.one_of(
    st.tuples(st.just("begin"), writers, session_ids, st.booleans(), st.booleans()),
    st.tuples(st.just("accept"), writers, session_ids, run_ids, updates),
    st.tuples(st.just("append"), writers, session_ids, run_ids, updates),
    st.tuples(st.just("append"), writers, session_ids, run_ids, updates),
    st.tuples(st.just("settle"), writers, session_ids, run_ids),
    st.tuples(st.just("incomplete"), writers, session_ids),
    st.tuples(st.just("recover"), writers, session_ids, run_ids, updates | st.none()),
    st.tuples(st.just("die"), writers),
)


PROMPT = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "q"}}
PARTIAL = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "cut off"}
WHOLE = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "to the end"}


def size_of(update: dict) -> int:
    return len(json.dumps(update, ensure_ascii=False, separators=(",", ":")).encode()) + 32


def merged(rows: list[tuple[str, dict]]) -> list[tuple[str, dict]]:
    """Rows with the adjacent texts of one agent message joined; nothing else changes."""
    out: list[tuple[str, dict]] = []
    for run_id, update in rows:
        kind, text = update["sessionUpdate"], update.get("content", {}).get("text")
        last = out[-1] if out else None
        if (
            kind in {"agent_message_chunk", "agent_thought_chunk"}
            and text
            and last is not None
            and last[0] == run_id
            and last[1].get("content", {}).get("text")
            and {**last[1], "content": None} == {**update, "content": None}
        ):
            joined = {"type": "text", "text": last[1]["content"]["text"] + text}
            out[-1] = (run_id, {**update, "content": joined})
        else:
            out.append((run_id, update))
    return out


@dataclass
class ModelSession:
    complete: bool
    touched: int
    rows: list[tuple[str, dict]] = field(default_factory=list)
    # Open marks: run, and how many rows stood when its prompt was recorded.
    marks: list[list] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(size_of(update) for _, update in self.rows)

    def lose(self) -> None:
        self.complete, self.marks = False, []

    def drop(self, count: int) -> None:
        del self.rows[:count]
        self.lose()


class Model:
    """What the ledger does, said plainly: whole lists, recounted at each step."""

    def __init__(self) -> None:
        self.sessions: dict[str, ModelSession] = {}

    def begin(self, now, session_id, complete, reset) -> None:
        session = self.sessions.get(session_id)
        if session is None or reset:
            self.sessions[session_id] = ModelSession(complete, now)
        else:
            session.touched = now

    def touch(self, now, session_id) -> ModelSession:
        session = self.sessions.setdefault(session_id, ModelSession(complete=False, touched=now))
        session.touched = now
        return session

    def accept(self, now, session_id, run_id, updates) -> None:
        session = self.touch(now, session_id)
        session.rows += [(run_id, update) for update in updates]
        if session.complete or session.marks:
            session.complete = False
            session.marks.append([run_id, len(session.rows)])

    def append(self, now, session_id, run_id, updates) -> None:
        if updates:
            session = self.touch(now, session_id)
            session.rows += merged([(run_id, update) for update in updates])

    def close(self, session: ModelSession, run_id: str) -> None:
        rest = [mark for mark in session.marks if mark[0] != run_id]
        if len(rest) < len(session.marks):
            session.marks, session.complete = rest, not rest

    def settle(self, now, session_id, run_id) -> None:
        if session_id in self.sessions:
            self.close(self.touch(now, session_id), run_id)

    def incomplete(self, now, session_id) -> None:
        if session_id in self.sessions:
            self.sessions[session_id].lose()

    def recover(self, now, session_id, run_id, updates) -> None:
        session = self.sessions.get(session_id)
        mark = next((m for m in session.marks if m[0] == run_id), None) if session else None
        if session is None or mark is None:
            return
        if updates is None:
            session.lose()
            return
        session.touched = now
        start = mark[1]
        before, after = session.rows[:start], session.rows[start:]
        own = [(run_id, update) for update in updates]
        for other in session.marks:
            if other[1] > start:
                kept = [row for row in after[: other[1] - start] if row[0] != run_id]
                other[1] = start + len(own) + len(kept)
        session.rows = before + own + [row for row in after if row[0] != run_id]
        self.close(session, run_id)

    def keep_limits(self, written: str) -> None:
        session = self.sessions.get(written)
        if session and len(session.rows) > LIMITS.max_session_events:
            session.drop(len(session.rows) - LIMITS.max_session_events)

        def oldest(choices):
            return min(choices, key=lambda i: (i == written, self.sessions[i].touched, i))

        while len(self.sessions) > LIMITS.max_sessions:
            del self.sessions[oldest(self.sessions)]
        limit = LIMITS.max_total_bytes
        if sum(s.size for s in self.sessions.values()) <= limit:
            return
        while sum(s.size for s in self.sessions.values()) > limit - limit // 32:
            self.sessions[oldest([i for i, s in self.sessions.items() if s.rows])].drop(1)


def abandon(ledger: Ledger) -> None:
    """End the ledger like a kill: no flush, no farewell, its lock gone."""
    ledger._queue._store.close()
    os.close(ledger._queue.owner._descriptor)


@settings(deadline=None, max_examples=150)
@given(st.lists(operations, max_size=40))
@example(
    # A recovered prompt pushes a later one, and its mark, further down.
    [
        ("begin", 0, "s1", True, False),
        ("accept", 0, "s1", "r1", []),
        ("append", 0, "s1", "r1", [PARTIAL]),
        ("die", 0),
        ("accept", 1, "s1", "r2", [PROMPT]),
        ("append", 1, "s1", "r2", [PARTIAL]),
        ("die", 1),
        ("recover", 0, "s1", "r1", [WHOLE, WHOLE]),
        ("recover", 1, "s1", "r2", [WHOLE]),
    ]
)
def test_ledger_equals_its_model(ops):
    """Whatever is done, in whatever order, by two writers: rows, flags and counters are the model's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ledger.sqlite")
        said: list[str] = []
        ledgers = [Ledger.open(path, LIMITS, warn=said.append) for _ in range(2)]
        dead: list[Ledger] = []
        model = Model()
        for now, (name, writer, *arguments) in enumerate(ops, 1):
            if name == "die":
                abandon(ledgers[writer])
                dead.append(ledgers[writer])
                ledgers[writer] = Ledger.open(path, LIMITS, warn=said.append)
                continue
            do(ledgers[writer], name, arguments, now)
            getattr(model, name)(now, *arguments)
            model.keep_limits(arguments[0])
        compare(model, ledgers[0])
        assert [] == ledgers[1].verify()
        assert [] == said
        for ledger in ledgers:
            ledger.close()


def do(ledger: Ledger, name: str, arguments: list, now: int) -> None:
    if name == "begin":
        session_id, complete, reset = arguments
        ledger.begin_session(session_id, "k", "/w", now, complete=complete, reset=reset)
    elif name == "accept":
        ledger.accept_prompt(*arguments, at=now)
    elif name == "append":
        session_id, run_id, new = arguments
        for update in new:
            ledger.append(session_id, update, run_id=run_id, at=now)
    elif name == "settle":
        ledger.settle_prompt(*arguments, at=now)
    elif name == "incomplete":
        ledger.mark_incomplete(*arguments)
    else:
        ledger.clear_mark(*arguments, at=now)
    assert ledger.flush()


def compare(model: Model, ledger: Ledger) -> None:
    assert set(model.sessions) == {session.session_id for session in ledger.sessions()}
    for session_id, expected in model.sessions.items():
        found = ledger.session(session_id)
        assert [update for _, update in expected.rows] == [
            event.update for event in ledger.events(session_id)
        ]
        assert (expected.complete, tuple(run for run, _ in expected.marks)) == (
            found.complete,
            found.open_runs,
        )
        assert (len(expected.rows), expected.size) == (found.event_count, found.byte_count)
        replay = ledger.replay(session_id)
        assert ([update for _, update in expected.rows] if expected.complete else None) == replay
