"""
A process that records prompts until it is killed, and says after each step how far it came.

    python -m tests.bridge.ledger_writer LEDGER NAME SEED

Every update carries the next number, so that what is on disk can be held against what was to
come: text `<7>` or tool call `<7>`. The steps are a function of name and seed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from acp_notebook.bridge.ledger import Ledger
from acp_notebook.bridge.ledger_limits import LedgerLimits

# Nothing is evicted: what is missing was lost.
LIMITS = LedgerLimits(busy_wait_s=5.0, max_session_events=10**9, max_total_bytes=2**40)
SHARED = "shared"


@dataclass(frozen=True)
class Step:
    """One call. `last` is the number of the newest update once it is done."""

    call: str
    session_id: str
    run_id: str
    updates: tuple[dict[str, Any], ...]
    last: int


def steps(name: str, seed: int) -> Iterator[Step]:
    """The endless script of a writer: prompts on its own session and on one that both share."""
    choose = random.Random(f"{name}{seed}")
    number = {name: 0, SHARED: 0}

    def updates(session_id: str, count: int, kind: str | None = None) -> tuple[dict[str, Any], ...]:
        made = []
        for _ in range(count):
            number[session_id] += 1
            token = f"<{name}{number[session_id]}>"
            if kind or choose.random() < 0.7:
                made.append(
                    {
                        "sessionUpdate": kind or "agent_message_chunk",
                        "content": {"type": "text", "text": token},
                    }
                )
            else:
                made.append({"sessionUpdate": "tool_call", "toolCallId": token})
        return tuple(made)

    prompt = 0
    while True:
        prompt += 1
        session_id = choose.choice([name, name, SHARED])
        run_id = f"{name}{prompt}"

        def step(call: str, made: tuple[dict[str, Any], ...] = ()) -> Step:
            return Step(call, session_id, run_id, made, number[session_id])  # noqa: B023

        yield step("accept", updates(session_id, choose.randint(1, 2), "user_message_chunk"))
        for _ in range(choose.randint(0, 4)):
            yield step("append", updates(session_id, choose.randint(1, 30)))
            if choose.random() < 0.3:
                yield step("flush")
        yield step("settle")


def main(path: str, name: str, seed: int) -> None:
    ledger = Ledger.open(path, LIMITS)
    for session_id in (name, SHARED):
        ledger.begin_session(session_id, f"key of {session_id}", "/w", 1)
    for at, step in enumerate(steps(name, seed), 2):
        if step.call == "accept":
            ledger.accept_prompt(step.session_id, step.run_id, step.updates, at)
        elif step.call == "settle":
            ledger.settle_prompt(step.session_id, step.run_id, at)
        elif step.call == "flush":
            ledger.flush()
        for update in step.updates if step.call == "append" else ():
            ledger.append(step.session_id, update, run_id=step.run_id, at=at)
        # One write to the pipe: a kill cannot tear the line.
        sys.stdout.write(f"{step.call} {step.session_id} {step.last}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
