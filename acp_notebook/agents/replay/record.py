"""
A record as a line of events, each request tied to its answer.

JSONL: an optional first line `{"acp_notebook_record": 1, …}`, then `{"t": ms, "dir": …, "msg": {…}}`,
with `raw` in place of `msg` for a line that was no JSON. Other directions than the two of ACP and
`stderr` are passed over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

RECORD_VERSION = 1

Kind = Literal["request", "notification", "answer", "raw"]
Side = Literal["client", "agent", "stderr"]

_SIDES: dict[str, Side] = {
    "client->agent": "client",
    "agent->client": "agent",
    "stderr": "stderr",
}


@dataclass(frozen=True, slots=True)
class Event:
    """
    One line of a record; `at` is milliseconds since its start.

    `pair` is the index of a request's answer, or of an answer's request; None where there is none.
    """

    side: Side
    kind: Kind
    at: float
    message: dict[str, Any]
    raw: str = ""
    pair: int | None = None

    @property
    def method(self) -> str:
        """The method of a request or notification."""
        return str(self.message.get("method", ""))

    @property
    def params(self) -> dict[str, Any]:
        """The params of a request or notification."""
        params = self.message.get("params")
        return params if isinstance(params, dict) else {}


def load(path: Path) -> list[Event]:
    """
    Read a record.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no record; the message names the line.
    """
    lines: list[tuple[Side, float, dict[str, Any] | None, str]] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                line = json.loads(text)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
            if not isinstance(line, dict):
                raise ValueError(f"{path}, line {number} is no object.")  # noqa: TRY004
            version = line.get("acp_notebook_record")
            if version not in {None, RECORD_VERSION}:
                raise ValueError(f"{path} is a record of version {version}; this reads version 1.")
            side = _SIDES.get(str(line.get("dir")))
            if version is None and side is not None:
                at, message = line.get("t"), line.get("msg")
                at = float(at) if isinstance(at, int | float) else 0.0
                message = message if isinstance(message, dict) else None
                lines.append((side, at, message, str(line.get("raw", ""))))
    return _tied(lines)


def _tied(lines: list[tuple[Side, float, dict[str, Any] | None, str]]) -> list[Event]:
    """Tie each answer to the last request of the other side that has its id and no answer yet."""
    open_requests: dict[tuple[Side, str], int] = {}
    pairs: dict[int, int] = {}
    kinds: list[Kind] = []
    for index, (side, _, message, _) in enumerate(lines):
        kind: Kind = "raw"
        if message is not None and side != "stderr":
            key = json.dumps(message.get("id"))
            if "method" not in message:
                kind = "answer"
                asker: Side = "agent" if side == "client" else "client"
                request = open_requests.pop((asker, key), None)
                if request is not None:
                    pairs[request], pairs[index] = index, request
            elif "id" in message:
                kind = "request"
                open_requests[side, key] = index
            else:
                kind = "notification"
        kinds.append(kind)
    return [
        Event(side, kinds[index], at, message or {}, raw, pairs.get(index))
        for index, (side, at, message, raw) in enumerate(lines)
    ]
