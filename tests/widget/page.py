"""The page's real store (js/src/store.ts), run by Node and driven from Python."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.source import REPOSITORY

JS = REPOSITORY / "js"


class Page:
    """What one page shows; every method raises AssertionError when the store refuses."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def _ask(self, **request: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        assert "error" not in said, said["error"]
        return said["result"]

    def snapshot(self, pieces: list[Any]) -> None:
        """Show these pieces and nothing else, one after the other."""
        self._ask(do="snapshot", pieces=pieces)

    def apply(self, ops: list[Any]) -> None:
        """Apply ops."""
        self._ask(do="ops", ops=ops)

    def open(self) -> list[Any]:
        """Open a page with its wire; returns what it sends at once, as `deliver` does."""
        return list(self._ask(do="open"))

    def deliver(self, content: Any) -> list[Any]:
        """Have a kernel's message arrive; returns what the page sends by then."""
        return list(self._ask(do="deliver", content=content))

    def close(self) -> None:
        """Close the page that was opened."""
        self._ask(do="close")

    def shown(self) -> Any:
        """The whole view, flags that are false left out."""
        view = self._ask(do="shown")
        for item in view["items"]:
            for flag in (
                "historical",
                "optimistic",
                "failed",
                "noResult",
                "supplement",
                "deferred",
            ):
                if flag in item and not item[flag]:
                    del item[flag]
        return view


@contextmanager
def page(folder: Path) -> Iterator[Page]:
    """Build the store and run it."""
    script = folder / "page.mjs"
    build = [
        *(JS / "node_modules" / ".bin" / "esbuild", JS / "tests" / "page.ts", "--bundle"),
        *("--platform=node", "--format=esm", f"--outfile={script}", "--log-level=warning"),
    ]
    subprocess.run(build, check=True, cwd=JS)
    with subprocess.Popen(
        ["node", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield Page(process)
        assert process.stdin
        process.stdin.close()
        process.wait(10)
