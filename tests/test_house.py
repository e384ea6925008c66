"""What every file of the project keeps to."""

from __future__ import annotations

import ast
import re

from tests.source import REPOSITORY

MAX_LINES = 400
TEXTS = ("*.md", "Makefile", ".ci/run", "pyproject.toml", "scripts/*", "docs/*", "tests/**/*.py")
MACHINE = re.compile(r"/work/(?:main|shared)\b|/root/(?:\w|\.)")
SOURCES = ("acp_notebook/**/*.py", "js/src/**/*.ts", "js/src/**/*.tsx", "scripts/*")


def files(*patterns: str) -> list[str]:
    found = {
        str(path.relative_to(REPOSITORY))
        for p in patterns
        for path in REPOSITORY.glob(p)
        if path.is_file()
    }
    return sorted(found)


def lines(name: str) -> list[str]:
    return (REPOSITORY / name).read_text(encoding="utf-8").splitlines()


def test_no_module_has_two_jobs() -> None:
    """No source file is longer than 400 lines; past that it has two jobs."""
    sources = files(*SOURCES)
    assert sources
    assert {} == {name: len(lines(name)) for name in sources if len(lines(name)) > MAX_LINES}


def test_every_test_states_its_fact() -> None:
    """Each test function has a docstring that says what it proves."""
    silent = []
    for name in files("tests/**/test_*.py", "tests/**/bench_*.py"):
        for node in ast.walk(ast.parse("\n".join(lines(name)))):
            is_test = isinstance(
                node, ast.FunctionDef | ast.AsyncFunctionDef
            ) and node.name.startswith("test_")
            if is_test and not ast.get_docstring(node):
                silent.append(f"{name}:{node.lineno} {node.name}")
    assert [] == silent


def test_no_file_names_the_machine_it_was_written_on() -> None:
    """No source, script or page names a folder of somebody's machine."""
    names = files(*SOURCES, *TEXTS)
    assert [] == [name for name in names if MACHINE.search("\n".join(lines(name)))]
