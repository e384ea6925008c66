"""Media lines: what is one, what is not, and that nothing else of a text is touched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.bridge.media import MediaLines, media_link


def link(reference: str) -> dict[str, Any] | None:
    return media_link(reference, "/proj", "/home/me")


@pytest.mark.parametrize(
    ("reference", "uri", "name"),
    [
        ("/a/b c.png", "file:///a/b%20c.png", "b c.png"),
        ("~/x.png", "file:///home/me/x.png", "x.png"),
        ("out/plot.png", "file:///proj/out/plot.png", "plot.png"),
        ("./plot.png", "file:///proj/plot.png", "plot.png"),
        ("file:///a%20b.png", "file:///a%20b.png", "a b.png"),
        ("https://x.org/a%20b.png?q=1", "https://x.org/a%20b.png?q=1", "a b.png"),
        ("/ü/日.png", "file:///%C3%BC/%E6%97%A5.png", "日.png"),
    ],
)
def test_references(reference: str, uri: str, name: str) -> None:
    """Local paths, home, cwd-relative ones, file and http(s) URLs."""
    found = link(reference)
    assert found is not None
    assert (found["type"], found["uri"], found["name"]) == ("resource_link", uri, name)


@pytest.mark.parametrize(
    "reference",
    ["", "../out.png", "data:image/png;base64,aGk=", "ftp://x/y", "a\0b", "/" + "x" * 5000],
)
def test_no_references(reference: str) -> None:
    """Other schemes, what leaves the working directory, what is too long."""
    assert link(reference) is None


def split(text: str, cuts: list[int] | None = None) -> list[str]:
    """The pieces in order, links as their uri in brackets."""
    lines, out = MediaLines(link), []
    pieces = [text]
    for cut in sorted(set(cuts or ()), reverse=True):
        if 0 < cut < len(text):
            pieces[0:1] = [pieces[0][:cut], pieces[0][cut:]]
    for piece in pieces:
        out += lines.feed(piece)
    out += lines.end()
    shown: list[str] = []
    for piece in out:
        text = piece if isinstance(piece, str) else f"<{piece['uri']}>"
        if shown and isinstance(piece, str) and not shown[-1].startswith("<"):
            shown[-1] += text
        else:
            shown.append(text)
    return shown


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("MEDIA:/a.png", ["<file:///a.png>"]),
        ("  media: `/a b.png`  ", ["<file:///a%20b.png>"]),
        ('Media:"/a b.png"\nrest', ["<file:///a%20b.png>", "rest"]),
        ("see MEDIA:/a.png", ["see MEDIA:/a.png"]),
        ("MEDIA:/a.png /b.png", ["MEDIA:/a.png /b.png"]),
        ("MEDIA:/a b.png", ["MEDIA:/a b.png"]),
        ("MEDIA:", ["MEDIA:"]),
        ("MEDIUM", ["MEDIUM"]),
        ("```\nMEDIA:/a\n```\nMEDIA:/b", ["```\nMEDIA:/a\n```\n", "<file:///b>"]),
        ("````\n```\nMEDIA:/a\n````\n", ["````\n```\nMEDIA:/a\n````\n"]),
        ("~~~\nMEDIA:/a", ["~~~\nMEDIA:/a"]),
        ("a\n\nMEDIA:/b\n\nc", ["a\n\n", "<file:///b>", "\nc"]),
    ],
)
def test_lines(text: str, pieces: list[str]) -> None:
    """A whole line, one reference, outside a fence."""
    assert split(text) == pieces


@given(
    st.lists(
        st.sampled_from(
            ["MEDIA:/a.png", "media: x", "```", "text", " MEDIA:", "", "~~~", "MEDIA:/b c"]
        )
    ),
    st.lists(st.integers(0, 60)),
)
def test_cuts_change_nothing(lines: list[str], cuts: list[int]) -> None:
    """However the text is cut into deltas, the pieces are the same."""
    text = "\n".join(lines)
    assert split(text, cuts) == split(text)


@given(st.text(alphabet="MEDIAmedia:/` \n~x"), st.lists(st.integers(0, 40)))
def test_nothing_but_media_lines_is_lost(text: str, cuts: list[int]) -> None:
    """Without a link for anything, the text comes out as it went in."""
    lines, out = MediaLines(lambda _reference: None), []
    at = 0
    for cut in [*sorted(c for c in cuts if c < len(text)), len(text)]:
        out += lines.feed(text[at:cut])
        at = max(at, cut)
    out += lines.end()
    assert "".join(piece for piece in out if isinstance(piece, str)) == text


def test_ordinary_text_is_not_held() -> None:
    """Only a line that may still become a media line waits for its end."""
    lines = MediaLines(link)
    assert lines.feed("Hel") == ["Hel"]
    assert lines.feed("lo\nM") == ["lo\n"]
    assert lines.feed("ore") == ["More"]
    assert lines.feed("\n  med") == ["\n"]
    assert lines.feed("al") == ["  medal"]
