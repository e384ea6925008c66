"""`python -P -m acp_notebook.agents.explorer [--pace PACE]`."""

from __future__ import annotations

import argparse
import asyncio
import os

from acp_notebook.agents.explorer.agent import Explorer
from acp_notebook.agents.explorer.session import PACES, pace_ms
from acp_notebook.agents.peer import Peer
from acp_notebook.agents.stdio import Stdio

PACE_VARIABLE = "ACP_NOTEBOOK_EXPLORER_PACE"


def main() -> None:
    """Serve ACP on stdio until the client closes the pipe."""
    parser = argparse.ArgumentParser(prog="explorer", description=__doc__)
    parser.add_argument(
        "--pace",
        type=pace_ms,
        default=os.environ.get(PACE_VARIABLE, "natural"),
        help=f"{', '.join(PACES)}, or milliseconds a word (also {PACE_VARIABLE})",
    )
    asyncio.run(serve(parser.parse_args().pace))


async def serve(pace: float) -> None:
    """Serve one client; `pace` is milliseconds a word."""
    peer = Peer(Stdio())
    explorer = Explorer(peer, pace)
    await peer.run(explorer.requests, explorer.notifications)


if __name__ == "__main__":
    main()
