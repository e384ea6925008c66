"""`acp-notebook sessions`: the sessions that an agent keeps."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from acp_notebook import agents
from acp_notebook.agents.configuration import settings
from acp_notebook.host.loop import host_loop
from acp_notebook.host.session import ChatSession
from acp_notebook.views.shown import seen

if TYPE_CHECKING:
    import argparse

    from acp_notebook.host.sessions import SessionInfo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    parser.add_argument("agent", help="a name, command or address")
    parser.add_argument("--cwd", default=".", help="the agent's folder")
    parser.add_argument("--json", action="store_true", help="as a JSON array")


def run(options: argparse.Namespace) -> int:
    """Print the sessions, as the agent lists them."""
    spec = agents.resolve(options.agent, cwd=options.cwd)
    session = ChatSession(spec, cwd=options.cwd, policy="deny", settings=settings())
    found = host_loop().submit(_listed(session)).result()
    if options.json:
        sys.stdout.write(json.dumps([asdict(info) for info in found]) + "\n")
    else:
        for info in found:
            fields = (info.key, info.updated_at or "", info.cwd, info.title or "")
            # A tab or newline in a title would make another column or row of it.
            sys.stdout.write("\t".join(seen(" ".join(field.split())) for field in fields) + "\n")
    return 0


async def _listed(session: ChatSession) -> tuple[SessionInfo, ...]:
    try:
        return await session.sessions.list()
    finally:
        await session.close()
