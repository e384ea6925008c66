"""A session with an item and a part of every kind."""

from __future__ import annotations

from acp_notebook.timeline import (
    Timeline,
)
from tests.timeline.updates import (
    SESSION,
    call,
    message,
    output,
    permission,
    plan,
    text,
    thought,
    update,
    user,
)

IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def rich():
    """Return a timeline with an item and a part of every kind."""
    timeline = Timeline(SESSION, generation=4)
    timeline.apply_response("initialize", {"agentInfo": {"name": "a"}})
    timeline.apply([user("old", "u0"), message("reply", "m0")], historical=True, at=1.0)
    timeline.begin_prompt([text("hi"), {"type": "resource_link", "uri": "file:///a"}], at=2.0)
    timeline.apply(
        [
            thought("hm", "m1"),
            message("a", "m1"),
            update("agent_message_chunk", content=IMAGE, messageId="m1"),
            update("agent_message_chunk", content={**IMAGE, "type": "audio"}, messageId="m1"),
            update("agent_message_chunk", content={"type": "hologram"}, messageId="m1"),
            call(
                title="T",
                kind="edit",
                rawInput={"a": [1, None]},
                locations=[{"path": "/a", "line": 1}],
                content=[
                    output("x"),
                    {"type": "diff", "path": "/a", "oldText": "o", "newText": "n"},
                    {"type": "diff", "changes": [{"operation": "add", "path": "/b"}]},
                    {"type": "terminal", "terminalId": "t"},
                    {"type": "diff"},
                    {"type": "content", "content": {"type": "resource", "resource": {"text": "e"}}},
                ],
            ),
            plan("one"),
            update("notice", severity="info", title="n"),
            update("usage_update", used=1, size=2, cost={"amount": 1, "currency": "EUR"}),
            update("hologram"),
        ]
    )
    timeline.terminal_output("t", "out", {"exitCode": 0})
    timeline.request_permission(7, permission())
    timeline.resolve_permission(7, {"outcome": "selected", "optionId": "allow_once"}, "user")
    timeline.supplement(1, [text("more")], source="s", evidence="e")
    timeline.settle_prompt("end_turn", usage={"totalTokens": 3}, at=4.0)
    timeline.begin_prompt([text("again")])
    timeline.settle_prompt(error={"code": 1, "message": "no", "data": {"x": 1}})
    return timeline
