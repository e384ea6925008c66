"""
What happens to prompts when the link to the gateway is lost.

While the link is down no prompt settles. At each hello the prompts that wait are looked up with
`agent.wait`, and each is one of:

| the gateway says     | acknowledged       | not acknowledged                            |
| -------------------- | ------------------ | ------------------------------------------- |
| it has ended         | rest from the transcript, then answered                        ||
| it runs              | heard again from here on                                       ||
| nothing known        | see below          | sent again with the same idempotency key    |

A gateway that was restarted knows nothing of its runs, but has what it wrote: a last answer in
the transcript, or a session row that tells that the session's run is over. Until one of them is
there the prompt waits; the gateway may take the run up again.

An acknowledged prompt waits `recovery_grace_s` from the moment the link was lost, another
`unacknowledged_grace_s`; failed reconnects do not start that anew. At its end: one notice in
stream and ledger, then the error.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from acp_notebook.bridge import records
from acp_notebook.bridge.gateway import NO_TIMEOUT
from acp_notebook.bridge.protocol import BadParams, GatewayClosed, GatewayError

if TYPE_CHECKING:
    from acp_notebook.bridge.approvals import Approvals
    from acp_notebook.bridge.gateway import Gateway
    from acp_notebook.bridge.history import History
    from acp_notebook.bridge.options import BridgeOptions
    from acp_notebook.bridge.pending import Prompt
    from acp_notebook.bridge.prompts import Prompts
    from acp_notebook.bridge.rows import Rows

_log = logging.getLogger(__name__)

ACCEPTED_NOTICE = (
    "The connection to the gateway was lost. The gateway had accepted this prompt and may have"
    " gone on with it: load the session again to see what it did."
)
UNSENT_NOTICE = (
    "The connection to the gateway was lost before it accepted this prompt."
    " Send it again when the gateway is back."
)


RESTARTED_NOTICE = (
    "The gateway was restarted while it worked on this prompt and did not take it up again."
)


class Recovery:
    """Looks after the prompts that wait for a lost link."""

    def __init__(
        self,
        gateway: Gateway,
        options: BridgeOptions,
        prompts: Prompts,
        approvals: Approvals,
        *,
        history: History,
        rows: Rows,
    ) -> None:
        self._gateway = gateway
        self._options = options
        self._prompts = prompts
        self._approvals = approvals
        self._history = history
        self._rows = rows
        self._to_abort: list[dict[str, Any]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    # The link

    def on_close(self) -> None:
        """The link was lost: from now on all pending prompts wait."""
        for prompt in self._prompts.pending():
            prompt.output.lacks_tool_frames = True
            self.lose(prompt)

    def on_hello(self) -> None:
        """The link is usable (again)."""
        if self._prompts.pending() or self._to_abort:
            self._spawn(self._reconcile())

    def give_up(self, error: Exception) -> None:
        """No link will come again: nobody waits any longer."""
        for prompt in self._prompts.pending():
            self._expire(prompt, str(error))

    def lose(self, prompt: Prompt) -> None:
        """The prompt waits for a link from now on, unless it does already."""
        if prompt.is_ended or prompt.lost_at is not None:
            return
        loop = asyncio.get_running_loop()
        prompt.lost_at = loop.time()
        prompt.stop_timer()
        grace = self._grace(prompt)
        prompt.timer = loop.call_later(grace, self._on_timer, prompt)
        if self._gateway.is_connected:
            # The old link's end became known after the new one's hello.
            self._spawn(self.look_up(prompt))

    def _grace(self, prompt: Prompt) -> float:
        if prompt.is_acknowledged:
            return self._options.recovery_grace_s
        return self._options.unacknowledged_grace_s

    def _on_timer(self, prompt: Prompt) -> None:
        if prompt.lost_at is None or prompt.is_ended:
            return
        loop = asyncio.get_running_loop()
        left = prompt.lost_at + self._grace(prompt) - loop.time()
        if not prompt.is_acknowledged and self._gateway.is_connected:
            left = self._options.unacknowledged_grace_s  # it is just being sent again
        if left > 0:
            prompt.timer = loop.call_later(left, self._on_timer, prompt)
            return
        code, reason = self._gateway.last_close
        self._expire(prompt, f"Gateway disconnected: {code}: {reason}")

    def _expire(self, prompt: Prompt, message: str) -> None:
        if prompt.is_acknowledged:
            self._prompts.fail(prompt, message, ACCEPTED_NOTICE)
            return
        # The person is told that it did not run, so it must not, should it have arrived.
        self.abort_later({"sessionKey": prompt.session.key, "runId": prompt.run_id})
        self._prompts.fail(prompt, message, UNSENT_NOTICE)

    def abort_later(self, params: dict[str, Any]) -> None:
        """Abort a run as soon as there is a link."""
        self._to_abort.append(params)

    async def _reconcile(self) -> None:
        await self._abort()
        waiting = [prompt for prompt in self._prompts.pending() if prompt.lost_at is not None]
        await self._subscribe({prompt.session.key for prompt in waiting})
        if self._prompts.pending():
            await self._approvals.refresh()
        await asyncio.gather(*(self.look_up(prompt) for prompt in waiting))

    async def _abort(self) -> None:
        waiting, self._to_abort = self._to_abort, []
        for params in waiting:
            try:
                await self._gateway.request("chat.abort", params)
            except GatewayClosed:
                self.abort_later(params)
            except (GatewayError, TimeoutError) as error:
                _log.warning("a run could not be aborted: %s", error)

    async def _subscribe(self, keys: set[str]) -> None:
        """Tool frames go to the connection that began a run; ask for those of runs from before."""
        calls: list[tuple[str, dict[str, Any]]] = [("sessions.subscribe", {})] if keys else []
        calls += [("sessions.messages.subscribe", {"key": key}) for key in sorted(keys)]
        for method, params in calls:
            if method not in self._gateway.methods:
                continue
            try:
                await self._gateway.request(method, params)
            except (GatewayError, GatewayClosed, TimeoutError) as error:
                _log.info("%s: %s", method, error)

    # One run

    def look_up_in(self, prompt: Prompt, seconds: float) -> None:
        """Look a run up after a while, unless it is heard of before."""
        prompt.stop_timer()
        loop = asyncio.get_running_loop()
        prompt.timer = loop.call_later(seconds, self._spawn_look_up, prompt)

    def _spawn_look_up(self, prompt: Prompt) -> None:
        if not prompt.is_ended:
            self._spawn(self.look_up(prompt))

    async def look_up(self, prompt: Prompt) -> None:
        """Ask the gateway what became of a run, and act on it."""
        params = {"runId": prompt.run_id, "timeoutMs": 0}
        try:
            answer = await self._gateway.request("agent.wait", params, timeout_s=NO_TIMEOUT)
        except GatewayClosed:
            return
        except (GatewayError, BadParams) as error:
            _log.warning("run %s could not be looked up: %s", prompt.run_id, error)
            answer = {}
        if prompt.is_ended:
            return
        state = run_state(answer)
        _log.info("run %s: %s", prompt.run_id, state)
        if state == "ended":
            reply = answer.get("reply")
            self._prompts.conclude(prompt, "end_turn", reply if isinstance(reply, str) else "")
        elif state == "aborted":
            self._prompts.conclude(prompt, "cancelled")
        elif state == "failed":
            self._prompts.conclude(prompt, "end_turn", error=str(answer.get("error") or ""))
        elif state == "running":
            prompt.heard()
        else:
            await self._not_found(prompt)

    async def _not_found(self, prompt: Prompt) -> None:
        if not prompt.is_acknowledged:
            await self._prompts.send(prompt)
            return
        try:
            found = await self._history.read(prompt.session.key)
            row = await self._rows.row(prompt.session.key)
        except (GatewayError, GatewayClosed, TimeoutError):
            found, row = [], None
        after = records.find_run(found, prompt.mark, str(prompt.params.get("message") or ""))
        if prompt.is_ended:
            return
        if after is not None and records.has_ended(after):
            self._prompts.conclude(prompt, "end_turn")
        elif row is not None and _is_over(row, prompt.began_at):
            killed = row.get("status") == "killed"
            error = "" if killed else RESTARTED_NOTICE
            self._prompts.conclude(prompt, "cancelled" if killed else "end_turn", error=error)
        else:
            self.lose(prompt)
            if not prompt.is_watched:
                prompt.is_watched = True
                self._spawn(self._look_again(prompt))

    async def _look_again(self, prompt: Prompt) -> None:
        """The gateway writes an aborted run's end a little later, and may begin it anew."""
        await asyncio.sleep(self._options.recheck_s)
        prompt.is_watched = False
        if prompt.lost_at is not None and not prompt.is_ended and self._gateway.is_connected:
            await self.look_up(prompt)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _is_over(row: dict[str, Any], began_at: int) -> bool:
    """Whether a session's row tells that its run has ended since then."""
    ended_at = row.get("endedAt")
    return (
        row.get("hasActiveRun") is False
        and row.get("status") in {"done", "failed", "killed", "timeout"}
        and isinstance(ended_at, int | float)
        and ended_at >= began_at
    )


def run_state(answer: Any) -> str:
    """
    Return what `agent.wait` says of a run: ended, failed, aborted, running or unknown.

    `timeout` is what a running, an aborted and an unknown run have in common; a running one is
    in phase `gateway_draining`, an aborted one has an end, and an unknown one stands in `queue`
    (so does an aborted one in the gateway of 2026.6.11: only its transcript tells).
    """
    if not isinstance(answer, dict):
        return "unknown"
    status = answer.get("status")
    if status == "ok":
        return "aborted" if answer.get("stopReason") in {"rpc", "stop", "aborted"} else "ended"
    if status == "error":
        return "failed"
    if status == "timeout" and (answer.get("endedAt") or answer.get("stopReason")):
        return "aborted"
    phase = answer.get("timeoutPhase")
    if status == "timeout" and (phase == "gateway_draining" or answer.get("startedAt")):
        return "running"
    return "unknown"
