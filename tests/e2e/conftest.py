"""JupyterLab and headless Chromium for the tests in this folder; see docs/development.md."""

from tests.e2e.fixtures import browser, lab, open_notebook, pytest_runtest_makereport

__all__ = ["browser", "lab", "open_notebook", "pytest_runtest_makereport"]
