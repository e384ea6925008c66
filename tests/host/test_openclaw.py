"""What a chat with OpenClaw does differently: commands, servers, titles."""

from __future__ import annotations

from typing import Any

import pytest

from acp_notebook.host import openclaw

NAME = openclaw.AGENT_NAME


@pytest.mark.parametrize(
    ("text", "meta"),
    [
        ("/status", {"_meta": {"prefixCwd": False}}),
        ("  /think low", {"_meta": {"prefixCwd": False}}),
        ("what is /tmp?", {}),
        ("", {}),
    ],
)
def test_commands_go_without_the_directory_line(text: str, meta: dict[str, Any]) -> None:
    """Only for OpenClaw, and only what begins with a slash."""
    blocks = [{"type": "resource_link", "uri": "file:///a"}, {"type": "text", "text": text}]
    assert openclaw.prompt_meta(NAME, blocks) == meta
    assert openclaw.prompt_meta("another", blocks) == {}


@pytest.mark.parametrize(
    ("title", "real"),
    [
        ("[Working directory: /a b/c] Plot it", "Plot it"),
        ("[Working directory: /a/very/lo…", None),
        ("[Working directory: /a]", None),
        ("ACP", None),
        ("529d8870 (2026-11-30)", None),
        ("11111111 (2026-11-30)", "11111111 (2026-11-30)"),
        ("Working directory", "Working directory"),
        ("", None),
        (None, None),
    ],
)
def test_titles(title: str | None, real: str | None) -> None:
    """The bridge's line, name and placeholder are no title; a person's words are left alone."""
    assert openclaw.real_title(NAME, title, "agent:main:529d8870-aaaa") == real
    assert openclaw.real_title("another", title, "x") == (title or None)
