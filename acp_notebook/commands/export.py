"""`acp-notebook export`: a record as a document."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from acp_notebook.timeline import load_record

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from acp_notebook.timeline import TimelineSnapshot

FORMATS: dict[str, Callable[[TimelineSnapshot], str]] = {
    "text": lambda snapshot: snapshot.to_text(),
    "markdown": lambda snapshot: snapshot.to_markdown(),
    "html": lambda snapshot: snapshot.to_html(),
    "json": lambda snapshot: json.dumps(snapshot.to_dict(blobs=True), indent=1) + "\n",
}
SUFFIXES = {".txt": "text", ".md": "markdown", ".html": "html", ".json": "json"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    parser.add_argument("file", type=Path, help="a record (JSONL)")
    parser.add_argument("-o", "--output", type=Path, help="where to write; default: stdout")
    parser.add_argument("--format", choices=list(FORMATS), help="default: by the output's suffix")


def run(options: argparse.Namespace) -> int:
    """Write the document."""
    output: Path | None = options.output
    form = options.format or ("text" if output is None else SUFFIXES.get(output.suffix.lower()))
    if form is None:
        known = ", ".join(SUFFIXES)
        raise ValueError(f"{output} ends in none of {known}. Choose the form with --format.")
    document = FORMATS[form](load_record(options.file))
    if output is None:
        sys.stdout.write(document)
    else:
        output.write_text(document, encoding="utf-8")
    return 0
