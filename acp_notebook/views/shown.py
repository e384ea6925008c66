"""Text as it may be shown: escape codes drawn or seen, the home folder as `~`."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from urllib.parse import quote

ESCAPES = re.compile(
    "\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    "|[\\]PX^_].*?(?:\x07|\x1b\\\\|$)"  # OSC and other strings, with their end
    "|[ -/]*[0-~])"
    "|\x9b[0-?]*[ -/]*[@-~]",
    re.DOTALL,
)
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")
SYMBOLS = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}


def drawn(text: str) -> str:
    """
    Return what a terminal would leave on its screen, without colours.

    A carriage return writes over its line, a backspace over one character; codes are gone.
    """
    text = ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\r" in text or "\b" in text:
        text = "\n".join(overwritten(line) for line in text.split("\n"))
    return CONTROLS.sub("", text)


def overwritten(line: str) -> str:
    """Return a line after its carriage returns and backspaces."""
    cells: list[str] = []
    at = 0
    for character in line:
        if character == "\r":
            at = 0
        elif character == "\b":
            at = max(0, at - 1)
        else:
            cells[at : at + 1] = [character]
            at += 1
    return "".join(cells)


def seen(text: str) -> str:
    """Return the text with control characters as symbols, so that an escape is seen."""
    return CONTROLS.sub(
        lambda match: SYMBOLS.get(ord(match[0]), "\ufffd"), text.replace("\r\n", "\n")
    ).replace("\r", "\u240d")


class Home:
    """The home folder, which is written as `~`."""

    def __init__(self, folder: str | None = None) -> None:
        folder = str(Path.home()) if folder is None else folder
        folder = folder.rstrip("/\\")
        slashed = folder.replace("\\", "/")
        forms = {folder, slashed, folder.replace("\\", "\\\\")}
        forms |= {quote(slashed), quote(slashed, safe=""), escape(folder)}
        if len(folder) < 2:
            forms.clear()
        self._pattern = (
            re.compile(
                r"(?<![\w.~-])(?:" + "|".join(map(re.escape, sorted(forms))) + r")(?!\.?[\w-])"
            )
            if forms
            else None
        )

    def short(self, text: str) -> str:
        """Return the text with the home folder as `~`."""
        return self._pattern.sub("~", text) if self._pattern is not None else text
