"""
Agents' Markdown for other renderers: raw HTML is text, pictures are links.

Renderers differ in where they see code, so nothing here depends on their seeing what we see:
a fenced block is written anew at the left margin with a blank line before it and a fence that
ends; a code span stays within one line, and backticks that pair with none are written as
entities. Everything else has its `<` escaped where a tag could begin, loses the `!` of pictures
and keeps no link that runs code.
"""

from __future__ import annotations

import re

from acp_notebook.timeline.prose import blocks_of

BACKTICKS = re.compile(r"`+")
LANGUAGE = re.compile(r"[\w.+#-]*")
TAG = re.compile(r"<(?=[A-Za-z/!?])")
AUTOLINK = re.compile(r"<((?:https?|mailto):[^\s<>`]*)>")
RUNS_CODE = re.compile(
    r"(\]\(\s*<?\s*|\]:\s*<?\s*)((?:javascript|vbscript|data)\s*:)", re.IGNORECASE
)
CONTROL_IN_LINK = re.compile(r"&(?:#[xX]?[0-9a-fA-F]+|colon|Tab|NewLine);")


def safe_markdown(text: str) -> str:
    """Return Markdown that renders like the text, with nothing in it that loads or runs."""
    pieces: list[str] = []
    for block in blocks_of(text):
        if block.code is None:
            pieces.extend(safe_line(line) for line in block.lines)
            continue
        if pieces and pieces[-1].strip():
            pieces.append("")
        pieces.extend(fenced(block.code.text, block.code.language).split("\n"))
    return "\n".join(pieces)


def fenced(code: str, language: str = "") -> str:
    """Return code as a fenced block whose fence is longer than any in it."""
    longest = max((len(run) for run in BACKTICKS.findall(code)), default=0)
    fence = "`" * max(3, longest + 1)
    name = LANGUAGE.match(language)
    return f"{fence}{name[0] if name else ''}\n{code}\n{fence}"


def safe_line(line: str) -> str:
    """Return one line with everything outside its code spans escaped."""
    pieces: list[str] = []
    at = 0
    while True:
        opened = next_run(line, at)
        if opened is None:
            pieces.append(safe_prose(line[at:]))
            return "".join(pieces)
        start, stop = opened
        mark = line[start:stop]
        closed = closing(line, stop, mark)
        pieces.append(safe_prose(line[at:start]))
        inside = line[stop:closed] if closed is not None else ""
        if closed is None or ("|" in inside and "<" in inside):
            # A table would cut such a span at its bar, and what is in it would be prose again.
            pieces.append("&#96;" * len(mark))
            at = stop
        else:
            at = closed + len(mark)
            pieces.append(line[start:at])


def next_run(line: str, at: int) -> tuple[int, int] | None:
    """Return where the next backticks are that no backslash takes the meaning from."""
    for run in BACKTICKS.finditer(line, at):
        before = line[: run.start()]
        slashes = len(before) - len(before.rstrip("\\"))
        start = run.start() + slashes % 2
        if start < run.end():
            return start, run.end()
    return None


def closing(line: str, at: int, mark: str) -> int | None:
    """Return where the backticks are that close this run."""
    return next((run.start() for run in BACKTICKS.finditer(line, at) if run[0] == mark), None)


def safe_prose(text: str) -> str:
    """Return prose without tags, pictures and links that run code."""
    text = AUTOLINK.sub(r"\1", text)
    text = TAG.sub("&lt;", text)
    text = text.replace("![", "[")
    text = CONTROL_IN_LINK.sub(lambda match: f"&amp;{match[0][1:]}", text)
    return RUNS_CODE.sub(r"\1unsafe:\2", text)
