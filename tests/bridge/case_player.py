"""
Plays a handed case of class `gateway`: the client's lines on a real bridge, `gw_*` on the double.

Every step, expectation and sentence is bound here by its exact words; one that is not bound
fails the case.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acp_notebook.bridge.ledger import Ledger
from tests.bridge.double import GatewayDouble, Refused
from tests.bridge.driver import BridgeClient, text_of
from tests.bridge.runs import Run

CASES = Path(__file__).resolve().parents[1] / "cases"
NOTICE = "connection to the gateway was lost"


def gateway_cases() -> list[str]:
    """The names of all cases of class gateway."""
    return sorted(
        path.parent.name
        for path in CASES.glob("*/case.json")
        if json.loads(path.read_text(encoding="utf-8"))["class"] == "gateway"
    )


class CasePlayer:
    """One case on one double."""

    def __init__(self, name: str, gateway: GatewayDouble, state_dir: Path) -> None:
        self.case = json.loads((CASES / name / "case.json").read_text(encoding="utf-8"))
        self.given, self.expect = self.case["given"], self.case["expect"]
        self.gateway, self.state_dir = gateway, state_dir
        self.session = ""
        self.run: Run | None = None
        self.runs: list[Run] = []
        self.after_load: list[dict[str, Any]] = []
        self.answered = 0
        self.took_s = 0.0
        self.bridge = self._bridge()

    def _bridge(self) -> BridgeClient:
        flags = []
        if "graceMs" in self.given:
            flags += ["--recovery-grace", str(self.given["graceMs"] / 1000)]
        if "approvalTimeoutMs" in self.given:
            flags += ["--approval-timeout", str(self.given["approvalTimeoutMs"] / 1000)]
        assert self.given.get("maxPromptBytes", 2097152) == 2097152
        return BridgeClient(self.gateway.url, self.state_dir, *flags)

    async def play(self) -> None:
        """Do all steps, then look."""
        assert self.given["mode"] == "bridge"
        if "gateway" in self.given:
            assert self.given["gateway"] == "refuses connections"
            await self.gateway.close()
        steps = self.given["steps"]
        began = time.monotonic()
        await self.bridge.start()
        try:
            for at, step in enumerate(steps):
                following = steps[at + 1] if at + 1 < len(steps) else {}
                await self._step(step, following if isinstance(following, dict) else {})
            await self._finish()
            if "exitCode" in self.expect:
                await self.bridge.process.wait()
            self.took_s = time.monotonic() - began
        finally:
            await self.bridge.stop()
        self._look()

    async def _step(self, step: Any, following: dict[str, Any]) -> None:
        if isinstance(step, str):
            await {"open: initialize, session/new answered": self._open, "start bridge": _nothing}[
                step
            ]()
            return
        step = dict(step)
        (kind,) = [key for key in step if key not in {"text", "id", "run"}]
        value = step.pop(kind)
        if following.keys() & {"gw_close_before_ack"}:
            self.gateway.cuts_before_ack = True
        if "gw_error" in following:
            for method, code in following["gw_error"].items():
                self.gateway.errors[method].append(Refused(code, "not now"))
        await getattr(self, f"_{kind}")(value, **step)

    async def _open(self) -> None:
        self.session = await self.bridge.new_session()

    async def _client(self, message: dict[str, Any]) -> None:
        text = json.dumps(message).replace('"sess-1"', json.dumps(self.session))
        self.bridge.write(json.loads(text))

    async def _client_generated(self, value: dict[str, Any]) -> None:
        blocks = [{"type": "text", "text": "x" * block["text_bytes"]} for block in value["blocks"]]
        params = {"sessionId": self.session, "prompt": blocks}
        self.bridge.write(
            {"jsonrpc": "2.0", "id": value["id"], "method": value["method"], "params": params}
        )

    async def _client_answers(self, value: str) -> None:
        await self.bridge.until(lambda: len(self.bridge.asked()) > self.answered)
        request = self.bridge.asked()[self.answered]
        self.answered += 1
        self.bridge.answer(request, {"allow once": "allow-once"}[value])
        await self.gateway.until(
            lambda: len(self.gateway.asked("exec.approval.resolve")) == self.answered
        )

    async def _client_restart(self, value: str) -> None:
        assert value == "session/load"
        await self.bridge.stop()
        self.first = self.bridge
        self.gateway.restore()
        self.bridge = self._bridge()
        await self.bridge.start()
        self.after_load = await self.bridge.load(self.session)

    async def _gw_ack(self, value: str) -> None:
        assert value == "chat.send"
        await self._next()

    async def _next(self) -> Run:
        self.run = await self.gateway.next_run()
        self.runs.append(self.run)
        return self.run

    async def _gw_close(self, value: int) -> None:
        assert value == 1006
        if self.run is not None and self.run.text:
            await self.bridge.until_text(self.run.text)
        await self.gateway.cut()

    async def _gw_close_before_ack(self, value: int) -> None:
        assert value == 1006
        await self._next()
        await self.gateway.until(lambda: len(self.gateway.asked("connect")) == 2)

    async def _gw_accept(self, value: str) -> None:
        assert value == "hello"
        self.gateway.restore()

    async def _gw_reply(self, value: dict[str, Any]) -> None:
        for method, answer in value.items():
            if method == "chat.history":
                records = [{"role": r["role"], "content": r["text"]} for r in answer]
                self.gateway.answers[method] = {"messages": records}
                self.gateway.answers["sessions.get"] = {"messages": []}
            else:
                self.gateway.answers[method] = answer

    async def _gw_event(self, value: str, text: str = "", **more: Any) -> None:
        run = self.run or await self._next()
        if more.get("run"):
            run = self.runs[int(more["run"]) - 1]
        if value == "approval":
            await self.gateway.approval(run, "date", ident=more["id"])
        elif value == "delta":
            run.text = text
            await run.chat("delta", message=run._message())
        elif value == "final":
            # What the transcript answers is a later step: the bridge may ask for it first.
            held = self.gateway.hold("sessions.get") if not text else None
            run.text = text
            run.ended = True
            await run.chat(
                "final", stopReason="stop", **({"message": run._message()} if text else {})
            )
            if held is not None:
                await self.gateway.until(lambda: self.gateway.asked("sessions.get"))
                self.release = held
        else:
            raise KeyError(value)

    async def _gw_error(self, value: dict[str, str]) -> None:
        assert all(not self.gateway.errors[method] for method in value)

    async def _gw_ok(self, value: str) -> None:
        await self.gateway.until(lambda: not self.gateway.approvals)
        assert value == "exec.approval.resolve"

    async def _wait_ms(self, value: str) -> None:
        if value == "graceMs + 500":
            await self.bridge.response_to(3)
        else:
            assert value == "approvalTimeoutMs"
            await self.gateway.until(lambda: self.gateway.asked("exec.approval.resolve"))

    async def _finish(self) -> None:
        """End what the case leaves open, and wait for every answer that it expects."""
        if hasattr(self, "release"):
            self.release.set()
        if not self.run and "chat.send" in self.expect.get("gateway_requests", {}):
            await (await self._next()).end()
        if "client_restart" in self.given["steps"][-1]:
            return
        for entry in self.expect.get("to_client", []):
            if "id" in entry:
                await self.bridge.response_to(entry["id"])

    # Expectations

    def _look(self) -> None:
        for key, value in self.expect.items():
            getattr(self, f"_expect_{key}")(value)

    def _talker(self) -> BridgeClient:
        return getattr(self, "first", self.bridge)

    def _expect_to_client(self, entries: list[dict[str, Any]]) -> None:
        text = self._talker().texts()
        for entry in entries:
            if "agent_message" in entry:
                assert text == entry["agent_message"]
            elif "agent_message_contains" in entry:
                assert entry["agent_message_contains"] in text
            else:
                self._expect_answer(entry)

    def _expect_answer(self, entry: dict[str, Any]) -> None:
        answer = self._talker().response(entry["id"])
        assert answer is not None
        if entry.get("result") is True:
            assert "result" in answer
        elif "result" in entry:
            assert entry["result"].items() <= answer["result"].items()
        else:
            wanted = dict(entry["error"])
            assert wanted.pop("message_contains", "") in answer["error"]["message"]
            assert wanted.items() <= answer["error"].items()

    def _expect_gateway_requests(self, wanted: dict[str, Any]) -> None:
        for method, value in wanted.items():
            if method == "distinct idempotencyKey":
                keys = {p["idempotencyKey"] for p in self.gateway.asked("chat.send")}
                assert len(keys) == value
                continue
            asked = self.gateway.asked(method)
            if isinstance(value, int):
                assert len(asked) == value
            elif isinstance(value, list):
                assert asked == value
            else:
                assert value.keys() == {"message_contains"}
                assert value["message_contains"] in asked[0]["message"]

    def _expect_ledger(self, sentences: list[str]) -> None:
        ledger = Ledger.open(self.state_dir / "acp-notebook" / "ledger.sqlite")
        updates = [event.update for event in ledger.events(self.session)]
        ledger.close()
        checks: dict[str, Callable[[], bool]] = {
            "user prompt": lambda: text_of(updates, "user_message_chunk") == "hello",
            "interruption notice": lambda: text_of(updates).count(NOTICE) == 1,
            "text 'wer is 4.' or the whole reply, once": lambda: (
                text_of(updates) == "The answer is 4."
            ),
        }
        for sentence in sentences:
            assert checks[sentence](), sentence

    def _expect_after_load(self, sentences: list[str]) -> None:
        assert sentences == ["same notice once"]
        assert text_of(self.after_load).count(NOTICE) == 1

    def _expect_must_not(self, sentences: list[str]) -> None:
        everything = json.dumps(self._talker().messages) + self._talker().stderr
        checks: dict[str, Callable[[], bool]] = {
            "advice to resend when the gateway had accepted the run": lambda: (
                "end it again" not in everything and "try again" not in everything
            ),
            "token printed": lambda: self.gateway.token not in everything,
            "empty message": lambda: all(p["message"] for p in self.gateway.asked("chat.send")),
        }
        for sentence in sentences:
            assert checks[sentence](), sentence

    def _expect_must(self, sentences: list[str]) -> None:
        # Counted in bytes and with the line: test_mapping and test_outgoing prove the sums.
        assert sentences == [
            "the sum of blocks plus the cwd prefix counts, in bytes not characters"
        ]

    def _expect_accept(self, sentence: str) -> None:
        """Another outcome is right as well; ours is the first one."""
        assert sentence

    def _expect_exitCode(self, value: str) -> None:  # noqa: N802  # the case's own word
        assert value == "non-zero"
        assert self.bridge.process.returncode not in {0, None}

    def _expect_within_ms(self, value: int) -> None:
        assert self.took_s * 1000 < value

    def _expect_stdout(self, value: str) -> None:
        assert value == "empty"
        assert self.bridge.raw == b""

    def _expect_stderr_contains(self, value: str) -> None:
        assert value in self.bridge.stderr


async def _nothing() -> None:
    pass
