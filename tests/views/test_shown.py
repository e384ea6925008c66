"""Text as it may be shown: escape codes, control characters, the home folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.views.shown import Home, drawn, seen


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31merror:\x1b[0m x", "error: x"),
        ("\x1b[2J\x1b[Ha\x1b[Kb", "ab"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x1b]0;never ended", ""),
        ("\x1b(Ba\x1b7b\x9b1mc", "abc"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("abc\rx", "xbc"),
        ("ab\b\bx", "xb"),
        ("\bx", "x"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\tb\n", "a\tb\n"),
        ("a\x00\x07\x7f\x85b", "ab"),
        ("\x1b", ""),
        ("line\nother\rx", "line\nxther"),
    ],
)
def test_drawn_is_what_a_terminal_leaves(text, shown):
    """Without colours and codes."""
    assert drawn(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a\u241b[31mb"),
        ("a\x00\x7f\x9b", "a\u2400\u2421\ufffd"),
        ("a\r\nb\rc", "a\nb\u240dc"),
        ("a\tb\n", "a\tb\n"),
    ],
)
def test_seen_shows_that_an_escape_is_there(text, shown):
    """With no effect."""
    assert seen(text) == shown


@given(st.text(alphabet="ab\x1b[]m0;\\\x07\r\n\b\x9b\x00"))
def test_nothing_that_acts_is_left(text):
    """Of any mixture."""
    for shown in (drawn(text), seen(text)):
        assert not set(shown) & set("\x1b\x07\r\b\x9b\x00")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/me/x", "~/x"),
        ("in /home/me. And /home/me.old", "in ~. And /home/me.old"),
        ("in /home/me, and", "in ~, and"),
        ("file:///home/me/x", "file://~/x"),
        ("/home/me2/x /mnt/home/me/x /home/me-too", "/home/me2/x /mnt/home/me/x /home/me-too"),
        ('"/home/me"', '"~"'),
    ],
)
def test_the_home_folder_is_a_tilde(text, shown):
    """As a whole path only."""
    assert Home("/home/me/").short(text) == shown


def test_other_spellings_of_home():
    """In a uri, and of Windows; a root is no home."""
    assert Home("/home/a b").short("/home/a%20b/x /home/a b/y") == "~/x ~/y"
    assert Home("/home/a b").short("open?at=%2Fhome%2Fa%20b") == "open?at=~"
    assert Home("/home/o'b").short("/home/o&#x27;b/x") == "~/x"
    assert Home("C:\\Users\\me").short('{"in": "C:\\\\Users\\\\me"}') == '{"in": "~"}'
    assert Home("C:\\Users\\me").short("C:\\Users\\me\\x C:/Users/me/y") == "~\\x ~/y"
    assert Home("/").short("/a/b") == "/a/b"
    assert Home().short(f"{Path.home()}/x") == "~/x"
