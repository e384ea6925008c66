"""The chat that a person holds: ask, prompt, send, stream, interrupts, life."""

from __future__ import annotations

import asyncio
import gc
import importlib
import multiprocessing
import os
import pickle
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import chat as chat_module
from acp_notebook.chat import Chat, Prompt, Step, Turn, ask, content_blocks
from acp_notebook.errors import (
    AcpNotebookError,
    AgentExited,
    AgentNotFound,
    AgentStartError,
    AuthRequired,
    LimitExceeded,
    NotOnHostThread,
    ProtocolError,
    RequestFailed,
    SessionError,
    TurnFailed,
)
from acp_notebook.host.loop import host_loop
from tests.source import REPOSITORY

POLITE = [sys.executable, str(Path(__file__).parent / "agents" / "polite.py")]


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    with Chat(POLITE, cwd=tmp_path) as chat:
        yield chat


class TestAsk:
    def test_returns_the_turn(self, chat: Chat) -> None:
        """`ask` blocks and returns the settled turn, which is also the last of `chat.turns`."""
        turn = chat.ask("say hello")
        assert (turn.text, turn.ok, turn.error) == ("hello", True, None)
        assert chat.turns[-1] == turn
        assert repr(turn) == "<Turn end_turn: 'hello'>"

    def test_what_the_agent_does_never_raises(self, chat: Chat) -> None:
        """An error and an exit give turns that are not ok; `raise_for_error` raises TurnFailed."""
        turn = chat.ask('error {"code": 1, "message": "boom"}')
        assert (turn.ok, turn.error.message) == (False, "boom")
        with pytest.raises(TurnFailed, match="boom"):
            turn.raise_for_error()
        assert chat.ask("exit 2").error.message == "The agent ended with exit code 2."

    @pytest.mark.parametrize("reason", ["refusal", "max_tokens", "max_turn_requests", "odd"])
    def test_other_ends_are_errors_in_words(self, chat: Chat, reason: str) -> None:
        """A stop reason other than `end_turn` makes a turn that is not ok and says why."""
        turn = chat.ask(f"stop {reason}")
        assert (turn.stop_reason, turn.ok) == (reason, False)
        assert turn.error.message

    def test_check_raises(self, chat: Chat) -> None:
        """With `check=True` a failed turn raises, and the exception holds the turn."""
        with pytest.raises(TurnFailed) as caught:
            chat.ask("say half\nstop refusal", check=True)
        assert caught.value.turn.text == "half"

    def test_headless_ends(self, chat: Chat) -> None:
        """Where nobody can be asked, a permission is answered `cancelled` and the turn goes on."""
        assert chat.ask("ask ls").text == "answer: cancelled"

    def test_not_on_the_host_thread(self, chat: Chat) -> None:
        """A blocking call in a listener of the chat raises instead of waiting for itself."""
        caught: list[BaseException] = []

        def listener(_change: object) -> None:
            try:
                chat.ask("say no")
            except AcpNotebookError as error:
                caught.append(error)

        host_loop().ask(chat.session.subscribe, listener)
        chat.ask("say yes")
        assert {type(error) for error in caught} == {NotOnHostThread}

    def test_context_is_sent_with_it(self, chat: Chat, tmp_path: Path) -> None:
        """A path in `context` goes as a link to the file, a mapping as the block that it is."""
        (tmp_path / "notes.md").write_text("hi")
        note = {"type": "resource", "resource": {"uri": "kernel:x", "text": "1"}}
        blocks = content_blocks("look", [tmp_path / "notes.md", note])
        assert blocks == [
            {"type": "text", "text": "look"},
            {
                "type": "resource_link",
                "uri": (tmp_path / "notes.md").as_uri(),
                "name": "notes.md",
            },
            note,
        ]
        with pytest.raises(TypeError, match="cannot hold a int"):
            chat.ask("look", context=[3])

    @pytest.mark.parametrize(
        ("prompt", "told"), [(5, "not int"), (["a"], "not of str"), ({"type": "text"}, "not dict")]
    )
    def test_what_is_no_prompt_is_refused(self, prompt: Any, told: str) -> None:
        """What is neither text nor content blocks is refused in words."""
        with pytest.raises(TypeError, match=f"a list of content blocks, {told}"):
            content_blocks(prompt)


class TestInterrupt:
    @staticmethod
    def interrupt_when(chat: Chat, condition: Any) -> None:
        """Send this process SIGINT, as Ctrl-C does, when the condition holds at a change."""

        def listener(_change: object) -> None:
            if condition():
                host_loop().call(unsubscribe)
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        unsubscribe = host_loop().ask(chat.session.subscribe, listener)

    def test_the_first_stops_the_turn_and_raises_after_that(self, chat: Chat) -> None:
        """After Ctrl-C the agent has confirmed, the turn is kept as cancelled, and the chat goes on."""
        self.interrupt_when(chat, lambda: chat.turns and chat.turns[-1].text == "a")
        with pytest.raises(KeyboardInterrupt):
            chat.ask("say a\nwait 30\nsay b")
        assert (chat.turns[-1].stop_reason, chat.turns[-1].text) == ("cancelled", "a")
        assert chat.ask("say next").text == "next"

    def test_the_second_gives_up_at_once(self, chat: Chat) -> None:
        """A second Ctrl-C, while the agent does not confirm, returns at once."""
        self.interrupt_when(chat, lambda: chat.status == "running")
        self.interrupt_when(chat, lambda: chat.status == "stopping")
        with pytest.raises(KeyboardInterrupt):
            chat.ask("deaf 30")
        assert chat.status == "stopping"

    def test_an_open_permission_is_closed(self, tmp_path: Path) -> None:
        """Ctrl-C with a permission open answers it `cancelled`."""
        with Chat(POLITE, cwd=tmp_path) as chat:
            handle = chat.session
            self.interrupt_when(chat, lambda: bool(handle.snapshot.permissions))
            entry = host_loop().ask(handle.prompts.submit, content_blocks("ask ls"), awaited=True)
            with pytest.raises(KeyboardInterrupt):
                Prompt(handle, entry).result()
            assert chat.timeline.permissions[-1].status == "cancelled"


class TestAwait:
    async def test_prompt_awaits(self, chat: Chat) -> None:
        """`await chat.prompt` returns the same as `ask`, and the loop goes on meanwhile."""
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.ensure_future(tick())
        turn = await chat.prompt("wait 0.2\nsay hello")
        ticking.cancel()
        assert turn.text == "hello"
        assert ticks > 5

    async def test_a_cancelled_await_stops_the_turn(self, chat: Chat) -> None:
        """Cancelling the task that awaits sends the cancel and waits for the agent's word."""
        task = asyncio.ensure_future(chat.prompt("say a\nwait 30"))
        loop, said = asyncio.get_running_loop(), asyncio.Event()

        def listener(_change: object) -> None:
            if chat.turns and chat.turns[-1].text == "a":
                loop.call_soon_threadsafe(said.set)

        host_loop().ask(chat.session.subscribe, listener)
        await said.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert chat.turns[-1].stop_reason == "cancelled"

    async def test_handles_are_awaitable(self, chat: Chat) -> None:
        """What `send` returns can be awaited."""
        assert (await chat.send("say hello")).text == "hello"


class TestSend:
    def test_prompts_queue_in_order(self, chat: Chat) -> None:
        """A second prompt waits, has a position, and is sent when the first has settled."""
        chat.start()
        first = chat.send("wait 0.3\nsay one")
        second = chat.send("say two")
        third = chat.send("say three")
        assert (second.position, third.position) == (0, 1)
        assert third.edit("say THREE")
        assert [p.result().text for p in (first, second, third)] == ["one", "two", "THREE"]
        assert first.position is None
        assert not third.edit("too late")

    def test_a_waiting_prompt_can_be_taken_back(self, chat: Chat) -> None:
        """Cancelling a queued prompt touches no other; its turn is `cancelled` and nowhere shown."""
        first = chat.send("wait 0.3\nsay one")
        second = chat.send("say two")
        second.cancel()
        assert second.result().stop_reason == "cancelled"
        assert first.result().text == "one"
        assert len(chat.turns) == 1

    def test_result_can_time_out(self, chat: Chat) -> None:
        """`result(timeout_s)` gives up waiting; the prompt goes on."""
        handle = chat.send("wait 0.4\nsay done")
        with pytest.raises(TimeoutError):
            handle.result(0.01)
        assert handle.result().text == "done"


class TestStream:
    def test_steps_then_the_turn(self, chat: Chat) -> None:
        """The texts of the steps are the answer, and the last value is the turn."""
        *steps, turn = chat.stream("say a\nwait 0.1\nsay b")
        assert all(isinstance(step, Step) for step in steps)
        assert isinstance(turn, Turn)
        assert "".join(step.text for step in steps) == turn.text == "ab"

    async def test_async(self, chat: Chat) -> None:
        """`async for` gives the same."""
        got = [step async for step in chat.stream("say a\nsay b")]
        assert "".join(s.text for s in got[:-1]) == got[-1].text == "ab"


class TestLife:
    def test_a_chat_starts_nothing(self, tmp_path: Path) -> None:
        """Making and closing a chat that is not used starts no process."""
        with Chat(POLITE, cwd=tmp_path) as chat:
            assert repr(chat) == "<Chat with python>".replace("python", chat.session.spec.name)
        assert chat.status == "closed"

    def test_an_agent_that_is_not_installed_raises_at_once(self) -> None:
        """An unknown agent raises when the chat is made, with the names that are known."""
        with pytest.raises(AgentNotFound, match="explorer"):
            Chat("no-such-agent")

    def test_a_wrong_option_is_named(self) -> None:
        """An option that does not exist raises with the ones that do."""
        with pytest.raises(ValueError, match="start_timeout_s"):
            Chat(POLITE, start_timeout=3)

    def test_a_chat_without_references_is_closed(self, tmp_path: Path) -> None:
        """When nobody refers to an unnamed chat any more, its agent ends."""
        chat = Chat(POLITE, cwd=tmp_path)
        chat.ask("say hello")
        session = chat.session
        ended = threading.Event()
        host_loop().ask(
            session.subscribe, lambda _: session.state.status == "closed" and ended.set()
        )
        del chat
        gc.collect()
        assert ended.wait(10)

    def test_what_is_on_its_way_keeps_its_chat(self, tmp_path: Path) -> None:
        """An unnamed chat lives as long as its prompt or stream is held, and not longer."""
        assert "hello" == Chat(POLITE, cwd=tmp_path).send("say hello").result().text
        assert "hello" == list(Chat(POLITE, cwd=tmp_path).stream("say hello"))[-1].text
        chat = Chat(POLITE, cwd=tmp_path)
        stream = chat.stream("say hello")
        session, ended = chat.session, threading.Event()
        host_loop().ask(
            session.subscribe, lambda _: session.state.status == "closed" and ended.set()
        )
        del chat, stream
        gc.collect()
        assert ended.wait(10)

    def test_a_named_chat_is_found_again(self, tmp_path: Path) -> None:
        """A second chat of the same name is another face of the first, which lives without references."""
        chat = Chat(POLITE, cwd=tmp_path, name="here")
        chat.ask("say hello")
        key = chat.session_key
        del chat
        gc.collect()
        with Chat(name="here") as again:
            assert (again.session_key, again.turns[-1].text) == (key, "hello")
            with pytest.raises(ValueError, match="another agent"):
                Chat([*POLITE, "--resume"], name="here")
        assert "here" not in chat_module._named

    def test_ask_once(self, tmp_path: Path) -> None:
        """The one-shot `ask` returns a turn whose chat is closed."""
        assert ask(POLITE, "say hello", cwd=tmp_path).text == "hello"

    def test_ask_in_another_process(self, tmp_path: Path) -> None:
        """`ask` runs in a spawned worker and its turn comes back whole."""
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            turn = pool.apply(ask, (POLITE, "say hello"), {"cwd": str(tmp_path)})
        assert (turn.text, turn.snapshot.turns[-1].stop_reason) == ("hello", "end_turn")

    def test_a_forked_process_builds_its_own_host(self, chat: Chat, tmp_path: Path) -> None:
        """After a fork a new chat works, and the parent's chat says that it is not here."""
        chat.ask("say hello")
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply(ask, (POLITE, "say forked"), {"cwd": str(tmp_path)}).text == "forked"
            assert pool.apply(_used_elsewhere, ()) == "SessionError"
        assert chat.ask("say still").text == "still"


def _used_elsewhere() -> str:
    live = [c for c in gc.get_objects() if isinstance(c, Chat) and c.status != "closed"]
    try:
        live[0].ask("say no")
    except SessionError as error:
        return type(error).__name__
    return "nothing raised"


ERRORS = [
    AgentNotFound("x", ["here"], "pip install x"),
    AgentStartError("no", phase="spawn", returncode=3, stderr_tail="tail"),
    AgentExited("gone", returncode=-9),
    AuthRequired([{"id": "a", "name": "A"}], "login"),
    RequestFailed("session/new", -1, "no", {"a": 1}),
    ProtocolError("bad", fault="agent", frame={"x": 1}),
    LimitExceeded("max_queue", 3),
    SessionError("no"),
    TurnFailed("turn", "no"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_cross_processes(error: AcpNotebookError) -> None:
    """Every exception pickles with its message and all that it carries."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_turns_pickle(chat: Chat) -> None:
    """A turn pickles with its whole snapshot."""
    turn = chat.ask("say hello")
    assert pickle.loads(pickle.dumps(turn)) == turn


NESTED = """
import asyncio, sys
from acp_notebook import Chat
ticks = 0
async def tick():
    global ticks
    while True:
        await asyncio.sleep(0.01)
        ticks += 1
async def main():
    ticking = asyncio.ensure_future(tick())
    with Chat({agent!r}) as chat:
        chat.start()
        before = ticks
        print(chat.ask("wait 0.5\\nsay done").text, ticks > before + 5)
    ticking.cancel()
asyncio.run(main())
print("nest_asyncio" in sys.modules)
"""


@pytest.mark.parametrize("allowed", [True, False])
def test_a_running_loop_goes_on_only_when_that_is_configured(tmp_path: Path, allowed: bool) -> None:
    """With `nest_asyncio` set, a caller's own loop goes on during `ask`; without, it is not even loaded."""
    done = subprocess.run(
        [sys.executable, "-c", NESTED.format(agent=POLITE)],
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": str(REPOSITORY), "ACP_NOTEBOOK_NEST_ASYNCIO": str(allowed).lower()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["done", str(allowed), str(allowed)], done.stderr


def test_a_reload_of_the_module_keeps_the_chats(tmp_path: Path) -> None:
    """After `importlib.reload`, as autoreload does it, a named chat is found and goes on."""
    chat = Chat(POLITE, cwd=tmp_path, name="kept")
    chat.ask("say one")
    again = importlib.reload(chat_module).Chat(name="kept")
    assert again.ask("say two").text == "two"
    assert [turn.text for turn in again.turns] == ["one", "two"]
    again.close()


SCRIPT = """
import sys
from acp_notebook import Chat
chat = Chat({agent!r}, cwd={cwd!r})
turn = chat.ask("say hello\\nask ls\\nsay bye")
print("result", turn.ok)
"""


def test_in_a_terminal_the_turn_streams_and_input_asks(tmp_path: Path) -> None:
    """With a terminal the answer is printed as it comes, permissions are asked, and nothing is left."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["PYTHONPATH"] = str(REPOSITORY)
        os.execv(
            sys.executable, [sys.executable, "-c", SCRIPT.format(agent=POLITE, cwd=str(tmp_path))]
        )
    seen = b""
    while b"Number" not in seen:
        seen += os.read(fd, 4096)
    os.write(fd, b"1\n")
    while True:
        try:
            data = os.read(fd, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    text = seen.decode().replace("\r", "")
    assert text.index("hello") < text.index("The agent asks") < text.index("answer: yes")
    assert text.endswith("result True\n")
    assert "[Run ls: completed]" in text
