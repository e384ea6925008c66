"""A conversation with one of everything."""

from __future__ import annotations

from acp_notebook.timeline import Timeline
from tests.timeline.updates import (
    SESSION,
    call,
    message,
    output,
    permission,
    plan,
    thought,
    update,
)
from tests.timeline.updates import text as block

PNG = "iVBORw0KGgo="


ME = "/home/me"


def rich():
    """Return the snapshot of a conversation with one of everything."""
    timeline = Timeline(SESSION)
    timeline.apply_response("initialize", {"agentInfo": {"name": "a", "title": "An Agent"}})
    timeline.begin_prompt(
        [block("Look at /home/me/x"), {"type": "resource_link", "uri": "file:///x", "name": "x"}],
        at=10.0,
    )
    timeline.apply(
        [
            thought("I wonder", "m1"),
            message("See **this** <b>.\n\n```py\nx = 1\n```", "m1"),
            update(
                "agent_message_chunk",
                messageId="m1",
                content={"type": "image", "data": PNG, "mimeType": "image/png"},
            ),
            update(
                "agent_message_chunk",
                messageId="m1",
                content={"type": "image", "uri": "https://e.org/a.png"},
            ),
            update("agent_message_chunk", messageId="m1", content={"type": "audio", "data": PNG}),
            update("agent_message_chunk", messageId="m1", content={"type": "hologram"}),
            update(
                "agent_message_chunk",
                messageId="m1",
                content={"type": "resource_link", "uri": "https://e.org/d.pdf", "name": "d[1].pdf"},
            ),
            call(
                title="Run `ls`",
                name="Bash",
                kind="execute",
                status="completed",
                rawInput={"command": "ls"},
                locations=[{"path": "/home/me/a.py"}],
                content=[
                    output("```console\n\x1b[31mred\x1b[0m\n```"),
                    {"type": "diff", "path": "/home/me/a.py", "oldText": "a\n", "newText": "b\n"},
                    {"type": "terminal", "terminalId": "t"},
                    {"type": 5},
                ],
            ),
            call(
                "t2",
                title="Read",
                kind="read",
                status="failed",
                error="no such file",
                rawOutput={"stdout": "raw"},
            ),
            plan("one <i>", "two"),
            update("notice", severity="warning", title="careful"),
        ],
        at=11.0,
    )
    timeline.terminal_output("t", "10%\r99%\n")
    timeline.request_permission(1, permission("t1"))
    timeline.resolve_permission(1, {"outcome": "selected", "optionId": "allow_once"}, "user")
    timeline.settle_prompt("max_tokens", usage={"totalTokens": 7}, at=14.0)
    return timeline.snapshot()
