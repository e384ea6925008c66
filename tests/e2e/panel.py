"""One chat on a page, driven as a person drives it: by what is read and by roles."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.e2e.notebook import READY_MS, Notebook

STOP = re.compile("^Stop")


class Panel:
    """A view of a chat; `index` counts from the top of the page."""

    def __init__(self, notebook: Notebook, index: int = 0) -> None:
        self.page = notebook.page
        self.root = notebook.widget(index)
        self.composer = self.root.locator(".acp-composer-box textarea")
        self.answers = self.root.locator(".acp-message")
        self.permission = self.root.locator(".acp-permission")

    def ready(self) -> Panel:
        """Wait until one can write."""
        expect(self.composer).to_be_enabled(timeout=READY_MS)
        return self

    def send(self, text: str) -> None:
        """Type and press Enter."""
        self.composer.click()
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def button(self, name: str | re.Pattern[str]) -> Locator:
        """A button by its name."""
        return self.root.get_by_role("button", name=name)

    def shows(self, text: str) -> None:
        """Wait until that is read in the conversation."""
        expect(self.root.locator(".acp-timeline")).to_contain_text(text, timeout=READY_MS)

    def settles(self) -> None:
        """Wait until no turn is running."""
        expect(self.button(STOP)).to_have_count(0, timeout=READY_MS)

    def conversation(self) -> str:
        """All that is read in the conversation, times left out."""
        text = self.root.locator(".acp-timeline").inner_text()
        return re.sub(r"\b\d+ (s|min|h)\b", "TIME", text)
