"""What the page does with JupyterLab around it: cells, shortcuts, modules over the comm."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.fixtures import OpenNotebook

pytestmark = pytest.mark.e2e

SHOW = """from acp_notebook import Chat
chat = Chat('explorer')
chat"""
STREAM_MS = 60_000
CELLS = ".jp-Notebook .jp-Cell"


def test_code_is_inserted_as_the_next_cell(open_notebook: OpenNotebook) -> None:
    """*Insert as next cell* makes a cell below the chat's own, with the code and nothing else in it."""
    notebook = open_notebook([SHOW, "after = 1"])
    notebook.run(0)
    chat = notebook.widget()
    chat.locator("textarea").click()
    notebook.page.keyboard.type("/demo instant")
    notebook.page.keyboard.press("Enter")
    code = chat.locator("figure.acp-code[data-language=python]").first
    expect(code).not_to_have_attribute("data-open", "", timeout=STREAM_MS)
    wanted = code.locator("code").inner_text().rstrip("\n")
    code.hover()
    code.locator("[data-action=insert-code]").click()
    expect(notebook.page.locator(CELLS)).to_have_count(3)
    lines = notebook.page.locator(CELLS).nth(1).locator(".cm-line").all_inner_texts()
    assert wanted == "\n".join(line.rstrip("\n") for line in lines)
    expect(chat.locator("math").first).to_be_visible(timeout=STREAM_MS)


def test_195_lab_shortcuts_not_stolen(open_notebook: OpenNotebook) -> None:
    """What is typed into the composer stays there: no cell is made, deleted, converted or run."""
    notebook = open_notebook([SHOW, "x = 1", "y = 2"])
    notebook.run(0)
    chat = notebook.widget()
    page = notebook.page
    chat.locator("textarea").click()
    page.keyboard.type("a b dd x r m y 1 z 0 0 ")
    page.keyboard.press("Escape")
    chat.locator("textarea").click()
    for key in ("Control+b", "ArrowUp"):
        page.keyboard.press(key)
    expect(chat.locator("textarea")).to_have_value("a b dd x r m y 1 z 0 0 ")
    expect(page.locator(CELLS)).to_have_count(3)
    expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(3)
    assert ["", ""] == [notebook.output(index).inner_text() for index in (1, 2)]


def test_196_buttons_keys_not_stolen(open_notebook: OpenNotebook) -> None:
    """Keys on a permission's buttons and on the transcript do not reach the notebook, and still do their own work."""
    notebook = open_notebook([SHOW, "x = 1"])
    notebook.run(0)
    chat = notebook.widget()
    page = notebook.page
    chat.locator("textarea").click()
    page.keyboard.type("/demo instant")
    page.keyboard.press("Enter")
    button = chat.locator("[data-option]").first
    button.focus(timeout=STREAM_MS)
    for key in ("x", "d", "d"):
        page.keyboard.press(key)
    chat.locator("[role=log]").focus()
    page.keyboard.press("Space")
    expect(page.locator(CELLS)).to_have_count(2)
    expect(button).to_be_visible()
    page.keyboard.press("1")
    expect(chat.locator("[data-option]")).to_have_count(0)
