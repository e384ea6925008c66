"""Blocks, titles, kinds, contents and locations, as the original maps them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.bridge import mapping, outgoing
from acp_notebook.bridge.options import BridgeOptions
from acp_notebook.bridge.sessions import Session

BLOCKS = [
    {"type": "text", "text": "Look at these."},
    {"type": "resource", "resource": {"uri": "file:///n.md", "text": "embedded note"}},
    {"type": "resource_link", "uri": "file:///x y.txt", "name": "x", "title": "T (with) [b]\n"},
    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    {"type": "resource_link", "uri": "", "name": "x"},
    {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk="}},
]


def test_prompt_text() -> None:
    """Text, embedded text and links, a line each; other blocks add nothing."""
    assert mapping.prompt_text(BLOCKS, 1000) == (
        "Look at these.\nembedded note\n"
        r"[Resource link (T \(with\) \[b\]\n)] file:///x y.txt"
        "\n[Resource link] "
    ).rstrip(" ")
    assert mapping.attachments(BLOCKS) == [
        {"type": "image", "mimeType": "image/png", "content": "aGk="}
    ]


@pytest.mark.parametrize(
    ("texts", "limit", "fits"),
    [(["xx", "xx"], 5, True), (["xx", "xx"], 4, False), (["é"], 1, False), (["\ud800"], 3, True)],
)
def test_the_limit_counts_bytes_and_separators(texts: list[str], limit: int, fits: bool) -> None:
    """UTF-8 bytes of the blocks and the newlines between them."""
    blocks = [{"type": "text", "text": text} for text in texts]
    if fits:
        mapping.prompt_text(blocks, limit)
    else:
        with pytest.raises(mapping.PromptTooLarge, match=f"maximum allowed size of {limit} bytes"):
            mapping.prompt_text(blocks, limit)


def chat_send(
    text: str, meta: dict[str, Any] | None = None, session: Session | None = None, **fields: Any
) -> dict[str, Any]:
    options = BridgeOptions(url="ws://x", **fields)
    session = session or Session("acp-id", "key", "/home/me/proj", "acp-id")
    params = {"prompt": [{"type": "text", "text": text}], **({"_meta": meta} if meta else {})}
    return outgoing.chat_send(session, params, "run", options, "/home/me")


def test_chat_send_names_the_working_directory() -> None:
    """Home is `~`; the client, the session and the flag can say no, in this order."""
    line = "[Working directory: ~/proj]\n\nhi"
    assert chat_send("hi") == {"sessionKey": "key", "message": line, "idempotencyKey": "run"}
    assert chat_send("hi", {"prefixCwd": False})["message"] == "hi"
    assert chat_send("hi", {"prefixCwd": True}, prefix_cwd=False)["message"] == line
    assert chat_send("hi", prefix_cwd=False)["message"] == "hi"
    told = Session("a", "k", "/home/me", "a", prefix_cwd=False)
    assert chat_send("hi", session=told)["message"] == "hi"


def test_the_limit_counts_the_line_too() -> None:
    """Blocks that fit alone do not fit with the line."""
    with pytest.raises(mapping.PromptTooLarge):
        chat_send("x" * 100, max_prompt_bytes=100)
    assert len(chat_send("x" * 100, {"prefixCwd": False}, max_prompt_bytes=100)["message"]) == 100


def test_meta_becomes_parameters() -> None:
    """thinking, deliver and timeoutMs, when they are of the right type."""
    sent = chat_send("x", {"thinkingLevel": " low ", "deliver": False, "timeoutMs": 5000.0})
    assert (sent["thinking"], sent["deliver"], sent["timeoutMs"]) == ("low", False, 5000)
    bad = chat_send("x", {"thinking": 5, "deliver": "yes", "timeoutMs": -1})
    assert bad.keys() == {"sessionKey", "message", "idempotencyKey"}
    assert "timeoutMs" not in chat_send("x", {"timeoutMs": 1.5})


def test_provenance() -> None:
    """`meta` names the source; `meta+receipt` adds a block of text."""
    source = {
        "kind": "external_user",
        "originSessionId": "acp-id",
        "sourceChannel": "acp",
        "sourceTool": "openclaw_acp",
    }
    assert chat_send("x", provenance="meta")["systemInputProvenance"] == source
    receipt = chat_send("x", provenance="meta+receipt")["systemProvenanceReceipt"].splitlines()
    assert [receipt[0], receipt[1], *receipt[3:]] == [
        "[Source Receipt]",
        "bridge=openclaw-acp",
        "originCwd=~/proj",
        "acpSessionId=acp-id",
        "originSessionId=acp-id",
        "targetSession=key",
        "[/Source Receipt]",
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "title"),
    [
        ("exec", {"command": "a\tb\nc"}, r"exec: command: a\tb\nc"),
        ("read", {}, "read"),
        (None, {"n": 1, "deep": {"a": [1]}}, 'tool: n: 1, deep: {"a":[1]}'),
        ("w", {"t": "x" * 101}, "w: t: " + "x" * 100 + "..."),
        ("w", {"t": "\x00\x1b\u2028"}, r"w: t: \0\x1b\u2028"),
        ("w", "no object", "w"),
    ],
)
def test_tool_titles(name: str | None, arguments: Any, title: str) -> None:
    """Name and arguments, values cut at 100 characters, in one line."""
    assert mapping.tool_title(name, arguments) == title


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("read", "read"),
        ("apply_edit", "edit"),
        ("Write", "edit"),
        ("delete_file", "delete"),
        ("rename", "move"),
        ("web_search", "search"),
        ("exec", "execute"),
        ("bash", "execute"),
        ("web_fetch", "fetch"),
        ("image", "other"),
        (None, "other"),
    ],
)
def test_tool_kinds(name: str | None, kind: str) -> None:
    """By what the name contains."""
    assert mapping.tool_kind(name) == kind


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, 5]}, ["a"]),
        ({"content": [], "text": "t"}, ["t"]),
        ({"message": "m", "error": "e"}, ["m"]),
        ({"error": "e"}, ["e"]),
        ("plain", ["plain"]),
        ("  ", None),
        ({}, None),
        (None, None),
        ([1], None),
    ],
)
def test_tool_content(value: Any, texts: list[str] | None) -> None:
    """Text blocks, else the first of text, message, error."""
    content = mapping.tool_content(value)
    assert (content and [c["content"]["text"] for c in content]) == texts


@pytest.mark.parametrize(
    ("values", "locations"),
    [
        (({"path": "/a", "line": 3},), [{"path": "/a", "line": 3}]),
        (({"path": "/a"}, {"file_path": "/a", "startLine": 2.7}), [{"path": "/a", "line": 2}]),
        (({"path": "/a", "line": 2}, {"path": "/a"}), [{"path": "/a", "line": 2}]),
        (({"deep": {"a": [{"newPath": "b.txt"}]}},), [{"path": "b.txt"}]),
        (
            ({"content": [{"type": "text", "text": "ok\nFILE:/x\nMEDIA: /y"}]},),
            [{"path": "/x"}, {"path": "/y"}],
        ),
        (({"path": "file:///a%20b"},), [{"path": "/a b"}]),
        (({"path": "https://x/y"}, {"path": "a\nb"}, {"path": "x" * 5000}, {"path": " "}), None),
        (({"a": {"b": {"c": {"d": {"e": {"path": "/too/deep"}}}}}},), None),
        (({"line": True, "path": "/a"},), [{"path": "/a"}]),
        ((None, 5, []), None),
    ],
)
def test_tool_locations(values: tuple[Any, ...], locations: list[dict[str, Any]] | None) -> None:
    """Path-like keys and marked lines, bounded, each path once."""
    assert mapping.tool_locations(*values) == locations


@given(
    st.recursive(
        st.none() | st.floats() | st.text(),
        lambda c: (
            st.lists(c) | st.dictionaries(st.sampled_from(["path", "content", "line", "x"]), c)
        ),
        max_leaves=60,
    )
)
def test_any_tool_value_is_mapped(value: Any) -> None:
    """Whatever a tool returns, mapping does not raise."""
    mapping.tool_update("id", "completed", value)
    mapping.tool_start("id", "name", value)


@pytest.mark.parametrize(
    ("path", "shown"),
    [("/home/me", "~"), ("/home/me/a", "~/a"), ("/home/meg", "/home/meg"), ("/x", "/x")],
)
def test_home_is_shortened(path: str, shown: str) -> None:
    """Only the home folder itself and what is in it."""
    assert mapping.shorten_home(path, "/home/me") == shown
    assert mapping.shorten_home(path, "/") == path
