"""What is left of a chat in the notebook file: hidden while it is live, there when it is gone."""

from __future__ import annotations

import json
import os

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.sign import NotebookNotary
from playwright.sync_api import expect

from tests.e2e.fixtures import OpenNotebook
from tests.e2e.lab import LabServer
from tests.e2e.notebook import READY_MS, Notebook
from tests.e2e.panel import Panel
from tests.source import REPOSITORY

pytestmark = pytest.mark.e2e

CHAT = "import acp_notebook\nchat = acp_notebook.Chat('explorer')\nchat"


def test_the_copy_is_hidden_while_the_chat_is_live_and_shown_after(
    open_notebook: OpenNotebook,
) -> None:
    """The copy below the chat is in the file and out of sight, and is read when the kernel is gone."""
    notebook = open_notebook([CHAT])
    notebook.run(0)
    panel = Panel(notebook).ready()
    copy = notebook.output(0).locator(".acp-saved")
    expect(copy).to_have_count(1)
    expect(copy).to_be_hidden()
    panel.composer.click()
    notebook.page.keyboard.type("hello there")
    notebook.page.keyboard.press("Enter")
    panel.shows("only a model could answer it")
    panel.settles()
    expect(copy).to_contain_text("hello there")
    expect(copy).to_be_hidden()
    expect(panel.composer).to_be_focused()
    outputs = notebook.save()["cells"][0]["outputs"]
    assert 2 == len(outputs)
    assert "hello there" in json.dumps(outputs[1]["data"]["text/html"])
    assert "hello there" in json.dumps(outputs[1]["data"]["text/markdown"])
    assert ["ACP chat"] * 2 == ["".join(output["data"]["text/plain"]) for output in outputs]

    notebook.restart_kernel()
    expect(copy).to_be_visible(timeout=READY_MS)
    notebook.reload()
    expect(notebook.output(0).locator(".acp-saved")).to_be_visible(timeout=READY_MS)
    expect(notebook.output(0).locator(".acp-saved")).to_contain_text("only a model could answer it")


def test_a_trusted_notebook_with_saved_state_shows_the_chat_without_a_kernel(
    open_notebook: OpenNotebook, lab: LabServer
) -> None:
    """Reopened with its widget state, the conversation is there, read-only, and sends nothing."""
    cells = [CHAT, "turn = chat.ask('hello there')"]
    path = "restored/notebook.ipynb"
    target = lab.write_notebook(path, cells)
    executed = nbformat.read(target, as_version=4)
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    NotebookClient(executed, timeout=120).execute(cwd=str(target.parent), env=environment)
    nbformat.write(executed, target)
    NotebookNotary(data_dir=str(lab.root.parent / "data")).sign(executed)
    notebook = open_notebook([])
    restored = Notebook(lab, notebook.page.context, path)
    panel = Panel(restored)

    panel.shows("only a model could answer it")
    expect(panel.root).to_contain_text("A saved conversation", timeout=READY_MS)
    panel.composer.click()
    restored.page.keyboard.type("x")
    expect(panel.button("Send")).to_be_disabled()
