"""
Records: a session's traffic as JSONL, one message a line, to look at or to play as an agent.

The first line names the agent; then `{"t": ms, "dir": …, "msg": {…}}`, with `raw` in place of `msg` for
a line that was no JSON. Content is kept whole; secrets are not kept (see `redact`).
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import IO, Any

from acp_notebook.host.redact import redact

RECORD_VERSION = 1


class Recorder:
    """Writes a record. A file that cannot be written ends the record, never the chat."""

    def __init__(self, path: str | Path, *, agent: str, version: str = "", cwd: str = "") -> None:
        self._path = Path(path).expanduser()
        self._started = time.time()
        self._head = {"acp_notebook_record": RECORD_VERSION, "agent": agent, "version": version,
                      "cwd": cwd, "started": self._started}  # fmt: skip
        self._file: IO[str] | None = None
        self.error: OSError | None = None

    def open(self) -> None:
        """
        Create the file and write its first line.

        Raises:
            OSError: the file cannot be created.
        """
        self._file = self._path.open("w", encoding="utf-8", buffering=1, newline="\n")
        self._write(self._head)

    def sent(self, message: dict[str, Any]) -> None:
        """Record a message of ours."""
        self._line("client->agent", {"msg": redact(message)})

    def received(self, message: dict[str, Any]) -> None:
        """Record a message of the agent."""
        self._line("agent->client", {"msg": redact(message)})

    def received_raw(self, text: str) -> None:
        """Record a line of the agent that is no message."""
        self._line("agent->client", {"raw": text})

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _line(self, direction: str, body: dict[str, Any]) -> None:
        self._write({"t": round((time.time() - self._started) * 1000), "dir": direction, **body})

    def _write(self, value: dict[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(value, separators=(",", ":")) + "\n")
        except OSError as error:
            self.error = error
            self.close()
