"""Foreign JSON made safe to keep: copied, valid UTF-8, without `_meta`, of bounded depth."""

from __future__ import annotations

from math import isfinite
from sys import float_info
from typing import Any

from acp_notebook.timeline.text import head_and_tail, valid

LONGEST = 16 * 1024 * 1024


def plain(value: Any, depth: int = 200, longest: int = LONGEST) -> Any:
    """
    Return a copy without `_meta` keys and lone surrogates.

    What is deeper than `depth`, no JSON, or a number that JSON cannot write becomes None; of a
    text with more than `longest` characters, head and tail are kept.
    """
    if isinstance(value, str):
        if len(value) > longest:
            value = head_and_tail(value, longest // 4)
        return value if value.isascii() else valid(value)
    if isinstance(value, dict):
        if not depth:
            return None
        return {
            key if key.isascii() else valid(key): plain(member, depth - 1, longest)
            for key, member in value.items()
            if isinstance(key, str) and key != "_meta"
        }
    if isinstance(value, list | tuple):
        return [plain(member, depth - 1, longest) for member in value] if depth else None
    if value is None or isinstance(value, bool | int):
        return value
    return value if isinstance(value, float) and isfinite(value) else None


def text_or_none(value: Any) -> str | None:
    """Return a valid text, None for anything else."""
    if not isinstance(value, str):
        return None
    return value if value.isascii() else valid(value)


def whole_number(value: Any) -> int | None:
    """Return an integer of 64 bits, None for anything else; a bool is no number."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -(2**63) <= value < 2**63 else None


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # An integer of JSON may be greater than any float, which `isfinite` cannot look at.
    return value if abs(value) <= float_info.max else None
