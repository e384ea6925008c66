"""
Agents' Markdown as HTML, for the exported file: a small subset, everything escaped.

Blocks: headings, paragraphs, lists, quotes, rules, tables, fenced code. Inline: code, strong,
emphasis, strike-through, links. A picture becomes a link; only web addresses can be followed.
What is not understood stays as text.
"""

from __future__ import annotations

import re
from html import escape

from acp_notebook.timeline.prose import Table, blocks_of, table_at

HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
RULE = re.compile(r"^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
ITEM = re.compile(r"^([ \t]*)(?:([-*+])|(\d{1,9})[.)])[ \t]+(.*)$")
QUOTE = re.compile(r"^ {0,3}> ?(.*)$")
INLINE = re.compile(
    r"(?P<code>(?P<ticks>`+)(?!`)(?P<span>.{1,2000}?)(?<!`)(?P=ticks)(?!`))"
    r"|\\(?P<literal>[!-/:-@\[-`{-~])"
    r"|!?\[(?P<label>[^\[\]]{0,500})\]\([ \t]*<?(?P<href>[^\s<>()]{0,2000})>?"
    r"(?:[ \t]+[\"'][^\"']{0,300}[\"'])?[ \t]*\)"
    r"|(?P<auto>https?://[^\s<>\"'`]{1,2000})"
    r"|\*\*(?=\S)(?P<strong>.{1,1000}?)(?<=\S)\*\*"
    r"|(?<![\w*])\*(?=[^\s*])(?P<star>.{1,1000}?)(?<=[^\s*])\*(?!\*)"
    r"|(?<![\w_])_(?=[^\s_])(?P<under>.{1,1000}?)(?<=[^\s_])_(?![\w_])"
    r"|~~(?=\S)(?P<struck>.{1,1000}?)(?<=\S)~~",
    re.DOTALL,
)
MARKS = (("strong", "strong"), ("star", "em"), ("under", "em"), ("struck", "del"))
DEEPEST = 8


def prose_html(text: str, depth: int = 0) -> str:
    """Return a Markdown text as HTML."""
    pieces: list[str] = []
    for block in blocks_of(text):
        if block.code is not None:
            name = escape(block.code.language)
            label = f' class="language-{name}"' if name else ""
            pieces.append(f"<pre><code{label}>{escape(block.code.text)}</code></pre>")
        else:
            pieces.extend(blocks_html(block.lines, depth))
    return "\n".join(pieces)


def blocks_html(lines: tuple[str, ...], depth: int) -> list[str]:
    """Return lines that hold no code as blocks."""
    pieces: list[str] = []
    paragraph: list[str] = []

    def flush() -> None:
        if paragraph:
            pieces.append(f"<p>{'<br>'.join(map(inline, paragraph))}</p>")
            paragraph.clear()

    at = 0
    while at < len(lines):
        line = lines[at]
        table = table_at(lines, at)
        heading = HEADING.match(line)
        taken = 1
        if table is not None:
            flush()
            pieces.append(table_html(table))
            taken = 2 + len(table.rows)
        elif heading is not None:
            flush()
            level = min(6, len(heading[1]) + 2)
            pieces.append(f"<h{level}>{inline(heading[2])}</h{level}>")
        elif RULE.match(line):
            flush()
            pieces.append("<hr>")
        elif QUOTE.match(line) and depth < DEEPEST:
            flush()
            inner = run_of(lines, at, QUOTE)
            taken = len(inner)
            body = prose_html("\n".join(match[1] for match in inner), depth + 1)
            pieces.append(f"<blockquote>\n{body}\n</blockquote>")
        elif ITEM.match(line):
            flush()
            items = run_of(lines, at, ITEM)
            taken = len(items)
            pieces.append(list_html(items))
        elif line.strip():
            paragraph.append(line.strip())
        else:
            flush()
        at += taken
    flush()
    return pieces


def run_of(lines: tuple[str, ...], at: int, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """Return the matches of the lines that follow each other from here."""
    found = []
    for line in lines[at:]:
        match = pattern.match(line)
        if match is None:
            break
        found.append(match)
    return found


def list_html(items: list[re.Match[str]]) -> str:
    """Return list items as lists, nested as they are indented."""
    pieces: list[str] = []
    open_lists: list[tuple[int, str]] = []
    for item in items:
        indent = len(item[1].expandtabs(4))
        while open_lists and indent < open_lists[-1][0]:
            pieces.append(f"</li></{open_lists.pop()[1]}>")
        if open_lists and (indent < open_lists[-1][0] + 2 or len(open_lists) == DEEPEST):
            pieces.append("</li>")
        else:
            tag = "ul" if item[2] else "ol"
            start = f' start="{int(item[3])}"' if item[3] and int(item[3]) != 1 else ""
            open_lists.append((indent, tag))
            pieces.append(f"<{tag}{start}>")
        pieces.append(f"<li>{inline(item[4])}")
    pieces.extend(f"</li></{tag}>" for _, tag in reversed(open_lists))
    return "".join(pieces)


def table_html(table: Table) -> str:
    """Return a table."""
    head = "".join(f"<th>{inline(cell)}</th>" for cell in table.header)
    rows = "".join(
        f"<tr>{''.join(f'<td>{inline(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def inline(text: str) -> str:
    """
    Return one run of inline text.

    Each mark ends at its first end, so that none stands inside another of its kind and the depth
    is that of the kinds.
    """
    pieces: list[str] = []
    at = 0
    for match in INLINE.finditer(text):
        pieces.append(escape(text[at : match.start()]))
        pieces.append(one_inline(match))
        at = match.end()
    pieces.append(escape(text[at:]))
    return "".join(pieces)


def one_inline(match: re.Match[str]) -> str:
    """Return one inline construct."""
    if match["code"]:
        return f"<code>{escape(match['span'].strip() or match['span'])}</code>"
    if match["literal"]:
        return escape(match["literal"])
    if match["auto"]:
        address = match["auto"].rstrip(".,;:!?)")
        rest = match["auto"][len(address) :]
        return f"{link(address, escape(address))}{escape(rest)}"
    if match["label"] is not None:
        return link(match["href"], inline(match["label"]) or escape(match["href"]))
    group, tag = next((group, tag) for group, tag in MARKS if match[group])
    return f"<{tag}>{inline(match[group])}</{tag}>"


def link(href: str, label: str) -> str:
    """Return a link when the address is one of the web, else its words and the address."""
    if re.match(r"(?i)(https?://|mailto:)", href):
        return f'<a href="{escape(href)}" rel="noopener noreferrer">{label}</a>'
    return f"{label} ({escape(href)})" if href and escape(href) != label else label
