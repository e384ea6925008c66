"""Pictures of the live chat in its states, light and dark, to be looked at."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.fixtures import OpenNotebook
from tests.e2e.notebook import READY_MS
from tests.e2e.panel import Panel

pytestmark = pytest.mark.e2e

CHAT = "import acp_notebook\nchat = acp_notebook.Chat('explorer')\nchat"


def test_the_states_of_a_chat_have_their_pictures(open_notebook: OpenNotebook) -> None:
    """Empty, streaming, asking, done, and gone: each state is drawn in both themes, without a fault."""
    notebook = open_notebook([CHAT])

    def take(state: str) -> None:
        for theme in ("dark", "light"):
            notebook.set_theme(theme)
            expect(notebook.page.locator("#jupyterlab-splash")).to_have_count(0)
            notebook.screenshot(f"widget-{state}-{theme}", of=panel.root)

    notebook.run(0)
    panel = Panel(notebook).ready()
    take("empty")
    panel.send("/demo slow")
    panel.shows("Code:")
    take("streaming")
    expect(panel.button("Write it").first).to_be_visible(timeout=READY_MS)
    take("asking")
    panel.button("Write it").first.click()
    panel.shows("holds them all as data")
    panel.settles()
    take("done")
    panel.root.locator(".acp-scroller").evaluate("node => node.scrollTo(0, 500)")
    take("middle")
    notebook.restart_kernel()
    expect(panel.root).to_contain_text("The kernel is gone", timeout=READY_MS)
    take("gone")
    notebook.screenshot("widget-gone-page")

    assert [] == notebook.page_errors
