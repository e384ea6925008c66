"""Replays and early updates: late ones, large ones, ones that come before the session has a name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_notebook.host.spec import AgentSpec
from tests.host.talk import Talk

Talks = Callable[..., Talk]
FLOOD = Path(__file__).parents[1] / "benches" / "flood_agent.py"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.json"
    said = [["user", "old question"], ["agent", "old answer"]]
    path.write_text(json.dumps({"s-1": {"cwd": str(tmp_path), "said": said}}))
    return path


class TestLateReplay:
    def test_a_replay_after_the_answer_is_history(self, talks: Talks, store: Path) -> None:
        """An agent that replays after it has answered the load (gemini): its history is history."""
        talk = talks("polite", "--store", str(store), "--late-replay", session="s-1")
        talk.start()
        talk.until(lambda: talk.texts == ["old question", "old answer"])
        assert all(item.historical for item in talk.session.snapshot.items)

    def test_it_ends_at_the_first_prompt(self, talks: Talks, store: Path) -> None:
        """What comes after a prompt is live, however soon that is sent."""
        talk = talks("polite", "--store", str(store), "--late-replay", session="s-1")
        talk.start()
        talk.until(lambda: len(talk.texts) == 2)
        talk.prompt("say fresh")
        assert [i.historical for i in talk.session.snapshot.items] == [True, True, False, False]

    def test_it_ends_in_silence(self, talks: Talks, store: Path) -> None:
        """After a quiet time without a replay, the chat says that there was none."""
        data = json.loads(store.read_text())
        data["s-1"]["said"] = []
        store.write_text(json.dumps(data))
        talk = talks("polite", "--store", str(store), session="s-1", late_replay_quiet_s=0.05)
        talk.start()
        talk.until(lambda: "no history" in talk.state.note)
        assert talk.state.status == "idle"


class TestEarlyUpdates:
    def test_they_are_kept_in_order(self, talks: Talks) -> None:
        """Updates that come before the answer of `session/new` are its session's, in order."""
        talk = talks("polite", "--early", "200")
        talk.start()
        assert talk.texts == ["".join(f"early {n} " for n in range(200))]

    def test_the_room_is_bounded(self, talks: Talks) -> None:
        """Past `max_waiting_room_bytes` the surplus is dropped with a note, and the rest goes on."""
        talk = talks("polite", "--early", "200", max_waiting_room_bytes=2000)
        talk.start()
        assert "max_waiting_room_bytes" in talk.state.note
        (text,) = talk.texts
        assert "".join(f"early {n} " for n in range(200)).startswith(text)
        assert talk.prompt("say on").text == "on"


def test_a_large_replay_is_whole_when_load_returns(tmp_path: Path) -> None:
    """`load` returns after the last fold: 10,000 updates, none missing, none out of order, with a slow view."""
    talk = Talk(AgentSpec("flood", sys.executable, (str(FLOOD), "10000")), tmp_path)
    seen: list[int] = []

    def slow_view(_change: object) -> None:
        # Reads all of it at every change, as no view should.
        seen.append(sum(len(i.text) for i in talk.session.snapshot.items if hasattr(i, "text")))

    talk.call(talk.session.subscribe, slow_view)
    talk.run(talk.session.sessions.load("s"))
    words = "".join(talk.texts[1:2])
    assert words == "".join(f"word{n:04d} and " for n in range(80))
    assert len(talk.session.snapshot.turns) == 100
    assert {t.status for t in talk.session.snapshot.tool_calls} == {"completed"}
    assert seen[-1] == max(seen)
    talk.close()


def test_a_live_stream_with_a_slow_view_is_in_order(talk: Talk) -> None:
    """10,000 live updates with a view that takes its time: 0 missing, 0 out of order."""
    lengths: list[int] = []

    def slow_view(_change: object) -> None:
        text = talk.session.snapshot.turns[-1].text if len(talk.session.snapshot.turns) else ""
        assert text == "".join("x" if n % 10 else f"{n} " for n in range(10_000))[: len(text)]
        lengths.append(len(text))

    talk.call(talk.session.subscribe, slow_view)
    turn = talk.prompt("flood 10000")
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(turn.text)
