"""What a lock, a full disk, a damaged or a foreign file do to the ledger, and never to a prompt."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from acp_notebook.bridge.ledger import Ledger
from acp_notebook.bridge.ledger_file import file_lock
from acp_notebook.bridge.ledger_limits import LedgerLimits

QUICK = LedgerLimits(busy_wait_s=0.02, close_wait_s=0.05)


def text(what: str, kind: str = "agent_message_chunk") -> dict:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": what}}


def tool(call_id: str, **more: object) -> dict:
    return {"sessionUpdate": "tool_call", "toolCallId": call_id, **more}


PROMPT = text("q", "user_message_chunk")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@contextmanager
def held(path: Path) -> Iterator[Callable[[], None]]:
    """Another process holds the write lock until the given function is called."""
    holder = subprocess.Popen(
        [sys.executable, "-m", "tests.bridge.holder", path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert b"held\n" == holder.stdout.readline()

        def let_go() -> None:
            holder.stdin.close()
            holder.wait(10)

        try:
            yield let_go
        finally:
            let_go()


@contextmanager
def no_larger_file(size: int) -> Iterator[None]:
    """No file of this process grows past `size` bytes: the disk refuses every such write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """The ledger's journal cannot grow; what it has can be written over."""
    journal = path.with_name(path.name + "-wal")
    with no_larger_file(max(32768, journal.stat().st_size if journal.exists() else 0)):
        yield


def written(ledger: Ledger) -> bool:
    """Flush until all is on disk, as the bridge's timer does."""
    deadline = time.monotonic() + 30
    while not ledger.flush():
        if time.monotonic() > deadline:
            return False
    return True


def kill(ledger: Ledger) -> None:
    """End the ledger like its process: no flush, no farewell, its lock gone."""
    ledger._queue._store.close()
    os.close(ledger._queue.owner._descriptor)


class TestLock:
    def test_what_waits_is_stored_when_the_lock_ends(self, path: Path) -> None:
        """Every update that came during another process's lock is stored after it, in order."""
        said: list[str] = []
        with Ledger.open(path, QUICK, warn=said.append) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            with held(path) as let_go:
                ledger.accept_prompt("s", "r", [PROMPT], 2)
                for number in range(20):
                    ledger.append("s", tool(f"t{number}"), run_id="r", at=3)
                ledger.settle_prompt("s", "r", 4)
                assert not ledger.flush()
                assert None is ledger.replay("s")
                let_go()
            assert written(ledger)
            assert [PROMPT, *(tool(f"t{n}") for n in range(20))] == ledger.replay("s")
            assert [] == ledger.verify()
        assert [] == said

    def test_only_the_first_write_waits(self, path: Path) -> None:
        """While the lock lasts, calls return at once: they wait no longer for it, nor try each time."""
        now = [0.0]
        limits = LedgerLimits(busy_wait_s=0.05)
        with Ledger.open(path, limits, clock=lambda: now[0]) as ledger, held(path):
            ledger.begin_session("s", "k", "/w", 1)
            tries: list[float] = []
            write = ledger._queue._store.write
            ledger._queue._store.write = lambda work, wait_s: (
                tries.append(wait_s),
                write(work, wait_s),
            )
            for _ in range(100):
                ledger.append("s", tool("t"), run_id="r", at=2)
                ledger.flush()
            assert [] == tries
            for step in (0.06, 0.11, 0.21, 0.41, 0.81, 1.01, 1.01):
                now[0] += step
                ledger.flush()
                ledger.flush()
            assert [0.0] * 7 == tries

    def test_locked_at_the_start(self, path: Path) -> None:
        """A ledger that is locked when it is opened is opened later, and nothing of it is missing."""
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            ledger = Ledger.open(path, QUICK)
            ledger.begin_session("s", "k", "/w", 1)
            ledger.append("s", text("a"), run_id=None, at=2)
            other.execute("ROLLBACK")
        assert written(ledger)
        assert [text("a")] == ledger.replay("s")
        ledger.close()

    def test_while_another_opens_it(self, path: Path) -> None:
        """A process that is just opening the file, or setting it aside, is waited for likewise."""
        said: list[str] = []
        with file_lock(path.with_name("ledger.sqlite-lock"), 1):
            ledger = Ledger.open(path, QUICK, warn=said.append)
            ledger.begin_session("s", "k", "/w", 1)
            assert not ledger.flush()
        assert written(ledger)
        assert [] == ledger.replay("s")
        ledger.close()
        assert [] == said

    def test_killed_while_locked(self, path: Path) -> None:
        """What a killed process could not write costs its session the replay: it is never short."""
        ledger = Ledger.open(path, QUICK)
        for session_id in ("s", "whole"):
            ledger.begin_session(session_id, "k", "/w", 1)
        with held(path) as let_go:
            ledger.accept_prompt("s", "r", [PROMPT], 2)
            kill(ledger)
            let_go()
        with Ledger.open(path, QUICK) as other:
            assert (None, []) == (other.replay("s"), other.replay("whole"))
        with Ledger.open(path, QUICK) as later:
            assert (None, []) == (later.replay("s"), later.replay("whole"))
        assert [] == list(path.with_name("ledger.sqlite-owners").iterdir())

    def test_killed_while_another_has_it_open(self, path: Path) -> None:
        """A process that was there before sees at its next replay what the killed one could not write."""
        other = Ledger.open(path, QUICK)
        ledger = Ledger.open(path, QUICK)
        ledger.begin_session("s", "k", "/w", 1)
        with held(path) as let_go:
            ledger.append("s", text("a"), run_id=None, at=2)
            ledger.flush()
            kill(ledger)
            let_go()
        assert None is other.replay("s")
        other.close()

    def test_closed_while_locked(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Closing waits a moment for the lock, not for ever, and the session does not replay."""
        ledger = Ledger.open(path, QUICK)
        ledger.begin_session("s", "k", "/w", 1)
        with held(path):
            ledger.append("s", text("a"), run_id=None, at=2)
            ledger.close()
        assert "will not be replayed" in capsys.readouterr().err
        with Ledger.open(path) as later:
            assert None is later.replay("s")

    def test_memory_is_bounded(self, path: Path) -> None:
        """What waits for a lock is dropped past its limit, and the sessions are incomplete."""
        limits = LedgerLimits(busy_wait_s=0.02, max_pending_bytes=5000)
        with Ledger.open(path, limits) as ledger:
            for session_id in ("s", "untouched"):
                ledger.begin_session(session_id, "k", "/w", 1)
            with held(path) as let_go:
                for number in range(2000):
                    ledger.append("s", tool(f"t{number}", title="x" * 100), run_id="r", at=2)
                waiting = ledger._queue._pending["s"]
                assert waiting.size < limits.max_pending_bytes + 64 * 200
                let_go()
            assert written(ledger)
            assert (None, []) == (ledger.replay("s"), ledger.replay("untouched"))
            assert [] == ledger.verify()


class TestFullDisk:
    def test_session_is_incomplete_and_the_rest_goes_on(self, path: Path) -> None:
        """A write that the disk refuses costs its session the replay; later sessions are recorded."""
        said: list[str] = []
        with Ledger.open(path, warn=said.append) as ledger:
            for session_id in ("s", "whole"):
                ledger.begin_session(session_id, "k", "/w", 1)
            with full_disk(path):
                ledger.accept_prompt("s", "r", [text("x" * 100_000)], 2)
                ledger.append("s", text("answer"), run_id="r", at=3)
                ledger.settle_prompt("s", "r", 4)
                assert not ledger.flush()
            assert written(ledger)
            assert (None, []) == (ledger.replay("s"), ledger.replay("whole"))
            ledger.begin_session("new", "k", "/w", 5)
            ledger.append("new", text("a"), run_id=None, at=6)
            assert [text("a")] == ledger.replay("new")
            assert [] == ledger.verify()
        assert 1 == len(said)
        assert "cannot be written" in said[0]

    def test_out_of_pages(self, path: Path) -> None:
        """SQLite's own `database or disk is full` is such a refusal."""
        said: list[str] = []
        with Ledger.open(path, warn=said.append) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            db = ledger._queue._store._db
            (pages,) = db.execute("PRAGMA page_count").fetchone()
            db.execute(f"PRAGMA max_page_count = {pages}")
            ledger.accept_prompt("s", "r", [text("x" * 100_000)], 2)
            assert written(ledger)
            assert None is ledger.replay("s")
        assert ["full"] == [line.split()[-1] for line in said]

    def test_process_ends_before_the_disk_has_room(self, path: Path) -> None:
        """A session whose loss could not be written does not replay in the next process either."""
        said: list[str] = []
        with Ledger.open(path, warn=said.append) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            with full_disk(path):
                ledger.append("s", text("x" * 100_000), run_id="r", at=2)
                ledger.close()
        with Ledger.open(path) as later:
            assert None is later.replay("s")
            assert not later.session("s").complete

    def test_no_room_at_the_start(self, path: Path) -> None:
        """A ledger that cannot even be made stops nothing, and is made as soon as it can be."""
        said: list[str] = []
        with no_larger_file(0):
            ledger = Ledger.open(path, warn=said.append)
            ledger.begin_session("s", "k", "/w", 1)
            assert [] == ledger.sessions()
        assert written(ledger)
        ledger.begin_session("t", "k", "/w", 2)
        assert (None, []) == (ledger.replay("s"), ledger.replay("t"))
        assert said
        ledger.close()

    def test_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        """A state directory that is a file is said once; every call goes on without a ledger."""
        said: list[str] = []
        (tmp_path / "state").write_text("in the way")
        with Ledger.open(tmp_path / "state" / "ledger.sqlite", warn=said.append) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            ledger.accept_prompt("s", "r", [PROMPT], 2)
            ledger.append("s", text("a"), run_id="r", at=3)
            ledger.settle_prompt("s", "r", 4)
            assert (None, [], [], None) == (
                ledger.replay("s"),
                ledger.open_marks("s"),
                ledger.sessions(),
                ledger.find("k"),
            )
            assert ["the ledger cannot be read"] == [str(p) for p in ledger.verify()]
        assert 1 == len(said)


def filled(path: Path, sessions: int = 30) -> None:
    """A ledger of many pages, checkpointed into one file."""
    with Ledger.open(path) as ledger:
        for number in range(sessions):
            ledger.begin_session(f"s{number}", "k", "/w", 1)
            for event in range(20):
                ledger.append(f"s{number}", tool(f"t{event}", title="x" * 200), run_id="r", at=2)


def garbage(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 16)


def no_database(path: Path) -> None:
    path.write_text("{}")


def cut_short(path: Path) -> None:
    filled(path)
    os.truncate(path, 6 * 4096 + 1000)


def overwritten(path: Path) -> None:
    filled(path)
    with path.open("r+b") as file:
        for page in range(3, path.stat().st_size // 4096, 2):
            file.seek(page * 4096)
            file.write(b"\xff" * 4096)


class TestDamage:
    @pytest.mark.parametrize("damage", [garbage, no_database, cut_short, overwritten])
    def test_damaged_file_is_kept_and_a_new_one_begins(
        self, path: Path, damage: Callable[[Path], None]
    ) -> None:
        """A file that is damaged at the start is renamed whole, named once, and a new ledger works."""
        damage(path)
        before = path.read_bytes()
        said: list[str] = []
        with Ledger.open(path, warn=said.append) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            ledger.append("s", text("a"), run_id=None, at=2)
            assert [text("a")] == ledger.replay("s")
            assert [] == ledger.verify()
        (kept,) = path.parent.glob("ledger.sqlite.corrupt-*")
        assert before == kept.read_bytes()
        assert 1 == len(said)
        assert str(kept) in said[0]

    def test_an_empty_file_is_a_new_ledger(self, path: Path) -> None:
        """A file of no bytes holds nothing to keep: it becomes the ledger."""
        path.touch()
        with Ledger.open(path) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            assert [] == ledger.replay("s")
        assert [] == list(path.parent.glob("*.corrupt*"))

    def test_damage_in_use(self, path: Path) -> None:
        """Damage that is met in a prompt raises nothing: the file is set aside, the session short."""
        filled(path)
        said: list[str] = []
        with Ledger.open(path, warn=said.append) as ledger:
            ledger.begin_session("s", "k", "/w", 3)
            damage_in_use(path, ledger)
            ledger.accept_prompt("s", "r", [PROMPT], 4)
            ledger.append("s0", text("a"), run_id="r", at=5)
            ledger.settle_prompt("s", "r", 6)
            assert written(ledger)
            assert [None, None] == [ledger.replay("s"), ledger.replay("s0")]
            ledger.begin_session("new", "k", "/w", 7)
            ledger.append("new", text("a"), run_id=None, at=8)
            assert [text("a")] == ledger.replay("new")
            assert [] == ledger.verify()
        assert 1 == len(said)
        assert 1 == len(list(path.parent.glob("ledger.sqlite.corrupt-*[0-9]")))

    def test_two_that_find_it_damaged_move_it_once(self, path: Path) -> None:
        """Of two processes that meet the damage the second uses the first one's new ledger."""
        filled(path)
        said: list[str] = []
        with (
            Ledger.open(path, warn=said.append) as first,
            Ledger.open(path, warn=said.append) as second,
        ):
            damage_in_use(path, first, second)
            for number, ledger in enumerate([first, second]):
                ledger.begin_session(f"n{number}", "k", "/w", 1)
                assert written(ledger)
            assert {"n0", "n1"} == {session.session_id for session in first.sessions()}
            assert {"n0", "n1"} == {session.session_id for session in second.sessions()}
        assert 1 == len(said)

    def test_a_row_that_cannot_be_read(self, path: Path) -> None:
        """A stored update that is no JSON costs its session the replay and no other."""
        said: list[str] = []
        with Ledger.open(path, warn=said.append) as ledger:
            for session_id in ("s", "whole"):
                ledger.begin_session(session_id, "k", "/w", 1)
                ledger.append(session_id, text("a"), run_id=None, at=2)
            ledger.flush()
            with closing(sqlite3.connect(path, isolation_level=None)) as db:
                db.execute("UPDATE events SET update_json = '{\"half' WHERE session_id = 's'")
            assert (None, [text("a")]) == (ledger.replay("s"), ledger.replay("whole"))


def damage_in_use(path: Path, *ledgers: Ledger) -> None:
    """Write over every page, under processes that have the file open and nothing of it in memory."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(b"\xff" * size)
    for ledger in ledgers:
        ledger._queue._store._db.execute("PRAGMA shrink_memory")


class TestOthersFiles:
    def test_another_programs_database(self, path: Path) -> None:
        """A good database that is not ours is neither written to nor moved."""
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE theirs (x)")
            db.commit()
        before = path.read_bytes()
        said: list[str] = []
        with Ledger.open(path, warn=said.append) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
            ledger.append("s", text("a"), run_id=None, at=2)
            assert (None, True) == (ledger.replay("s"), ledger.flush())
        assert before == path.read_bytes()
        assert 1 == len(said)
        assert "another program" in said[0]

    def test_a_newer_versions_ledger(self, path: Path) -> None:
        """A ledger with steps that this version does not know is left alone."""
        with Ledger.open(path) as ledger:
            ledger.begin_session("s", "k", "/w", 1)
        with closing(sqlite3.connect(path)) as db:
            db.execute("INSERT INTO migrations VALUES ('0999_of_tomorrow', 1)")
            db.commit()
        said: list[str] = []
        with Ledger.open(path, warn=said.append) as ledger:
            assert None is ledger.replay("s")
        assert ["0999_of_tomorrow"] == [line.split("(")[1].rstrip(")") for line in said]
        assert [] == list(path.parent.glob("*.corrupt*"))

    def test_file_removed_in_use(self, path: Path) -> None:
        """When a person removes the ledger, the next write begins a new one."""
        said: list[str] = []
        with Ledger.open(path, warn=said.append) as ledger:
            ledger.begin_session("old", "k", "/w", 1)
            for file in path.parent.glob("ledger.sqlite*"):
                shutil.rmtree(file) if file.is_dir() else file.unlink()
            ledger.begin_session("new", "k", "/w", 2)
            ledger.append("old", text("a"), run_id=None, at=3)
            assert (None, []) == (ledger.replay("old"), ledger.replay("new"))
            assert [] == ledger.verify()
        assert [] == said
