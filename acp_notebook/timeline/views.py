"""The one way up: methods of a snapshot that are views load them when they are called."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def view(name: str) -> Any:
    """Return a module of `acp_notebook.views`, which this package must not import by itself."""
    return import_module(f"acp_notebook.views.{name}")
