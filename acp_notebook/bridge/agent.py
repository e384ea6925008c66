"""
The ACP agent: one method a request, each a translation to the gateway.

`OpenClawAgent` holds the parts together: `dispatch` calls it for the client, the gateway link
reports to it.
"""

from __future__ import annotations

import logging
import os
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp.meta import PROTOCOL_VERSION

from acp_notebook import __version__
from acp_notebook.bridge import outgoing, presentation
from acp_notebook.bridge.approvals import Approvals
from acp_notebook.bridge.events import Events
from acp_notebook.bridge.history import History
from acp_notebook.bridge.loading import Loader
from acp_notebook.bridge.media import media_link
from acp_notebook.bridge.output import RunOutput
from acp_notebook.bridge.prompts import Prompts
from acp_notebook.bridge.protocol import GatewayClosed, GatewayError
from acp_notebook.bridge.recovery import Recovery
from acp_notebook.bridge.rows import Rows
from acp_notebook.bridge.sessions import (
    CreationLimit,
    Session,
    SessionMeta,
    SessionRefused,
    Sessions,
)
from acp_notebook.bridge.updates import Updates, now_ms

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_notebook.bridge.approvals import Asker
    from acp_notebook.bridge.gateway import Gateway
    from acp_notebook.bridge.ledger import Ledger
    from acp_notebook.bridge.options import BridgeOptions
    from acp_notebook.bridge.pending import Prompt
    from acp_notebook.bridge.protocol import Event

_log = logging.getLogger(__name__)

_Params = dict[str, Any]


class OpenClawAgent:
    """
    Translates between one ACP client and one gateway.

    Args:
        write: sends one message to the client, without waiting.
        client: where permissions are asked for.
    """

    def __init__(
        self,
        gateway: Gateway,
        options: BridgeOptions,
        ledger: Ledger,
        write: Callable[[dict[str, Any]], None],
        client: Asker,
    ) -> None:
        self._gateway = gateway
        self._options = options
        self._ledger = ledger
        self._home = str(Path.home())
        self._sessions = Sessions(options.max_sessions, options.session_idle_s)
        self._creations = CreationLimit(
            options.session_creations, options.session_creation_window_s
        )
        self._updates = Updates(write, ledger)
        self._rows = Rows(gateway, options)
        self._history = History(gateway)
        self._prompts = Prompts(
            gateway,
            options,
            self._updates,
            ledger,
            self._history,
            refresh=self._refresh_info,
            output_of=self._output_of,
        )
        self._approvals = Approvals(gateway, options, client, self._prompts.owner_of)
        self._recovery = Recovery(
            gateway, options, self._prompts, self._approvals, history=self._history, rows=self._rows
        )
        self._prompts.approvals, self._prompts.recovery = self._approvals, self._recovery
        self._loader = Loader(gateway, ledger, self._updates, self._history, self._link)
        self._events = Events(options, self._prompts, self._approvals, self._recovery)

    # Sessions

    async def initialize(self, _params: _Params) -> _Params:
        """Tell what the bridge can do; nothing of it depends on the client."""
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": False, "sse": False},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
            },
            "agentInfo": {
                "name": "openclaw-acp",
                "title": "OpenClaw ACP Gateway",
                "version": __version__,
            },
            "authMethods": [],
        }

    async def authenticate(self, _params: _Params) -> _Params:
        """Do nothing: the gateway knows us already."""
        return {}

    async def new_session(self, params: _Params) -> _Params:
        """Bind a fresh ACP session to a gateway session."""
        _refuse_mcp(params)
        self._creations.take("session/new")
        ident = str(uuid.uuid4())
        meta = SessionMeta.of(params)
        key = await self._rows.resolve_key(meta, fallback=f"acp-bridge:{ident}")
        session = Session(ident, key, params["cwd"], ident, meta.prefix_cwd)
        self._sessions.add(session)
        self._begin(session, complete=True, reset=True)
        shown = await self._shown(session)
        self._send_state(session, shown, record=True)
        return {"sessionId": ident, **_controls(shown)}

    async def load_session(self, params: _Params) -> _Params:
        """Replay a session: from the ledger, else from the gateway's transcript."""
        _refuse_mcp(params)
        ident, meta = params["sessionId"], SessionMeta.of(params)
        known = self._sessions.get(ident)
        if known is None:
            self._creations.take("session/load")
        options = self._options
        explicit = any((meta.key, meta.label, options.session_key, options.session_label))
        found = await self._loader.find(ident, explicit=explicit)
        key = await self._rows.resolve_key(meta, fallback=found.key or ident)
        found = self._loader.fitting(found, ident, key)
        session = Session(ident, key, params["cwd"], found.ledger_id or ident, meta.prefix_cwd)
        if known is not None:
            session.prompt, session.first_prompt = known.prompt, known.first_prompt
        self._sessions.add(session)
        shown = await self._shown(session)
        self._begin(session, complete=found.updates is not None)
        await self._replay(session, found)
        self._send_state(session, shown, record=False)
        return _controls(shown)

    async def _replay(self, session: Session, found: Any) -> None:
        replay = found.updates
        if replay is None:
            replay, running = await self._loader.from_transcript(session, found.running)
        else:
            running = None
        self._updates.send_all(session, replay, record=False)
        if running is not None and not session.is_busy:
            self._prompts.follow(session, running.run_id, running.after)
            self._prompts.spawn(self._approvals.refresh())

    async def resume_session(self, params: _Params) -> _Params:
        """Bind to a gateway session that exists, without a replay."""
        _refuse_mcp(params)
        ident, meta = params["sessionId"], SessionMeta.of(params)
        _require_absolute(params["cwd"], "session/resume")
        known = self._sessions.get(ident)
        if known is None:
            self._creations.take("session/resume")
        key = await self._rows.resolve_key(meta, fallback=known.key if known else ident)
        session = Session(
            ident, key, params["cwd"], known.ledger_id if known else ident, meta.prefix_cwd
        )
        row = await self._rows.row(key)
        if row is None and (known is None or known.key != key):
            raise SessionRefused(f"Session {key} not found")
        if known is not None:
            session.prompt, session.first_prompt = known.prompt, known.first_prompt
        self._sessions.add(session)
        self._begin(session, complete=False)
        shown = self._present(session, row)
        self._send_state(session, shown, record=False)
        return _controls(shown)

    async def close_session(self, params: _Params) -> _Params:
        """Cancel what runs and forget the session; the ledger keeps it."""
        session = self._sessions.require(params["sessionId"])
        await self._stop(session)
        self._sessions.remove(session.id)
        return {}

    async def list_sessions(self, params: _Params) -> _Params:
        """List the gateway's sessions, a page at a time."""
        return await self._rows.page(params)

    # Controls

    async def set_mode(self, params: _Params) -> _Params:
        """Set the thinking level."""
        session = self._sessions.require(params["sessionId"])
        if params["modeId"]:
            await self._patch(session, {"thinkingLevel": params["modeId"]})
        return {}

    async def set_config_option(self, params: _Params) -> _Params:
        """Set one of the seven options."""
        session = self._sessions.require(params["sessionId"])
        patch = presentation.patch_of(params["configId"], params["value"])
        return {"configOptions": await self._patch(session, patch)}

    async def _patch(self, session: Session, patch: dict[str, Any] | None) -> list[dict[str, Any]]:
        if patch is not None:
            answer = await self._gateway.request("sessions.patch", {"key": session.key, **patch})
            self._prompts.quiet(session)
            key = answer.get("key") if isinstance(answer, dict) else None
            if isinstance(key, str) and key:
                self._prompts.adopt_key(session, key)
        shown = await self._shown(session, patch)
        updates = [shown.mode_update, shown.options_update, *shown.info_updates]
        self._updates.send_all(session, updates)
        return shown.config_options

    # Prompts

    async def prompt(self, params: _Params) -> _Params:
        """Run a prompt to its end."""
        session = self._sessions.require(params["sessionId"])
        blocks = params["prompt"]
        run_id = str(uuid.uuid4())
        send = outgoing.chat_send(session, params, run_id, self._options, self._home)
        session.first_prompt = session.first_prompt or outgoing.first_line(blocks)
        return {"stopReason": await self._prompts.run(session, blocks, send)}

    async def cancel(self, params: _Params) -> None:
        """Stop what runs on a session; an unknown one is ignored."""
        session = self._sessions.get(params["sessionId"])
        if session is not None:
            await self._stop(session)

    async def _stop(self, session: Session) -> None:
        if session.prompt is not None and not session.prompt.is_ended:
            await self._prompts.stop(session.prompt)

    # From the gateway

    def on_hello(self, _hello: dict[str, Any]) -> None:
        """The link is usable again."""
        self._events.begin()
        self._recovery.on_hello()

    def on_close(self) -> None:
        """The link was lost."""
        self._recovery.on_close()

    def on_link_failed(self, error: Exception) -> None:
        """No link will come again."""
        self._recovery.give_up(error)

    def on_event(self, event: Event) -> None:
        """Take one gateway event."""
        self._events.take(event)

    def close(self) -> None:
        """The bridge ends: nothing is asked any more, and the runs go on at the gateway."""
        self._approvals.close()

    # Shared

    def _begin(self, session: Session, *, complete: bool, reset: bool = False) -> None:
        self._updates.record(
            self._ledger.begin_session,
            session.ledger_id,
            session.key,
            session.cwd,
            now_ms(),
            complete=complete,
            reset=reset,
        )

    async def _shown(
        self, session: Session, patched: dict[str, Any] | None = None
    ) -> presentation.Snapshot:
        """The session's snapshot; the default one when the gateway has none or does not say."""
        try:
            row = await self._rows.row(session.key)
        except (GatewayError, GatewayClosed, TimeoutError) as error:
            _log.warning("no snapshot of %s: %s", session.key, error)
            row = None
        return self._present(session, row, patched)

    def _present(
        self, session: Session, row: dict[str, Any] | None, patched: dict[str, Any] | None = None
    ) -> presentation.Snapshot:
        if row is not None:
            self._prompts.adopt_key(session, row["key"])
        return presentation.snapshot(row, session.key, session.first_prompt, patched)

    def _send_state(self, session: Session, shown: presentation.Snapshot, *, record: bool) -> None:
        updates = [*shown.info_updates, presentation.commands_update()]
        self._updates.send_all(session, updates, record=record)

    async def _refresh_info(self, session: Session, run_id: str) -> None:
        row = await self._rows.row(session.key, timeout_s=self._options.snapshot_timeout_s)
        self._updates.send_all(session, self._present(session, row).info_updates, run_id=run_id)

    def _output_of(self, prompt: Prompt) -> RunOutput:
        def emit(update: dict[str, Any]) -> None:
            record = not prompt.is_follower
            self._updates.send(prompt.session, update, run_id=prompt.mark, record=record)

        return RunOutput(emit, partial(self._link, prompt.session.cwd))

    def _link(self, cwd: str, reference: str) -> dict[str, Any] | None:
        return media_link(reference, cwd, self._home)


def _controls(shown: presentation.Snapshot) -> _Params:
    return {"configOptions": shown.config_options, "modes": shown.modes}


def _refuse_mcp(params: _Params) -> None:
    if params.get("mcpServers"):
        raise SessionRefused(
            "ACP bridge mode does not support per-session MCP servers."
            " Configure MCP on the OpenClaw gateway or agent instead."
        )


def _require_absolute(cwd: str, method: str) -> None:
    if not os.path.isabs(cwd):  # noqa: PTH117  # a client's path, of whatever system
        raise SessionRefused(f"ACP {method} requires an absolute cwd.")
