"""`acp-notebook agents`: the agents that are known, and how to get or log in to each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from acp_notebook.agents.table import agent_table

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    parser.add_argument("--json", action="store_true", help="as a JSON array")


def run(options: argparse.Namespace) -> int:
    """Print the table."""
    table = agent_table()
    sys.stdout.write(f"{table.to_json() if options.json else repr(table)}\n")
    return 0
