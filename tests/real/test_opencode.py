"""opencode, a real agent, driven through `Chat`; its model is scripted (tests/real/lab)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acp_notebook import Chat
from tests.real.conftest import NOTES

pytestmark = pytest.mark.real

EDITED = NOTES.replace("beta", "BETA (edited)")

OpenChat = Callable[[str], Chat]


@pytest.fixture
def open_chat(opencode: list[str], workspace: Path) -> Iterator[OpenChat]:
    """Open a chat with opencode under a policy; nobody is there to ask."""
    opened: list[Chat] = []

    def open_one(policy: str) -> Chat:
        opened.append(Chat(opencode, cwd=str(workspace), policy=policy))
        return opened[-1]

    yield open_one
    for chat in opened:
        chat.close()


def wait_until(condition: Callable[[], bool], *, within_s: float = 60) -> None:
    """Wait until something holds that nothing announces."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_prose_streams_and_arrives_whole(open_chat: OpenChat) -> None:
    """A new chat answers with thought and Markdown, seen growing, and the end is the whole text."""
    chat = open_chat("ask")
    prompt = chat.send("Please answer. #script:prose")
    seen: set[str] = set()

    def settled() -> bool:
        if chat.timeline.turns:
            seen.add(chat.timeline.turns[-1].text)
        return prompt.done

    wait_until(settled)
    turn = prompt.result(timeout_s=10)
    assert "end_turn" == turn.stop_reason
    assert turn.ok
    assert turn.text.startswith("## A short tour")
    assert "naïve café — 日本語 🙂 and math $a_1^2 + b$." in turn.text
    assert turn.text.endswith("That is all.")
    assert len(seen) > 5
    assert all(turn.text.startswith(text) for text in seen)
    assert "think" in turn.thoughts[0].text
    assert "OpenCode" == chat.timeline.to_dict()["agent"]["name"]


def test_an_allowed_edit_is_made(open_chat: OpenChat, workspace: Path) -> None:
    """With `allow-all` the permission is granted by the policy and the file is edited."""
    turn = open_chat("allow-all").ask("Please edit the notes. #script:edit")
    assert "end_turn" == turn.stop_reason
    assert EDITED == (workspace / "notes.md").read_text()
    assert ["completed", "completed"] == [call.status for call in turn.tool_calls]
    (permission,) = [item for item in turn.items if item.kind == "permission"]
    assert ("selected", "allow_once", "allow-all") == (
        permission.status,
        permission.selected.kind,
        permission.decided_by,
    )
    (diff,) = turn.diffs
    assert diff.path.endswith("notes.md")
    assert "The edit is finished." in turn.text


def test_a_rejected_edit_is_not_made(open_chat: OpenChat, workspace: Path) -> None:
    """With `deny` the permission is rejected and the file stays as it was."""
    turn = open_chat("deny").ask("Please edit the notes. #script:edit")
    assert NOTES == (workspace / "notes.md").read_text()
    (permission,) = [item for item in turn.items if item.kind == "permission"]
    assert ("selected", "reject_once", "deny") == (
        permission.status,
        permission.selected.kind,
        permission.decided_by,
    )
    assert "failed" == turn.tool_calls[-1].status
    assert turn.state != "running"


def test_a_cancelled_turn_ends_and_the_chat_goes_on(open_chat: OpenChat) -> None:
    """Cancelling in mid-stream ends the turn as cancelled, with what was said, and the next one works."""
    chat = open_chat("ask")
    prompt = chat.send("Please talk for long. #script:slow")
    wait_until(lambda: bool(chat.timeline.turns) and "Paragraph 2" in chat.timeline.turns[-1].text)
    chat.cancel()
    turn = prompt.result(timeout_s=30)
    assert "cancelled" == turn.stop_reason
    assert turn.stopped_by_user
    assert "Paragraph 60" not in turn.text
    assert "Fine. Nothing else to do." == chat.ask("Please be short. #script:short").text
    assert 2 == len(chat.timeline.turns)
