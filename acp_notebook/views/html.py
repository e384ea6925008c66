"""
A snapshot as one HTML file: no script, nothing fetched, readable without its styles.

A content security policy in the file itself forbids scripts and requests, whatever a reader's
browser is made to believe.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from acp_notebook.timeline.groups import group_turn
from acp_notebook.timeline.items import (
    MessageSegment,
    Notice,
    Permission,
    Plan,
    Thought,
    ToolCall,
)
from acp_notebook.timeline.parts import Attachment, Image, Markdown
from acp_notebook.views.markdown import data_uri, web_uri
from acp_notebook.views.prose import link, prose_html
from acp_notebook.views.shown import Home, seen
from acp_notebook.views.words import (
    decision_of,
    note_of,
    notice_text,
    output_of,
    plan_lines,
    status_of,
    turn_note,
)

if TYPE_CHECKING:
    from acp_notebook.timeline.groups import Group
    from acp_notebook.timeline.items import Item
    from acp_notebook.timeline.parts import Part
    from acp_notebook.timeline.snapshot import TimelineSnapshot
    from acp_notebook.timeline.turns import Turn

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'"
STYLE = """
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
section.user { background: #8881; border-radius: .5rem; padding: .1rem 1rem; margin: 1.5rem 0; }
pre { overflow-x: auto; background: #8881; padding: .5rem; border-radius: .25rem; }
details { border-left: .2rem solid #8884; padding-left: .7rem; margin: .5rem 0; }
table { border-collapse: collapse; } td, th { border: 1px solid #8886; padding: .2rem .5rem; }
img { max-width: 100%; } .note { color: #a40; } .thought { opacity: .75; }
""".strip()


def to_html(snapshot: TimelineSnapshot, *, thoughts: bool = True, home: str | None = None) -> str:
    """
    Return the conversation as one self-contained HTML page.

    `thoughts` writes the agent's reasoning too, folded; `home` is the folder written as `~`.
    """
    agent = snapshot.agent.title or snapshot.agent.name or "the agent"
    title = snapshot.metadata.title or f"A chat with {agent}"
    body = "\n".join(turn_html(turn, thoughts=thoughts) for turn in snapshot.turns)
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">
<meta name="viewport" content="width=device-width">
<title>{escape(seen(title))}</title>
<style>
{STYLE}
</style>
</head>
<body>
<h1>{escape(seen(title))}</h1>
{body}
</body>
</html>
"""
    return Home(home).short(page)


def turn_html(turn: Turn, *, thoughts: bool) -> str:
    """Return one turn as its groups and what must be said at its end."""
    pieces = [group_html(group, thoughts=thoughts) for group in group_turn(turn)]
    note = turn_note(turn)
    if note is not None:
        pieces.append(f'<p class="note">{escape(seen(note))}</p>')
    return "\n".join(pieces)


def group_html(group: Group, *, thoughts: bool) -> str:
    """Return one group: prose and process in order, then its attachments."""
    pieces = [item_html(item) for item in group.items if thoughts or not isinstance(item, Thought)]
    if group.attachments:
        names = "".join(f"<li>{attachment_html(part)}</li>" for part in group.attachments)
        pieces.append(f'<ul class="attachments">{names}</ul>')
    who = "You" if group.kind == "user" else "Agent"
    tag = "user" if group.kind == "user" else "agent"
    body = "\n".join(pieces)
    return f'<section class="{tag}" aria-label="{who}">\n<h2>{who}</h2>\n{body}\n</section>'


def item_html(item: Item) -> str:
    """Return one item."""
    if isinstance(item, MessageSegment):
        return parts_html(item.parts)
    if isinstance(item, Thought):
        body = parts_html(item.parts)
        return f'<details class="thought"><summary>Thought</summary>\n{body}\n</details>'
    if isinstance(item, ToolCall):
        output = "\n".join(
            f"<p>{escape(text)}</p>" if kind == "note" else f"<pre>{escape(text)}</pre>"
            for kind, text in output_of(item)
        )
        summary = f"{escape(seen(item.title))} ({escape(seen(status_of(item)))})"
        return f'<details class="tool"><summary>{summary}</summary>\n{output}\n</details>'
    if isinstance(item, Permission):
        asked, answered = escape(seen(item.title)), escape(seen(decision_of(item)))
        return f'<p class="permission">Permission: {asked}: {answered}</p>'
    if isinstance(item, Plan):
        if item.markdown is not None:
            return prose_html(seen(item.markdown))
        steps = "".join(f"<li>{escape(seen(line))}</li>" for line in plan_lines(item))
        return f'<ul class="plan">{steps}</ul>'
    assert isinstance(item, Notice)  # the last kind
    return f'<p class="note">{escape(seen(notice_text(item)))}</p>'


def parts_html(parts: tuple[Part, ...]) -> str:
    """Return the parts of a message; its attachments stand at the end of its group."""
    pieces = []
    for part in parts:
        if isinstance(part, Markdown):
            pieces.append(prose_html(seen(part.text)))
        elif isinstance(part, Image) and (uri := data_uri(part)) is not None:
            pieces.append(f'<p><img src="{uri}" alt="{escape(seen(part.alt or "image"))}"></p>')
        elif not isinstance(part, Attachment):
            pieces.append(f"<p>{escape(seen(note_of(part)))}</p>")
    return "\n".join(pieces)


def attachment_html(part: Attachment) -> str:
    """Return an attachment: a link when it is of the web, else its name."""
    name = escape(seen(part.name or part.mime_type or "attachment"))
    address = web_uri(part.uri)
    return link(address, name) if address else name
