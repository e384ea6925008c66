"""`acp-notebook ask`: one prompt, its answer on stdout as it comes, the tools on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, TextIO

from acp_notebook import agents
from acp_notebook.agents.configuration import configured, settings
from acp_notebook.host.blocking import Waiter, plain_surroundings, run_blocking
from acp_notebook.host.loop import host_loop
from acp_notebook.host.policy import PRESETS
from acp_notebook.host.session import ChatSession
from acp_notebook.timeline.items import MessageSegment, ToolCall
from acp_notebook.timeline.parts import Markdown
from acp_notebook.views.shown import seen

if TYPE_CHECKING:
    import argparse

    from acp_notebook.timeline import TimelineSnapshot
    from acp_notebook.timeline.items import Item

EXIT_CODES = {
    "end_turn": 0,
    "refusal": 3,
    "max_tokens": 4,
    "max_turn_requests": 5,
    "cancelled": 130,
}
"""By the turn's stop reason; a turn that ended with an error, or an unknown reason, is 1."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    parser.add_argument("agent", help="a name, command or address")
    parser.add_argument("prompt", help="the text; - reads it from stdin")
    parser.add_argument("--cwd", default=".", help="the agent's folder")
    parser.add_argument("--policy", choices=list(PRESETS), help="who answers permissions")
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="the longest silence, in seconds"
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON object an item, then one for the turn"
    )


def run(options: argparse.Namespace) -> int:
    """Send the prompt; the exit code says how the turn ended."""
    spec = agents.resolve(options.agent, cwd=options.cwd)
    text = sys.stdin.read() if options.prompt == "-" else options.prompt
    policy = options.policy or configured("policy") or "ask"
    session = ChatSession(spec, cwd=options.cwd, policy=policy, settings=settings())
    around, host = plain_surroundings(), host_loop()
    printer = Printer(sys.stdout, sys.stderr, quiet=options.json)
    waiter = Waiter(
        session,
        around,
        cancel=lambda: host.call(session.cancel),
        on_step=lambda: printer.show(session.snapshot),
    )
    try:
        run_blocking(session.start(), around)
        prompt = session.prompt(
            [{"type": "text", "text": text}], timeout_s=options.timeout, headless=around.headless
        )
        result = waiter.block(host.submit(prompt))
    finally:
        host.submit(session.close()).result()
    printer.show(result.snapshot)
    printer.end()
    turn = result.snapshot.turns[result.index]
    if options.json:
        data = result.snapshot.to_dict()
        for value in [*data["items"], data["turns"][result.index]]:
            sys.stdout.write(json.dumps(value) + "\n")
    if turn.error is not None:
        sys.stderr.write(f"{seen(turn.error.message)}\n")
        return 1
    return EXIT_CODES.get(turn.stop_reason or "", 1)


class Printer:
    """Writes what is new in a snapshot: answers to `out`, tools to `aside`. Codes are made visible."""

    def __init__(self, out: TextIO, aside: TextIO, *, quiet: bool = False) -> None:
        self._out = out
        self._aside = aside
        self._quiet = quiet
        self._lengths: dict[str, int] = {}
        self._statuses: dict[str, str] = {}
        self._last: str | None = None

    def show(self, snapshot: TimelineSnapshot) -> None:
        """Write what has come since the last time."""
        for item in () if self._quiet else snapshot.items:
            if isinstance(item, MessageSegment) and item.role == "assistant":
                self._show_text(item)
            elif isinstance(item, ToolCall) and self._statuses.get(item.id) != item.status:
                self._statuses[item.id] = item.status
                self._aside.write(f"[{seen(item.title)}: {seen(item.status)}]\n")
                self._aside.flush()

    def end(self) -> None:
        """End the last line."""
        if self._last is not None:
            self._out.write("\n")
            self._out.flush()

    def _show_text(self, item: Item) -> None:
        text = "".join(
            part.text for part in getattr(item, "parts", ()) if isinstance(part, Markdown)
        )
        new = text[self._lengths.get(item.id, 0) :]
        if not new:
            return
        if self._last not in {None, item.id}:
            self._out.write("\n\n")
        self._lengths[item.id], self._last = len(text), item.id
        self._out.write(seen(new))
        self._out.flush()
