"""The recorded frames of the real gateway, and the shapes that they have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TRACES = Path(__file__).resolve().parents[1] / "traces" / "openclaw"
# Objects whose keys are data, not shape.
_OPEN = frozenset(
    {"args", "details", "health", "snapshot", "entry", "resolved", "defaults", "media"}
)


def lines(direction: str) -> Iterator[dict[str, Any]]:
    """Every recorded frame of one direction."""
    for path in sorted(TRACES.glob("*.ndjson")):
        for raw in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(raw)
            if line["dir"] == direction and not line["msg"].keys() & {"_ws", "_note", "_raw"}:
                yield line["msg"]


def methods() -> dict[str, str]:
    """Request id to method, of all recorded requests."""
    return {m["id"]: m["method"] for m in lines("bridge->gateway") if m.get("type") == "req"}


def kind_of(frame: dict[str, Any], method: str | None = None) -> tuple[str, ...]:
    """What a frame is: its event with stream, state and phase, or the answer to a method."""
    if frame["type"] == "res":
        return ("res", method or "", "ok" if frame["ok"] else "error")
    payload = frame["payload"]
    data = payload.get("data")
    phase = data.get("phase") if isinstance(data, dict) else None
    parts = (frame["event"], payload.get("stream"), payload.get("state"), phase)
    return tuple(part for part in parts if isinstance(part, str))


def shape(value: Any, at: str = "") -> set[str]:
    """The paths of a JSON value with the type at their end."""
    if isinstance(value, dict):
        if at.rsplit(".", 1)[-1] in _OPEN:
            return {f"{at}:object"}
        return {path for key, child in value.items() for path in shape(child, f"{at}.{key}")}
    if isinstance(value, list):
        return {path for child in value for path in shape(child, f"{at}[]")} or {f"{at}[]"}
    name = "number" if isinstance(value, int | float) and not isinstance(value, bool) else None
    return {f"{at}:{name or type(value).__name__}"}


def recorded() -> dict[tuple[str, ...], set[str]]:
    """Of each kind of frame from the gateway, all paths that were seen."""
    asked, seen = methods(), {}
    for frame in lines("gateway->bridge"):
        kind = kind_of(frame, asked.get(frame.get("id", "")))
        payload = (
            frame.get("payload") if frame["type"] == "event" or frame["ok"] else frame["error"]
        )
        seen.setdefault(kind, set()).update(shape(payload))
    return seen
