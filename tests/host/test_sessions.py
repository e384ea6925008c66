"""Sessions of a real child: list, load, resume, fork, delete, restart, login, several at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_notebook.errors import (
    AuthRequired,
    RequestFailed,
    SessionBusy,
    SessionError,
    UnknownSession,
    WorkspaceMissing,
)
from tests.host.talk import Talk, text

Talks = Callable[..., Talk]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two sessions that the agent kept from before."""
    path = tmp_path / "sessions.json"
    said = [["user", "old question"], ["agent", "old answer"]]
    path.write_text(
        json.dumps(
            {
                "s-1": {"cwd": str(tmp_path), "said": said},
                "s-2": {"cwd": str(tmp_path), "said": [["user", "other"], ["agent", "thing"]]},
            }
        )
    )
    return path


class TestList:
    def test_all_pages(self, talks: Talks, store: Path, tmp_path: Path) -> None:
        """The list has the sessions of every page, with key, folder and title."""
        data = json.loads(store.read_text())
        data |= {f"s-{n}": {"cwd": "/x", "said": []} for n in (3, 4, 5)}
        store.write_text(json.dumps(data))
        talk = talks("polite", "--store", str(store))
        found = talk.run(talk.session.sessions.list())
        assert [s.key for s in found] == ["s-1", "s-2", "s-3", "s-4", "s-5"]
        assert (found[0].title, found[0].cwd) == ("Title s-1", str(tmp_path))

    def test_listing_opens_no_session(self, talks: Talks, store: Path) -> None:
        """Looking at the list starts the agent and makes no session."""
        talk = talks("polite", "--store", str(store))
        talk.run(talk.session.sessions.list())
        assert "session/new" not in [e.kind for e in talk.call(talk.session.trace)]
        assert talk.state.status == "idle"

    def test_what_the_agent_cannot_do_is_said(self, talks: Talks) -> None:
        """An operation that the agent does not offer raises and sends nothing."""
        talk = talks("polite", "--no-capabilities")
        talk.prompt("say hi")
        for operation in (
            talk.session.sessions.list(),
            talk.session.sessions.load("s-1"),
            talk.session.sessions.fork(),
            talk.session.sessions.delete("s-1"),
        ):
            with pytest.raises(SessionError, match="Polite cannot"):
                talk.run(operation)
        assert talk.prompt("say still here").text == "still here"


class TestLoad:
    def test_history_is_committed_once(self, talks: Talks, store: Path) -> None:
        """A loaded session shows its whole replay as history, in one reset."""
        talk = talks("polite", "--store", str(store), session="s-1")
        talk.start()
        assert talk.texts == ["old question", "old answer"]
        assert all(item.historical for item in talk.session.snapshot.items)
        assert {(c.reset, c.touched) for c in talk.changes if c.reset or c.touched} == {(True, ())}

    def test_live_updates_follow_the_replay(self, talks: Talks, store: Path) -> None:
        """What comes after the load is live and stands behind the history."""
        talk = talks("polite", "--store", str(store), session="s-1")
        assert talk.prompt("say fresh").text == "fresh"
        assert talk.texts == ["old question", "old answer", "say fresh", "fresh"]
        assert [i.historical for i in talk.session.snapshot.items] == [True, True, False, False]

    def test_loading_twice_does_not_double(self, talks: Talks, store: Path) -> None:
        """The shown session can be loaded again and holds each message once."""
        talk = talks("polite", "--store", str(store), session="s-1")
        talk.start()
        talk.run(talk.session.sessions.load("s-1"))
        assert talk.texts == ["old question", "old answer"]

    def test_a_failed_load_leaves_what_was_shown(self, talks: Talks) -> None:
        """A load that fails raises, shows the error, and the chat goes on as it was."""
        talk = talks()
        talk.prompt("say one")
        before = talk.state
        with pytest.raises(UnknownSession):
            talk.run(talk.session.sessions.load("no-such"))
        assert talk.state.error.title == "The session no-such could not be loaded"
        assert (talk.state.status, talk.state.session_key, talk.state.generation) == (
            "idle",
            before.session_key,
            before.generation,
        )
        assert talk.prompt("say two").text == "two"

    def test_the_first_load_of_a_chat_can_fail(self, talks: Talks) -> None:
        """A chat opened with a lost session is `load-failed`, and makes no session by itself."""
        talk = talks("polite", session="no-such")
        with pytest.raises(UnknownSession):
            talk.start()
        assert talk.state.status == "load-failed"
        assert "new" in talk.state.error.actions
        talk.run(talk.session.sessions.new())
        assert talk.prompt("say one").text == "one"

    def test_the_folder_is_the_agents(self, talks: Talks, store: Path, tmp_path: Path) -> None:
        """A session is loaded with the folder that the agent's list names for it."""
        folder = tmp_path / "project"
        folder.mkdir()
        data = json.loads(store.read_text())
        data["s-1"]["cwd"] = str(folder)
        store.write_text(json.dumps(data))
        talk = talks("polite", "--store", str(store), session="s-1")
        talk.start()
        assert talk.state.cwd == str(folder)

    def test_a_session_whose_folder_is_gone_can_be_read(
        self, talks: Talks, store: Path, tmp_path: Path
    ) -> None:
        """An old session without its folder is shown, and takes no prompt."""
        data = json.loads(store.read_text())
        data["s-1"]["cwd"] = str(tmp_path / "gone")
        store.write_text(json.dumps(data))
        talk = talks("polite", "--store", str(store), session="s-1")
        talk.start()
        assert (talk.texts[0], talk.state.read_only) == ("old question", True)
        with pytest.raises(WorkspaceMissing):
            talk.call(talk.session.enqueue, text("say no"))

    def test_resume_has_no_history_and_goes_on(self, talks: Talks, store: Path) -> None:
        """A resumed session is shown without its history and takes prompts."""
        talk = talks("polite", "--store", str(store), "--resume")
        talk.start()
        talk.run(talk.session.sessions.load("s-1", resume=True))
        assert (talk.texts, talk.state.session_key) == ([], "s-1")
        assert talk.prompt("say on").text == "on"

    def test_fork_copies_the_history(self, talks: Talks, store: Path) -> None:
        """A fork has an id of its own and the history that was replayed under it."""
        talk = talks("polite", "--store", str(store), session="s-1")
        talk.start()
        talk.run(talk.session.sessions.fork())
        assert talk.state.session_key == "s-3"
        assert talk.texts == ["old question", "old answer"]
        assert talk.prompt("say mine").text == "mine"


class TestSeveral:
    def test_a_running_prompt_goes_on_behind(self, talk: Talk) -> None:
        """Another session is shown while a prompt runs; coming back finds it without a load."""
        turn = talk.send("say a\nwait 0.5\nsay b")
        talk.until(lambda: talk.texts[-1:] == ["a"])
        since = talk.state.running_since
        talk.run(talk.session.sessions.new())
        assert (talk.texts, talk.state.session_key) == ([], "s-2")
        assert talk.prompt("say in the other").text == "in the other"
        talk.run(talk.session.sessions.load("s-1"))
        assert (talk.texts[1], talk.state.running_since) == ("a", since)
        assert turn.result(20).snapshot.turns[-1].text == "ab"
        assert "session/load" not in [e.kind for e in talk.call(talk.session.trace)]

    def test_a_settled_session_is_loaded_again(self, talk: Talk) -> None:
        """A session whose prompt has ended out of sight comes back by an ordinary load."""
        turn = talk.send("say a\nwait 0.2")
        talk.until(lambda: talk.texts[-1:] == ["a"])
        talk.run(talk.session.sessions.new())
        turn.result(20)
        talk.run(talk.session.sessions.load("s-1"))
        assert talk.texts == ["say a\nwait 0.2", "a"]
        assert "session/load" in [e.kind for e in talk.call(talk.session.trace)]

    def test_an_agent_that_cannot_load_keeps_its_sessions_here(self, talks: Talks) -> None:
        """Without `loadSession` a settled session stays in memory and is shown from there."""
        talk = talks("polite", "--no-load")
        talk.prompt("say one")
        talk.run(talk.session.sessions.new())
        talk.run(talk.session.sessions.load("s-1"))
        assert talk.texts == ["say one", "one"]
        assert talk.prompt("say two").text == "two"

    def test_a_running_session_is_not_loaded_over(self, talk: Talk) -> None:
        """Loading the session that is shown and runs is refused."""
        turn = talk.send("wait 0.3")
        talk.until(lambda: talk.state.status == "running")
        with pytest.raises(SessionBusy):
            talk.run(talk.session.sessions.load("s-1"))
        turn.result(10)

    def test_a_session_without_a_prompt_is_not_left_at_the_agent(self, talk: Talk) -> None:
        """An unused session is deleted at the agent when another one is shown."""
        talk.start()
        talk.run(talk.session.sessions.new())
        talk.prompt("say used")
        assert [s.key for s in talk.run(talk.session.sessions.list())] == ["s-2"]

    def test_deleting_the_shown_session_leaves_a_new_chat(self, talk: Talk) -> None:
        """After the shown session is deleted the chat is empty and starts a new one when used."""
        talk.prompt("say one")
        talk.run(talk.session.sessions.delete("s-1"))
        assert (talk.texts, talk.state.session_key) == ([], None)
        assert talk.prompt("say two").text == "two"
        assert talk.state.session_key == "s-2"

    def test_two_chats_of_one_agent_share_its_process(self, talks: Talks) -> None:
        """Chats of one agent and folder use one process and keep their sessions apart."""
        one, two = talks(), talks()
        assert (one.prompt("say one").text, two.prompt("say two").text) == ("one", "two")
        assert one.session.life.connection is two.session.life.connection
        assert (one.texts, two.texts) == (["say one", "one"], ["say two", "two"])
        one.close()
        assert two.prompt("say on").text == "on"

    def test_restart_of_one_chat_leaves_the_other_alone(self, talks: Talks, store: Path) -> None:
        """A restart gives that chat a new process; the other goes on with the old one."""
        one, two = (talks("polite", "--store", str(store)) for _ in range(2))
        one.prompt("say one")
        turn = two.send("say a\nwait 0.5\nsay b")
        two.until(lambda: two.texts[-1:] == ["a"])
        one.run(one.session.restart())
        assert one.session.life.connection is not two.session.life.connection
        assert turn.result(20).snapshot.turns[-1].text == "ab"
        assert one.texts == ["say one", "one"]


class TestRestart:
    def test_loads_the_session_again(self, talks: Talks, tmp_path: Path) -> None:
        """A restart shows the same session, as the agent replays it."""
        talk = talks("polite", "--store", str(tmp_path / "s.json"))
        talk.prompt("say one")
        talk.run(talk.session.restart())
        assert (talk.state.session_key, talk.texts) == ("s-1", ["say one", "one"])
        assert talk.prompt("say two").text == "two"

    def test_resumes_where_it_cannot_load(self, talks: Talks, tmp_path: Path) -> None:
        """An agent that can only resume goes on in the timeline that is here."""
        talk = talks("polite", "--store", str(tmp_path / "s.json"), "--resume", "--no-load")
        talk.prompt("say one")
        talk.run(talk.session.restart())
        assert talk.prompt("say two").text == "two"
        assert talk.texts == ["say one", "one", "say two", "two"]

    def test_makes_a_new_one_where_it_can_neither(self, talks: Talks) -> None:
        """Otherwise a new session begins, which is said, and the old one can be read."""
        talk = talks("polite", "--no-load")
        talk.prompt("say one")
        talk.run(talk.session.restart())
        assert (talk.texts, "cannot load" in talk.state.note) == ([], True)
        assert talk.prompt("say two").text == "two"

    def test_in_mid_turn(self, talks: Talks, tmp_path: Path) -> None:
        """A restart in a turn ends it as failed, and the chat goes on."""
        talk = talks("polite", "--store", str(tmp_path / "s.json"))
        turn = talk.send("say a\nwait 30")
        talk.until(lambda: talk.texts[-1:] == ["a"])
        talk.run(talk.session.restart())
        assert turn.result(10).snapshot.turns[-1].error.message == "The agent was restarted."
        assert talk.prompt("say b").text == "b"


class TestSettings:
    def test_a_mode_is_set(self, talk: Talk) -> None:
        """A mode that the agent takes is the current one, also without an update."""
        talk.run(talk.session.set_mode("plan"))
        assert talk.session.snapshot.metadata.current_mode_id == "plan"

    def test_a_refused_mode_changes_nothing(self, talk: Talk) -> None:
        """A mode that the agent refuses raises, says why, and the old one stays."""
        talk.start()
        with pytest.raises(RequestFailed, match="no such mode"):
            talk.run(talk.session.set_mode("nope"))
        assert talk.session.snapshot.metadata.current_mode_id == "code"
        assert talk.state.error.message == "no such mode"
        assert talk.prompt("say fine").text == "fine"


class TestLogin:
    def test_after_a_login_the_prompt_goes(self, talks: Talks) -> None:
        """A session that wants a login keeps what was typed, and sends it after the login."""
        talk = talks("polite", "--want-login")
        talk.call(talk.session.enqueue, text("say in"))
        talk.until(lambda: talk.state.status == "auth-failed")
        assert [m["name"] for m in talk.state.auth_methods] == ["Token"]
        talk.run(talk.session.sessions.login("token"))
        talk.until(lambda: talk.texts == ["say in", "in"])

    def test_asking_raises_with_the_methods(self, talks: Talks) -> None:
        """A caller who waits for a prompt is told that a login is wanted."""
        talk = talks("polite", "--want-login")
        with pytest.raises(AuthRequired, match=r"chat\.login") as caught:
            talk.prompt("say in")
        assert [m["id"] for m in caught.value.methods] == ["token"]
        with pytest.raises(ValueError, match="token"):
            talk.run(talk.session.sessions.login("other"))


class TestQueue:
    def test_edit_remove_send_now(self, talk: Talk) -> None:
        """Queued prompts can be changed, removed, and one of them sent at once."""
        running = talk.send("say a\nwait 30")
        talk.until(lambda: talk.texts[-1:] == ["a"])
        one, two, three = (
            talk.call(talk.session.enqueue, text(f"say {w}")) for w in ("one", "two", "three")
        )
        assert [q.text for q in talk.state.queue] == ["say one", "say two", "say three"]
        talk.call(talk.session.edit_queued, one.id, text("say ONE"))
        talk.call(talk.session.remove_queued, two.id)
        talk.call(talk.session.send_now, three.id)
        assert running.result(10).snapshot.turns[0].stop_reason == "cancelled"
        talk.until(lambda: talk.texts[-1:] == ["ONE"])
        assert [t.prompt for t in talk.session.snapshot.turns][1:] == ["say three", "say ONE"]
        assert not talk.call(talk.session.remove_queued, one.id)

    def test_prompts_of_a_session_that_fails_to_load_come_back(self, talk: Talk) -> None:
        """What is typed while a session loads is the draft when the load fails."""
        talk.start()

        def type_while_loading(_change: object) -> None:
            if talk.session.life.coming is not None and not talk.session.life.coming.queue:
                talk.session.enqueue(text("for the other"))

        talk.call(talk.session.subscribe, type_while_loading)
        with pytest.raises(UnknownSession):
            talk.run(talk.session.sessions.load("no-such"))
        assert (talk.state.draft, talk.state.queue) == ("for the other", ())
