"""The explorer, driven as a child on real pipes."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.agents.explorer.demo import AFTER, BEFORE
from acp_notebook.agents.explorer.picture import sine_png
from acp_notebook.agents.explorer.session import pace_ms
from tests.agents.raw_client import RawClient, agent


class Disk:
    """A client that serves files and answers permissions with one option."""

    def __init__(self, option: str | None) -> None:
        self.option = option
        self.written: list[str] = []
        self.asked: list[dict[str, Any]] = []

    def __call__(self, message: dict[str, Any]) -> dict[str, Any]:
        params = message["params"]
        match message["method"]:
            case "session/request_permission":
                self.asked.append(params)
                if self.option is None:
                    return {"result": {"outcome": {"outcome": "cancelled"}}}
                chosen = {"outcome": "selected", "optionId": self.option}
                return {"result": {"outcome": chosen}}
            case "fs/write_text_file":
                self.written.append(params["content"])
                Path(params["path"]).write_text(params["content"])
                return {"result": {}}
            case "fs/read_text_file":
                path = Path(params["path"])
                if path.exists():
                    return {"result": {"content": path.read_text()}}
                return {"error": {"code": -32002, "message": "no such file"}}
        raise AssertionError(message)


def calls(client: RawClient) -> dict[str, dict[str, Any]]:
    """The tool calls by title, each with its last status."""
    merged: dict[str, dict[str, Any]] = {}
    for update in client.updates("tool_call", "tool_call_update"):
        merged.setdefault(update["toolCallId"], {}).update(update)
    return {call["title"]: call for call in merged.values()}


def timeless(client: RawClient, session: str) -> str:
    return json.dumps(client.updates()).replace(session, "SESSION")


class TestDemo:
    def test_every_kind_of_update_is_shown(self, tmp_path: Path) -> None:
        """/demo sends every update kind of ACP v1 that makes an item or metadata."""
        with agent("explorer", "--pace", "instant") as client:
            client.prompt(client.open(tmp_path), "/demo", Disk("write"))
            assert {
                "agent_message_chunk",
                "agent_thought_chunk",
                "available_commands_update",
                "current_mode_update",
                "notice",
                "plan",
                "session_info_update",
                "tool_call",
                "tool_call_update",
                "usage_update",
            } == {update["sessionUpdate"] for update in client.updates()}
            blocks = {u["content"]["type"] for u in client.updates("agent_message_chunk")}
            assert blocks == {"text", "image", "resource_link"}

    def test_an_allowed_edit_is_written_by_the_client(self, tmp_path: Path) -> None:
        """After the permission both versions go through the client, and the file is removed."""
        with agent("explorer", "--pace", "instant") as client:
            disk = Disk("write")
            reply = client.prompt(client.open(tmp_path), "/demo", disk)
            assert reply["result"]["stopReason"] == "end_turn"
            assert disk.written == [BEFORE, AFTER]
            assert len(disk.asked) == 1
            done = calls(client)
            assert done["Change a line of explorer-scratch.md"]["status"] == "completed"
            read = done["Read explorer-scratch.md"]["content"][0]["content"]["text"]
            assert read == AFTER
            assert list(tmp_path.iterdir()) == []

    def test_a_rejected_edit_writes_nothing(self, tmp_path: Path) -> None:
        """A no leaves the folder alone, fails that call, and the turn goes on to its end."""
        with agent("explorer", "--pace", "instant") as client:
            disk = Disk("leave")
            reply = client.prompt(client.open(tmp_path), "/demo", disk)
            assert reply["result"]["stopReason"] == "end_turn"
            assert disk.written == []
            title = "Write explorer-scratch.md, and remove it at the end"
            assert calls(client)[title]["status"] == "failed"
            assert "You said no." in client.text()
            assert "That was every kind of item." in client.text()

    def test_a_permission_that_nobody_answers_writes_nothing(self, tmp_path: Path) -> None:
        """A cancelled outcome without a cancelled turn counts as no."""
        with agent("explorer", "--pace", "instant") as client:
            disk = Disk(None)
            reply = client.prompt(client.open(tmp_path), "/demo", disk)
            assert reply["result"]["stopReason"] == "end_turn"
            assert disk.written == []
            assert "Nobody answered." in client.text()

    def test_allow_always_asks_once_a_session(self, tmp_path: Path) -> None:
        """The option that says so is remembered for the session."""
        with agent("explorer", "--pace", "instant") as client:
            disk, session = Disk("write-always"), client.open(tmp_path)
            client.prompt(session, "/demo", disk)
            client.prompt(session, "/demo", disk)
            assert len(disk.asked) == 1
            assert disk.written == [BEFORE, AFTER] * 2

    def test_read_only_mode_writes_nothing_and_asks_nothing(self, tmp_path: Path) -> None:
        """The mode is real: in read-only no permission is asked for."""
        with agent("explorer", "--pace", "instant") as client:
            disk, session = Disk("write"), client.open(tmp_path)
            client.request("session/set_mode", sessionId=session, modeId="read-only")
            client.prompt(session, "/demo", disk)
            assert disk.asked == []
            assert disk.written == []

    def test_a_file_of_the_same_name_is_left_alone(self, tmp_path: Path) -> None:
        """A user's file at the scratch name keeps its content; another name is used."""
        mine = tmp_path / "explorer-scratch.md"
        mine.write_text("mine")
        with agent("explorer", "--pace", "instant") as client:
            client.prompt(client.open(tmp_path), "/demo", Disk("write"))
            assert "Change a line of explorer-scratch-2.md" in calls(client)
        assert mine.read_text() == "mine"
        assert list(tmp_path.iterdir()) == [mine]

    def test_two_runs_are_equal(self, tmp_path: Path) -> None:
        """Nothing in the updates depends on time, chance or an earlier run."""
        runs = []
        for _ in range(2):
            with agent("explorer", "--pace", "instant") as client:
                session = client.open(tmp_path)
                client.prompt(session, "/demo", Disk("write"))
                runs.append(timeless(client, session))
        assert runs[0] == runs[1]

    def test_without_capabilities_nothing_is_asked_of_the_client(self, tmp_path: Path) -> None:
        """A client that offers no files, terminals or notices gets none, and the text all the same."""
        with agent("explorer", "--pace", "instant") as client:
            client.prompt(client.open(tmp_path, {}), "/demo")
            assert [m for m in client.seen if "method" in m and "id" in m] == []
            assert client.updates("notice") == []
            output = calls(client)["python -c …"]["content"][0]["content"]["text"]
            assert output.startswith("```console\n")
            assert "yellow" in output


class TestCancel:
    def test_in_mid_stream(self, tmp_path: Path) -> None:
        """A cancel between two words ends the turn as cancelled, and the next prompt works."""
        with agent("explorer", "--pace", "60000") as client:
            session = client.open(tmp_path)
            prompt = client.start(
                "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "/demo"}]
            )
            client.until(lambda m: m.get("method") == "session/update")
            client.notify("session/cancel", sessionId=session)
            assert client.finish(prompt)["result"]["stopReason"] == "cancelled"
            client.request(
                "session/set_config_option", sessionId=session, configId="pace", value="instant"
            )
            assert client.prompt(session, "/help")["result"]["stopReason"] == "end_turn"

    def test_while_a_permission_is_open(self, tmp_path: Path) -> None:
        """A cancel instead of an answer ends the turn; the late answer does no harm."""
        with agent("explorer", "--pace", "instant") as client:
            session = client.open(tmp_path)
            prompt = client.start(
                "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "/demo"}]
            )
            asked = client.until(
                lambda m: m.get("method") == "session/request_permission",
                lambda m: None if "permission" in m["method"] else Disk(None)(m),
            )
            client.notify("session/cancel", sessionId=session)
            assert client.finish(prompt)["result"]["stopReason"] == "cancelled"
            client.send({"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}})
            assert client.prompt(session, "/help")["result"]["stopReason"] == "end_turn"
            assert list(tmp_path.iterdir()) == []

    def test_after_the_file_was_written_removes_it(self, tmp_path: Path) -> None:
        """The scratch file does not outlive a turn that is cancelled around it."""
        with agent("explorer", "--pace", "instant") as client:
            session = client.open(tmp_path)
            disk = Disk("write")

            def answer(message: dict[str, Any]) -> dict[str, Any]:
                reply = disk(message)
                if message["method"] == "fs/write_text_file":
                    client.notify("session/cancel", sessionId=session)
                return reply

            reply = client.prompt(session, "/demo", answer)
            assert reply["result"]["stopReason"] == "cancelled"
            assert disk.written == [BEFORE]
            assert list(tmp_path.iterdir()) == []

    def test_a_closed_pipe_ends_a_running_turn(self, tmp_path: Path) -> None:
        """End of input in mid-turn ends the process with code 0 (the fixture waits for it)."""
        with agent("explorer", "--pace", "60000") as client:
            session = client.open(tmp_path)
            client.start(
                "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "/demo"}]
            )
            client.until(lambda m: m.get("method") == "session/update")


class TestTalk:
    def test_the_first_answer_says_what_it_is(self, tmp_path: Path) -> None:
        """The first turn names the agent and the way to another; the second does not repeat it."""
        with agent("explorer", "--pace", "instant") as client:
            session = client.open(tmp_path)
            client.prompt(session, "hello")
            assert "%acp_chat opencode" in client.text()
            assert client.text().count("I am the **explorer**") == 1
            client.prompt(session, "hello")
            assert client.text().count("I am the **explorer**") == 1

    def test_what_comes_with_a_prompt_is_named(self, tmp_path: Path) -> None:
        """Blocks that are no text are listed by type and name."""
        with agent("explorer", "--pace", "instant") as client:
            session = client.open(tmp_path)
            client.request(
                "session/prompt",
                sessionId=session,
                prompt=[
                    {"type": "text", "text": "look"},
                    {"type": "image", "data": "", "mimeType": "image/png"},
                    {"type": "resource_link", "name": "notes.md", "uri": "file:///notes.md"},
                    {"type": "resource", "resource": {"uri": "kernel:df", "text": "x"}},
                ],
            )
            assert "- image: `image/png`\n" in client.text()
            assert "- resource_link: `notes.md`\n" in client.text()
            assert "- resource: `kernel:df`\n" in client.text()

    def test_unknown_commands_point_to_help(self, tmp_path: Path) -> None:
        """A command that does not exist is named, and help lists those that the client was told."""
        with agent("explorer", "--pace", "instant") as client:
            session = client.open(tmp_path)
            client.prompt(session, "/nonsense")
            assert "I have no command `/nonsense`" in client.text()
            client.prompt(session, "/help")
            (commands,) = client.updates("available_commands_update")
            for command in commands["availableCommands"]:
                assert f"- `/{command['name']}` — " in client.text()


class TestFind:
    def test_lines_are_found_in_order(self, tmp_path: Path) -> None:
        """Matches come by path and line, whatever their case; hidden and binary files are not read."""
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "b.txt").write_text("Total: 2\nnothing\n  total: 3\n")
        (tmp_path / "a.txt").write_text("total: 1\n")
        (tmp_path / ".hidden").write_text("total")
        (tmp_path / "c.bin").write_bytes(b"total \xff\xfe")
        (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
        with agent("explorer", "--pace", "instant") as client:
            client.prompt(client.open(tmp_path), "/find total")
            call = calls(client)["Search for 'total'"]
            assert call["content"][0]["content"]["text"].split("\n") == [
                "a.txt:1: total: 1",
                "sub/b.txt:1: Total: 2",
                "sub/b.txt:3: total: 3",
            ]
            assert call["locations"][1] == {"path": str(tmp_path / "sub" / "b.txt"), "line": 1}
            assert "Found 3 lines in 2 files." in client.text()

    def test_many_matches_are_cut(self, tmp_path: Path) -> None:
        """Past fifty lines the rest is not listed, and the answer says so."""
        (tmp_path / "long.txt").write_text("x\n" * 60)
        with agent("explorer", "--pace", "instant") as client:
            client.prompt(client.open(tmp_path), "/find x")
            call = calls(client)["Search for 'x'"]
            assert call["rawOutput"] == {"matches": 50, "more": True}
            assert "Found the first 50 lines in 1 file." in client.text()

    def test_nothing_found(self, tmp_path: Path) -> None:
        """No match is an answer, not an error."""
        with agent("explorer", "--pace", "instant") as client:
            client.prompt(client.open(tmp_path), "/find x")
            assert calls(client)["Search for 'x'"]["status"] == "completed"
            assert "No line of a text file here holds that." in client.text()


class TestProtocol:
    def test_errors_are_answered(self, tmp_path: Path) -> None:
        """Unknown methods, sessions, folders and options get an error with the reason, and no exit."""
        with agent("explorer", "--pace", "instant") as client:
            session = client.open(tmp_path)
            codes = {
                "no/such": client.request("no/such"),
                "session": client.prompt("nobody", "hi"),
                "cwd": client.request("session/new", cwd="relative", mcpServers=[]),
                "mode": client.request("session/set_mode", sessionId=session, modeId="x"),
                "option": client.request(
                    "session/set_config_option", sessionId=session, configId="x", value="y"
                ),
            }
            assert {key: reply["error"]["code"] for key, reply in codes.items()} == {
                "no/such": -32601,
                "session": -32002,
                "cwd": -32602,
                "mode": -32602,
                "option": -32602,
            }

    def test_a_line_that_is_no_message_is_answered_with_a_null_id(self, tmp_path: Path) -> None:
        """Junk on stdin is a parse error for nobody's request, and the next message is served."""
        with agent("explorer", "--pace", "instant") as client:
            assert client.process.stdin is not None
            client.process.stdin.write(b"junk\n")
            client.open(tmp_path)
            assert client.seen[0]["id"] is None
            assert client.seen[0]["error"]["code"] == -32700

    def test_a_closed_session_is_gone(self, tmp_path: Path) -> None:
        """After session/close its id is unknown."""
        with agent("explorer", "--pace", "instant") as client:
            session = client.open(tmp_path)
            assert client.request("session/close", sessionId=session)["result"] == {}
            assert client.prompt(session, "hi")["error"]["code"] == -32002

    def test_the_pace_is_an_option(self, tmp_path: Path) -> None:
        """The answer to a new value is the whole list of options."""
        with agent("explorer", "--pace", "7") as client:
            session = client.open(tmp_path)
            options = client.seen[-1]["result"]["configOptions"]
            assert options[0]["currentValue"] == "custom"
            reply = client.request(
                "session/set_config_option", sessionId=session, configId="pace", value="slow"
            )
            assert reply["result"]["configOptions"][0]["currentValue"] == "slow"


@given(st.text())
def test_a_pace_is_a_number_of_milliseconds_or_refused(text: str) -> None:
    """Whatever is given as a pace becomes a bounded time or a ValueError."""
    try:
        pace = pace_ms(text)
    except ValueError:
        return
    assert 0 <= pace <= 60_000


def test_the_picture_is_a_png() -> None:
    """Pillow reads the handmade PNG: its size, and the three colours that were drawn."""
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(sine_png()))
    assert image.size == (320, 96)
    assert len(image.convert("RGB").getcolors()) == 3
    assert base64.b64encode(sine_png())
