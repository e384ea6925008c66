"""`acp-notebook sessions`: the sessions that an agent keeps."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from acp_notebook.chat import Chat
from acp_notebook.host.questions import visible

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    parser.add_argument("agent", help="a name, command or address")
    parser.add_argument("--cwd", default=".", help="the agent's folder")
    parser.add_argument("--json", action="store_true", help="as a JSON array")


def run(options: argparse.Namespace) -> int:
    """Print the sessions, as the agent lists them."""
    with Chat(options.agent, cwd=options.cwd, policy="deny") as chat:
        found = chat.sessions()
    if options.json:
        sys.stdout.write(json.dumps([asdict(info) for info in found]) + "\n")
    else:
        for info in found:
            fields = (info.key, info.updated_at or "", info.cwd, info.title or "")
            # A tab or newline in a title would make another column or row of it.
            sys.stdout.write("\t".join(visible(" ".join(f.split())) for f in fields) + "\n")
    return 0
