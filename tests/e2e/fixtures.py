"""JupyterLab and headless Chromium, for a folder of tests whose conftest brings these names in."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from typing import Protocol

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.e2e.lab import LabServer
from tests.e2e.notebook import SCREENSHOTS, Notebook

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Nothing but the page: no accelerator, no updates, no calls of the browser's own to the network.
CHROMIUM_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
FAILED = pytest.StashKey[bool]()


def chromium() -> str:
    """The browser to drive: $CHROMIUM, else the first known name on the path."""
    for name in (os.environ.get("CHROMIUM"), *CHROMIUM_NAMES):
        if name and (path := shutil.which(name)):
            return path
    raise FileNotFoundError("No Chromium was found; `scripts/chromium.sh` says how to get one.")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """One JupyterLab server for all tests of this worker."""
    server = LabServer(tmp_path_factory.mktemp("lab"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """
    A browser for one file of tests.

    Not for the whole run: as long as Playwright's synchronous face is started, its event loop
    counts as running in this thread, and asynchronous tests of other files could not start one.
    """
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium(), headless=True, args=CHROMIUM_FLAGS
        )
        yield started
        started.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember that a test failed, for the fixtures that are torn down after it."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


class OpenNotebook(Protocol):
    """What the fixture `open_notebook` gives."""

    def __call__(self, cells: list[str], *, kernel: str = "python3") -> Notebook: ...


@pytest.fixture
def open_notebook(
    request: pytest.FixtureRequest, lab: LabServer, browser: Browser
) -> Iterator[OpenNotebook]:
    """
    Open a new notebook with these code cells, in a fresh browser profile, light, its kernel idle.

    `kernel` is "python3" for the environment's own, or the version of another ipykernel.
    Kernels are shut down after the test. When it failed, a picture of each page, what its console
    said and the server's log are kept in `screenshots/failed/`.
    """
    name = re.sub(r"[^\w-]+", "-", request.node.name)
    opened: list[Notebook] = []
    contexts = []
    SCREENSHOTS.mkdir(exist_ok=True)

    def open_one(cells: list[str], *, kernel: str = "python3") -> Notebook:
        path = f"{name}-{len(opened)}/notebook.ipynb"
        lab.write_notebook(path, cells, kernel)
        context = browser.new_context(viewport={"width": 1280, "height": 960})
        contexts.append(context)
        notebook = Notebook(lab, context, path)
        opened.append(notebook)
        notebook.set_theme("light")
        return notebook

    yield open_one

    if request.node.stash.get(FAILED, False):
        failed = SCREENSHOTS / "failed"
        failed.mkdir(exist_ok=True)
        for index, notebook in enumerate(opened):
            notebook.page.screenshot(path=failed / f"{name}-{index}.png", full_page=True)
            said = [*notebook.page_errors, *notebook.console, "", lab.log.read_text()]
            (failed / f"{name}-{index}.log").write_text("\n".join(said))
    for context in contexts:
        context.close()
    lab.shut_down_kernels()
