"""Plays a handed case through the host: a real child (`play_agent.py`), driven as the case tells."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import termios
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from acp_notebook.errors import AcpNotebookError
from acp_notebook.host.loop import host_loop
from acp_notebook.host.spec import AgentSpec
from tests.cases.case import FOLDER, Case, Played
from tests.host.talk import Talk, text

WITHIN_S = 40.0
OPEN_PROMPT_S = 1.0
AGENT = FOLDER / "play_agent.py"


class Log:
    """What the fake agent writes of what it does, read as it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[dict[str, Any]] = []
        self._read = 0

    def fresh(self) -> list[dict[str, Any]]:
        """Entries that came since the last look."""
        if not self.path.exists():
            return []
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        lines, self._read = data[self._read : end].splitlines(), end
        found = [json.loads(line) for line in lines]
        self.entries += found
        return found

    @property
    def got(self) -> list[dict[str, Any]]:
        """Every message that the client has sent."""
        return [entry["got"] for entry in self.entries if "got" in entry]

    @property
    def processes(self) -> list[int]:
        """Every process that was started."""
        return [entry["started"] for entry in self.entries if "started" in entry]


class HostPlayer:
    """
    One case, one chat. `seen` of what was played: the log, the chat, its states on the way, and the
    state before each thing that the person did.
    """

    def __init__(self, case: Case, tmp: Path) -> None:
        self.case = case
        self.cwd = tmp / "work"
        self.tmp = tmp / "tmp"
        home = tmp / "home"
        for folder in (self.cwd, self.tmp, home):
            folder.mkdir()
        self.log = Log(tmp / "log.jsonl")
        fifo = tmp / "turn"
        os.mkfifo(fifo)
        self._turn = os.open(fifo, os.O_RDWR)
        self._set_up(case.given.get("setup", {}))
        host = case.given.get("host", {})
        limits = {}
        if "cancelGraceMs" in host:
            limits["cancel_grace_s"] = host["cancelGraceMs"] / 1000
        if "startTimeoutMs" in host:
            limits["start_timeout_s"] = limits["open_timeout_s"] = host["startTimeoutMs"] / 1000
        command = [str(AGENT), str(case.folder), "--cwd", str(self.cwd)]
        command += ["--log", str(self.log.path), "--turn", str(fifo)]
        spec = AgentSpec(
            case.name,
            sys.executable,
            tuple(command),
            env={"CASE_TMP": str(self.tmp), "HOME": str(home)},
        )
        opened = case.given.get("open", {})
        self.talk = Talk(spec, self.cwd, session=opened.get("load"), **limits)
        self.states: list[Any] = []
        self.snapshots: list[Any] = []
        self.talk.call(self.talk.session.subscribe, self._note)
        self.before: list[tuple[Any, Any]] = []
        self.futures: list[Future[Any]] = []
        self.prompts = list(case.given.get("prompts", [case.given.get("prompt", "hello")]))
        self.others: list[Future[Any]] = []
        self.first_key: str | None = None
        self.settled_at: float | None = None

    @property
    def _script(self) -> list[dict[str, Any]]:
        return list(self.case.given.get("script", ()))

    def _set_up(self, setup: dict[str, Any]) -> None:
        for name in setup.get("files", []):
            path = self.cwd / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("content")
        for link, target in setup.get("symlinks", {}).items():
            real = Path(target.replace("{TMP}", str(self.tmp)))
            (real if link.endswith("dir") else real.parent).mkdir(exist_ok=True)
            (self.cwd / link).symlink_to(real)

    def _note(self, _change: object) -> None:
        session = self.talk.session
        self.states.append(session.state)
        self.snapshots.append(session.snapshot)

    # --- playing

    def play(self) -> Played:
        """Play to the end; the chat is still open then."""
        began = time.monotonic()
        held = any("send" in str(step.get("api", "")) for step in self._script)
        if held or not self.prompts:
            self.others.append(host_loop().submit(self.talk.session.start()))
        else:
            self._send_next()
        ended_at = None
        for _ in self._until(began + WITHIN_S):
            for entry in self.log.fresh():
                for name in ("ui", "api"):
                    if name in entry.get("do", {}):
                        self._act(entry["do"][name])
                        os.write(self._turn, b".")
            for shown in self.talk.state.elicitations:
                self.talk.call(self.talk.session.answer_elicitation, shown.id, "decline")
            running = [f for f in self.futures if not f.done()]
            if held and self.talk.state.status == "exited":
                # The step for it stands behind the kill, where no agent can log it.
                held = False
                self._send_next()
            elif not held and not running and self.prompts and self.futures:
                self._send_next()
            elif not self.prompts and self._script_ended():
                ended_at = ended_at or time.monotonic()
                # A prompt that the script does not answer stays open.
                if not running or time.monotonic() - ended_at > OPEN_PROMPT_S:
                    break
        for future in self.others:
            future.exception(10)
        seen = {
            "log": self.log,
            "talk": self.talk,
            "states": self.states,
            "snapshots": self.snapshots,
            "before": self.before,
            "player": self,
            "seconds": time.monotonic() - began,
        }
        return Played(self.case, {"shown": self.talk.session.snapshot}, seen=seen)

    def _until(self, deadline: float) -> Iterator[None]:
        """Look at the log again and again: another process writes it, and tells nobody."""
        tick = threading.Event()
        while time.monotonic() < deadline:
            yield
            tick.wait(0.005)
        raise AssertionError(f"{self.case.name} did not end: {self.talk.state}\n{self.log.entries}")

    def _script_ended(self) -> bool:
        """Whether the agent has played all, or is gone and no other is to come."""
        parts = 1 + sum("newProcess" in step for step in self._script)
        done = sum("done" in entry for entry in self.log.entries)
        if done and len(self.log.processes) == parts:
            return True
        gone = self.talk.state.status in {"exited", "start-failed"}
        return gone and len(self.log.processes) == parts

    def _send_next(self) -> None:
        prompt = self.prompts.pop(0)
        blocks = text(prompt) if isinstance(prompt, str) else prompt
        self.futures.append(host_loop().submit(self._send(blocks)))

    async def _send(self, blocks: list[Any]) -> Any:
        """Send as the composer does; a chat that could not be opened keeps the prompt or gives it back."""
        session = self.talk.session
        entry = session.prompts.submit(blocks)
        try:
            return await entry.done
        except AcpNotebookError:
            return None

    # --- what the person does

    def _act(self, action: Any) -> None:
        session = self.talk.session
        for _ in self._until(time.monotonic() + WITHIN_S):
            if self.talk.call(self._unread) == 0:
                break
        self.before.append((action, session.state))
        match action:
            case "stop":
                self.talk.call(session.cancel)
            case [*steps]:
                for step in steps:
                    self._act(step["do"])
            case {"choose": choice}:
                self._choose(choice)
            case {"chooseAuth": method}:
                self.talk.until(lambda: session.state.status == "auth-failed")
                self._beside(session.sessions.login(method))
            case {"setMode": mode}:
                self._beside(session.set_mode(mode))
            case {"type": words, "press": "Enter"}:
                self.futures.append(host_loop().submit(self._send(text(words))))
            case "open-other-session":
                self.first_key = session.state.session_key
                self._beside(session.sessions.new())
            case "return":
                self.talk.run(session.sessions.load(self.first_key))
            case "display a view":
                pass
            case str() as words if words.startswith("send "):
                pass
            case _:
                raise AssertionError(f"the driver cannot do: {action}")

    def _unread(self) -> int:
        """Bytes that the agent has written, before it logged its step, and the host has not read."""
        connection = self.talk.session.life.connection
        process = connection.process if connection is not None else None
        transport = process._transport.get_pipe_transport(1) if process is not None else None
        if transport is None or transport.is_closing():
            return 0
        waiting = bytearray(4)
        fcntl.ioctl(transport.get_extra_info("pipe").fileno(), termios.FIONREAD, waiting)
        return int.from_bytes(waiting, sys.byteorder)

    def _choose(self, choice: dict[str, Any]) -> None:
        session, wanted = self.talk.session, choice.get("requestId")

        def found() -> Any:
            asked = self.talk.call(session.open_requests)
            ids = [r.permission.request.id for r in asked]
            return [i for i in ids if wanted in (None, i)] or (not asked and self._was_closed())

        ids = self.talk.until(found)
        if isinstance(ids, list):
            answered = self.talk.call(session.answer, ids[0], choice["optionId"])
            self.before.append((choice, answered))
        else:
            last = session.snapshot.permissions[-1].request_id
            self.before.append((choice, self.talk.call(session.answer, last, choice["optionId"])))

    def _was_closed(self) -> bool:
        permissions = self.talk.session.snapshot.permissions
        return bool(permissions) and permissions[-1].status != "pending"

    def close(self) -> None:
        """Close the chat."""
        self.talk.close()
        os.close(self._turn)

    def _beside(self, coroutine: Any) -> None:
        self.others.append(host_loop().submit(coroutine))
