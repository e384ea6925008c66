"""
Messages and thoughts (rules 3 to 9).

- A chunk with a messageId goes to that message's open segment. Without one it joins the last item
  if that is an open id-less segment of its role.
- A thought, tool call, permission, plan or notice closes all open segments when it is first seen;
  a message closes the open thought of its own messageId only.
- A chunk of a message that began live in an earlier turn goes to that message's last segment.
- The first user message after a prompt of ours, before any agent item, is its echo: it confirms
  the bubble, which keeps what was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.timeline.content import append_part, append_text, part_of, replace_blocks
from acp_notebook.timeline.drafts import SegmentDraft
from acp_notebook.timeline.fold import encoded

if TYPE_CHECKING:
    from acp_notebook.timeline.drafts import Role
    from acp_notebook.timeline.fold import Fold


def agent_message_chunk(fold: Fold, update: dict[str, Any]) -> None:
    """Add to a message of the agent."""
    chunk(fold, update, "assistant", "agent_message_chunk.content")


def agent_thought_chunk(fold: Fold, update: dict[str, Any]) -> None:
    """Add to a thought."""
    chunk(fold, update, "thought", "agent_thought_chunk.content")


def user_message_chunk(fold: Fold, update: dict[str, Any]) -> None:
    """Confirm the prompt that this echoes, or add to a message of the user."""
    message_id = message_id_of(update)
    if echo(fold, message_id, update):
        return
    chunk(fold, update, "user", "user_message_chunk.content")


def chunk(fold: Fold, update: dict[str, Any], role: Role, where: str) -> None:
    """Add one content block to the segment that it belongs to, new when there is none."""
    block = update.get("content")
    text = block.get("text") if type(block) is dict and block.get("type") == "text" else None
    message_id = update.get("messageId")
    if type(message_id) is not str or not message_id:
        message_id = None
    if type(text) is str:
        if text:
            segment = open_segment(fold, role, message_id) or new_segment(fold, role, message_id)
            if segment is not None:
                append_text(fold, segment, text)
        return
    segment = open_segment(fold, role, message_id)
    if segment is None:
        if not (isinstance(block, dict) and isinstance(block.get("type"), str)) or (
            block.get("type") == "text"
        ):
            fold.count(where)
            return
        segment = new_segment(fold, role, message_id)
        if segment is None:
            return
    part = part_of(fold, segment, block, where)
    if part is not None:
        append_part(fold, segment, part)


def message_id_of(update: dict[str, Any]) -> str | None:
    """Return the messageId; null, empty or no string counts as absent."""
    message_id = update.get("messageId")
    return message_id if isinstance(message_id, str) and message_id else None


def open_segment(fold: Fold, role: Role, message_id: str | None) -> SegmentDraft | None:
    """Return the segment that text of this message goes to, None when it begins another."""
    if message_id is None:
        last = fold.last
        if (
            isinstance(last, SegmentDraft)
            and last.message_id is None
            and last.role == role
            and not last.closed
        ):
            return last
        return None
    key = (role, message_id)
    segment = fold.open.get(key)
    if segment is None:
        known = fold.messages.get(key)
        if known and known[-1].turn is not fold.turns[-1]:
            return known[-1]
    elif role == "assistant" and ("thought", message_id) in fold.open:
        fold.close(fold.open.pop(("thought", message_id)))
    return segment


def new_segment(fold: Fold, role: Role, message_id: str | None) -> SegmentDraft | None:
    """Begin a segment at the end; None when the timeline is full."""
    if not fold.room():
        return None
    if role == "thought":
        fold.close_all()
    elif role == "assistant" and message_id is not None:
        thought = fold.open.pop(("thought", message_id), None)
        if thought is not None:
            fold.close(thought)
    kind = "thought" if role == "thought" else f"msg:{role}"
    if message_id is None:
        fold.nameless += 1
        index, id_ = 0, f"{kind}:~{fold.nameless}:0"
    else:
        key = (role, message_id)
        index = fold.segment_counts.get(key, 0)
        fold.segment_counts[key] = index + 1
        id_ = f"{kind}:{encoded(message_id)}:{index}"
    segment = SegmentDraft(fold.unique(id_), role, message_id, index, historical=fold.historical)
    if message_id is not None:
        fold.open[role, message_id] = segment
        fold.messages.setdefault((role, message_id), []).append(segment)
    if role == "user":
        fold.add_user(segment)
    else:
        fold.add(segment)
    return segment


def echo(fold: Fold, message_id: str | None, update: dict[str, Any]) -> bool:
    """Whether this user message is the agent's echo of a prompt of ours; confirms it."""
    bubble = fold.echoing
    if bubble is not None:
        if message_id is None or bubble.message_id in {None, message_id}:
            take_id(fold, bubble, message_id)
            return True
        fold.echoing = None
    if not fold.awaiting_echo:
        return False
    content = update.get("content")
    if not isinstance(content, dict | list):
        return False
    bubble = fold.echoing = fold.awaiting_echo.pop(0)
    fold.confirm(bubble)
    take_id(fold, bubble, message_id)
    return True


def take_id(fold: Fold, bubble: SegmentDraft, message_id: str | None) -> None:
    """Give the bubble the echoed messageId."""
    if message_id is not None and bubble.message_id is None:
        bubble.message_id = message_id
        fold.touch(bubble)


def user_message(fold: Fold, update: dict[str, Any]) -> None:
    """Replace a whole message of the user (v2)."""
    if not echo(fold, message_id_of(update), update):
        upsert(fold, update, "user", "user_message")


def agent_message(fold: Fold, update: dict[str, Any]) -> None:
    """Replace a whole message of the agent (v2)."""
    upsert(fold, update, "assistant", "agent_message")


def agent_thought(fold: Fold, update: dict[str, Any]) -> None:
    """Replace a whole thought (v2)."""
    upsert(fold, update, "thought", "agent_thought")


def upsert(fold: Fold, update: dict[str, Any], role: Role, kind: str) -> None:
    """Put the content into the message's last segment; its earlier segments lose their parts."""
    message_id = message_id_of(update)
    if message_id is None:
        fold.count(f"{kind}.messageId")
        return
    if "content" not in update:
        return
    content = update["content"]
    if content is None:
        content = []
    if not isinstance(content, list):
        fold.count(f"{kind}.content")
        return
    known = fold.messages.get((role, message_id))
    if known:
        segment = known[-1]
        for earlier in known[:-1]:
            if earlier.parts:
                replace_blocks(fold, earlier, [], kind)
    elif content:
        made = new_segment(fold, role, message_id)
        if made is None:
            return
        segment = made
    else:
        return
    replace_blocks(fold, segment, content, f"{kind}.content")
