"""What a hostile agent may use up; past a limit the surplus is dropped with one visible notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """
    Bounds of one timeline, far above honest use.

    `max_items` items and `max_parts` parts a session; `max_output_chars` characters of one tool
    text or terminal, of which head and tail are kept; `max_depth` levels of JSON.
    """

    max_items: int = 200_000
    max_parts: int = 1_000_000
    max_output_chars: int = 16 * 1024 * 1024
    max_depth: int = 200
