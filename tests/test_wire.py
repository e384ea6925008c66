"""Framing: the laws of the decoder, by hypothesis, and a table of odd lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.wire import BadLine, Frame, LineDecoder, Message, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(max_size=8), JSON, max_size=4)
LINES = st.binary(max_size=60) | OBJECTS.map(lambda o: encode(o).rstrip(b"\n"))


def decode(data: bytes, cuts: list[int], **options: Any) -> list[Frame]:
    """Feed the bytes in pieces."""
    decoder = LineDecoder(**options)
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    frames: list[Frame] = []
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        frames.extend(decoder.feed(data[start:end]))
    return frames + decoder.eof()


@given(st.lists(LINES, max_size=8), st.lists(st.integers(0, 10**6), max_size=8), st.booleans())
def test_the_cuts_do_not_matter(lines: list[bytes], cuts: list[int], ended: bool) -> None:
    """However the bytes are cut, the frames are the same, and nothing is raised."""
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    assert decode(data, cuts) == decode(data, [])


@given(st.lists(OBJECTS, max_size=6), st.lists(st.integers(0, 10**6), max_size=5))
def test_what_is_encoded_is_decoded(messages: list[dict], cuts: list[int]) -> None:
    """Messages come back as they were, in order, one line each."""
    data = b"".join(map(encode, messages))
    assert data.count(b"\n") == len(messages)
    assert [f.value for f in decode(data, cuts) if isinstance(f, Message)] == messages


@given(st.lists(LINES, max_size=6), OBJECTS)
def test_a_message_between_junk_is_found(junk: list[bytes], message: dict) -> None:
    """A message on a line of its own is decoded, whatever stands before and after."""
    marked = {"jsonrpc": "2.0", "marked": message}
    data = b"\n".join([*junk, encode(marked).rstrip(b"\n"), *junk]) + b"\n"
    assert marked in [f.value for f in decode(data, []) if isinstance(f, Message)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1}\n', [{"a": 1}]),
        (b'\xef\xbb\xbf{"a":1}\r\n\r\n\n  {"b":2}', [{"a": 1}, {"b": 2}]),
        ('{"a":"x\u2028y\u0085z"}\n'.encode(), [{"a": "x\u2028y\u0085z"}]),
        (b'[{"a":1},2,{"b":2}]\n', [{"a": 1}, "not-an-object", {"b": 2}]),
        (b"[]\n", []),
        (b"7\nnull\n", ["not-an-object", "not-an-object"]),
        (b"INFO starting\n{\n", ["not-json", "not-json"]),
        (b'{"a":"\xff"}\n', [{"a": "\ufffd"}]),
        (b'{"a":"\\ud83d"}\n', [{"a": "\ud83d"}]),
        (b'{"half', ["torn"]),
        (b'{"a":' * 300 + b"1" + b"}" * 300 + b"\n", ["too-deep"]),
        (b"[" * 100_000 + b"\n", ["too-deep"]),
    ],
)
def test_odd_lines(data: bytes, expected: list[Any]) -> None:
    """What each odd line becomes; a reason in place of a message that it is not."""
    frames = decode(data, [])
    assert [f.value if isinstance(f, Message) else f.reason for f in frames] == expected


@given(st.integers(1, 300), st.lists(st.integers(0, 10**6), max_size=4))
def test_a_line_past_the_limit_is_dropped_alone(size: int, cuts: list[int]) -> None:
    """A line that is too long is named with its size, and its neighbours are decoded."""
    long = json.dumps({"x": "y" * (100 + size)}).encode()
    data = encode({"a": 1}) + long + b"\n" + encode({"b": 2})
    first, bad, last = decode(data, cuts, max_line_bytes=100)
    assert (first.value, last.value) == ({"a": 1}, {"b": 2})
    assert isinstance(bad, BadLine)
    assert (bad.reason, bad.size, long.decode().startswith(bad.text)) == (
        "too-long",
        len(long),
        True,
    )


def test_a_line_past_the_limit_is_not_held() -> None:
    """While a line that is too long goes on, only its head is in memory."""
    decoder = LineDecoder(max_line_bytes=1000)
    for _ in range(1000):
        assert decoder.feed(b"x" * 1000) == []
    assert decoder.pending_bytes == 1_000_000
    assert sum(map(len, decoder._pending)) < 10_000
