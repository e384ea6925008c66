"""What the page costs in Chromium, each beside the cheapest thing that could work, in one run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.fixtures import browser
from tests.e2e.page import OpenScene, gallery, open_scene

__all__ = ["browser", "gallery", "open_scene"]

pytestmark = pytest.mark.timeout(300)


def run(open_scene: OpenScene, call: str) -> Any:
    """The result of one of `js/dev/bench.ts`."""
    page = open_scene("empty")
    return page.evaluate(f"() => bench.{call}")


def test_opening_two_thousand_items(open_scene: OpenScene) -> None:
    """A session of 2,000 items shows its end within 1.3 times what plain elements of all of it cost."""
    found = run(open_scene, "opening()")
    print(
        f"\nopening 2,000 items: plain elements {found['plain']:.0f} ms, end shown {found['shown']:.0f} ms"
        f" ({found['shown'] / found['plain']:.2f}x), all drawn when idle after {found['whole']:.0f} ms"
    )
    assert 1.3 >= found["shown"] / found["plain"]


def test_one_delta_at_two_thousand_items(open_scene: OpenScene) -> None:
    """One delta costs at most a twentieth of a full rebuild, layout included, and keeps all other nodes."""
    found = run(open_scene, "delta(60)")
    print(
        f"\none delta at 2,000 items: rebuild {found['rebuild']:.1f} ms, ours {found['ours']:.2f} ms"
        f" (1/{found['rebuild'] / found['ours']:.0f})"
    )
    assert found["kept"]
    assert 1 / 20 >= found["ours"] / found["rebuild"]


def test_a_streamed_message(open_scene: OpenScene) -> None:
    """100 KB in 12-character deltas, eight a frame, cost at most ten full parses."""
    found = run(open_scene, "stream()")
    print(
        f"\n100 KB streamed: one full parse {found['full']:.1f} ms, ours {found['ours']:.0f} ms"
        f" ({found['ours'] / found['full']:.1f}x)"
    )
    assert 10 >= found["ours"] / found["full"]


def test_five_hundred_updates_a_second(open_scene: OpenScene) -> None:
    """Under 500 updates a second the longest frame stays near that of an idle page."""
    page = open_scene("empty")
    idle = page.evaluate("() => bench.load(0, 5)")
    busy = page.evaluate("() => bench.load(500, 60)")
    print(f"\nlongest frame: idle {idle:.0f} ms, 500 updates/s for 60 s {busy:.0f} ms")
    assert 10 >= busy / max(idle, 34)
