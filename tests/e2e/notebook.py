"""One notebook in a JupyterLab page, driven as a person drives it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.e2e.lab import LabServer
from tests.source import REPOSITORY

SCREENSHOTS = REPOSITORY / "screenshots"
WIDGET = ".acp-notebook"
READY_MS = 60_000


class Notebook:
    """A page with one notebook in single-document mode; cells are counted from 0."""

    def __init__(self, lab: LabServer, context: BrowserContext, path: str) -> None:
        self.lab = lab
        self.path = path
        self.console: list[str] = []
        self.page_errors: list[str] = []
        self.page: Page = context.new_page()
        self.page.on(
            "console", lambda message: self.console.append(f"{message.type}: {message.text}")
        )
        self.page.on("pageerror", lambda error: self.page_errors.append(str(error)))
        self.page.goto(lab.document_url(path))
        self._wait_for_document()
        self.wait_for_kernel()

    # --- the document

    def _wait_for_document(self) -> None:
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=READY_MS)
        self.page.evaluate(
            """async () => {
                await window.jupyterapp.restored;
                await window.jupyterapp.shell.currentWidget.context.ready;
            }"""
        )

    def wait_for_kernel(self) -> None:
        """Wait until the kernel of this page is idle."""
        self.page.wait_for_function(
            """() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === "idle" """,
            timeout=READY_MS,
        )

    def command(self, name: str, arguments: dict[str, Any] | None = None) -> None:
        """Run a command of JupyterLab, as its menu entry does."""
        self.page.evaluate(
            "([name, args]) => window.jupyterapp.commands.execute(name, args)",
            [name, arguments or {}],
        )

    def save(self) -> dict[str, Any]:
        """Save the notebook; returns the file as it now stands on disk."""
        self.command("docmanager:save")
        return json.loads((self.lab.root / self.path).read_text())

    def reload(self) -> None:
        """Save, then load the page anew; a running cell does not hold it up."""
        self.save()
        self.page.reload()
        self._wait_for_document()

    # --- cells

    def cell(self, index: int) -> Locator:
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(index)

    def run(self, index: int, *, wait: bool = True, timeout_s: float = 60) -> None:
        """Click into a cell and press Control+Enter."""
        self.cell(index).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        if wait:
            self.wait(index, timeout_s=timeout_s)

    def wait(self, index: int, *, timeout_s: float = 60) -> None:
        """Wait until a cell that was run has ended: its prompt shows a number."""
        expect(self._prompt(index)).to_have_text(re.compile(r"\[\d+\]:"), timeout=timeout_s * 1000)

    def expect_running(self, index: int) -> None:
        """Wait until a cell is running: its prompt shows a star."""
        expect(self._prompt(index)).to_have_text("[*]:", timeout=READY_MS)

    def _prompt(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-InputPrompt")

    def output(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-Cell-outputArea")

    def widget(self, index: int = 0) -> Locator:
        """The root of a chat on this page, counted from the top, visible."""
        root = self.page.locator(WIDGET).nth(index)
        expect(root).to_be_visible(timeout=READY_MS)
        return root

    # --- the kernel

    def restart_kernel(self) -> None:
        """Restart the kernel as the menu does, without the question, and wait until it is idle."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()"
        )
        self.wait_for_kernel()

    def interrupt_kernel(self) -> None:
        """Interrupt the kernel as the button does."""
        self.command("notebook:interrupt-kernel")

    # --- the looks

    def set_theme(self, theme: Literal["light", "dark"]) -> None:
        """Choose JupyterLab's own light or dark theme and wait until it is there."""
        self.command("apputils:change-theme", {"theme": f"JupyterLab {theme.title()}"})
        light = "true" if theme == "light" else "false"
        self.page.wait_for_selector(
            f"body[data-jp-theme-light={light}]", state="attached", timeout=READY_MS
        )

    def screenshot(self, name: str, *, of: Locator | None = None) -> Path:
        """Save a picture of the page, or of one element, as `screenshots/NAME.png`."""
        target = SCREENSHOTS / f"{name}.png"
        (of or self.page).screenshot(path=target)
        return target
