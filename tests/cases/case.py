"""
The handed cases, read from their JSON, and what their expectations mean.

A case is a folder with `case.json` and what it names. Whoever plays one (a reducer, a host, a
page, a bridge) makes a `Played` of it; `assert_expected` then holds it against `expect`, and
`Sentences` holds it against the words of `must` and `must_not`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp_notebook.timeline import TimelineSnapshot
from acp_notebook.views.shown import drawn

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One case; `lines` are the raw lines of its stream."""

    name: str
    level: str
    given: dict[str, Any]
    expect: dict[str, Any]
    lines: tuple[bytes, ...]

    @property
    def mode(self) -> str:
        """How it is played."""
        return self.given["mode"]

    @property
    def folder(self) -> Path:
        """Where it stands."""
        return FOLDER / self.name

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is told in words, binding."""
        return (*self.expect.get("must", ()), *self.expect.get("must_not", ()))

    def messages(self, cwd: Path) -> list[Any]:
        """Return the messages of its stream, for a session in this folder."""
        filled = [
            line.replace(b"{CWD_URI}", cwd.as_uri().encode()).replace(b"{CWD}", str(cwd).encode())
            for line in self.lines
        ]
        return [json.loads(line) for line in filled]


def load(name: str) -> Case:
    """Read one case."""
    data = json.loads((FOLDER / name / "case.json").read_text("utf-8"))
    stream = data["given"].get("stream")
    raw = (FOLDER / name / stream).read_bytes().split(b"\n") if stream else []
    return Case(data["id"], data["level"], data["given"], data["expect"], tuple(filter(None, raw)))


def cases(level: str | None = None, mode: str | None = None) -> list[Case]:
    """Return the cases of a level and a mode, in order."""
    found = [load(path.parent.name) for path in sorted(FOLDER.glob("*/case.json"))]
    return [c for c in found if level in (None, c.level) and mode in (None, c.mode)]


@dataclass
class Played:
    """A case as it came out: the snapshots of its sessions, and what was seen on the way."""

    case: Case
    snapshots: dict[str, TimelineSnapshot]
    prefixes: list[TimelineSnapshot] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)

    @property
    def snapshot(self) -> TimelineSnapshot:
        """The snapshot of its (first) session."""
        return next(iter(self.snapshots.values()))


def assert_expected(played: Played) -> None:
    """Hold what was played against each expectation that a timeline can answer."""
    expect, shot = played.case.expect, played.snapshot
    if "timeline" in expect:
        assert_timeline(expect["timeline"], shot)
    for session, items in expect.get("timelines", {}).items():
        assert_timeline(items, played.snapshots[session])
    if "turn" in expect:
        assert_turn(expect["turn"], shot)
    if "turns" in expect:
        own = [t for t in shot.turns if (t.prompt_item_id or "").startswith("user:")]
        assert len(own) == len(expect["turns"])
        for expected, turn in zip(expect["turns"], own, strict=True):
            assert_subset(expected, turn_form(turn), "turn")
    if "session" in expect:
        assert_subset(expect["session"], shot.to_dict()["metadata"], "session")
    if expect.get("diagnostics", {}).get("kind") == "unknown-update":
        assert sum(shot.metadata.unrecognized.values()) >= expect["diagnostics"]["min"]


def assert_timeline(expected: list[dict[str, Any]], shot: TimelineSnapshot) -> None:
    """Items in order, by the names of `to_dict`; notices that are not listed are skipped."""
    listed = {item["kind"] for item in expected}
    items = [
        i for i in shot.to_dict(blobs=True)["items"] if i["kind"] != "notice" or "notice" in listed
    ]
    assert [i["kind"] for i in expected] == [i["kind"] for i in items]
    for wanted, found in zip(expected, items, strict=True):
        if "segmentCount" in wanted:
            assert wanted["segmentCount"] == sum(derived_text(i) == wanted["text"] for i in items)
        if "count" in wanted:
            assert wanted["count"] == sum(i.get("role") == wanted["role"] for i in items)
        plain = {k: v for k, v in wanted.items() if k not in ("segmentCount", "count")}
        assert_subset(plain, with_derived(found), wanted["kind"])


def derived_text(item: dict[str, Any]) -> str:
    """Return the text of the markdown parts of an item, joined."""
    parts = item.get("outputParts", item.get("parts", ()))
    return "".join(part["text"] for part in parts if part["kind"] == "markdown")


def with_derived(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item with the names that the cases derive from it."""
    text = derived_text(item)
    return {**item, "text": text, "contentLength": len(text), "visibleText": drawn(text)}


def assert_subset(expected: Any, found: Any, where: str) -> None:
    """Only the fields that are given are compared, in nested objects too."""
    if isinstance(expected, dict):
        assert isinstance(found, dict), f"{where}: {found!r}"
        for key, value in expected.items():
            if key == "bytesAtLeast":
                assert found["blob"]["size"] >= value, where
            else:
                assert key in found, f"{where}.{key} is not there"
                assert_subset(value, found[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(expected) == len(found), f"{where}: {found!r}"
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            assert_subset(one, other, f"{where}[{number}]")
    else:
        assert expected == found, where


def turn_form(turn: Any) -> dict[str, Any]:
    """Return what cases say of a turn."""
    return {
        "stopReason": turn.stop_reason,
        "state": turn.state,
        "stoppedByUser": turn.stopped_by_user,
    }


def assert_turn(expected: dict[str, Any], shot: TimelineSnapshot) -> None:
    """Outcome and state of the last turn."""
    assert_subset(expected, turn_form(shot.turns[-1]), "turn")


class Sentences:
    """Binds the words of `must` and `must_not` to checks by their exact text."""

    def __init__(self) -> None:
        self.checks: dict[str, Any] = {}

    def __call__(self, *texts: str) -> Any:
        """Bind a check to these sentences."""

        def bind(check: Any) -> Any:
            for text in texts:
                assert text not in self.checks, f"bound twice: {text}"
                self.checks[text] = check
            return check

        return bind

    def assert_all(self, played: Played) -> None:
        """Hold what was played against each sentence; one that is not bound fails."""
        for text in played.case.sentences:
            assert text in self.checks, f"{played.case.name}: not bound to a check: {text}"
            self.checks[text](played)
