"""Real agents, installed when first asked for, and a browser to drive them in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.fixtures import browser, lab, open_notebook, pytest_runtest_makereport
from tests.source import REPOSITORY

__all__ = ["browser", "lab", "open_notebook", "pytest_runtest_makereport"]

TOOLS = REPOSITORY / "tests" / "real" / "lab"
NOTES = "# Notes\n\nalpha\nbeta\ngamma\n"


@pytest.fixture(scope="session")
def opencode() -> list[str]:
    """The command that runs opencode against the scripted model; installs it when it is missing."""
    folder = os.environ.get("AGENTS_LAB") or str(REPOSITORY / ".lab")
    subprocess.run(
        [TOOLS / "setup.sh", "--lab", folder, "opencode"], check=True, capture_output=True
    )
    # Slower than the agent's own bursts, so that a stream is seen as one.
    pace = ("--delay-ms", "40")
    return [sys.executable, str(TOOLS / "launch.py"), "opencode", "--lab", folder, *pace]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with the file that the scripted tool calls read and edit."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "notes.md").write_text(NOTES)
    return folder
