"""
What can be taken out of a Markdown text: its code blocks and its tables.

A fence is three or more backticks or tildes at any indentation; it ends with a fence of the same
character that is at least as long, or with the text. A table is GFM's: a header, a delimiter row,
and rows up to a blank line. Inside code there are no tables.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.frozen import frozen
from acp_notebook.timeline.views import view

if TYPE_CHECKING:
    from collections.abc import Iterator

FENCE = re.compile(r"^([ \t]*)(`{3,}(?=[^`]*$)|~{3,})(.*)$")
DELIMITER = re.compile(r":?-+:?")


@frozen
class CodeBlock:
    """One fenced block; `language` is the first word after the fence, "" without one."""

    language: str
    text: str

    def __str__(self) -> str:
        return self.text


@frozen
class Table:
    """One table, as text: a row has as many cells as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_frame(self, library: str | None = None) -> Any:
        """Return it as a pandas or polars frame; whole columns of numbers become numbers."""
        return view("frame").table_frame(self, library)


@frozen
class Block:
    """A run of lines: one fenced block (`code`), or lines that are no code."""

    lines: tuple[str, ...]
    code: CodeBlock | None = None


def blocks_of(text: str) -> Iterator[Block]:
    """Cut a text into code and the rest, in order."""
    plain: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        opened = FENCE.match(line)
        if opened is None:
            plain.append(line)
            continue
        if plain:
            yield Block(tuple(plain))
            plain = []
        indent, fence, info = opened.groups()
        inside: list[str] = []
        for inner in lines:
            if closes(inner, fence):
                break
            inside.append(inner[len(indent) :] if inner.startswith(indent) else inner.lstrip(" \t"))
        language = info.split()[0] if info.split() else ""
        yield Block(tuple(inside), CodeBlock(language, "\n".join(inside)))
    if plain:
        yield Block(tuple(plain))


def closes(line: str, fence: str) -> bool:
    """Whether a line ends the block that this fence began."""
    mark = line.strip(" \t")
    return len(mark) >= len(fence) and not mark.strip(fence[0]) and bool(mark)


def code_blocks(text: str) -> tuple[CodeBlock, ...]:
    """Return the fenced blocks of a text, in order."""
    return tuple(block.code for block in blocks_of(text) if block.code is not None)


def tables(text: str) -> tuple[Table, ...]:
    """Return the tables of a text, in order."""
    found = []
    for block in blocks_of(text):
        if block.code is None:
            at = 0
            while at < len(block.lines):
                table = table_at(block.lines, at)
                if table is not None:
                    found.append(table)
                    at += 1 + len(table.rows)
                at += 1
    return tuple(found)


def table_at(lines: tuple[str, ...], at: int) -> Table | None:
    """Return the table that begins on this line, None when none does."""
    if at + 1 >= len(lines) or "|" not in lines[at] or "-" not in lines[at + 1]:
        return None
    header, delimiters = cells_of(lines[at]), cells_of(lines[at + 1])
    if len(delimiters) != len(header) or not all(map(DELIMITER.fullmatch, delimiters)):
        return None
    rows = []
    for line in lines[at + 2 :]:
        if not line.strip() or "|" not in line:
            break
        cells = cells_of(line)[: len(header)]
        rows.append((*cells, *("",) * (len(header) - len(cells))))
    return Table(header, tuple(rows))


def cells_of(line: str) -> tuple[str, ...]:
    """Return the cells of a row; an escaped bar is part of its cell."""
    inner = line.strip()
    inner = inner.removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner))
