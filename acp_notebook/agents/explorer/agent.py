"""The explorer's methods: what ACP asks of an agent, answered by rules."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from acp_notebook import __version__
from acp_notebook.agents.explorer.demo import demo
from acp_notebook.agents.explorer.find import find
from acp_notebook.agents.explorer.session import MODES, PACES, Session, Turn, folder
from acp_notebook.agents.peer import INVALID_PARAMS, RESOURCE_NOT_FOUND, Refused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from acp_notebook.agents.peer import Notifications, Params, Peer, Requests

GREETING = """\
I am the **explorer**, the agent that comes with `acp_notebook`. I am no language model: I work by \
rules, offline, and need no key. To talk to a real agent, name it: `%acp_chat opencode` or \
`Chat("opencode")`; `%acp_agents` lists those that are known here and how to get them.

"""

NO_MODEL = """\
I read that, but only a model could answer it. `/help` says what I can do.
"""

WINDOW_WORDS = 100_000

COMMANDS: dict[str, tuple[str, str | None]] = {
    "demo": ("Show every kind of item that a chat can have", "optionally a pace: instant, slow"),
    "find": ("Search the text files of the working directory", "the text to look for"),
    "help": ("Say what this agent can do", None),
}


class Explorer:
    """The agent's end of one connection."""

    def __init__(self, peer: Peer, pace: float) -> None:
        self._peer = peer
        self._pace = pace
        self._capabilities: Mapping[str, Any] = {}
        self._sessions: dict[str, Session] = {}
        self._commands: dict[str, Callable[[Turn, str], Awaitable[None]]] = {
            "demo": demo,
            "find": find,
            "help": say_help,
        }
        self.requests: Requests = {
            "initialize": self.initialize,
            "session/new": self.new_session,
            "session/prompt": self.prompt,
            "session/set_mode": self.set_mode,
            "session/set_config_option": self.set_config_option,
            "session/close": self.close_session,
        }
        self.notifications: Notifications = {"session/cancel": self.cancel}

    async def initialize(self, params: Params) -> dict[str, Any]:
        """Say who this is; version 1 is the only one spoken."""
        capabilities = params.get("clientCapabilities")
        self._capabilities = capabilities if isinstance(capabilities, dict) else {}
        return {
            "protocolVersion": 1,
            "agentInfo": {"name": "explorer", "title": "Explorer", "version": __version__},
            "agentCapabilities": {
                "loadSession": False,
                "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
                "sessionCapabilities": {"close": {}},
            },
            "authMethods": [],
        }

    async def new_session(self, params: Params) -> dict[str, Any]:
        """Open a session in the folder that the client names."""
        session = Session(cwd=folder(params), pace=self._pace)
        self._sessions[session.id] = session
        # Sent before the answer, as several real agents do: a client knows them from the start.
        self._turn(session).update(
            "available_commands_update",
            availableCommands=[
                {"name": name, "description": text, "input": {"hint": hint} if hint else None}
                for name, (text, hint) in COMMANDS.items()
            ],
        )
        return {
            "sessionId": session.id,
            "modes": {
                "currentModeId": session.mode,
                "availableModes": [
                    {"id": mode, "name": name, "description": text}
                    for mode, (name, text) in MODES.items()
                ],
            },
            "configOptions": _config_options(session),
        }

    async def prompt(self, params: Params) -> dict[str, Any]:
        """Run one turn; a cancelled one is answered as cancelled."""
        session = self._session(params)
        if session.work is not None:
            raise Refused(INVALID_PARAMS, "A prompt is running in this session already.")
        blocks = [block for block in params.get("prompt") or () if isinstance(block, dict)]
        words_before = session.words_in, session.words_out
        session.work = asyncio.create_task(self._work(session, blocks))
        try:
            await session.work
            reason = "end_turn"
        except asyncio.CancelledError:
            if not session.work.cancelled():
                raise
            reason = "cancelled"
        finally:
            session.work.cancel()
            session.work = None
        read, written = session.words_in - words_before[0], session.words_out - words_before[1]
        usage = {"inputTokens": read, "outputTokens": written, "totalTokens": read + written}
        return {"stopReason": reason, "usage": usage}

    async def set_mode(self, params: Params) -> dict[str, Any]:
        """Change what may be done without asking."""
        session = self._session(params)
        mode = params.get("modeId")
        if mode not in MODES:
            raise Refused(INVALID_PARAMS, f"There is no mode {mode!r}; there are {list(MODES)}.")
        session.mode = mode
        self._turn(session).update("current_mode_update", currentModeId=mode)
        return {}

    async def set_config_option(self, params: Params) -> dict[str, Any]:
        """Change how fast this agent streams."""
        session = self._session(params)
        value = params.get("value")
        if params.get("configId") != "pace" or value not in PACES:
            raise Refused(INVALID_PARAMS, f"The only option is pace; it takes {list(PACES)}.")
        session.pace = PACES[value]
        return {"configOptions": _config_options(session)}

    async def close_session(self, params: Params) -> dict[str, Any]:
        """Forget a session and end its turn."""
        session = self._session(params)
        self.cancel(params)
        del self._sessions[session.id]
        return {}

    def cancel(self, params: Params) -> None:
        """End the running turn of a session, wherever it is."""
        session = self._sessions.get(str(params.get("sessionId")))
        if session is not None and session.work is not None:
            session.work.cancel()

    async def _work(self, session: Session, blocks: list[dict[str, Any]]) -> None:
        turn = self._turn(session)
        text = "\n".join(str(b.get("text", "")) for b in blocks if b.get("type") == "text").strip()
        session.words_in += len(text.split())
        if not session.greeted:
            session.greeted = True
            await turn.say(GREETING)
        name, _, rest = text.removeprefix("/").partition(" ")
        if not text.startswith("/"):
            await turn.say(NO_MODEL + _seen(blocks))
        elif command := self._commands.get(name):
            await command(turn, rest.strip())
        else:
            await turn.say(f"I have no command `/{name}`. `/help` says what I can do.")
        turn.update("usage_update", used=session.words_in + session.words_out, size=WINDOW_WORDS)

    def _session(self, params: Params) -> Session:
        session_id = params.get("sessionId")
        session = self._sessions.get(session_id) if isinstance(session_id, str) else None
        if session is None:
            raise Refused(RESOURCE_NOT_FOUND, f"There is no session {session_id!r}.")
        return session

    def _turn(self, session: Session) -> Turn:
        return Turn(self._peer, session, self._capabilities)


async def say_help(turn: Turn, _rest: str) -> None:
    """List the commands."""
    lines = [f"- `/{name}` — {text}." for name, (text, _) in COMMANDS.items()]
    await turn.say("\n".join(["What I can do:", "", *lines, ""]))


def _seen(blocks: list[dict[str, Any]]) -> str:
    """Name what came with the text, so that a person sees that it arrived."""
    names = []
    for block in blocks:
        resource = block.get("resource")
        about = block | resource if isinstance(resource, dict) else block
        label = about.get("name") or about.get("uri") or about.get("mimeType") or ""
        if block.get("type") != "text":
            names.append(f"- {block.get('type')}: `{str(label).replace('`', '')}`")
    return "\n".join(["\nWith it came:\n", *names, ""]) if names else ""


def _config_options(session: Session) -> list[dict[str, Any]]:
    paces = dict(PACES)
    if session.pace not in paces.values():
        paces["custom"] = session.pace  # given on the command line
    current = next(name for name, pace in paces.items() if pace == session.pace)
    return [
        {
            "id": "pace",
            "name": "Pace",
            "description": "How fast this agent streams",
            "type": "select",
            "currentValue": current,
            "options": [{"value": name, "name": name.capitalize()} for name in paces],
        }
    ]
