"""
The gateway's events, each led to the prompts that it is about.

`chat` events carry text and ends, `agent` events tools. Both are matched by run id and by
nothing else: every operator hears the runs of all sessions. A run that the gateway restarted
comes under a new id and names the old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.bridge import records
from acp_notebook.bridge.prompts import STOP_REASONS

if TYPE_CHECKING:
    from acp_notebook.bridge.approvals import Approvals
    from acp_notebook.bridge.options import BridgeOptions
    from acp_notebook.bridge.pending import Prompt
    from acp_notebook.bridge.prompts import Prompts
    from acp_notebook.bridge.protocol import Event
    from acp_notebook.bridge.recovery import Recovery


class Events:
    """Takes the events of one link after the other."""

    def __init__(
        self, options: BridgeOptions, prompts: Prompts, approvals: Approvals, recovery: Recovery
    ) -> None:
        self._options = options
        self._prompts = prompts
        self._approvals = approvals
        self._recovery = recovery
        self._last_seq: int | None = None

    def begin(self) -> None:
        """A new link counts its events anew."""
        self._last_seq = None

    def take(self, event: Event) -> None:
        """Take one event; what is about none of our runs is dropped."""
        self._watch_seq(event)
        match event.name:
            case "chat":
                self._chat(event.payload)
            case "agent" | "session.tool":
                self._agent(event.payload)
            case "exec.approval.requested":
                self._approvals.requested(event.payload)
            case "exec.approval.resolved":
                self._approvals.resolved(event.payload)

    def _watch_seq(self, event: Event) -> None:
        """A frame was dropped: text comes again with the next one, an approval does not."""
        if event.seq is None:
            return
        last, self._last_seq = self._last_seq, event.seq
        if last is not None and event.seq > last + 1 and self._prompts.pending():
            self._prompts.spawn(self._approvals.refresh())

    def _followers(self, payload: dict[str, Any]) -> list[Prompt]:
        run_id = payload.get("runId")
        if not isinstance(run_id, str):
            return []
        found = self._prompts.of_run(run_id)
        data = payload.get("data")
        origin = payload.get("resumedFromRunId")
        if origin is None and isinstance(data, dict):
            origin = data.get("resumedFromRunId")
        if not found and isinstance(origin, str):
            for prompt in self._prompts.of_run(origin):
                prompt.output.restart()
                prompt.heard()
                self._prompts.move(prompt, run_id)
            found = self._prompts.of_run(run_id)
        key = payload.get("sessionKey")
        if isinstance(key, str) and key:
            for prompt in found:
                if not prompt.is_follower:
                    self._prompts.adopt_key(prompt.session, key)
        return found

    def _chat(self, payload: dict[str, Any]) -> None:
        for prompt in self._followers(payload):
            prompt.heard()
            state = payload.get("state")
            if state == "error":
                self._failed(prompt, payload)
                continue
            prompt.output.message(payload.get("message"))
            if state == "aborted":
                self._prompts.end(prompt, "cancelled")
            elif state == "final":
                self._final(prompt, str(payload.get("stopReason") or ""))

    def _final(self, prompt: Prompt, stop: str) -> None:
        reason = STOP_REASONS.get(stop, "end_turn")
        if not stop:
            self._prompts.quiet(prompt.session)  # a command's reply, or a swallowed message
        if prompt.output.sent or prompt.output.calls:
            self._prompts.end(prompt, reason)
        else:
            # Silent: every delta was dropped, or there is nothing. The transcript knows.
            self._prompts.conclude(prompt, reason)

    def _failed(self, prompt: Prompt, payload: dict[str, Any]) -> None:
        """The model failed: its text goes out before the answer."""
        text = payload.get("errorMessage")
        if not isinstance(text, str) or not text:
            message = payload.get("message")
            text = "\n".join(records.texts(message)) if isinstance(message, dict) else ""
        reason = STOP_REASONS.get(prompt.model_stop, "end_turn")
        if payload.get("errorKind") == "refusal":
            reason = "refusal"
        self._prompts.quiet(prompt.session)
        self._prompts.end(prompt, reason, text or "The model failed without an error text.")

    def _agent(self, payload: dict[str, Any]) -> None:
        stream, data = payload.get("stream"), payload.get("data")
        if not isinstance(data, dict):
            return
        for prompt in self._followers(payload):
            match stream:
                case "tool":
                    self._tool(prompt, data)
                case "assistant":
                    prompt.output.media(data.get("mediaUrls"))
                case "item":
                    prompt.output.item(data)
                case "command_output":
                    prompt.output.command_output(data)
                case "approval":
                    self._approvals.announced(prompt, data)
                case "lifecycle":
                    self._lifecycle(prompt, data)

    @staticmethod
    def _tool(prompt: Prompt, data: dict[str, Any]) -> None:
        before = len(prompt.output.open_calls())
        prompt.output.tool(data)
        if len(prompt.output.open_calls()) < before:
            prompt.flush()

    def _lifecycle(self, prompt: Prompt, data: dict[str, Any]) -> None:
        """Note the model's stop reason; an end that no chat event follows is looked up."""
        stop, phase = data.get("stopReason"), data.get("phase")
        if isinstance(stop, str):
            prompt.model_stop = stop
        if phase in {"end", "error"} and prompt.lost_at is None:
            self._recovery.look_up_in(prompt, self._options.silent_end_s)
        elif phase == "start":
            prompt.heard()
