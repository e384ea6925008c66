"""A snapshot as a data frame: one row per item. Loads pandas or polars when asked."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.items import (
    MessageSegment,
    Notice,
    Permission,
    Plan,
    Thought,
    ToolCall,
)
from acp_notebook.views.shown import Home
from acp_notebook.views.words import decision_of, output_of, plan_lines

if TYPE_CHECKING:
    from acp_notebook.timeline.items import Item
    from acp_notebook.timeline.prose import Table
    from acp_notebook.timeline.snapshot import TimelineSnapshot
    from acp_notebook.timeline.turns import Turn

COLUMNS = {
    "turn": int,
    "index": int,
    "kind": str,
    "role": str,
    "tool": str,
    "tool_kind": str,
    "status": str,
    "path": str,
    "text": str,
    "started": float,
    "duration_s": float,
    "tokens": int,
}
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
LIBRARIES = ("pandas", "polars")


def to_frame(
    snapshot: TimelineSnapshot, library: str | None = None, *, home: str | None = None
) -> Any:
    """
    Return one row per item: turn, index, kind, role, tool, tool_kind, status, path, text,
    started (seconds since the epoch), duration_s, tokens.

    Times and tokens of a turn stand in the row of its first item. `library` is "pandas" or
    "polars", by default what is installed. Raises: ImportError when it is not.
    """
    short = Home(home).short
    rows = [row for turn in snapshot.turns for row in turn_rows(turn)]
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for index, row in enumerate(rows):
        row["index"] = index
        for name, values in columns.items():
            value = row.get(name)
            values.append(short(value) if isinstance(value, str) else value)
    return framed(columns, COLUMNS, library)


def turn_rows(turn: Turn) -> list[dict[str, Any]]:
    """Return the rows of one turn."""
    rows = [{"turn": turn.index, "kind": item.kind, **item_row(item)} for item in turn.items]
    if rows:
        tokens = turn.usage.total_tokens if turn.usage is not None else None
        first = {"started": turn.started_at, "duration_s": turn.duration, "tokens": tokens}
        rows[0] |= {name: value for name, value in first.items() if value is not None}
    return rows


def item_row(item: Item) -> dict[str, Any]:
    """Return the cells of one item that are its own."""
    if isinstance(item, MessageSegment):
        return {"role": item.role, "text": item.text}
    if isinstance(item, Thought):
        return {"role": "assistant", "text": item.text}
    if isinstance(item, ToolCall):
        return {
            "tool": item.name or item.title,
            "tool_kind": item.tool_kind,
            "status": item.status,
            "path": next(iter(item.paths), None),
            "text": "\n".join(text for _, text in output_of(item)),
            "started": item.started_at,
            "duration_s": item.duration,
        }
    if isinstance(item, Permission):
        return {"status": item.status, "text": f"{item.title}: {decision_of(item)}"}
    if isinstance(item, Plan):
        return {"text": "\n".join(plan_lines(item))}
    assert isinstance(item, Notice)  # the last kind
    return {"status": item.level, "text": item.text}


def table_frame(table: Table, library: str | None = None) -> Any:
    """Return a Markdown table as a frame; a column of numbers only becomes numbers."""
    names = unique(table.header)
    cells = zip(*table.rows, strict=True) if table.rows else [()] * len(names)
    columns = {name: numbers(list(column)) for name, column in zip(names, cells, strict=True)}
    return framed(columns, {}, library)


def unique(names: tuple[str, ...]) -> list[str]:
    """Return column names without repeats."""
    given: list[str] = []
    for name in names:
        number, wanted = 1, name
        while wanted in given:
            number += 1
            wanted = f"{name}.{number}"
        given.append(wanted)
    return given


def numbers(cells: list[str]) -> list[Any]:
    """Return the cells as numbers when each is one, else as they are."""
    for pattern, convert in ((WHOLE, int), (DECIMAL, float)):
        if any(cells) and all(not cell or pattern.fullmatch(cell) for cell in cells):
            return [convert(cell) if cell else None for cell in cells]
    return list(cells)


def framed(columns: dict[str, list[Any]], types: dict[str, type], library: str | None) -> Any:
    """Return the columns as a frame of the library that was asked for or is installed."""
    if library is None:
        library = next((name for name in LIBRARIES if find_spec(name)), LIBRARIES[0])
    if library not in LIBRARIES:
        raise ValueError(f"A frame can be of pandas or polars, not of {library!r}.")
    try:
        module = import_module(library)
    except ImportError as error:
        raise ImportError(f"A frame needs pandas or polars:  pip install {library}") from error
    if library == "polars":
        kinds = {int: module.Int64, float: module.Float64, str: module.String}
        return module.DataFrame(columns, schema_overrides={n: kinds[t] for n, t in types.items()})
    kinds = {int: "Int64", float: "Float64", str: "object"}
    frame = module.DataFrame(columns)
    return frame.astype({name: kinds[kind] for name, kind in types.items()}) if types else frame
