"""Updates as an agent writes them, for tests."""

from __future__ import annotations

from acp_notebook.timeline import Timeline

SESSION = "sess-1"


def update(kind, /, **fields):
    """Return the params of a `session/update` of this kind."""
    return {"sessionId": SESSION, "update": {"sessionUpdate": kind, **fields}}


def text(words):
    """Return a text block."""
    return {"type": "text", "text": words}


def message(words, message_id=None, kind="agent_message_chunk"):
    """Return a chunk of a message."""
    fields = {} if message_id is None else {"messageId": message_id}
    return update(kind, content=text(words), **fields)


def thought(words, message_id=None):
    """Return a chunk of a thought."""
    return message(words, message_id, "agent_thought_chunk")


def user(words, message_id=None):
    """Return a chunk of a user's message."""
    return message(words, message_id, "user_message_chunk")


def call(tool_call_id="t1", **fields):
    """Return a `tool_call`."""
    return update("tool_call", toolCallId=tool_call_id, **fields)


def call_update(tool_call_id="t1", **fields):
    """Return a `tool_call_update`."""
    return update("tool_call_update", toolCallId=tool_call_id, **fields)


def output(words):
    """Return tool content that is text."""
    return {"type": "content", "content": text(words)}


def plan(*contents):
    """Return a `plan` of pending steps."""
    return update(
        "plan",
        entries=[{"content": c, "priority": "medium", "status": "pending"} for c in contents],
    )


def permission(tool_call_id="t1", options=("allow_once", "reject_once"), **tool_call):
    """Return the params of a permission request; each option's id is its kind."""
    return {
        "sessionId": SESSION,
        "toolCall": {"toolCallId": tool_call_id, **tool_call},
        "options": [{"optionId": kind, "name": kind, "kind": kind} for kind in options],
    }


def folded(*updates, prompt=None, version=1, **options):
    """Return a timeline that has folded these updates, after a prompt when one is given."""
    timeline = Timeline(SESSION, version)
    if prompt is not None:
        timeline.begin_prompt([text(prompt)])
    timeline.apply(updates, **options)
    return timeline


def snapshot(*updates, **options):
    """Return the snapshot after these updates."""
    return folded(*updates, **options).snapshot()


def ids(timeline_or_snapshot):
    """Return the ids of all items, in order."""
    shot = timeline_or_snapshot
    if isinstance(shot, Timeline):
        shot = shot.snapshot()
    return [item.id for item in shot.items]


def texts(shot):
    """Return id and text of each message and thought, in order."""
    return {
        item.id: item.text
        for item in shot.items
        if hasattr(item, "parts") and hasattr(item, "text")
    }
