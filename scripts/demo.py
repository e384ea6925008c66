"""
The quick start, executed.

    python scripts/demo.py [OPTION …]   open a trusted copy in JupyterLab, with options of its own
    python scripts/demo.py --headless   run it and print the transcript
    python scripts/demo.py --update     run it and keep its outputs in the notebook

`--headless` and `--update` fail when a cell does.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbclient import NotebookClient
from nbformat.sign import NotebookNotary

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[1]
QUICKSTART = REPOSITORY / "examples" / "quickstart.ipynb"
DATA_URI = re.compile(r"\(data:[^)\s]*\)")
WIDGET = "application/vnd.jupyter.widget-view+json"


def main() -> int:
    """Do what the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(description="The quick start, executed.")
    parser.add_argument("--headless", action="store_true", help="run it, print the transcript")
    parser.add_argument("--update", action="store_true", help="run it, keep its outputs")
    options, for_lab = parser.parse_known_args()
    if for_lab and (options.headless or options.update):
        parser.error(f"unrecognized arguments: {' '.join(for_lab)}")
    # A source tree is not necessarily installed: the kernel finds the package here too.
    paths = [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    with tempfile.TemporaryDirectory() as home:
        copy = Path(shutil.copy(QUICKSTART, home))
        if not options.headless and not options.update:
            return open_in_lab(copy, for_lab)
        notebook = execute(copy)
    if options.update:
        nbformat.write(kept(notebook), QUICKSTART)
    for text in transcript(notebook) if options.headless else ():
        sys.stdout.write(f"{text}\n\n")
    return 0


def open_in_lab(path: Path, options: list[str]) -> int:
    """Open a notebook in JupyterLab, trusted, so that its outputs are shown; return its exit code."""
    notary = NotebookNotary()
    notary.sign(nbformat.read(path, as_version=4))
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options = [*options, "--allow-root"]  # in a container; a person's machine has a user
    command = [sys.executable, "-m", "jupyterlab", str(path), *options]
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 0
    finally:
        notary.store.close()


def execute(path: Path) -> Any:
    """Return the notebook, executed in its own folder, which is the home folder there: paths are short."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=120,
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
    )
    client.execute(env=os.environ | {"HOME": str(path.parent)})
    return notebook


def kept(notebook: Any) -> Any:
    """Return the notebook as it is committed: no widget without its kernel, no times."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data.pop(WIDGET, None)
    return notebook


def transcript(notebook: Any) -> Iterator[str]:
    """Yield prose, code and outputs, one after the other."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield cell.source
            continue
        yield "\n".join(f"    {line}" for line in cell.source.splitlines())
        for output in cell.outputs:
            data = output.get("data", {})
            if WIDGET in data:
                continue
            text = output.get("text") or data.get("text/markdown") or data.get("text/plain") or ""
            if text.strip():
                yield DATA_URI.sub("(data:…)", text).rstrip()


if __name__ == "__main__":
    sys.exit(main())
