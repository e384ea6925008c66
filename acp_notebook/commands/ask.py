"""`acp-notebook ask`: one prompt, its answer on stdout as it comes, the tools on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from acp_notebook.chat import Chat, Turn
from acp_notebook.host.policy import PRESETS
from acp_notebook.host.questions import visible
from acp_notebook.timeline import ToolCall

if TYPE_CHECKING:
    import argparse

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
    text = sys.stdin.read() if options.prompt == "-" else options.prompt
    with Chat(options.agent, cwd=options.cwd, policy=options.policy) as chat:
        turn = _streamed(chat, text, options.timeout, quiet=options.json)
    if options.json:
        data = turn.snapshot.to_dict()
        own = set(data["turns"][turn.index]["itemIds"])
        items = [item for item in data["items"] if item["id"] in own]
        for value in [*items, data["turns"][turn.index]]:
            sys.stdout.write(json.dumps(value) + "\n")
    if turn.error is not None:
        sys.stderr.write(f"{visible(turn.error.message)}\n")
    return EXIT_CODES.get(turn.stop_reason or "", 1)


def _streamed(chat: Chat, text: str, timeout_s: float | None, *, quiet: bool) -> Turn:
    """Send the prompt and write what comes, codes made visible; return the turn."""
    statuses: dict[str, str] = {}
    wrote = False
    for step in chat.stream(text, timeout_s=timeout_s):
        if isinstance(step, Turn):
            break
        if quiet:
            continue
        for item in step.items:
            if isinstance(item, ToolCall) and statuses.get(item.id) != item.status:
                statuses[item.id] = item.status
                sys.stderr.write(f"[{visible(item.title)}: {visible(item.status)}]\n")
        sys.stdout.write(visible(step.text))
        sys.stdout.flush()
        wrote = wrote or bool(step.text)
    if wrote:
        sys.stdout.write("\n")
    assert isinstance(step, Turn)
    return step
