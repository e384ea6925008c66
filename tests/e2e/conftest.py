"""JupyterLab and headless Chromium for the tests in this folder; see docs/development.md."""

from tests.e2e.fixtures import browser, lab, open_notebook, pytest_runtest_makereport
from tests.e2e.page import gallery, open_scene

__all__ = [
    "browser",
    "gallery",
    "lab",
    "open_notebook",
    "open_scene",
    "pytest_runtest_makereport",
]
