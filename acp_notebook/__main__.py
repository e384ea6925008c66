"""
The command line: `acp-notebook …` and `python -P -m acp_notebook …`.

Each command is a module of `commands`, imported when it is called for.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from acp_notebook import __version__
from acp_notebook.errors import AcpNotebookError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "ask": "send one prompt to an agent and print its answer",
    "agents": "list the agents that are known here",
    "sessions": "list the sessions that an agent keeps",
    "replay": "print the conversation of a record",
    "export": "turn a record into text, Markdown, HTML or JSON",
    "doctor": "say what is installed; with an agent, how it starts",
    "bridge": "serve a remote OpenClaw gateway as an agent on stdio",
}
"""The commands; `acp_notebook.commands.<name>` has `add_arguments(parser)` and `run(options) -> int`."""

DESCRIPTION = "A chat with any Agent Client Protocol agent, from the shell."

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 well, 1 failed, 2 called wrongly, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["bridge"]:
        # It takes stdout for the protocol before anything else is imported.
        from acp_notebook.bridge.cli import main as bridge

        return bridge(words[1:])
    parser = argparse.ArgumentParser(prog="acp-notebook", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if name in words[:1]:
            import_module(f"acp_notebook.commands.{name}").add_arguments(command)
    options = parser.parse_args(words)
    module = import_module(f"acp_notebook.commands.{options.command}")
    try:
        return int(module.run(options))
    except (AcpNotebookError, ValueError, OSError) as error:
        sys.stderr.write(f"{_told(error)}\n")
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _told(error: Exception) -> str:
    """Return what went wrong in words; for a file without the number of the error."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


if __name__ == "__main__":
    sys.exit(main())
