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

from acp_notebook.timeline.content import (
    append_part,
    append_text,
    is_block,
    part_of,
    replace_blocks,
    text_of_block,
)
from acp_notebook.timeline.drafts import SegmentDraft
from acp_notebook.timeline.fold import encoded
from acp_notebook.timeline.text import valid

if TYPE_CHECKING:
    from acp_notebook.timeline.content import Append
    from acp_notebook.timeline.drafts import Role
    from acp_notebook.timeline.fold import Fold


PREFIX = {"user": "msg:user", "assistant": "msg:assistant", "thought": "thought"}


def agent_message_chunk(fold: Fold, update: dict[str, Any]) -> Append | None:
    """Add to a message of the agent."""
    return chunk(fold, update, "assistant", message_id_of(update))


def agent_thought_chunk(fold: Fold, update: dict[str, Any]) -> Append | None:
    """Add to a thought."""
    return chunk(fold, update, "thought", message_id_of(update))


def user_message_chunk(fold: Fold, update: dict[str, Any]) -> Append | None:
    """Confirm the prompt that this echoes, or add to a message of the user."""
    message_id = message_id_of(update)
    if (fold.awaiting_echo or fold.echoing) and echo(fold, message_id, update):
        return None
    return chunk(fold, update, "user", message_id)


def chunk(fold: Fold, update: dict[str, Any], role: Role, message_id: str | None) -> Append | None:
    """Add one content block to the segment that it belongs to, new when there is none."""
    block = update.get("content")
    text = text_of_block(block)
    if text == "":
        return None
    kind: str = update["sessionUpdate"]
    segment = open_segment(fold, role, message_id)
    if segment is None:
        if text is None and not is_block(block):
            fold.count(f"{kind}.content")
            return None
        segment = new_segment(fold, role, message_id)
        if segment is None:
            return None
    if text is not None:
        return append_text(fold, segment, text)
    part = part_of(fold, segment, block, f"{kind}.content")
    if part is not None:
        append_part(fold, segment, part)
    return None


def message_id_of(update: dict[str, Any]) -> str | None:
    """Return the messageId; null, empty or no string counts as absent."""
    message_id = update.get("messageId")
    if not isinstance(message_id, str) or not message_id:
        return None
    return message_id if message_id.isascii() else valid(message_id)


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
    if role == "assistant":
        close_thought(fold, message_id)
    known = latest(fold, (role, message_id))
    if known is None or (known.closed and known.turn is fold.turns[-1]):
        return None
    return known


def latest(fold: Fold, key: tuple[str, str]) -> SegmentDraft | None:
    """Return a message's last segment; replayed ones are another message's, once live."""
    known = fold.messages.get(key)
    return known if known is not None and known.historical is fold.historical else None


def close_thought(fold: Fold, message_id: str) -> None:
    """End the open thought of a message whose text has come."""
    thought = fold.messages.get(("thought", message_id))
    if thought is not None and not thought.closed:
        fold.close(thought)


def new_segment(fold: Fold, role: Role, message_id: str | None) -> SegmentDraft | None:
    """Begin a segment at the end; None when the timeline is full."""
    if not fold.room():
        return None
    kind = PREFIX[role]
    if role == "thought":
        fold.close_all()
    if message_id is None:
        fold.nameless += 1
        id_ = fold.unique(f"{kind}:~{fold.nameless}:0")
        segment = SegmentDraft(id_, role, None, 0, historical=fold.historical)
    else:
        key = (role, message_id)
        before = fold.messages.get(key)
        index = 0 if before is None else before.index + 1
        id_ = fold.unique(f"{kind}:{encoded(message_id)}:{index}")
        segment = SegmentDraft(id_, role, message_id, index, historical=fold.historical)
        segment.previous = before
        fold.messages[key] = segment
        fold.open.append(segment)
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
    segment = latest(fold, (role, message_id))
    if segment is None and content:
        if role == "assistant":
            close_thought(fold, message_id)
        segment = new_segment(fold, role, message_id)
    if segment is None:
        return
    earlier, segment.previous = segment.previous, None
    while earlier is not None and earlier.historical is segment.historical:
        if earlier.parts:
            replace_blocks(fold, earlier, [], kind)
        earlier = earlier.previous
    replace_blocks(fold, segment, content, f"{kind}.content")
