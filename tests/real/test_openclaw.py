"""Our bridge on the real OpenClaw gateway, and beside OpenClaw's own bridge; its model is scripted."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.bridge.gateway import Gateway
from acp_notebook.bridge.options import BridgeOptions
from acp_notebook.bridge.protocol import Event
from tests.bridge.driver import BridgeClient, open_calls, story
from tests.source import REPOSITORY

pytestmark = [pytest.mark.real, pytest.mark.timeout(2400)]

TOOLS = REPOSITORY / "tests" / "real" / "lab" / "openclaw"
ANSWER_S = 120

# Scenarios of acp_record.py by what the gateway has to be like.
PLAIN = (
    *("basic", "tool_read", "tool_exec", "tool_error", "tool_write_parallel", "cancel"),
    *("cancel_tool", "concurrent_prompts_same_session", "concurrent_sessions", "model_error"),
    *("finish_length", "content_filter", "load_replay", "list_resume_close", "modes_and_config"),
    *("errors", "content_blocks", "meta_routing", "provenance", "slash_commands"),
    *("disconnect_short", "disconnect_long", "disconnect_tool", "disconnect_finish"),
    "stop_text_and_repeat",
)
ASKING = ("approval_allow", "approval_deny", "approval_cancel", "thinking", "thinking_tool")
MODES = {
    "plain": (PLAIN, []),
    "asking": (ASKING, ["--exec-mode", "ask", "--model", "fakeoai/scripted-think"]),
}


class Lab:
    """The gateway with its scripted model and a proxy that can cut the link."""

    def __init__(self) -> None:
        default = REPOSITORY / ".lab" / "openclaw"
        self.env = {
            **os.environ,
            "OPENCLAW_LAB_DIR": os.environ.get("OPENCLAW_LAB_DIR", str(default)),
        }

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, TOOLS / "lab.py", *arguments],
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *flags: str) -> dict[str, Any]:
        """Begin with an empty state."""
        self.run("clean")
        info: dict[str, Any] = json.loads(self.run("start", "--record", *flags))
        return info

    def link(self, state: str) -> None:
        """`cut` drops the link and keeps it down, empty lets it be."""
        info = json.loads(self.run("env"))
        Path(info["ws_control"]).write_text(state)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run("install")
    yield made
    made.run("stop")


def record(lab: Lab, folder: Path, mode: str, cwd: Path, *command: str) -> None:
    """Drive a bridge through the mode's scenarios on a fresh gateway."""
    names, flags = MODES[mode]
    info = lab.start(*flags)
    ours = ["--url", info["url"], "--token-file", info["token_file"]] if command else []
    bridge = [*command, *ours] or [sys.executable, str(TOOLS / "lab.py"), "acp"]
    log = ["--ws-log", info["ws_log"], "--ws-control", info["ws_control"]]
    arguments = ["--out", str(folder), "--cwd", str(cwd), *log, "--only", ",".join(names)]
    subprocess.run(
        [sys.executable, TOOLS / "acp_record.py", *arguments, "--", *bridge],
        env={**lab.env, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        check=True,
    )
    lab.run("stop")


@pytest.mark.parametrize("mode", sorted(MODES))
def test_the_stream_differs_only_where_intended(lab: Lab, tmp_path: Path, mode: str) -> None:
    """Each scenario gives the original's ACP stream, but for the points of docs/openclaw.md."""
    cwd = tmp_path / "project"
    cwd.mkdir()
    state = ["--state-dir", str(tmp_path / "state")]
    record(lab, tmp_path / "original", mode, cwd)
    command = [sys.executable, "-P", "-m", "acp_notebook.bridge"]
    record(lab, tmp_path / "ours", mode, cwd, *command, *state)
    done = subprocess.run(
        [sys.executable, TOOLS / "compare.py", tmp_path / "original", tmp_path / "ours"],
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert [line for line in done.stdout.splitlines() if line.startswith("NOT INTENDED")] == []
    documented = (REPOSITORY / "docs" / "openclaw.md").read_text(encoding="utf-8")
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")][2:]
    assert [row for row in rows if row not in documented] == []


@pytest.fixture
def info(lab: Lab) -> Iterator[dict[str, Any]]:
    yield lab.start()
    lab.run("stop")


@pytest.fixture
async def bridges(info: dict[str, Any], tmp_path: Path) -> AsyncIterator[Callable[[], Any]]:
    """Start bridges on the real gateway, all with one state folder."""
    state = tmp_path / "state"
    state.mkdir()
    async with AsyncExitStack() as stack:

        async def start() -> BridgeClient:
            secret = ("--token-file", info["token_file"])
            bridge = BridgeClient(info["url"], state, *secret, token=None)
            return await stack.enter_async_context(bridge)

        yield start


def fake(*steps: dict[str, Any]) -> str:
    """A prompt that scripts the model."""
    return "FAKE:" + json.dumps(list(steps))


SLOW = {"text": "words of a slow answer ", "repeat": 12, "delay_ms": 150, "chunk": 10}
EXEC = {"name": "exec", "args": {"command": "for i in 1 2 3 4 5 6; do echo step $i; sleep 1; done"}}


async def test_a_cut_loses_nothing(lab: Lab, bridges: Callable[[], Any]) -> None:
    """During the text and across the end of the run: live is whole, and the replay equals it."""
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session, fake(SLOW))
    await bridge.until_text("words of")
    lab.link("cut")
    await asyncio.sleep(6)  # the run ends meanwhile
    lab.link("")
    answer = await bridge.response_to(asked, ANSWER_S)
    assert answer["result"] == {"stopReason": "end_turn"}
    assert bridge.texts().split() == ("words of a slow answer " * 12).split()
    live = story(bridge.updates(session))
    await bridge.stop()
    again = await bridges()
    assert story(await again.load(session))[1:] == live


async def test_a_bridge_killed_in_mid_run(lab: Lab, bridges: Callable[[], Any]) -> None:
    """The next load has the whole answer and a closed tool call, and so has the one after it."""
    bridge = await bridges()
    session = await bridge.new_session()
    bridge.prompt(session, fake({"text": "Long tool.", "tools": [EXEC]}, {"text": "All done."}))
    await bridge.until_update("tool_call")
    await bridge.kill()
    await asyncio.sleep(12)  # nobody is there to be told when it ends
    told: list[list[dict[str, Any]]] = []
    for _ in range(2):
        loader = await bridges()
        told.append(story(await loader.load(session)))
        await loader.stop()
    assert told[0] == told[1]
    assert open_calls(told[0]) == set()
    assert told[0][-1]["content"]["text"] == "All done."


async def test_a_run_that_outlives_its_bridge(bridges: Callable[[], Any]) -> None:
    """Loaded while it goes on: what it says after that reaches the new client."""
    bridge = await bridges()
    session = await bridge.new_session()
    bridge.prompt(session, fake({"text": "Long tool.", "tools": [EXEC]}, {"text": "All done."}))
    await bridge.until_update("tool_call")
    await bridge.kill()
    second = await bridges()
    await second.load(session)
    await second.until(lambda: "All done." in second.texts(), ANSWER_S)
    assert second.texts() == "Long tool.All done."


class Operator:
    """Another client of the gateway, who only has a link."""

    def __init__(self) -> None:
        self.up = asyncio.Event()

    def on_hello(self, hello: dict[str, Any]) -> None:
        self.up.set()

    def on_event(self, event: Event) -> None:
        pass

    def on_close(self, code: int, reason: str) -> None:
        pass

    def on_connect_error(self, error: Exception, *, fatal: bool) -> None:
        raise error


async def test_a_cancel_that_starts_at_the_gateway(
    info: dict[str, Any], bridges: Callable[[], Any], tmp_path: Path
) -> None:
    """Another operator aborts the run: our prompt is answered cancelled."""
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session, fake({**SLOW, "repeat": 60}))
    await bridge.until_text("words of")
    operator = Operator()
    token = Path(info["token_file"]).read_text().strip()  # noqa: ASYNC240 - nothing else runs yet
    options = BridgeOptions(url=info["direct_url"], token=token, state_dir=tmp_path / "operator")
    gateway = Gateway(options, operator)
    link = asyncio.create_task(gateway.run())
    await operator.up.wait()
    await gateway.request("chat.abort", {"sessionKey": f"agent:main:acp-bridge:{session}"})
    answer = await bridge.response_to(asked, ANSWER_S)
    assert answer["result"] == {"stopReason": "cancelled"}
    link.cancel()
    await asyncio.gather(link, return_exceptions=True)


@pytest.mark.parametrize("how", [[], ["--hard"]], ids=["drained", "killed"])
async def test_a_gateway_restart(lab: Lab, bridges: Callable[[], Any], how: list[str]) -> None:
    """The prompt is answered with what became of it, and the session goes on."""
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session, fake({**SLOW, "repeat": 30}))
    await bridge.until_text("words of")
    await asyncio.to_thread(lab.run, "restart", *how)
    answer = await bridge.response_to(asked, ANSWER_S)
    assert answer["result"] == {"stopReason": "end_turn"}
    assert "did not take it up again" in bridge.texts()
    asked = bridge.prompt(session, fake({"text": "Here again."}))
    await bridge.response_to(asked, ANSWER_S)
    assert "Here again." in bridge.texts()


async def test_media(info: dict[str, Any], bridges: Callable[[], Any]) -> None:
    """The gateway takes MEDIA: lines out of live text: the client gets a link, live and replayed."""
    picture = Path(info["workspace"]) / "pic.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    bridge = await bridges()
    session = await bridge.new_session()
    asked = bridge.prompt(session, fake({"text": f"Here:\nMEDIA:{picture}\nand more."}))
    await bridge.response_to(asked, ANSWER_S)
    link = {
        "type": "resource_link",
        "uri": picture.as_uri(),
        "name": "pic.png",
        "mimeType": "image/png",
    }
    assert [u["content"] for u in bridge.updates() if u.get("content") == link] == [link]
    assert "MEDIA" not in bridge.texts()
    await bridge.stop()
    replayed = await (await bridges()).load(session)
    assert [u["content"] for u in replayed if u.get("content") == link] == [link]
