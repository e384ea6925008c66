"""The type tests hold, as strict mypy reads them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import acp_notebook

ROOT = Path(__file__).parents[2]


def test_the_package_is_typed_as_told(tmp_path):
    """`py.typed` is there, and every `assert_type` holds for a user of the package."""
    assert (Path(acp_notebook.__file__).parent / "py.typed").exists()
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent",
            "--cache-dir", str(tmp_path), str(Path(__file__).with_name("timeline_types.py")),
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("Success"), done.stdout
