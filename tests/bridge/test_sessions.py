"""The store of sessions, its limits, and what `_meta` says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from acp_notebook.bridge.pending import Prompt
from acp_notebook.bridge.sessions import (
    CreationLimit,
    Session,
    SessionMeta,
    SessionRefused,
    Sessions,
    read_number,
)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def session(ident: str, *, busy: bool = False) -> Session:
    made = Session(ident, ident, "/", ident)
    if busy:
        made.prompt = cast("Prompt", SimpleNamespace(is_answered=False))
    return made


def test_the_longest_idle_makes_room() -> None:
    """Use counts, and a busy session stays."""
    store = Sessions(3, 100)
    store.add(session("busy", busy=True))
    store.add(session("old"))
    store.add(session("used"))
    store.get("old")
    store.add(session("new"))
    assert [store.get(i) is not None for i in ("busy", "old", "used", "new")] == [
        True,
        True,
        False,
        True,
    ]


def test_idle_sessions_are_forgotten_at_the_next_creation() -> None:
    """After their time, all that are not busy."""
    clock = Clock()
    store = Sessions(10, 100, clock=clock)
    for ident in ("a", "b"):
        store.add(session(ident))
    store.add(session("c", busy=True))
    clock.now = 100
    store.add(session("d"))
    assert len(store) == 2


def test_a_store_of_busy_sessions_refuses() -> None:
    """In the original's words; the same id again takes no room."""
    store = Sessions(1, 100)
    store.add(session("a", busy=True))
    store.add(session("a", busy=True))
    with pytest.raises(SessionRefused, match=r"session limit reached \(max 1\)"):
        store.add(session("b"))


def test_unknown_sessions_are_named() -> None:
    """The error says which."""
    with pytest.raises(SessionRefused, match="Session nope not found"):
        Sessions(1, 1).require("nope")


def test_creations_are_limited_in_a_fixed_window() -> None:
    """So many, then a refusal that says when to come again, then anew."""
    clock = Clock()
    limit = CreationLimit(2, 10, clock=clock)
    limit.take("session/new")
    clock.now = 9.5
    limit.take("session/new")
    with pytest.raises(SessionRefused, match="exceeded for session/load; retry after 1s"):
        limit.take("session/load")
    clock.now = 10
    limit.take("session/new")


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"sessionKey": " k ", "key": "x"}, SessionMeta(key="k")),
        ({"sessionKey": " ", "session": 5, "key": "x"}, SessionMeta(key="x")),
        ({"label": "l", "reset": True}, SessionMeta(label="l", reset=True)),
        ({"resetSession": "yes", "requireExisting": False}, SessionMeta(require_existing=False)),
        ({"prefixCwd": False}, SessionMeta(prefix_cwd=False)),
        ("no object", SessionMeta()),
    ],
)
def test_meta(meta: Any, expected: SessionMeta) -> None:
    """The first of the names that is there and of the right type."""
    assert SessionMeta.of({"_meta": meta}) == expected


def test_numbers_are_finite() -> None:
    """NaN and booleans are none."""
    assert read_number({"limit": float("nan"), "pageSize": 5}, "limit", "pageSize") == 5
    assert read_number({"limit": True}, "limit") is None
