"""
Content blocks to parts.

A text block grows the text before it; each other block is a part at its place. What cannot be
read is counted as `kind.field`, and inside a tool's output it leaves an `error` part.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from acp_notebook.timeline.growing import GrowingText, TerminalDraft, growing_end
from acp_notebook.timeline.parts import (
    Attachment,
    Audio,
    Blob,
    Diff,
    Error,
    Image,
    Markdown,
    Unsupported,
)
from acp_notebook.timeline.plain import plain, text_or_none, whole_number
from acp_notebook.timeline.text import Text, valid

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_notebook.timeline.drafts import SegmentDraft, ToolDraft
    from acp_notebook.timeline.fold import Fold

    Append = Callable[[str], None]

NO_URI = {"state": "unavailable", "reason": "no_usable_uri"}
PENDING = {"state": "pending"}


def append_text(fold: Fold, draft: SegmentDraft | ToolDraft, text: str) -> Append | None:
    """Add text to the part at the end, or begin one; returns what adds more to it."""
    grown = growing_end(draft.parts)
    if grown is None:
        if not fold.room_for_part():
            return None
        grown = GrowingText()
        draft.parts.append(grown)
    append = grown.pending.append
    append(text)
    fold.touch(draft)
    return append


def append_part(fold: Fold, draft: SegmentDraft | ToolDraft, part: Any) -> None:
    """Add a part that is no text; text before it is complete."""
    if fold.room_for_part():
        parts = draft.parts
        if parts and isinstance(parts[-1], GrowingText):
            parts[-1].close()
        parts.append(part)
        fold.touch(draft)


def text_of_block(block: Any) -> str | None:
    """Return the text of a text block, None for all else."""
    if isinstance(block, dict) and block.get("type") == "text":
        text = block.get("text")
        if isinstance(text, str):
            return text
    return None


def append_block(fold: Fold, draft: SegmentDraft | ToolDraft, block: Any, where: str) -> None:
    """Add one content block; empty text adds nothing."""
    text = text_of_block(block)
    if text is None:
        part = part_of(fold, draft, block, where)
        if part is not None:
            append_part(fold, draft, part)
    elif text:
        append_text(fold, draft, text)


def is_block(block: Any) -> bool:
    """Whether this is a content block that makes a part (a text block without text is none)."""
    if not isinstance(block, dict):
        return False
    type_ = block.get("type")
    return isinstance(type_, str) and type_ != "text"


def part_of(fold: Fold, draft: SegmentDraft | ToolDraft, block: Any, where: str) -> Any:
    """Return the part for a block that is no text, None when it cannot be read at all."""
    if not is_block(block):
        fold.count(where)
        return None
    type_ = block["type"]
    if type_ == "image":
        return image(block)
    if type_ == "audio":
        mime_type = text_or_none(block.get("mimeType"))
        return Audio(decoded(block.get("data"), mime_type), mime_type)
    if type_ == "resource_link":
        return attachment(fold, draft, block, block, type_)
    if type_ == "resource":
        resource = block.get("resource")
        return attachment(fold, draft, block, resource if isinstance(resource, dict) else {}, type_)
    return Unsupported(plain(type_))


def image(block: dict[str, Any]) -> Image:
    """Return a picture by its data; without data that can be read, by its reference."""
    mime_type = text_or_none(block.get("mimeType"))
    uri = text_or_none(block.get("uri")) or None
    alt = text_or_none(block.get("name")) or (name_from(uri) if uri else None)
    return Image(decoded(block.get("data"), mime_type), uri, mime_type, alt)


def decoded(data: Any, mime_type: str | None) -> Blob | None:
    """Return the bytes of a base64 text, None for what is none."""
    if not isinstance(data, str) or not data:
        return None
    try:
        raw = a2b_base64("".join(data.split()).encode("ascii"), strict_mode=True)
    except (Base64Error, UnicodeEncodeError):
        return None
    return blob(raw, mime_type)


def blob(data: bytes, mime_type: str | None) -> Blob:
    """Return bytes by their digest."""
    return Blob(sha256(data).hexdigest(), len(data), mime_type, data)


def attachment(
    fold: Fold,
    draft: SegmentDraft | ToolDraft,
    block: dict[str, Any],
    resource: dict[str, Any],
    source: str,
) -> Attachment:
    """Return the reference, and note in the turn that it waits to be resolved."""
    uri = text_or_none(resource.get("uri")) or None
    mime_type = text_or_none(resource.get("mimeType"))
    content = None
    if source == "resource":
        text = text_or_none(resource.get("text"))
        if text is not None:
            content = blob(text.encode(), mime_type or "text/plain")
        else:
            content = decoded(resource.get("blob"), mime_type)
    size = whole_number(resource.get("size"))
    name = (
        text_or_none(resource.get("name"))
        or text_or_none(resource.get("title"))
        or text_or_none(block.get("title"))
        or (name_from(uri) if uri else "")
    )
    part = Attachment(
        f"{draft.id}/{draft.attachments}", uri, name, mime_type, size, source, content
    )
    draft.attachments += 1
    states = draft.turn.attachments
    known = states.get(part.ref_id)
    if known is None or known[0] != uri:
        states[part.ref_id] = (uri, PENDING if uri else NO_URI)
        fold.touch_turn(draft.turn)
    return part


def name_from(uri: str) -> str:
    """Return the decoded last part of a uri, the uri itself when it has none."""
    try:
        path = urlsplit(uri).path
    except ValueError:
        path = uri
    return unquote(path.rstrip("/").rpartition("/")[2]) or uri


def tool_part(fold: Fold, draft: ToolDraft, content: Any, where: str) -> Any:
    """Return the part for one piece of tool content that is no text."""
    type_ = content.get("type") if isinstance(content, dict) else None
    if type_ == "content":
        part = part_of(fold, draft, content.get("content"), where)
        return part or Error("This tool output could not be read.")
    if type_ == "diff":
        return diff(fold, content, where)
    if type_ == "terminal":
        terminal_id = content.get("terminalId")
        if isinstance(terminal_id, str) and terminal_id:
            return terminal(fold, terminal_id, draft)
    elif isinstance(type_, str):
        return Unsupported(plain(type_))
    fold.count(where)
    return Error("This tool output could not be read.")


def terminal(fold: Fold, terminal_id: str, draft: ToolDraft | None = None) -> TerminalDraft:
    """Return the terminal of this id, shown by this card."""
    known = fold.terminals.get(terminal_id)
    if known is None:
        known = TerminalDraft(plain(terminal_id))
        if len(fold.terminals) < fold.limits.max_items:
            fold.terminals[terminal_id] = known
    if draft is not None:
        known.cards[draft.id] = draft
    return known


def diff(fold: Fold, content: dict[str, Any], where: str) -> Any:
    """Return a change of files, in the form of either protocol version."""
    changes = content.get("changes")
    if isinstance(changes, list):
        kept = tuple(plain(change) for change in changes if isinstance(change, dict))
        patch = content.get("patch")
        text = text_or_none(patch.get("text")) if isinstance(patch, dict) else None
        path = next((c["path"] for c in kept if isinstance(c.get("path"), str)), None)
        return Diff(path, patch=text, changes=kept)
    path, new_text = text_or_none(content.get("path")), text_or_none(content.get("newText"))
    if path is None or new_text is None:
        fold.count(where)
        return Error("This file change could not be read.")
    return Diff(path, text_or_none(content.get("oldText")), new_text)


def replace_blocks(
    fold: Fold, draft: SegmentDraft | ToolDraft, blocks: list[Any], where: str
) -> None:
    """Put these blocks in the place of what was there; text that only grew keeps its origin."""
    old = draft.parts
    draft.attachments = 0
    parts: list[Any] = []
    for block in fold.fitting(blocks, len(old)):
        text = text_of_block(block)
        if text is None:
            part = part_of(fold, draft, block, where)
            if part is not None:
                parts.append(part)
        elif text:
            end = growing_end(parts)
            if end is not None:
                end.pending.append(valid(text))
            else:
                parts.append(grow(old, len(parts), text))
    draft.parts = parts
    fold.parts += len(parts) - len(old)
    drop_states(draft)
    fold.touch(draft)


def grow(old: list[Any], place: int, text: str) -> Markdown | GrowingText:
    """Return the old text with the rest added when the new text begins with it, else a new one."""
    known = old[place] if place < len(old) else None
    if isinstance(known, Markdown) and text.startswith(known.text):
        known = GrowingText(known)
    if isinstance(known, GrowingText) and known.grows_to(text):
        return known
    return Markdown(Text.of(text))


def drop_states(draft: SegmentDraft | ToolDraft) -> None:
    """Forget the states of attachments that are gone."""
    states = draft.turn.attachments
    number = draft.attachments
    while states and states.pop(f"{draft.id}/{number}", None) is not None:
        number += 1


def resolve(fold: Fold, ref_id: str, state: dict[str, Any]) -> None:
    """Note the state of an attachment, unless its reference is another by now."""
    draft = fold.drafts.get(ref_id.rpartition("/")[0])
    known = draft.turn.attachments.get(ref_id) if draft is not None else None
    if draft is None or known is None:
        return
    uri = state.pop("uri", known[0])
    if uri == known[0] and state != known[1]:
        draft.turn.attachments[ref_id] = (uri, plain(state))
        fold.touched[draft.id] = None
        fold.touch_turn(draft.turn)
