"""opencode, a real agent, driven through the widget in JupyterLab."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.fixtures import OpenNotebook
from tests.real.conftest import NOTES

pytestmark = [pytest.mark.real, pytest.mark.e2e]

EDITED = NOTES.replace("beta", "BETA (edited)")
WITHIN_MS = 90_000


def show(opencode: list[str], workspace: Path) -> str:
    """The cell that shows a chat with opencode."""
    return f"from acp_notebook import Chat\nchat = Chat({opencode!r}, cwd={str(workspace)!r})\nchat"


def test_an_edit_is_allowed_by_a_click(
    open_notebook: OpenNotebook, opencode: list[str], workspace: Path
) -> None:
    """A typed prompt makes a real agent ask; the click on its button lets it edit, and the card shows the diff."""
    notebook = open_notebook([show(opencode, workspace)])
    notebook.run(0)
    chat = notebook.widget()
    chat.locator("textarea").click()
    notebook.page.keyboard.type("Please edit the notes. #script:edit")
    notebook.page.keyboard.press("Enter")
    button = chat.get_by_role("button", name=re.compile("Allow once$"))
    expect(button).to_be_visible(timeout=WITHIN_MS)
    expect(chat.get_by_text("BETA (edited)").first).to_be_visible()
    assert NOTES == (workspace / "notes.md").read_text()
    notebook.screenshot("opencode-permission", of=chat)
    button.click()
    expect(chat.get_by_text("The edit is finished.")).to_be_visible(timeout=WITHIN_MS)
    assert EDITED == (workspace / "notes.md").read_text()
    notebook.screenshot("opencode-edited", of=chat)
    assert [] == notebook.page_errors


def test_a_blocked_cell_is_answered_by_a_click(
    open_notebook: OpenNotebook, opencode: list[str], workspace: Path
) -> None:
    """While a cell is blocked in `chat.ask`, the first click rejects the edit, and the cell ends."""
    notebook = open_notebook(
        [
            show(opencode, workspace),
            "turn = chat.ask('Please edit the notes. #script:edit')\nprint(turn.tool_calls[-1].status)",
        ]
    )
    notebook.run(0)
    chat = notebook.widget()
    notebook.run(1, wait=False)
    chat.get_by_role("button", name=re.compile("Reject$")).click(timeout=WITHIN_MS)
    notebook.wait(1, timeout_s=90)
    assert "failed" in notebook.output(1).inner_text()
    assert NOTES == (workspace / "notes.md").read_text()
