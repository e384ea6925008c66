"""Taking over the file ledger of older versions."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from acp_notebook.bridge.ledger import Ledger
from acp_notebook.bridge.ledger_limits import LedgerLimits
from acp_notebook.bridge.legacy import Migration, migrate_file_ledger


def text(what: str) -> dict:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": what}}


def entry(session_id: str, seq: int, update: object, **more: object) -> dict:
    return {
        "seq": seq,
        "at": 1000 + seq,
        "sessionId": session_id,
        "sessionKey": f"agent:main:{session_id}",
        "runId": "r",
        "update": update,
    } | more


def session(session_id: str, *entries: object, **more: object) -> dict:
    return {
        "sessionId": session_id,
        "sessionKey": f"agent:main:{session_id}",
        "cwd": "/w",
        "complete": True,
        "createdAt": 1000,
        "updatedAt": 2000,
        "nextSeq": len(entries) + 1,
        "events": list(entries),
    } | more


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return tmp_path / "event-ledger.json"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def write(old: Path, *sessions: dict, version: object = 1) -> bytes:
    document = {"version": version, "sessions": {s["sessionId"]: s for s in sessions}}
    old.write_text(json.dumps(document))
    return old.read_bytes()


def migrate(old: Path, ledger: Ledger, said: list[str], **more: object) -> Migration | None:
    return migrate_file_ledger(old, ledger, warn=said.append, **more)


def test_sessions_come_over(old: Path, path: Path) -> None:
    """A session comes with its events, key, folder, times and completeness; the file is archived."""
    said: list[str] = []
    before = write(
        old,
        session("whole", entry("whole", 1, text("a")), entry("whole", 2, text("b"))),
        session("part", entry("part", 4, text("c")), complete=False, updatedAt=3000),
    )
    with Ledger.open(path) as ledger:
        assert Migration(complete=("whole",), incomplete=("part",)) == migrate(old, ledger, said)
        assert [text("a"), text("b")] == ledger.replay("whole")
        assert None is ledger.replay("part")
        found = ledger.session("whole")
        assert ("agent:main:whole", "/w", 1000, 2000) == (
            found.session_key,
            found.cwd,
            found.created_at,
            found.updated_at,
        )
        assert ["part", "whole"] == [session.session_id for session in ledger.sessions()]
        assert [] == ledger.verify()
    assert [] == said
    assert before == old.with_name("event-ledger.json.migrated").read_bytes()
    assert not old.exists()


def test_nothing_to_do(old: Path, path: Path) -> None:
    """Without a file, and once it was taken over, nothing happens."""
    said: list[str] = []
    with Ledger.open(path) as ledger:
        assert None is migrate(old, ledger, said)
        write(old, session("s"))
        assert Migration(complete=("s",)) == migrate(old, ledger, said)
        assert None is migrate(old, ledger, said)
    assert [] == said


def test_what_is_here_wins(old: Path, path: Path) -> None:
    """A session that the ledger has is kept, also when a start between import and archive was cut."""
    with Ledger.open(path) as ledger:
        ledger.begin_session("s", "k", "/here", 1)
        ledger.append("s", text("here"), run_id=None, at=2)
        write(old, session("s", entry("s", 1, text("there"))), session("t"))
        assert Migration(complete=("t",), kept=("s",)) == migrate(old, ledger, [])
        assert [text("here")] == ledger.replay("s")
        write(old, session("t", entry("t", 1, text("again"))))
        assert Migration(kept=("t",)) == migrate(old, ledger, [])
        assert [] == ledger.replay("t")
    names = {file.name for file in old.parent.glob("event-ledger.json*")}
    assert {"event-ledger.json.migrated", "event-ledger.json.migrated-2"} == names


@pytest.mark.parametrize(
    "bad",
    [
        "torn",
        None,
        entry("s", 2, '{"sessionUp'),
        entry("other", 2, text("not of this session")),
        entry("s", 1, text("out of order")),
        entry("s", 2, text("no number")) | {"seq": "2"},
        entry("s", 2, {"no": "kind"}),
        {"seq": 2, "update": text("of nobody")},
    ],
)
def test_a_bad_entry_makes_its_session_incomplete(old: Path, path: Path, bad: object) -> None:
    """A torn or mismatched entry is left out, its session is incomplete, and the others come whole."""
    write(old, session("s", entry("s", 1, text("a")), bad), session("t", entry("t", 1, text("b"))))
    with Ledger.open(path) as ledger:
        assert Migration(complete=("t",), incomplete=("s",)) == migrate(old, ledger, [])
        assert [text("a")] == [event.update for event in ledger.events("s")]
        assert (None, [text("b")]) == (ledger.replay("s"), ledger.replay("t"))
        assert [] == ledger.verify()


@pytest.mark.parametrize(
    "record",
    [
        {"sessionId": "s"},
        {"sessionId": "s", "sessionKey": 5, "cwd": [], "createdAt": "x", "updatedAt": 1e300},
        {"sessionId": "s", "sessionKey": "half \ud83d", "events": {"0": 1}, "updatedAt": -5},
        session("s") | {"complete": "yes"},
    ],
)
def test_an_odd_session_is_incomplete(old: Path, path: Path, record: dict) -> None:
    """A session without what a session has comes over incomplete and stops no other."""
    write(old, record, session("t"))
    with Ledger.open(path) as ledger:
        assert Migration(complete=("t",), incomplete=("s",)) == migrate(old, ledger, [])
        assert [] == ledger.verify()


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff\xfe\x00", b"[]", b"null", b'{"version": 1, "sessions": []}', b"[" * 100000],
)
def test_an_unreadable_file_is_set_aside(old: Path, path: Path, data: bytes) -> None:
    """A document that cannot be parsed is kept under another name, which is said."""
    old.write_bytes(data)
    said: list[str] = []
    with Ledger.open(path) as ledger:
        assert None is migrate(old, ledger, said)
    kept = old.with_name("event-ledger.json.corrupt")
    assert data == kept.read_bytes()
    assert not old.exists()
    assert [True] == [str(kept) in line for line in said]


@pytest.mark.parametrize("version", [2, None, "1"])
def test_an_unknown_version_stays(old: Path, path: Path, version: object) -> None:
    """A file of another version stays where it is and is named."""
    before = write(old, session("s"), version=version)
    said: list[str] = []
    with Ledger.open(path) as ledger:
        assert None is migrate(old, ledger, said)
        assert [] == ledger.sessions()
    assert before == old.read_bytes()
    assert [True] == [str(old) in line for line in said]


def test_limits_hold(old: Path, path: Path) -> None:
    """The newest sessions are taken over, and nothing that is here and newer goes for them."""
    write(old, *(session(f"s{n}", updatedAt=n) for n in range(1, 9)))
    with Ledger.open(path, LedgerLimits(max_sessions=4)) as ledger:
        ledger.begin_session("here", "k", "/w", 100)
        migrate(old, ledger, [])
        assert {"here", "s6", "s7", "s8"} == {s.session_id for s in ledger.sessions()}
        assert [] == ledger.verify()


class TestLock:
    def test_a_locked_file_waits_for_the_next_start(self, old: Path, path: Path) -> None:
        """8 tries, from 50 ms doubled up to 5 s; then the file stays and that is said."""
        before = write(old, session("s"))
        old.with_name("event-ledger.json.lock").touch()
        said: list[str] = []
        delays: list[float] = []
        with Ledger.open(path) as ledger:
            assert None is migrate(old, ledger, said, sleep=delays.append)
            assert [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0] == pytest.approx(delays)
            assert [] == ledger.sessions()
        assert before == old.read_bytes()
        assert [True] == ["locked" in line for line in said]
        assert old.with_name("event-ledger.json.lock").exists()

    def test_the_lock_is_let_go_meanwhile(self, old: Path, path: Path) -> None:
        """When the other process is done the migration goes on."""
        write(old, session("s"))
        lock = old.with_name("event-ledger.json.lock")
        lock.touch()
        with Ledger.open(path) as ledger:
            done = migrate(old, ledger, [], sleep=lambda _delay: lock.unlink())
        assert Migration(complete=("s",)) == done
        assert not lock.exists()

    def test_a_stale_lock_is_broken(self, old: Path, path: Path) -> None:
        """A lock of more than 15 s is one that a dead process left."""
        write(old, session("s"))
        lock = old.with_name("event-ledger.json.lock")
        lock.touch()
        os.utime(lock, (0, 0))
        with Ledger.open(path) as ledger:
            assert Migration(complete=("s",)) == migrate(old, ledger, [], sleep=lambda _delay: None)
        assert not lock.exists()

    def test_two_at_once(self, old: Path, path: Path) -> None:
        """Of two bridges that start together one takes the file over, and nothing is twice."""
        write(old, *(session(f"s{n}", entry(f"s{n}", 1, text("a"))) for n in range(20)))
        said: list[str] = []
        with Ledger.open(path) as first, Ledger.open(path) as second:
            threads = [
                threading.Thread(target=migrate, args=(old, ledger, said))
                for ledger in (first, second)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert 20 == len(first.sessions())
            assert [[text("a")]] * 20 == [first.replay(f"s{n}") for n in range(20)]
            assert [] == first.verify()
        assert [] == said


def test_a_ledger_that_cannot_be_written(old: Path, tmp_path: Path) -> None:
    """When the sessions cannot be stored now, the file stays for the next start."""
    before = write(old, session("s"))
    (tmp_path / "state").touch()
    said: list[str] = []
    with Ledger.open(tmp_path / "state" / "ledger.sqlite", warn=said.append) as ledger:
        assert None is migrate(old, ledger, said)
    assert before == old.read_bytes()
    assert any("stays for the next start" in line for line in said)
