"""An agent behind the SDK's own server (WebSocket and streamable HTTP); prints its port."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import uvicorn
from acp import text_block, update_agent_message
from acp.http.asgi import create_asgi_app
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)


class Agent:
    """Says what it is told, one word a chunk; `ask` asks, `wait` waits for a cancel."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.stop = asyncio.Event()

    def on_connect(self, client: Any) -> None:
        self.client = client

    async def initialize(self, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=1,
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="remote", version="1"),
        )

    async def new_session(self, **_: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id="far-1")

    async def cancel(self, **_: Any) -> None:
        self.stop.set()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> PromptResponse:
        self.stop.clear()
        words = "".join(block.text for block in prompt).split()
        if words[0] == "ask":
            answer = await self.client.request_permission(
                session_id=session_id,
                tool_call=ToolCallUpdate(tool_call_id="t1", title="Far"),
                options=[PermissionOption(option_id="y", name="Yes", kind="allow_once")],
            )
            words = [answer.outcome.outcome]
        elif words[0] == "wait":
            await self.stop.wait()
            return PromptResponse(stop_reason="cancelled")
        for word in words:
            await self.client.session_update(
                session_id=session_id, update=update_agent_message(text_block(f"{word} "))
            )
        return PromptResponse(stop_reason="end_turn")


async def main() -> None:
    """Serve until stdin ends."""
    server = uvicorn.Server(uvicorn.Config(create_asgi_app(Agent), log_level="error"))
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0))
    print(listener.getsockname()[1], flush=True)
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = server.force_exit = True
    await serving


asyncio.run(main())
