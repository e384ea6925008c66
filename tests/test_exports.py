"""The public names: listed once, found where they are defined, and documented."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys

import pytest

import acp_notebook
from acp_notebook import errors
from tests.source import PACKAGE, REPOSITORY

# contract.md, as far as it is built.
PUBLIC = [
    "Chat",
    "Policy",
    "Prompt",
    "Rule",
    "Timeline",
    "TimelineSnapshot",
    "Turn",
    "__version__",
    "agents",
    "ask",
    "errors",
    "group_timeline",
    "load_record",
]


def test_the_public_names_are_these() -> None:
    """Everything public is listed once, sorted, and nothing else is offered."""
    assert PUBLIC == acp_notebook.__all__
    assert PUBLIC == dir(acp_notebook)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_found_and_documented(name: str) -> None:
    """Each public name exists, stays the same object, and says what it is."""
    found = getattr(acp_notebook, name)
    assert found is getattr(acp_notebook, name)
    if name != "__version__":
        assert inspect.getdoc(found)
        assert found.__name__.rpartition(".")[2] == name


def test_type_checkers_see_the_same_names() -> None:
    """What is imported for type checkers is what is loaded lazily."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name
        for block in blocks
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {*PUBLIC} - {"__version__"} == seen


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    """A misspelt name is reported as Python reports it, with the name."""
    with pytest.raises(AttributeError, match="no attribute 'Chatt'"):
        getattr(acp_notebook, "Chatt")  # noqa: B009


def test_star_import_brings_every_public_name() -> None:
    """`from acp_notebook import *` works and brings the public names only."""
    program = "from acp_notebook import *\nprint(*sorted(n for n in dir() if n != '__version__' and not n.startswith('__')))"
    child = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert [name for name in PUBLIC if name != "__version__"] == child.stdout.split()


def drawn_tree() -> dict[str, str | None]:
    """The exception tree of the module's docstring, as child to parent."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        drawn = re.match(r"    ((?:[| ] {3})*)(\+-- )?(\w+)", line)
        if drawn and hasattr(errors, drawn[3]):
            depth = len(drawn[1]) // 4 + bool(drawn[2])
            path[depth:] = [drawn[3]]
            parents[drawn[3]] = path[depth - 1] if depth else None
    return parents


def test_the_drawn_tree_of_errors_is_the_real_one() -> None:
    """The tree in the docstring of `errors` names every exception under its parent."""
    real = {
        name: None if found is errors.AcpNotebookError else found.__base__.__name__
        for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, Exception)
    }
    assert real == drawn_tree()
