"""The package's own source, read without importing it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "acp_notebook"


@dataclass(frozen=True)
class Import:
    """
    One imported module.

    `lazy` says that it happens inside a function, `typing` that it happens for type checkers only.
    """

    importer: str
    module: str
    line: int
    lazy: bool
    typing: bool

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.module}"


def module_name(path: Path) -> str:
    """The dotted name of a source file: `acp_notebook.host.loop`."""
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    """Every module of the package, by dotted name."""
    return {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports(name: str, source: str) -> Iterator[Import]:
    """Every import in a module's source, relative ones resolved, submodules told from names."""
    package = name if modules().get(name, Path()).name == "__init__.py" else name.rpartition(".")[0]

    def walk(node: ast.AST, *, lazy: bool, typing: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Import(names=names):
                    for alias in names:
                        yield Import(name, alias.name, child.lineno, lazy, typing)
                case ast.ImportFrom(module=module, names=names, level=level):
                    if level:
                        base = package.split(".")[: len(package.split(".")) - level + 1]
                        module = ".".join([*base, *([module] if module else [])])
                    for alias in names:
                        submodule = f"{module}.{alias.name}"
                        found = submodule if submodule in modules() else module
                        yield Import(name, found, child.lineno, lazy, typing)
                case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                    for statement in child.body:
                        yield from walk(ast.Module([statement], []), lazy=lazy, typing=True)
                    for statement in child.orelse:
                        yield from walk(ast.Module([statement], []), lazy=lazy, typing=typing)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                    yield from walk(child, lazy=True, typing=typing)
                case _:
                    yield from walk(child, lazy=lazy, typing=typing)

    yield from walk(ast.parse(source, filename=name), lazy=False, typing=False)


@cache
def all_imports() -> tuple[Import, ...]:
    """Every import in the package."""
    return tuple(
        found
        for name, path in modules().items()
        for found in imports(name, path.read_text(encoding="utf-8"))
    )


def part(module: str) -> str:
    """The folder or top-level module that a module belongs to: `host`, `chat`, or `` for the root."""
    return module.removeprefix("acp_notebook").removeprefix(".").partition(".")[0]


def is_foreign(module: str) -> bool:
    """Whether a module is neither ours nor the standard library's."""
    top = module.partition(".")[0]
    return top != "acp_notebook" and top not in sys.stdlib_module_names
