"""When a view is flushed."""

from __future__ import annotations

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.widget.pacing import INTERVAL_S, MAX_SENDS, WINDOW_S, Pace


def test_the_first_change_goes_out_at_once():
    """A change after quiet does not wait, whether urgent or not."""
    pace = Pace()
    assert 5.0 == pace.due(5.0, urgent=False)
    pace.sent(5.0)
    assert 9.0 == pace.due(9.0, urgent=False)


def test_a_stream_is_sent_together():
    """A change right after a message waits for the rest of the interval."""
    pace = Pace()
    pace.sent(5.0)
    assert 5.0 + INTERVAL_S == pace.due(5.01, urgent=False)


def test_an_urgent_change_does_not_wait():
    """An urgent change in a stream goes out at once."""
    pace = Pace()
    pace.sent(5.0)
    assert 5.01 == pace.due(5.01, urgent=True)


def test_a_flood_of_urgent_changes_is_bounded():
    """The message after the last allowed one of a second waits until the first leaves the window."""
    pace = Pace()
    for index in range(MAX_SENDS):
        pace.sent(5.0 + index / 1000)
    assert 5.0 + WINDOW_S == pace.due(5.1, urgent=True)


def test_an_urgent_change_finds_room_in_a_stream():
    """A second of plain streaming does not use up what is allowed."""
    assert WINDOW_S / INTERVAL_S < MAX_SENDS


@given(st.lists(st.tuples(st.floats(0, 0.1), st.booleans()), max_size=200))
def test_never_more_than_the_maximum_in_any_second(changes):
    """Whatever comes when, no window of a second holds more than the maximum."""
    pace, now, sends = Pace(), 0.0, []
    for gap, urgent in changes:
        now = max(now + gap, pace.due(now + gap, urgent=urgent))
        pace.sent(now)
        sends.append(now)
    for index, start in enumerate(sends):
        assert bisect_left(sends, start + WINDOW_S - 1e-9) - index <= MAX_SENDS
