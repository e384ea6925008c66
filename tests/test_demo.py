"""The quick start as it is committed, and as `make demo HEADLESS=1` runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.source import REPOSITORY

EXAMPLES = sorted((REPOSITORY / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_committed_readable(path: Path) -> None:
    """It holds its outputs, and neither widget state nor a view that needs a kernel nor an error."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert "widgets" not in notebook.metadata
    assert outputs
    assert [] == [output for output in outputs if output.output_type == "error"]
    assert [] == [key for o in outputs for key in o.get("data", {}) if "widget-view" in key]


@pytest.mark.kernel
def test_the_quick_start_prints_its_transcript() -> None:
    """Headless, the demo runs every cell and prints prose, code and what came of it."""
    run = subprocess.run(
        [sys.executable, str(REPOSITORY / "scripts" / "demo.py"), "--headless"],
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("# A chat with an agent, in a notebook\n")
    assert '    turn = chat.ask("/demo")\n' in run.stdout
    assert "I am the **explorer**" in run.stdout
    assert "edit     completed  Change a line of explorer-scratch.md\n" in run.stdout
    assert "base64" not in run.stdout
