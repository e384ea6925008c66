"""The ledger's own behaviour: what is recorded, what replays, and when it goes to disk."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from acp_notebook.bridge.ledger import Ledger, OpenMark
from acp_notebook.bridge.ledger_limits import LedgerLimits
from acp_notebook.bridge.ledger_read import Problem


def text(what: str, kind: str = "agent_message_chunk", **more: object) -> dict:
    return {"sessionUpdate": kind, **more, "content": {"type": "text", "text": what}}


def tool(call_id: str, **more: object) -> dict:
    return {"sessionUpdate": "tool_call", "toolCallId": call_id, "title": "exec", **more}


PROMPT = text("q", "user_message_chunk")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "acp-notebook" / "ledger.sqlite"


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What the ledger told a person; a test that expects nothing leaves it empty."""
    lines: list[str] = []
    yield lines
    assert [] == lines


@pytest.fixture
def ledger(path: Path, said: list[str]) -> Iterator[Ledger]:
    with Ledger.open(path, warn=said.append, clock=lambda: 0.0) as ledger:
        yield ledger
        assert [] == ledger.verify()


def rows(path: Path, query: str) -> list[tuple]:
    """What another process sees."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def run(ledger: Ledger, session_id: str, run_id: str, *updates: dict, at: int = 2) -> None:
    ledger.accept_prompt(session_id, run_id, [PROMPT], at)
    for update in updates:
        ledger.append(session_id, update, run_id=run_id, at=at)
    ledger.settle_prompt(session_id, run_id, at)


class TestSchema:
    def test_tables(self, ledger: Ledger, path: Path) -> None:
        """A new ledger has these tables, with these columns, in these journal and lock modes."""
        expected = {
            "sessions": "session_id session_key cwd complete created_at updated_at next_seq"
            " event_count byte_count open_marks",
            "events": "session_id seq at session_key run_id update_json",
            "totals": "id sessions events bytes",
            "migrations": "name applied_at",
        }
        with closing(sqlite3.connect(path)) as db:
            tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            found = {
                name: " ".join(column[1] for column in db.execute(f"PRAGMA table_info({name})"))
                for (name,) in tables
            }
            assert expected == found
            assert [("0001_sessions_and_events",)] == db.execute(
                "SELECT name FROM migrations"
            ).fetchall()
            assert ("wal",) == db.execute("PRAGMA journal_mode").fetchone()

    def test_file_is_private(self, ledger: Ledger, path: Path) -> None:
        """Only its owner can read the ledger and its journal."""
        ledger.begin_session("s", "k", "/w", 1)
        found = {file.name: file.stat().st_mode & 0o077 for file in path.parent.iterdir()}
        assert dict.fromkeys(found, 0) == found
        assert "ledger.sqlite-wal" in found


class TestReplay:
    def test_settled_prompt_replays(self, ledger: Ledger) -> None:
        """What a settled prompt recorded comes back in order, text chunks of one message joined."""
        ledger.begin_session("s", "k", "/w", 1)
        run(ledger, "s", "r", text("a"), text("b"), tool("t"), text("c"))
        assert [PROMPT, text("ab"), tool("t"), text("c")] == ledger.replay("s")

    def test_new_session_replays_nothing(self, ledger: Ledger) -> None:
        """A session without updates is complete and replays none."""
        ledger.begin_session("s", "k", "/w", 1)
        assert [] == ledger.replay("s")

    def test_unknown_session_does_not_replay(self, ledger: Ledger) -> None:
        """A session that the ledger does not have is no empty one."""
        assert None is ledger.replay("nobody")

    def test_open_prompt_does_not_replay(self, ledger: Ledger) -> None:
        """Between accepted and settled a session is incomplete, and its mark says which run it is."""
        ledger.begin_session("s", "k", "/w", 1)
        ledger.accept_prompt("s", "r", [PROMPT], 2)
        assert None is ledger.replay("s")
        assert [OpenMark("r", 2, alive=True, own=True)] == ledger.open_marks("s")
        ledger.settle_prompt("s", "r", 3)
        assert [PROMPT] == ledger.replay("s")
        assert [] == ledger.open_marks("s")

    def test_session_of_an_earlier_life_never_replays(self, ledger: Ledger) -> None:
        """A session that was begun as incomplete stays so, however many prompts settle in it."""
        ledger.begin_session("s", "k", "/w", 1, complete=False)
        run(ledger, "s", "r", text("a"))
        ledger.begin_session("s", "k", "/w", 3)
        assert None is ledger.replay("s")
        assert [PROMPT, text("a")] == [event.update for event in ledger.events("s")]

    def test_updates_of_an_unknown_session_make_it_incomplete(self, ledger: Ledger) -> None:
        """An update for a session that was never begun is kept, but the session never replays."""
        ledger.append("s", text("a"), run_id=None, at=1)
        assert None is ledger.replay("s")
        found = ledger.session("s")
        assert ("", "", False, 1) == (
            found.session_key,
            found.cwd,
            found.complete,
            found.event_count,
        )

    def test_marked_incomplete_is_for_good(self, ledger: Ledger) -> None:
        """A session that was marked incomplete in mid-run does not become whole when it settles."""
        ledger.begin_session("s", "k", "/w", 1)
        ledger.accept_prompt("s", "r", [PROMPT], 2)
        ledger.mark_incomplete("s")
        ledger.settle_prompt("s", "r", 3)
        assert None is ledger.replay("s")

    def test_reset_begins_anew(self, ledger: Ledger) -> None:
        """A reset session has nothing of its former life and replays what comes after."""
        ledger.begin_session("s", "k", "/w", 1)
        run(ledger, "s", "r", text("old"))
        ledger.mark_incomplete("s")
        ledger.begin_session("s", "k", "/w", 3, reset=True)
        run(ledger, "s", "r2", text("new"), at=4)
        assert [PROMPT, text("new")] == ledger.replay("s")

    def test_survives_a_restart(self, path: Path, said: list[str]) -> None:
        """What was closed in order is whole for the next process."""
        with Ledger.open(path, warn=said.append) as first:
            first.begin_session("s", "k", "/w", 1)
            run(first, "s", "r", text("a"))
            first.append("s", text("late"), run_id="r", at=9)
        with Ledger.open(path, warn=said.append) as second:
            assert [PROMPT, text("a"), text("late")] == second.replay("s")

    @pytest.mark.parametrize(
        "update",
        [
            text("half a pair \ud83d, then é"),
            text("nul \0 and \u2028"),
            tool("t", rawInput={"n": 2**70, "x": 1e-300, "none": None, "deep": [[[{}]]]}),
            {"sessionUpdate": "of_tomorrow", "content": "not even a block", "_meta": {"a": 1}},
        ],
    )
    def test_updates_come_back_exactly(self, ledger: Ledger, update: dict) -> None:
        """An update is stored whole, whatever JSON it is, also one with half a surrogate pair."""
        ledger.begin_session("s", "k", "/w", 1)
        run(ledger, "s", "r", update)
        assert [PROMPT, update] == ledger.replay("s")

    def test_what_is_no_json_makes_the_session_incomplete(self, ledger: Ledger) -> None:
        """An update that cannot be stored costs its session the replay and raises nothing."""
        endless: dict = {}
        endless["a"] = endless
        for number, odd in enumerate([{"a": object()}, endless]):
            ledger.begin_session(f"s{number}", "k", "/w", 1)
            ledger.append(f"s{number}", odd, run_id="r", at=2)
            ledger.begin_session(f"p{number}", "k", "/w", 1)
            ledger.accept_prompt(f"p{number}", "r", [odd], 2)
            ledger.settle_prompt(f"p{number}", "r", 3)
            assert [None, None] == [ledger.replay(f"s{number}"), ledger.replay(f"p{number}")]


class TestMerging:
    @pytest.mark.parametrize(
        "pair",
        [
            (text("a"), text("b", "agent_thought_chunk")),
            (text("a", messageId="1"), text("b", messageId="2")),
            (text("a"), text("b", messageId="2")),
            (text("a"), text("b", _meta={"k": 1})),
            (text("a"), text("")),
            (text("a"), {**text("b"), "content": {"type": "text", "text": "b", "annotations": {}}}),
            (text("a", "user_message_chunk"), text("b", "user_message_chunk")),
        ],
    )
    def test_what_would_be_lost_is_not_joined(self, ledger: Ledger, pair: tuple) -> None:
        """Chunks that differ in more than their text, and the user's blocks, stay as they are."""
        ledger.begin_session("s", "k", "/w", 1)
        run(ledger, "s", "r", *pair)
        assert [PROMPT, *pair] == ledger.replay("s")

    def test_messages_with_an_id_join(self, ledger: Ledger) -> None:
        """Chunks of one message id become one update that keeps it."""
        ledger.begin_session("s", "k", "/w", 1)
        run(ledger, "s", "r", text("a", messageId="1"), text("b", messageId="1"))
        assert [PROMPT, text("ab", messageId="1")] == ledger.replay("s")

    def test_sessions_do_not_part_each_other(self, ledger: Ledger) -> None:
        """Chunks of two sessions that come in turns join a session each."""
        for session_id in ("s1", "s2"):
            ledger.begin_session(session_id, "k", "/w", 1)
        for letter in "abc":
            for session_id in ("s1", "s2"):
                ledger.append(session_id, text(letter), run_id="r", at=2)
        assert [[text("abc")], [text("abc")]] == [ledger.replay("s1"), ledger.replay("s2")]

    def test_caller_may_go_on_changing_an_update(self, ledger: Ledger) -> None:
        """An update is recorded as it was when it was given."""
        ledger.begin_session("s", "k", "/w", 1)
        update = tool("t", content=["a"])
        ledger.append("s", update, run_id="r", at=2)
        update["content"].append("b")
        assert [tool("t", content=["a"])] == ledger.replay("s")


class TestFlush:
    def test_each_boundary_is_on_disk(self, ledger: Ledger, path: Path) -> None:
        """Session begun, prompt accepted, flush and settle are each seen by others at once."""
        events = "SELECT count(*) FROM events"
        sessions = "SELECT complete, open_marks <> '[]' FROM sessions"
        ledger.begin_session("s", "k", "/w", 1)
        assert [(1, 0)] == rows(path, sessions)
        ledger.accept_prompt("s", "r", [PROMPT], 2)
        assert ([(1,)], [(0, 1)]) == (rows(path, events), rows(path, sessions))
        ledger.append("s", tool("t"), run_id="r", at=3)
        assert [(1,)] == rows(path, events)
        assert ledger.flush()
        assert [(2,)] == rows(path, events)
        ledger.append("s", text("a"), run_id="r", at=4)
        ledger.settle_prompt("s", "r", 5)
        assert ([(3,)], [(1, 0)]) == (rows(path, events), rows(path, sessions))

    def test_a_full_batch_is_written(self, ledger: Ledger, path: Path) -> None:
        """So many rows as a batch holds are written without a boundary."""
        ledger.begin_session("s", "k", "/w", 1)
        for number in range(LedgerLimits().flush_rows):
            assert [(0,)] == rows(path, "SELECT count(*) FROM events")
            ledger.append("s", tool(f"t{number}"), run_id="r", at=2)
        assert [(64,)] == rows(path, "SELECT count(*) FROM events")

    def test_age_is_a_boundary(self, path: Path, said: list[str]) -> None:
        """Without a loop the next append writes what is older than 50 ms."""
        now = [0.0]
        with Ledger.open(path, warn=said.append, clock=lambda: now[0]) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            ledger.append("s", tool("t1"), run_id="r", at=2)
            now[0] = 0.049
            ledger.append("s", tool("t2"), run_id="r", at=2)
            assert [(0,)] == rows(path, "SELECT count(*) FROM events")
            now[0] = 0.051
            ledger.append("s", tool("t3"), run_id="r", at=2)
            assert [(3,)] == rows(path, "SELECT count(*) FROM events")

    async def test_a_loop_writes_in_time(self, path: Path, said: list[str]) -> None:
        """With a loop an update is on disk a flush interval later, without another call."""
        loop, ran = asyncio.get_running_loop(), asyncio.Event()
        delays = []

        def call_later(delay, callback):
            delays.append(delay)
            loop.call_later(delay, lambda: (callback(), ran.set()))

        with Ledger.open(path, warn=said.append, call_later=call_later) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            ledger.append("s", text("a"), run_id="r", at=2)
            ledger.append("s", text("b"), run_id="r", at=2)
            assert [0.05] == delays
            await asyncio.wait_for(ran.wait(), 10)
            assert [(1,)] == rows(path, "SELECT count(*) FROM events")

    def test_two_threads_take_turns(self, ledger: Ledger) -> None:
        """Two threads that record at once lose nothing."""
        ledger.begin_session("s", "k", "/w", 1)

        def record(name):
            for number in range(300):
                ledger.append("s", tool(f"{name}{number}"), run_id=name, at=2)

        threads = [threading.Thread(target=record, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [update["toolCallId"] for update in ledger.replay("s")]
        assert [f"a{n}" for n in range(300)] == [call for call in found if call[0] == "a"]
        assert 600 == len(found)

    def test_close_writes_and_again_is_harmless(self, path: Path, said: list[str]) -> None:
        """Closing writes what waits; what comes after it is dropped, not an error."""
        ledger = Ledger.open(path, warn=said.append)
        ledger.begin_session("s", "k", "/w", 1)
        ledger.append("s", text("a"), run_id="r", at=2)
        ledger.close()
        ledger.close()
        ledger.append("s", text("b"), run_id="r", at=3)
        ledger.begin_session("t", "k", "/w", 3)
        ledger.accept_prompt("s", "r", [{"a": object()}], 3)
        assert ([], None, True) == (ledger.sessions(), ledger.replay("s"), ledger.flush())
        assert [(1,)] == rows(path, "SELECT count(*) FROM events")
        assert {"ledger.sqlite", "ledger.sqlite-lock", "ledger.sqlite-owners"} == {
            file.name for file in path.parent.iterdir()
        }


class TestLookups:
    def test_find_takes_the_newest_of_a_key(self, ledger: Ledger) -> None:
        """Of a key's sessions one that replays wins, then one with an open mark, then the newest."""
        ledger.begin_session("lost", "k", "/w", 9, complete=False)
        assert "lost" == ledger.find("k").session_id
        ledger.begin_session("open", "k", "/w", 1)
        ledger.accept_prompt("open", "r", [], 2)
        assert "open" == ledger.find("k").session_id
        ledger.begin_session("old", "k", "/w", 1)
        ledger.begin_session("new", "k", "/w", 3)
        assert "new" == ledger.find("k").session_id
        assert None is ledger.find("another")

    def test_adopted_key(self, ledger: Ledger, path: Path) -> None:
        """A session that is begun again under the canonical key is found by it, its events kept."""
        ledger.begin_session("s", "acp-bridge:s", "/w", 1)
        run(ledger, "s", "r", text("a"))
        ledger.begin_session("s", "agent:main:acp-bridge:s", "", 3)
        run(ledger, "s", "r2", text("b"), at=4)
        assert None is ledger.find("acp-bridge:s")
        assert "/w" == ledger.find("agent:main:acp-bridge:s").cwd
        assert [("acp-bridge:s",), ("agent:main:acp-bridge:s",)] == rows(
            path, "SELECT DISTINCT session_key FROM events ORDER BY seq"
        )
        assert 4 == len(ledger.replay("s"))

    def test_sessions_newest_first(self, ledger: Ledger) -> None:
        """Sessions are listed by when they were last written."""
        for at, session_id in enumerate(["a", "b", "c"], 1):
            ledger.begin_session(session_id, "k", "/w", at)
        ledger.append("a", text("x"), run_id=None, at=9)
        assert ["a", "c", "b"] == [session.session_id for session in ledger.sessions()]

    def test_odd_ids_are_stored(self, ledger: Ledger) -> None:
        """An id or key with half a surrogate pair raises nothing and finds its session again."""
        ledger.begin_session("s\ud83d", "k\ud83d", "/w\ud83d", 1)
        run(ledger, "s\ud83d", "r\ud83d", text("a"))
        assert [PROMPT, text("a")] == ledger.replay("s\ud83d")


class TestRecovery:
    def test_transcript_replaces_what_a_dead_process_recorded(
        self, ledger: Ledger, path: Path
    ) -> None:
        """The dead run's own rows go, what followed its prompt comes in, and the session replays."""
        dead = Ledger.open(path)
        dead.begin_session("s", "k", "/w", 1)
        run(dead, "s", "r1", text("first"))
        dead.accept_prompt("s", "r2", [text("q2", "user_message_chunk")], 3)
        dead.append("s", text("hal"), run_id="r2", at=4)
        dead.flush()
        assert [OpenMark("r2", 3, alive=True, own=False)] == ledger.open_marks("s")
        dead._queue.owner.release()
        assert [OpenMark("r2", 3, alive=False, own=False)] == ledger.open_marks("s")
        ledger.clear_mark("s", "r2", [text("half and the rest")], at=5)
        assert [
            PROMPT,
            text("first"),
            text("q2", "user_message_chunk"),
            text("half and the rest"),
        ] == ledger.replay("s")
        dead._queue._store.close()

    def test_an_owner_that_cannot_be(self, ledger: Ledger, path: Path) -> None:
        """A mark whose owner is no process's token is a dead one's, and no file is looked at for it."""
        ledger.begin_session("s", "k", "/w", 1)
        ledger.accept_prompt("s", "r", [PROMPT], 2)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(
                "UPDATE sessions SET open_marks = replace(open_marks, ?, ?)",
                (ledger._queue.owner.token, "../ledger.sqlite"),
            )
        assert [OpenMark("r", 2, alive=False, own=False)] == ledger.open_marks("s")

    def test_without_a_transcript_the_session_is_incomplete(self, ledger: Ledger) -> None:
        """When nobody knows what followed the prompt, the mark goes and so does the replay."""
        ledger.begin_session("s", "k", "/w", 1)
        ledger.accept_prompt("s", "r", [PROMPT], 2)
        ledger.clear_mark("s", "r", None, at=3)
        assert (None, []) == (ledger.replay("s"), ledger.open_marks("s"))

    def test_second_recovery_changes_nothing(self, ledger: Ledger) -> None:
        """Two bridges that recover the same run at once record it once."""
        ledger.begin_session("s", "k", "/w", 1)
        ledger.accept_prompt("s", "r", [PROMPT], 2)
        for _ in range(2):
            ledger.clear_mark("s", "r", [text("a")], at=3)
        assert [PROMPT, text("a")] == ledger.replay("s")


class TestLimits:
    def test_default_limits(self) -> None:
        """The limits are the original's: 200 sessions, 5,000 events a session, 16 MiB."""
        limits = LedgerLimits()
        assert (200, 5000, 16 * 1024 * 1024) == (
            limits.max_sessions,
            limits.max_session_events,
            limits.max_total_bytes,
        )

    def test_the_session_written_to_longest_ago_goes(self, path: Path, said: list[str]) -> None:
        """Past the number of sessions the oldest goes, with its events."""
        with Ledger.open(path, LedgerLimits(max_sessions=2), warn=said.append) as ledger:
            for at, session_id in enumerate(["a", "b"], 1):
                ledger.begin_session(session_id, "k", "/w", at)
            run(ledger, "a", "r", text("x"), at=3)
            ledger.begin_session("c", "k", "/w", 4)
            assert {"a", "c"} == {session.session_id for session in ledger.sessions()}
            assert [] == ledger.verify()

    def test_a_clock_set_back_costs_no_new_session(self, path: Path, said: list[str]) -> None:
        """A session begun with an older time than all others is not the one to go."""
        with Ledger.open(path, LedgerLimits(max_sessions=2), warn=said.append) as ledger:
            for at, session_id in [(100, "a"), (200, "b"), (1, "c")]:
                ledger.begin_session(session_id, "k", "/w", at)
            assert {"b", "c"} == {session.session_id for session in ledger.sessions()}

    def test_a_session_too_long_loses_its_oldest(self, path: Path, said: list[str]) -> None:
        """Past its events a session keeps the newest and never replays."""
        with Ledger.open(path, LedgerLimits(max_session_events=3), warn=said.append) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            run(ledger, "s", "r", *(tool(f"t{n}") for n in range(4)))
            assert ["t1", "t2", "t3"] == [
                event.update["toolCallId"] for event in ledger.events("s")
            ]
            assert None is ledger.replay("s")
            assert [] == ledger.verify()

    def test_bytes_are_utf8_and_32_a_row(self, ledger: Ledger) -> None:
        """A session's size is that of its updates in UTF-8, and 32 for each row."""
        ledger.begin_session("s", "k", "/w", 1)
        ledger.append("s", {"sessionUpdate": "é"}, run_id=None, at=2)
        assert len('{"sessionUpdate":"é"}') + 1 + 32 == ledger.session("s").byte_count

    def test_an_update_larger_than_the_ledger(self, path: Path, said: list[str]) -> None:
        """An update that could never fit is not recorded, and costs no other session anything."""
        with Ledger.open(path, LedgerLimits(max_total_bytes=2000), warn=said.append) as ledger:
            for session_id in ("s", "a", "b"):
                ledger.begin_session(session_id, "k", "/w", 1)
            run(ledger, "s", "r", text("x"))
            ledger.append("a", tool("t", title="x" * 3000), run_id="r", at=3)
            ledger.accept_prompt("b", "r", [text("x" * 3000)], 3)
            assert [PROMPT, text("x")] == ledger.replay("s")
            assert [None, None] == [ledger.replay("a"), ledger.replay("b")]
            assert [] == ledger.verify()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE sessions SET event_count = 9", Problem("s", "event_count is 9, there are 2")),
        ("UPDATE sessions SET byte_count = 9", Problem("s", "byte_count is 9, there are 215")),
        ("UPDATE sessions SET next_seq = 2", Problem("s", "next_seq is 2, an event has 2")),
        (
            "UPDATE events SET update_json = '[' WHERE seq = 2",
            Problem("s", "event 2 cannot be read"),
        ),
        ("UPDATE sessions SET complete = 3", Problem("s", "complete, with an open mark")),
        ("DELETE FROM sessions", Problem("s", "there are events but no session")),
        (
            "UPDATE totals SET bytes = 1",
            Problem(None, "totals are (1, 2, 1), there are (1, 2, 215) (sessions, events, bytes)"),
        ),
    ],
)
def test_verify_finds_what_is_wrong(path: Path, damage: str, problem: Problem) -> None:
    """Each counter that is not its recount, and each row that cannot be read, is named."""
    with Ledger.open(path) as ledger:
        ledger.begin_session("s", "k", "/w", 1)
        run(ledger, "s", "r", text("a"))
        assert [] == ledger.verify()
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(damage)
        assert problem in ledger.verify()
