"""
Prompts: sent to the gateway as runs, followed by run id, each answered exactly once.

    new --send--> sent --ack--> running --end event--> ended --snapshot--> answered
                    +-- answered at once: refused, already over, a bare stop phrase

- events are matched by run id alone, so those of other sessions are dropped at once, and what
  comes for a run that has ended touches nothing;
- a newer prompt on a session, `session/cancel` and `session/close` abort the run at the gateway
  and answer `cancelled`;
- the prompt is recorded, with an open mark, before it is sent: a bridge that is killed leaves
  either nothing or a mark behind;
- several prompts may follow one run: the gateway answers an identical text with the run that
  has it already.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from acp_notebook.bridge import records
from acp_notebook.bridge.gateway import NO_TIMEOUT
from acp_notebook.bridge.pending import Prompt, PromptFailed
from acp_notebook.bridge.protocol import BadParams, GatewayClosed, GatewayError
from acp_notebook.bridge.rows import short_key
from acp_notebook.bridge.updates import now_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from acp_notebook.bridge.approvals import Approvals
    from acp_notebook.bridge.gateway import Gateway
    from acp_notebook.bridge.history import History
    from acp_notebook.bridge.ledger import Ledger
    from acp_notebook.bridge.options import BridgeOptions
    from acp_notebook.bridge.output import RunOutput
    from acp_notebook.bridge.recovery import Recovery
    from acp_notebook.bridge.sessions import Session
    from acp_notebook.bridge.updates import Updates

_log = logging.getLogger(__name__)

# What the gateway or its model calls the end of a run; anything else is an ordinary one.
STOP_REASONS = {
    "max_tokens": "max_tokens",
    "length": "max_tokens",
    "refusal": "refusal",
    "aborted": "cancelled",
}


class Prompts:
    """The pending prompts of this process."""

    def __init__(
        self,
        gateway: Gateway,
        options: BridgeOptions,
        updates: Updates,
        ledger: Ledger,
        history: History,
        *,
        refresh: Callable[[Session, str], Coroutine[Any, Any, None]],
        output_of: Callable[[Prompt], RunOutput],
    ) -> None:
        self._gateway = gateway
        self._history = history
        self._options = options
        self._updates = updates
        self._ledger = ledger
        self._refresh = refresh
        self._output_of = output_of
        self._by_run: dict[str, list[Prompt]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.approvals: Approvals
        self.recovery: Recovery

    def pending(self) -> list[Prompt]:
        """The prompts whose run has not ended, oldest first."""
        return [prompt for prompts in self._by_run.values() for prompt in prompts]

    def owner_of(self, session_key: str) -> Prompt | None:
        """The one pending prompt of a gateway session; None when there is none or are several."""
        keys = {session_key, short_key(session_key)}
        found = [prompt for prompt in self.pending() if prompt.session.key in keys]
        return found[0] if len(found) == 1 else None

    # From the client

    async def run(self, session: Session, blocks: list[Any], params: dict[str, Any]) -> str:
        """
        Send a prompt and return its stop reason.

        `blocks` are the client's own and recorded as they are; `params` are those of `chat.send`,
        whose idempotency key is the run id.

        Raises:
            PromptFailed: it did not run, or its end is unknown.
        """
        older = session.prompt
        prompt = self._add(session, params["idempotencyKey"], params)
        session.prompt = prompt
        if older is not None and not older.is_answered:
            await self.stop(older)
        await asyncio.sleep(session.quiet_until - asyncio.get_running_loop().time())
        if not prompt.is_ended:
            self._updates.record(
                self._ledger.accept_prompt,
                session.ledger_id,
                prompt.mark,
                [{"sessionUpdate": "user_message_chunk", "content": block} for block in blocks],
                now_ms(),
            )
            await self.send(prompt)
        return await prompt.answer

    def quiet(self, session: Session) -> None:
        """What the gateway does for this session now must be over before the next prompt."""
        session.quiet_until = asyncio.get_running_loop().time() + self._options.quiet_s

    def follow(self, session: Session, run_id: str, after: list[records.Record]) -> None:
        """Send on what a run still says whose bridge died; `after` is what was replayed of it."""
        prompt = self._add(session, run_id, {"sessionKey": session.key})
        prompt.is_acknowledged = prompt.is_follower = True
        prompt.answer.set_result("end_turn")
        prompt.output.skip(after)
        prompt.output.lacks_tool_frames = True
        session.prompt = prompt

    def _add(self, session: Session, run_id: str, params: dict[str, Any]) -> Prompt:
        prompt = Prompt(
            session=session,
            run_id=run_id,
            params=params,
            output=None,  # type: ignore[arg-type]  # made next: it sends in the prompt's name
            answer=asyncio.get_running_loop().create_future(),
            flush=lambda: self._updates.record(self._ledger.flush),
            mark=run_id,
            began_at=now_ms() + self._gateway.ahead_ms,
        )
        prompt.output = self._output_of(prompt)
        self._by_run.setdefault(run_id, []).append(prompt)
        return prompt

    async def send(self, prompt: Prompt) -> None:
        """Send the prompt; again with the same key when its acknowledgement was lost."""
        try:
            answer = await self._chat_send(prompt)
        except GatewayClosed:
            self.recovery.lose(prompt)
        except (GatewayError, BadParams) as error:
            self.fail(prompt, str(error))
        else:
            await self._acknowledge(prompt, answer if isinstance(answer, dict) else {})

    async def _chat_send(self, prompt: Prompt) -> Any:
        try:
            return await self._gateway.request("chat.send", prompt.params, timeout_s=NO_TIMEOUT)
        except GatewayError as error:
            # Provenance needs the admin scope; the prompt does not.
            if "admin scope" not in error.message or "provenance" not in error.message:
                raise
        for name in ("systemInputProvenance", "systemProvenanceReceipt"):
            prompt.params.pop(name, None)
        return await self._gateway.request("chat.send", prompt.params, timeout_s=NO_TIMEOUT)

    async def _acknowledge(self, prompt: Prompt, answer: dict[str, Any]) -> None:
        prompt.heard()
        if prompt.is_ended and not prompt.is_cancelled:
            return
        if prompt.is_ended:
            # Cancelled before the gateway knew the run: the abort found nothing, so once more.
            await self._abort(prompt)
            return
        run_id = answer.get("runId")
        status = str(answer.get("status") or "").strip().lower()
        if status == "timeout":
            self.end(prompt, "cancelled")
        elif status == "error":
            self.fail(prompt, "Chat failed before the run started; try again.")
        elif status == "ok":
            self.conclude(prompt, "end_turn")
        elif not isinstance(run_id, str) or not run_id:
            # A bare stop phrase: the gateway stopped the session's runs and started none.
            self.end(prompt, "end_turn")
        elif run_id != prompt.run_id:
            self.move(prompt, run_id)
            await self.recovery.look_up(prompt)

    async def stop(self, prompt: Prompt) -> None:
        """Abort the run at the gateway and answer `cancelled`; without a link it is aborted later."""
        if prompt.is_cancelled:
            return
        prompt.is_cancelled = True
        self.approvals.end(prompt)
        await self._abort(prompt)
        if not prompt.is_ended:
            self.end(prompt, "cancelled")

    async def _abort(self, prompt: Prompt) -> None:
        params = {"sessionKey": prompt.session.key, "runId": prompt.run_id}
        try:
            await self._gateway.request("chat.abort", params)
        except GatewayClosed:
            self.recovery.abort_later(params)
        except (GatewayError, TimeoutError) as error:
            _log.warning("run %s could not be aborted: %s", prompt.run_id, error)

    # Where runs lead

    def of_run(self, run_id: str) -> list[Prompt]:
        """The prompts that follow this run."""
        return list(self._by_run.get(run_id, ()))

    def move(self, prompt: Prompt, run_id: str) -> None:
        """The prompt follows another run from here on."""
        self._forget(prompt)
        prompt.run_id = run_id
        self._by_run.setdefault(run_id, []).append(prompt)

    def adopt_key(self, session: Session, key: str) -> None:
        """Take the canonical session key that the gateway has named."""
        if key == session.key:
            return
        _log.info("session key: %s -> %s", session.key, key)
        session.key = key
        self._updates.record(
            self._ledger.begin_session, session.ledger_id, key, session.cwd, now_ms()
        )

    def _forget(self, prompt: Prompt) -> None:
        same = self._by_run.get(prompt.run_id, [])
        if prompt in same:
            same.remove(prompt)
            if not same:
                del self._by_run[prompt.run_id]

    # Ends

    def end(self, prompt: Prompt, reason: str, text: str | None = None) -> None:
        """The run has ended: say `text`, close what is open, then answer."""
        if self._take_out(prompt):
            self._say(prompt, text)
            prompt.output.end()
            self.spawn(self._answer(prompt, reason))

    def conclude(self, prompt: Prompt, reason: str, reply: str = "", error: str = "") -> None:
        """
        The run has ended unheard: send what the transcript has of it, then answer.

        `reply`, the whole text of the run, and `error` are for a gateway without its transcript.
        """
        if self._take_out(prompt):
            self.spawn(self._conclude(prompt, reason, reply, error))

    async def _conclude(self, prompt: Prompt, reason: str, reply: str, error: str) -> None:
        after = await self._after(prompt)
        if after is not None:
            prompt.output.adopt(after)
            error = error or records.error_text(after) or ""
            stop = str(after[-1].get("stopReason") or "") if after else ""
            reason = STOP_REASONS.get(stop, reason) if reason == "end_turn" else reason
        if not after:
            prompt.output.grow(reply)
        self._say(prompt, error)
        prompt.output.end()
        await self._answer(prompt, reason)

    async def _after(self, prompt: Prompt) -> list[records.Record] | None:
        """What the transcript has after the prompt; a link that is lost meanwhile is waited for."""
        message = str(prompt.params.get("message") or "")
        try:
            async with asyncio.timeout(self._options.recovery_grace_s):
                found = await self._history.read_when_connected(prompt.session.key)
        except TimeoutError:
            return None
        for run_id in dict.fromkeys((prompt.mark, prompt.run_id)):
            after = records.find_run(found, run_id, message)
            if after is not None:
                return after
        return None

    @staticmethod
    def _say(prompt: Prompt, text: str | None) -> None:
        if text and not prompt.output.sent.endswith(text.strip()):
            prompt.output.say(text.strip())

    def fail(self, prompt: Prompt, message: str, notice: str | None = None) -> None:
        """Answer with an error, a `notice` of it before in stream and ledger."""
        if not self._take_out(prompt):
            return
        self._say(prompt, notice)
        prompt.output.end()
        self._settle(prompt)
        if not prompt.is_answered:
            prompt.answer.set_exception(PromptFailed(message))

    def _take_out(self, prompt: Prompt) -> bool:
        """From here on nothing touches the prompt but its end; False: it had ended already."""
        if prompt.is_ended:
            return False
        prompt.is_ended = True
        prompt.stop_timer()
        self._forget(prompt)
        self.approvals.end(prompt)
        return True

    async def _answer(self, prompt: Prompt, reason: str) -> None:
        try:
            if not prompt.is_follower:
                await self._refresh(prompt.session, prompt.mark)
        except Exception as error:  # noqa: BLE001  # whatever it is, the prompt is answered
            _log.warning("no snapshot after %s: %s", prompt.run_id, error)
        self._settle(prompt)
        if not prompt.is_answered:
            prompt.answer.set_result("cancelled" if prompt.is_cancelled else reason)

    def _settle(self, prompt: Prompt) -> None:
        if not prompt.is_follower:
            self._updates.record(
                self._ledger.settle_prompt, prompt.session.ledger_id, prompt.mark, now_ms()
            )

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside what is going on."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
