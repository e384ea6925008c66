"""`acp-notebook replay`: the conversation of a record, as text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from acp_notebook.timeline import load_record

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    parser.add_argument("file", type=Path, help="a record (JSONL)")
    parser.add_argument("--thoughts", action="store_true", help="the agent's reasoning too")


def run(options: argparse.Namespace) -> int:
    """Print the conversation."""
    sys.stdout.write(load_record(options.file).to_text(thoughts=options.thoughts))
    return 0
