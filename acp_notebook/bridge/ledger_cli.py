"""`acp-notebook bridge ledger`: look inside the ledger. Reads only; nothing is made or moved."""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_notebook.bridge import ledger_read
from acp_notebook.bridge.ledger_file import open_for_reading
from acp_notebook.bridge.options import default_state_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

LEDGER_FILE = Path("acp-notebook", "ledger.sqlite")

_SHOWN_CHARS = 100


def main(argv: Sequence[str]) -> int:
    """Run `list`, `show ID`, `verify` or `export ID` and return the exit code."""
    flags = parser().parse_args(argv)
    path = Path(flags.state_dir).expanduser() / LEDGER_FILE
    if not path.exists():
        return _failed(f"there is no ledger at {path}")
    try:
        with closing(open_for_reading(path)) as db:
            code = int(flags.run(db, flags))
            sys.stdout.flush()
            return code
    except (sqlite3.Error, ValueError) as error:
        return _failed(f"{path} cannot be read: {error}")
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; what is still to be flushed goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parser() -> argparse.ArgumentParser:
    """The flags of `acp-notebook bridge ledger`."""
    top = argparse.ArgumentParser(
        prog="acp-notebook bridge ledger", description="Look inside the bridge's ledger."
    )
    top.add_argument(
        "--state-dir",
        default=str(default_state_dir()),
        help="the ledger is acp-notebook/ledger.sqlite in it (default: %(default)s)",
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    every = commands.add_parser("list", help="the sessions, the last written first")
    every.set_defaults(run=_list)
    show = commands.add_parser("show", help="a session's events, a line each")
    show.add_argument("id", metavar="ID", help="session id, or its beginning, or session key")
    show.set_defaults(run=_show)
    proof = commands.add_parser("verify", help="prove that the counters equal a recount")
    proof.set_defaults(run=_verify)
    export = commands.add_parser("export", help="a session's updates as ndjson, as they were sent")
    export.add_argument("id", metavar="ID", help="session id, or its beginning, or session key")
    export.set_defaults(run=_export)
    return top


def _list(db: sqlite3.Connection, _flags: argparse.Namespace) -> int:
    for session in ledger_read.sessions(db):
        _print(
            f"{session.session_id}  {_time(session.updated_at)}  {_state(session):10}"
            f"  {session.event_count:>5} events  {session.byte_count:>9,} bytes"
            f"  {_line(session.session_key)}  {_line(session.cwd)}"
        )
    return 0


def _show(db: sqlite3.Connection, flags: argparse.Namespace) -> int:
    session = _find(db, flags.id)
    if session is None:
        return _unknown(flags.id)
    _print(f"session {session.session_id}: {_state(session)}, key {_line(session.session_key)}")
    for event in ledger_read.events(db, session.session_id):
        kind = _line(str(event.update.get("sessionUpdate")))
        _print(f"{event.seq:>6}  {_time(event.at)}  {kind}  {_summary(event.update)}")
    return 0


def _verify(db: sqlite3.Connection, _flags: argparse.Namespace) -> int:
    problems = ledger_read.verify(db)
    for problem in problems:
        _print(str(problem))
    if not problems:
        _print("the ledger holds")
    return 1 if problems else 0


def _export(db: sqlite3.Connection, flags: argparse.Namespace) -> int:
    session = _find(db, flags.id)
    if session is None:
        return _unknown(flags.id)
    for event in ledger_read.events(db, session.session_id):
        params = {"sessionId": session.session_id, "update": event.update}
        _print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    return 0


def _find(db: sqlite3.Connection, given: str) -> ledger_read.LedgerSession | None:
    """The session of that id, of that key, or the only one whose id begins so."""
    found = ledger_read.session(db, given) or ledger_read.find(db, given)
    if found is None:
        begun = [s for s in ledger_read.sessions(db) if given and s.session_id.startswith(given)]
        found = begun[0] if len(begun) == 1 else None
    return found


def _state(session: ledger_read.LedgerSession) -> str:
    return "complete" if session.complete else "open" if session.open_runs else "incomplete"


def _summary(update: dict[str, Any]) -> str:
    content = update.get("content")
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return _line(content["text"])
    rest = {key: value for key, value in update.items() if key != "sessionUpdate"}
    return _line(json.dumps(rest))


def _line(text: str) -> str:
    """The text on one line, as a terminal can show it: what an agent wrote must not drive it."""
    cut = text[:_SHOWN_CHARS] + ("…" if len(text) > _SHOWN_CHARS else "")
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)


def _time(at: int) -> str:
    try:
        return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return str(at)


def _unknown(given: str) -> int:
    return _failed(f"the ledger has no session {given}, or several whose ids begin so")


def _failed(text: str) -> int:
    print(f"acp-notebook bridge ledger: {text}", file=sys.stderr)  # noqa: T201
    return 1


def _print(line: str) -> None:
    print(line)  # noqa: T201  # a command's output
