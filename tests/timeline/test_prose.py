"""Code blocks and tables taken out of Markdown."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import CodeBlock, Table
from acp_notebook.timeline.prose import blocks_of, code_blocks, tables


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("a\n```py title=x\nx = 1\n\ny\n```\nb", [("py", "x = 1\n\ny")]),
        ("~~~\na\n```\nb\n~~~", [("", "a\n```\nb")]),
        ("````\n```\nin\n```\n````", [("", "```\nin\n```")]),
        ("- a\n  ```sh\n  ls\n    x\n y\n  ```", [("sh", "ls\n  x\ny")]),
        ("```\nopen to the end", [("", "open to the end")]),
        ("``` a`b\nx\n```", [("", "")]),
        ("```a\n```\n```b\n```", [("a", ""), ("b", "")]),
        ("none", []),
        ("~~~~ tilde\na\n~~~\n~~~~~", [("tilde", "a\n~~~")]),
    ],
)
def test_code_blocks(text, blocks):
    """Fences of any kind, at any indentation; one that does not end goes to the end."""
    assert code_blocks(text) == tuple(CodeBlock(*block) for block in blocks)


def test_a_block_reads_as_its_code():
    """`str` gives what may be run."""
    assert str(CodeBlock("py", "x = 1")) == "x = 1"


@pytest.mark.parametrize("text", ["", "a\nb", "a\n```\nb\n```", "```\nb\n```\n\nc"])
def test_blocks_hold_every_line(text):
    """Nothing is lost between code and the rest."""
    lines = [line for block in blocks_of(text) for line in block.lines]
    assert lines == [line for line in text.split("\n") if not line.startswith("```")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 |\n\nx", [(("a", "b"), (("1", "2"), ("3", "")))]),
        ("a | b\n--|--\n1 | 2 | 3", [(("a", "b"), (("1", "2"),))]),
        ("| a\\|b |\n|---|\n| \\|x\\| |\n|y\\|", [(("a|b",), (("|x|",), ("y|",)))]),
        ("| a |\n| b |", []),
        ("| a | b |\n|---|", []),
        ("```\n| a |\n|---|\n```", []),
        ("| a |\n|---|\n| 1 |\nno bar\n| b |\n|---|", [(("a",), (("1",),)), (("b",), ())]),
        ("| a |", []),
        ("| a |\n|  |", []),
        ("| a |\n|-" + " " * 50_000 + "x", []),
        ("| a |\n" + " " * 50_000 + "-x", []),
    ],
)
def test_tables(text, found):
    """A header, a delimiter row of as many cells, rows up to a line without a bar."""
    assert tables(text) == tuple(Table(*table) for table in found)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_becomes_a_frame(library):
    """Columns of numbers only are numbers; names are made unique; empty cells are nulls there."""
    table = Table(
        ("n", "x", "n", "w"), (("1", "1.5", "a", ""), ("-2", "", "1", ""), ("3", "1e3", "1.", "z"))
    )
    frame = table.to_frame(library)
    assert list(frame.columns) == ["n", "x", "n.2", "w"]
    rows = frame.to_dict("records") if library == "pandas" else frame.to_dicts()
    assert [row["n"] for row in rows] == [1, -2, 3]
    assert [rows[0]["x"], rows[2]["x"]] == [1.5, 1000.0]
    assert [row["n.2"] for row in rows] == ["a", "1", "1."]
    assert [row["w"] for row in rows] == ["", "", "z"]


def test_an_empty_table_has_its_columns():
    """And no rows."""
    assert list(Table(("a", "b"), ()).to_frame("pandas").columns) == ["a", "b"]
