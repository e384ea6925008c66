"""Titles, lineage, modes, options, usage and cursors of gateway rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.bridge import presentation, rows

CWD = "[Working directory: /workspace/project] "


@pytest.mark.parametrize(
    ("row", "first", "title"),
    [
        ({"derivedTitle": CWD + "Remember me.…"}, "", "Remember me.…"),
        ({"derivedTitle": CWD.strip(), "label": "L"}, "", "L"),
        ({"derivedTitle": "[Working directory: /very/lo…"}, "The first prompt", "The first prompt"),
        ({"derivedTitle": "[Working directory: /very/lo…"}, "", "key"),
        ({"derivedTitle": "d9e09a7f (2026-11-30)", "sessionId": "d9e09a7f-1344"}, "Hi", "Hi"),
        (
            {"derivedTitle": "d9e09a7f (2026-11-30)", "sessionId": "other"},
            "",
            "d9e09a7f (2026-11-30)",
        ),
        ({"displayName": "ACP"}, "", "key"),
        ({"displayName": "Telegram"}, "Hi", "Telegram"),
        ({}, "a  long\n" * 30, ("a long " * 30)[:59] + "…"),
        ({"derivedTitle": 5}, "", "key"),
    ],
)
def test_titles(row: dict[str, Any], first: str, title: str) -> None:
    """Never the directory line, a placeholder or our own name; then the first prompt, then the key."""
    assert presentation.session_info({"key": "key", **row}, "key", first)["title"] == title


def test_lineage() -> None:
    """What a row says of its family, with unknown values left out."""
    row = {
        "key": "agent:main:sub",
        "kind": "direct",
        "channel": "webchat",
        "spawnedBy": "agent:main:main",
        "spawnDepth": 1,
        "subagentRole": "leaf",
        "subagentControlScope": "world",
        "spawnedCwd": "/w",
        "updatedAt": 1796053330777,
    }
    assert presentation.session_info(row, "k") == {
        "title": "k",
        "updatedAt": "2026-11-30T15:42:10.777Z",
        "_meta": {
            "sessionKey": "agent:main:sub",
            "kind": "direct",
            "channel": "webchat",
            "parentSessionId": "agent:main:main",
            "spawnedBy": "agent:main:main",
            "spawnDepth": 1,
            "subagentRole": "leaf",
            "spawnedCwd": "/w",
        },
    }


def test_an_unknown_session_is_the_default_one() -> None:
    """Title and key are ours, the mode adaptive, the usage unknown."""
    shown = presentation.snapshot(None, "acp-bridge:x")
    assert shown.info == {
        "title": "acp-bridge:x",
        "updatedAt": None,
        "_meta": {"sessionKey": "acp-bridge:x", "kind": "unknown"},
    }
    assert shown.modes["currentModeId"] == "adaptive"
    assert [m["id"] for m in shown.modes["availableModes"]] == [
        "off",
        "minimal",
        "low",
        "medium",
        "high",
        "adaptive",
    ]
    assert [u["sessionUpdate"] for u in shown.info_updates] == ["session_info_update"]
    assert {o["id"]: o["currentValue"] for o in shown.config_options} == {
        "thought_level": "adaptive",
        "fast_mode": "off",
        "verbose_level": "off",
        "trace_level": "off",
        "reasoning_level": "off",
        "response_usage": "off",
        "elevated_level": "off",
    }


def test_a_row_shows_its_levels() -> None:
    """Modes are the model's own; what was just patched wins."""
    row = {
        "thinkingLevels": [{"id": "off"}, {"id": "xhigh"}, 5],
        "thinkingLevel": "xhigh",
        "effectiveFastMode": True,
        "totalTokens": 200,
        "totalTokensFresh": True,
        "contextTokens": 100,
    }
    shown = presentation.snapshot(row, "k", patched={"verboseLevel": "full"})
    assert [(m["id"], m["name"]) for m in shown.modes["availableModes"]] == [
        ("off", "Off"),
        ("xhigh", "Extra High"),
    ]
    values = {o["id"]: o["currentValue"] for o in shown.config_options}
    assert (values["fast_mode"], values["verbose_level"]) == ("on", "full")
    assert shown.usage is not None
    assert (shown.usage["used"], shown.usage["size"]) == (100, 100)


@pytest.mark.parametrize(
    "row", [{"totalTokensFresh": False}, {"contextTokens": 0}, {"totalTokens": None}]
)
def test_stale_usage_is_not_shown(row: dict[str, Any]) -> None:
    """Only fresh numbers of a known context."""
    whole = {"totalTokens": 1, "totalTokensFresh": True, "contextTokens": 10, **row}
    assert presentation.snapshot(whole, "k").usage is None


@pytest.mark.parametrize(
    ("option", "value", "patch"),
    [
        ("thought_level", "low", {"thinkingLevel": "low"}),
        ("fast_mode", "on", {"fastMode": True}),
        ("fast_mode", "auto", {"fastMode": "auto"}),
        ("elevated_level", "ask", {"elevatedLevel": "ask"}),
        ("timeout", "60", None),
    ],
)
def test_options_become_patches(option: str, value: str, patch: dict[str, Any] | None) -> None:
    """Each of the seven sets one field; two are accepted and set nothing."""
    assert presentation.patch_of(option, value) == patch


def test_other_options_are_refused() -> None:
    """In the original's words."""
    with pytest.raises(ValueError, match='does not support session config option "nope"'):
        presentation.patch_of("nope", "x")
    with pytest.raises(ValueError, match="Unsupported fast mode value: sideways"):
        presentation.patch_of("fast_mode", "sideways")


def test_cursors_are_the_originals() -> None:
    """The same text for the same page, and back."""
    assert presentation.encode_cursor(1, None) == "eyJ2IjoxLCJvZmZzZXQiOjF9"
    assert presentation.decode_cursor(presentation.encode_cursor(7, "/é")) == (7, "/é")


@pytest.mark.parametrize(
    ("cursor", "said"),
    [
        ("garbage", "Invalid ACP session list cursor"),
        ("W10", "Invalid ACP session list cursor"),
        ("eyJ2IjoyLCJvZmZzZXQiOjF9", "Unsupported"),
        ("eyJ2IjoxLCJvZmZzZXQiOi0xfQ", "offset"),
        ("eyJ2IjoxLCJvZmZzZXQiOjEwMDAxfQ", "offset"),
        ("eyJ2IjoxLCJvZmZzZXQiOnRydWV9", "offset"),
    ],
)
def test_foreign_cursors_are_refused(cursor: str, said: str) -> None:
    """Each with its own words."""
    with pytest.raises(ValueError, match=said):
        presentation.decode_cursor(cursor)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "thinkingLevels",
                "updatedAt",
                "totalTokens",
                "contextTokens",
                "totalTokensFresh",
                "fastMode",
                "label",
                "subagentRole",
                "spawnDepth",
            ]
        ),
        st.none()
        | st.booleans()
        | st.floats()
        | st.text()
        | st.lists(st.integers())
        | st.dictionaries(st.text(), st.text()),
    )
)
def test_any_row_is_presented(row: dict[str, Any]) -> None:
    """Whatever a gateway lists, a snapshot comes of it."""
    presentation.snapshot(row, "key")


@pytest.mark.parametrize(
    ("keys", "asked", "found"),
    [
        (["agent:main:k", "k"], "k", "k"),
        (["agent:main:k"], "k", "agent:main:k"),
        (["agent:main:acp-bridge:id"], "id", "agent:main:acp-bridge:id"),
        (["agent:main:k", "agent:other:k"], "k", None),
        (["agent:main:kk"], "k", None),
    ],
)
def test_rows_are_found_by_the_key_they_stand_for(
    keys: list[str], asked: str, found: str | None
) -> None:
    """The exact key, else the only canonical one."""
    row = rows.row_of([{"key": key} for key in keys], asked)
    assert (row and row["key"]) == found
