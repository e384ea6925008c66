"""Growing text: surrogate pairs, shared prefixes, cost by what was added."""

from __future__ import annotations

import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.timeline.text import GAP, Text, TextBuffer, head_and_tail, valid
from tests.timeline.updates import folded, message

# Text as a careless encoder may send it: with halves of surrogate pairs.
CODES = st.one_of(
    st.sampled_from("ab \n"),
    st.sampled_from("é€😀"),
    st.integers(0xD800, 0xDFFF).map(chr),
)
PIECES = st.lists(st.lists(CODES, min_size=1, max_size=4).map("".join), max_size=8)


def repaired(text):
    """Say what valid text this is, unit by unit."""
    units = text.encode("utf-16-le", "surrogatepass")
    pairs = [units[i : i + 2] for i in range(0, len(units), 2)]
    found, at = "", 0
    while at < len(pairs):
        unit = int.from_bytes(pairs[at], "little")
        low = int.from_bytes(pairs[at + 1], "little") if at + 1 < len(pairs) else 0
        if 0xD800 <= unit <= 0xDBFF and 0xDC00 <= low <= 0xDFFF:
            found += (pairs[at] + pairs[at + 1]).decode("utf-16-le")
            at += 2
            continue
        found += "\ufffd" if 0xD800 <= unit <= 0xDFFF else chr(unit)
        at += 1
    return found


@given(st.lists(CODES).map("".join))
def test_valid_text_joins_pairs_and_replaces_halves(text):
    """Every result can be written as UTF-8."""
    assert valid(text) == repaired(text)
    valid(text).encode()


@given(PIECES, st.lists(st.booleans(), min_size=8, max_size=8))
def test_a_text_does_not_depend_on_when_it_is_looked_at(pieces, looks):
    """Splits between flushes change nothing; each look is a prefix of the next, of one origin."""
    buffer, seen = TextBuffer(), []
    for piece, look in zip(pieces, looks, strict=False):
        buffer.pending.append(piece)
        if look:
            seen.append(buffer.text())
    waits = buffer.waits()
    buffer.close()
    end = buffer.text()
    assert str(end) == repaired("".join(pieces))
    assert waits == ("\ud800" <= "".join(pieces)[-1:] <= "\udbff")
    for old, new in pairwise([*seen, end]):
        assert new.origin is old.origin
        assert str(old) + new.since(old.length) == str(new)
        assert old.length == len(str(old))
        assert old.blank == (not str(old).strip())


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=8), st.data())
def test_since_is_the_rest_from_any_place(pieces, data):
    """Cut inside a piece or between two, joined before or not."""
    buffer = TextBuffer()
    for piece in pieces:
        buffer.pending.append(piece)
        buffer.text()
    text = buffer.text()
    place = data.draw(st.integers(0, text.length))
    joined = "".join(pieces)
    assert text.since(place) == joined[place:]
    assert str(text) == joined
    assert text.since(place) == joined[place:]


def test_an_older_text_stays_what_it_was():
    """Texts are frozen: later pieces are not in it."""
    buffer = TextBuffer()
    texts = []
    for piece in "abcd":
        buffer.pending.append(piece)
        texts.append(buffer.text())
    assert [str(text) for text in texts] == ["a", "ab", "abc", "abcd"]
    assert [text.since(1) for text in texts] == ["", "b", "bc", "bcd"]
    buffer.pending.append("e")
    fresh = buffer.text()
    assert (fresh.since(5), fresh.since(9)) == ("", "")


def test_nothing_appended_is_the_same_text():
    """A look without news makes no object."""
    buffer = TextBuffer()
    buffer.pending.append("a")
    first = buffer.text()
    assert buffer.text() is first
    buffer.pending.append("\ud83d")
    assert buffer.text() is first
    buffer.pending.append("\ude00")
    assert str(buffer.text()) == "a😀"


def test_a_part_that_only_waits_is_the_same_part():
    """Half a character is no news for a view."""
    timeline = folded(message("a", "m"))
    before = timeline.snapshot().items[0].parts[0]
    timeline.apply(message("\ud83d", "m"))
    assert timeline.snapshot().items[0].parts[0] is before


def test_closing_twice_changes_nothing():
    """Half a character is given up once."""
    buffer = TextBuffer()
    buffer.pending.append("a\ud83d")
    buffer.text()
    buffer.close()
    buffer.close()
    assert str(buffer.text()) == "a\ufffd"


@pytest.mark.parametrize(
    ("old", "new", "grows"),
    [("a", "ab", True), ("a", "a", True), ("a", "b", False), ("ab", "a", False), ("", "a", False)],
)
def test_a_text_grows_to_one_that_begins_with_it(old, new, grows):
    """Then the rest is appended; else another text is made."""
    buffer = TextBuffer(Text.of(old))
    assert buffer.grows_to(new) is grows
    assert str(buffer.text()) == (new if grows else old)


def test_a_text_that_waits_does_not_grow():
    """The half it waits for would come twice."""
    buffer = TextBuffer()
    buffer.pending.append("a\ud83d")
    assert not buffer.grows_to("a😀")


def test_texts_are_equal_by_content():
    """Whatever they are made of; also after pickling."""
    buffer = TextBuffer()
    for piece in "ab":
        buffer.pending.append(piece)
        grown = buffer.text()
    assert grown == Text.of("ab")
    assert hash(grown) == hash(Text.of("ab"))
    assert grown != Text.of("abc")
    assert grown != Text.of("ba")
    assert grown != "ab"
    assert pickle.loads(pickle.dumps(grown)) == grown
    assert repr(grown) == "Text('ab')"
    assert grown == buffer.text()


def test_a_whole_text_is_valid_and_its_own_origin():
    """Made from any string."""
    text = Text.of("a\ud800")
    assert (str(text), text.origin, text.blank) == ("a\ufffd", text, False)
    assert Text.of("").blank


def test_head_and_tail_leave_a_gap():
    """What is dropped is said."""
    assert head_and_tail("abcdefgh", 2) == f"ab{GAP}gh"
