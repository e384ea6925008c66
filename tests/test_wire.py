"""The framing: bytes to messages and back, whatever the cuts and whatever the bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.wire import MAX_DEPTH, BadLine, LineDecoder, Message, encode, parse_line


def frames(data, **options):
    """Return the frames of all these bytes."""
    decoder = LineDecoder(**options)
    return [*decoder.feed(data), *decoder.eof()]


def values(data, **options):
    """Return the messages of all these bytes."""
    return [frame.value for frame in frames(data, **options) if isinstance(frame, Message)]


class TestLines:
    """A line ends at LF, and nothing else ends one."""

    def test_a_message_and_its_size(self):
        """The bytes of its line."""
        assert frames(b'{"a":1}\n') == [Message({"a": 1}, 7)]

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (b'{"a":1}\r\n{"b":2}\r\n', [{"a": 1}, {"b": 2}]),
            (b'\xef\xbb\xbf{"a":1}\n', [{"a": 1}]),
            (b'\n \t\r\n{"a":1}\n\n', [{"a": 1}]),
            (b'{"a":1}\n{"b":2}', [{"a": 1}, {"b": 2}]),
            ('{"a":"x\u2028y\u2029z\x85"}\n'.encode(), [{"a": "x\u2028y\u2029z\x85"}]),
            (b'{"a":\r1}\n', [{"a": 1}]),
            (b"", []),
        ],
    )
    def test_what_is_dropped_and_what_is_kept(self, data, expected):
        """CR before LF, a byte order mark at the start, blank lines; a last line needs no LF."""
        assert values(data) == expected
        assert not [frame for frame in frames(data) if isinstance(frame, BadLine)]

    def test_a_mark_in_mid_stream_is_no_json(self):
        """Only the very first line may begin with one."""
        assert [type(f) for f in frames(b"{}\n\xef\xbb\xbf{}\n")] == [Message, BadLine]

    def test_a_mark_cut_in_two_is_known(self):
        """Bytes may be cut anywhere."""
        decoder = LineDecoder()
        assert decoder.feed(b"\xef") == []
        assert decoder.feed(b'\xbb\xbf{"a":1}\n') == [Message({"a": 1}, 10)]

    def test_pending_bytes_are_those_of_the_open_line(self):
        """For limits and diagnostics."""
        decoder = LineDecoder()
        decoder.feed(b'{}\n{"a"')
        assert decoder.pending_bytes == 4
        decoder.feed(b"")
        assert decoder.pending_bytes == 4
        decoder.feed(b":1}\n")
        assert decoder.pending_bytes == 0


class TestBadLines:
    """What is no message disturbs nothing around it."""

    @pytest.mark.parametrize(
        ("line", "text", "reason"),
        [
            (b"log text", "log text", "not-json"),
            (b"\x1b[31mred", "\x1b[31mred", "not-json"),
            (b'{"a":', '{"a":', "not-json"),
            (b"5", "5", "not-an-object"),
            (b"null", "null", "not-an-object"),
            (b'"a"', '"a"', "not-an-object"),
            (b"\xff\xfe", "\ufffd\ufffd", "not-json"),
        ],
    )
    def test_junk_stands_alone(self, line, text, reason):
        """Between two good messages."""
        found = frames(b'{"a":1}\n' + line + b'\n{"b":2}\n')
        assert found == [
            Message({"a": 1}, 7),
            BadLine(text, len(line), reason),
            Message({"b": 2}, 7),
        ]

    def test_a_torn_last_line(self):
        """The peer ended in mid-message."""
        assert frames(b'{"a":1}\n{"b"') == [Message({"a": 1}, 7), BadLine('{"b"', 4, "torn")]

    def test_a_last_line_that_is_no_object_is_not_torn(self):
        """It is whole, and no message."""
        assert frames(b"5") == [BadLine("5", 1, "not-an-object")]

    def test_a_batch_is_taken_apart(self):
        """Its members keep their order; what is none of them is a bad line."""
        assert frames(b'[{"a":1},5,{"b":2}]\n') == [
            Message({"a": 1}, 19),
            BadLine("5", 19, "not-an-object"),
            Message({"b": 2}, 19),
        ]
        assert frames(b"[]\n") == []

    @pytest.mark.parametrize("pieces", [1, 3, 1000, 100_000])
    def test_a_line_past_the_limit_is_dropped_alone(self, pieces):
        """Its head is told, however it came; a line at the limit passes."""
        long = b'{"a":"' + b"x" * 5000 + b'"}'
        data = b'{"b":1}\n' + long + b'\n{"c":2}\n'
        decoder, found = LineDecoder(max_line_bytes=len(long) - 1), []
        for at in range(0, len(data), pieces):
            found += decoder.feed(data[at : at + pieces])
        head = long[:1000].decode()
        assert found == [
            Message({"b": 1}, 7),
            BadLine(head, len(long), "too-long"),
            Message({"c": 2}, 7),
        ]
        assert len(values(data, max_line_bytes=len(long))) == 3

    def test_a_long_line_is_not_held(self):
        """Past the limit only its head is kept."""
        decoder = LineDecoder(max_line_bytes=10_000)
        for _ in range(1000):
            decoder.feed(b"x" * 1000)
        assert sum(map(len, decoder._pending)) <= 4000
        assert decoder.pending_bytes == 1_000_000
        assert decoder.eof() == [BadLine("x" * 1000, 1_000_000, "too-long")]

    @pytest.mark.parametrize("word", [b"1", rb'"\ud800"'], ids=["fast", "careful"])
    def test_deep_nesting_is_dropped(self, word):
        """Both parsers draw the line at the same depth below the message."""
        for depth, reason in (
            (MAX_DEPTH, None),
            (MAX_DEPTH + 1, "too-deep"),
            (100_000, "too-deep"),
        ):
            line = b'{"a":' + b"[" * depth + word + b"]" * depth + b"}"
            (found,) = frames(line + b"\n")
            assert getattr(found, "reason", None) == reason

    def test_deep_objects_are_dropped_too(self):
        """Dicts count as lists do."""
        line = b'{"a":' * 300 + b"1" + b"}" * 300
        assert [f.reason for f in parse_line(line, len(line))] == ["too-deep"]


class TestText:
    """Lone surrogates come in and go out."""

    def test_half_a_pair_is_read(self):
        """Node agents cut emoji in two."""
        assert values(rb'{"a":"\ud83d"}' + b"\n") == [{"a": "\ud83d"}]

    def test_bytes_that_are_no_utf8_are_replaced(self):
        """Inside a string."""
        assert values(b'{"a":"\xff"}\n') == [{"a": "\ufffd"}]

    def test_encode_writes_utf8(self):
        """One line, with its newline."""
        assert encode({"a": "é\n"}) == '{"a":"é\\n"}\n'.encode()

    def test_encode_escapes_half_a_pair(self):
        """It has no UTF-8."""
        assert encode({"a": "\ud83dé"}) == b'{"a":"\\ud83d\\u00e9"}\n'


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
messages = st.dictionaries(st.text(max_size=3), json_values, max_size=3)
lines = st.one_of(
    messages.map(encode),
    st.sampled_from([b"junk\n", b"\n", b"5\n", b"[1,{}]\n", b"\xff\xff\n", b'{"a":"\\ud800"}\n']),
    st.binary(max_size=8).map(lambda b: b + b"\n"),
)


@given(messages)
def test_what_is_encoded_is_decoded(message):
    """Back and forth is the same."""
    assert values(encode(message)) == [message]


@settings(deadline=None)
@given(st.lists(lines, max_size=8).map(b"".join), st.lists(st.integers(1, 40), max_size=20))
def test_cuts_change_nothing(data, cuts):
    """However the bytes are cut, the frames are the same."""
    whole = frames(data)
    decoder, found, at = LineDecoder(), [], 0
    for cut in cuts:
        found += decoder.feed(data[at : at + cut])
        at += cut
    found += decoder.feed(data[at:])
    assert [*found, *decoder.eof()] == whole


@given(st.binary())
def test_bytes_never_raise(data):
    """Each frame is a message or a bad line, and can be told."""
    for frame in frames(data):
        assert isinstance(frame, Message | BadLine)
        assert isinstance(frame.value if isinstance(frame, Message) else frame.text, dict | str)


@given(st.lists(messages, max_size=6))
def test_good_messages_pass_between_junk(sent):
    """Their order is kept."""
    data = b"".join(b"junk\n" + encode(message) + b"[5]\n" for message in sent)
    assert values(data) == sent
    assert json.loads(json.dumps(values(data))) == sent
