"""A chat in JupyterLab, where views, reloads and restarts meet; test_chat.py has the main job."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.e2e.fixtures import OpenNotebook
from tests.e2e.notebook import READY_MS
from tests.e2e.panel import STOP, Panel

pytestmark = pytest.mark.e2e

CHAT = "import acp_notebook\nchat = acp_notebook.Chat('explorer')\nchat"
TEXTS = "print('\\n'.join(turn.text for turn in chat.turns))"
KEPT_DRAFT = """
import time
deadline = time.monotonic() + 20
while not chat._session.state.draft.endswith("thought") and time.monotonic() < deadline:
    time.sleep(0.05)
chat._session.state.draft.endswith("thought")
"""


def test_a_page_reloaded_in_mid_stream_goes_on_with_the_whole_timeline(
    open_notebook: OpenNotebook,
) -> None:
    """After a reload during a turn everything is there, goes on, and equals what the kernel has."""
    notebook = open_notebook([CHAT, TEXTS])
    notebook.run(0)
    panel = Panel(notebook).ready()
    panel.send("hello before")
    panel.shows("only a model could answer it")
    panel.settles()
    panel.send("/demo slow")
    panel.shows("A thought is what")
    notebook.reload()
    panel = Panel(notebook)
    panel.shows("hello before")
    expect(panel.button(STOP)).to_be_visible(timeout=READY_MS)
    panel.button("Write it").first.click(timeout=READY_MS)
    panel.shows("holds them all as data")
    panel.settles()
    panel.ready()
    notebook.run(1)

    said = re.sub(r"\W+", "", notebook.output(1).inner_text())
    shown = re.sub(r"\W+", "", panel.root.locator(".acp-timeline").text_content() or "")
    assert "onlyamodelcouldansweritholdthemall" not in said
    assert said[-40:] in shown
    assert [] == notebook.page_errors


def test_two_views_stay_in_step(open_notebook: OpenNotebook) -> None:
    """What is sent in one view streams in both, and a click in one answers for both."""
    notebook = open_notebook([CHAT, "chat.widget"])
    notebook.run(0)
    first = Panel(notebook).ready()
    first.send("hello one")
    first.shows("only a model could answer it")
    first.settles()
    notebook.run(1)
    second = Panel(notebook, 1).ready()
    second.shows("hello one")
    second.send("/demo instant")
    first.permission.first.scroll_into_view_if_needed(timeout=READY_MS)
    first.button("Write it").first.click()
    for panel in (first, second):
        panel.shows("holds them all as data")
        panel.settles()
        expect(panel.button("Write it")).to_have_count(0)

    assert first.conversation() == second.conversation()


def test_keys_typed_in_the_panel_do_not_reach_the_notebook(open_notebook: OpenNotebook) -> None:
    """Keys that are commands of the notebook are text in the composer; no cell is made or deleted."""
    notebook = open_notebook([CHAT, "1"])
    notebook.run(0)
    panel = Panel(notebook).ready()
    panel.composer.click()
    notebook.page.keyboard.type("abddxzyh00ii")
    expect(panel.composer).to_have_value("abddxzyh00ii")
    panel.composer.press("Shift+Enter")
    expect(panel.composer).to_have_value("abddxzyh00ii\n")
    panel.root.locator(".acp-scroller").click()
    notebook.page.keyboard.type("ddabb")

    expect(notebook.page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(2)
    expect(notebook.page.locator(".jp-Dialog")).to_have_count(0)


def test_the_draft_survives_a_reload(open_notebook: OpenNotebook) -> None:
    """What was typed and not sent is there again after a reload, and not in the file."""
    notebook = open_notebook([CHAT, KEPT_DRAFT])
    notebook.run(0)
    panel = Panel(notebook).ready()
    panel.composer.click()
    notebook.page.keyboard.type("half a thought")
    notebook.run(1)
    assert "True" in notebook.output(1).inner_text()
    notebook.reload()
    panel = Panel(notebook).ready()

    expect(panel.composer).to_have_value("half a thought", timeout=READY_MS)
    assert "half a thought" not in json.dumps(notebook.save())


def test_a_restarted_kernel_is_said_and_the_text_stays(open_notebook: OpenNotebook) -> None:
    """After a restart the panel says that the kernel is gone, keeps its text, and sends nothing."""
    notebook = open_notebook([CHAT])
    notebook.run(0)
    panel = Panel(notebook).ready()
    panel.send("hello there")
    panel.shows("only a model could answer it")
    panel.settles()
    notebook.restart_kernel()

    expect(panel.root).to_contain_text("The kernel is gone", timeout=READY_MS)
    panel.shows("hello there")
    panel.composer.click()
    notebook.page.keyboard.type("kept, not sent")
    expect(panel.button("Send")).to_be_disabled()
    panel.composer.press("Enter")
    expect(panel.composer).to_have_value("kept, not sent")
