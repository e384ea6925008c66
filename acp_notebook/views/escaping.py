"""
Agents' Markdown for other renderers: raw HTML is text, pictures are links.

Renderers differ in where they see code, so nothing here depends on their seeing what we see:
a fenced block is written anew at the left margin with a blank line before it and a fence that
ends; a code span stays within one line, and backticks that pair with none are written as
entities. Everything else has its `<` escaped where a tag could begin, loses the `!` of pictures
and keeps no link that runs code. Maths that would reach into code does not begin.
"""

from __future__ import annotations

import re
from collections import deque

from acp_notebook.timeline.prose import blocks_of

BACKTICKS = re.compile(r"`+")
LANGUAGE = re.compile(r"[\w.+#-]*")
MARKED = re.compile(r"[<\[\]]")
ADDRESS = re.compile(r"(?:https?://|www\.)\S*", re.IGNORECASE)
TAG = re.compile(r"<(?=[A-Za-z/!?])")
AUTOLINK = re.compile(r"<((?:https?|mailto):[^\s<>`]*)>")
PICTURE = re.compile(r"!+(?=\[)")
SCHEME = r"((?:javascript|vbscript|data)\s*\\?:)"
RUNS_CODE = re.compile(rf"(\]\(\s*<?\s*|\]:\s*<?\s*){SCHEME}", re.IGNORECASE)
LINK_BEGINS = re.compile(r"\](?:\(|:)\s*$")
RUNS_CODE_FIRST = re.compile(rf"^([\s>]*){SCHEME}", re.IGNORECASE)
DISPLAYED = re.compile(
    r"(?<!\\)\$\$[^`\n]{0,2000}?(?<!\\)\$\$"
    r"|^\$\$(?:(?!\n\s*\n)[^`]){0,2000}?(?<!\\)\$\$"
    r"|\\\\\[[^`\n]{0,2000}?\\\\\]"
    r"|^\\begin\{([a-z]*\*?)\}(?:(?!\n\s*\n)[^`]){0,2000}?\\end\{\1\}",
    re.MULTILINE,
)
DISPLAY_BEGINS = re.compile(r"\$\$|\\\\\[|\\begin\{")
SPAN = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?)(?<!`)\1(?!`)")
IN_LINE = re.compile(r"(?<!\\)\$[^$`\0]+\$|\\\\\([^`]{0,2000}?\\\\\)")
REACHES_ON = re.compile(r"(?<!\\)\$[^$\0]*[$\0]|\\\\\(")
MATHS_BEGINS = re.compile(r"\$|\\\\(?=[(\[])|\\(?=begin\{)")
CONTROL_IN_LINK = re.compile(r"&(?:#[xX]?[0-9a-fA-F]+|colon|Tab|NewLine);")


def safe_markdown(text: str) -> str:
    """Return Markdown that renders like the text, with nothing in it that loads or runs."""
    pieces: list[str] = []
    for block in blocks_of(text):
        if block.code is None:
            pieces.extend(safe_lines(block.lines))
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


def safe_lines(lines: tuple[str, ...]) -> list[str]:
    """Return lines of prose; the address of a link may stand on the line after its label."""
    pieces: list[str] = []
    before = ""
    meddles = maths_meddles("\n".join(lines))
    for line in lines:
        safe = safe_line(line, meddles=meddles)
        if LINK_BEGINS.search(before):
            safe = RUNS_CODE_FIRST.sub(r"\1unsafe:\2", safe)
        pieces.append(safe)
        before = line
    return pieces


def maths_meddles(text: str) -> bool:
    """
    Whether maths may take the meaning from backticks, in this text or after it.

    Some renderers (nbconvert) look for maths first, and for what is displayed even across fences.
    """
    if "$" not in text and "\\" not in text:
        return False
    rest = DISPLAYED.sub("", PICTURE.sub("", text))
    if DISPLAY_BEGINS.search(rest):
        return True
    # Dollars in code are told apart, since they begin nothing but may end what is begun.
    rest = SPAN.sub(lambda span: span[0].replace("$", "\0"), rest)
    return REACHES_ON.search(IN_LINE.sub("", rest)) is not None


def safe_line(line: str, *, meddles: bool | None = None) -> str:
    """Return one line with everything outside its code spans escaped."""
    if meddles is None:
        meddles = maths_meddles(line)
    pieces: list[str] = []
    at = 0
    marked = MARKED.search(line) is not None
    addresses = deque(found.span() for found in ADDRESS.finditer(line) if marked)
    while True:
        opened = next_run(line, at)
        if opened is None:
            pieces.append(safe_prose(line[at:], meddles=meddles))
            return "".join(pieces)
        start, stop = opened
        mark = line[start:stop]
        closed = closing(line, stop, mark)
        pieces.append(safe_prose(line[at:start], meddles=meddles))
        inside = line[stop:closed] if closed is not None else ""
        while addresses and addresses[0][1] < start:
            addresses.popleft()
        swallowed = bool(addresses) and addresses[0][0] < start
        displays = DISPLAY_BEGINS.search(inside) is not None
        if closed is None or swallowed or displays or (marked and "|" in inside):
            # A table would cut such a span at its bar, and an address takes the backticks behind
            # it: what is in the span would be prose again, and its end would begin another.
            pieces.append("&#96;" * len(mark))
            at = stop
        else:
            at = closed + len(mark)
            pieces.append(line[start:at])


def next_run(line: str, at: int) -> tuple[int, int] | None:
    """Return where the next backticks are that no backslash takes the meaning from."""
    for run in BACKTICKS.finditer(line, at):
        slashes = run.start()
        while slashes and line[slashes - 1] == "\\":
            slashes -= 1
        start = run.start() + (run.start() - slashes) % 2
        if start < run.end():
            return start, run.end()
    return None


def closing(line: str, at: int, mark: str) -> int | None:
    """Return where the backticks are that close this run."""
    return next((run.start() for run in BACKTICKS.finditer(line, at) if run[0] == mark), None)


def safe_prose(text: str, *, meddles: bool) -> str:
    """Return prose without tags, pictures and links that run code, and maths that meddles."""
    text = AUTOLINK.sub(r"\1", text)
    text = TAG.sub("&lt;", text)
    text = PICTURE.sub("", text)
    text = CONTROL_IN_LINK.sub(lambda match: f"&amp;{match[0][1:]}", text)
    text = RUNS_CODE.sub(r"\1unsafe:\2", text)
    if meddles:
        text = MATHS_BEGINS.sub(lambda match: "&#36;" if match[0] == "$" else "&#92;", text)
    return text
