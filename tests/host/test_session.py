"""A chat with a real child: prompt, permission, cancel, errors, exit, close."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from acp_notebook.errors import AgentNotFound, AgentStartError, ProtocolError, SessionError
from acp_notebook.host.loop import host_loop
from acp_notebook.host.spec import AgentSpec
from tests.host.talk import Talk, text

Talks = Callable[..., Talk]


class TestPrompt:
    def test_a_prompt_streams_into_the_timeline(self, talk: Talk) -> None:
        """A prompt becomes a settled turn with what the agent said, in order."""
        turn = talk.prompt("say hello\nthink so\nsay there")
        assert turn.text == "hello\n\nthere"
        assert [item.kind for item in turn.items] == [
            "message-segment",
            "message-segment",
            "thought",
            "message-segment",
        ]
        assert (turn.state, turn.stop_reason, turn.usage.total_tokens) == ("idle", "end_turn", 7)

    def test_all_updates_are_in_when_the_turn_resolves(self, talk: Talk) -> None:
        """The snapshot of a turn holds every update that was sent before its answer."""
        turn = talk.prompt("flood 5000")
        assert turn.text == "".join("x" if n % 10 else f"{n} " for n in range(5000))

    def test_nothing_starts_before_it_is_used(self, talk: Talk) -> None:
        """A chat without a prompt has no process and says so."""
        assert (talk.state.status, talk.session.life.connection) == ("idle", None)

    def test_the_state_says_who_answers(self, talk: Talk) -> None:
        """Once started, the state has the agent's own name and the session's id and title."""
        talk.prompt("say hello\nsay more")
        state = talk.state
        assert (state.agent.name, state.agent.version) == ("polite", "1.2")
        assert (state.session_id, state.session_key, state.title) == ("s-1", "s-1", "say hello")

    def test_updates_before_the_answer_of_new_are_kept(self, talk: Talk) -> None:
        """What an agent says of a session before it names it belongs to that session."""
        talk.start()
        assert [c["name"] for c in talk.session.snapshot.metadata.available_commands] == ["early"]

    @pytest.mark.parametrize("blocks", [[], text("  "), [{"type": "hologram"}], ["hi"]])
    def test_a_prompt_of_nothing_is_refused_at_once(self, talk: Talk, blocks: list) -> None:
        """An empty prompt or an unknown block type raises before anything is sent."""
        with pytest.raises(ValueError, match=r"empty|content block"):
            talk.call(talk.session.enqueue, blocks)
        assert talk.state.status == "idle"


class TestPermission:
    def test_a_person_answers(self, talk: Talk) -> None:
        """A request waits for its answer, which goes back as the option's own id."""
        turn = talk.send("ask ls")
        request = talk.asked()
        assert talk.call(talk.session.answer, request.permission.request.id, "yes")
        assert turn.result(10).snapshot.turns[-1].text == "answer: yes"
        assert talk.session.snapshot.permissions[-1].decided_by == "user"

    def test_the_snapshot_shows_a_request_before_it_is_announced(self, talk: Talk) -> None:
        """When a view hears of a request, the published snapshot holds it."""
        talk.send("ask ls")
        talk.asked()
        assert [p.status for p in talk.session.snapshot.permissions] == ["pending"]
        talk.call(talk.session.cancel)

    def test_an_answer_counts_once(self, talk: Talk) -> None:
        """A second answer, and one with an option that was not offered, change nothing."""
        turn = talk.send("ask ls")
        request_id = talk.asked().permission.request.id
        assert not talk.call(talk.session.answer, request_id, "maybe")
        assert talk.call(talk.session.answer, request_id, "no")
        assert not talk.call(talk.session.answer, request_id, "yes")
        assert turn.result(10).snapshot.turns[-1].text == "answer: no"

    @pytest.mark.parametrize(
        ("policy", "answer", "decided_by"),
        [("allow-all", "yes", "allow-all"), ("deny", "no", "deny")],
    )
    def test_a_preset_answers(
        self, talks: Talks, policy: str, answer: str, decided_by: str
    ) -> None:
        """The presets `allow-all` and `deny` choose by the kind of the options."""
        talk = talks(policy=policy)
        assert talk.prompt("ask ls").text == f"answer: {answer}"
        (decision,) = talk.session.decisions
        assert (decision.option_id, decision.decided_by) == (answer, decided_by)

    def test_headless_nothing_is_allowed(self, talk: Talk) -> None:
        """With nobody to ask, a request that no rule answers is answered `cancelled`."""
        turn = talk.prompt("ask ls", headless=True)
        assert turn.text == "answer: cancelled"
        assert talk.session.snapshot.permissions[-1].decided_by == "nobody to ask"

    def test_remembered_answers_hold_for_the_same_command(self, talk: Talk) -> None:
        """`remember` answers the same command by itself, and no other one."""
        turn = talk.send("ask ls")
        request_id = talk.asked().permission.request.id
        talk.call(talk.session.answer, request_id, "yes", remember=True)
        turn.result(10)
        assert talk.prompt("ask ls").text == "answer: yes"
        assert talk.session.decisions[-1].decided_by == "remembered"
        assert talk.prompt("ask rm", headless=True).text == "answer: cancelled"

    def test_a_request_expires_when_that_is_set(self, talks: Talks) -> None:
        """With `permission_timeout_s`, a request that nobody answers is cancelled."""
        talk = talks(permission_timeout_s=0.05)
        assert talk.prompt("ask ls").text == "answer: cancelled"


class TestCancel:
    def test_stop_waits_for_the_agent(self, talk: Talk) -> None:
        """After Stop the turn is `stopping` until the agent confirms, then `cancelled`."""
        turn = talk.send("say a\nwait 30")
        talk.until(lambda: talk.texts[-1:] == ["a"])
        talk.call(talk.session.cancel)
        settled = turn.result(10).snapshot.turns[-1]
        assert [s for s in talk.statuses if s in {"running", "stopping"}][-1] == "stopping"
        assert (settled.stop_reason, settled.stopped_by_user) == ("cancelled", True)
        assert talk.state.status == "idle"

    def test_stop_closes_an_open_request(self, talk: Talk) -> None:
        """After Stop an open request is answered `cancelled` and its card is inert at once."""
        turn = talk.send("ask ls")
        talk.asked()
        talk.call(talk.session.cancel)
        assert talk.session.snapshot.permissions[-1].status == "cancelled"
        assert talk.session.snapshot.tool_calls[-1].status == "cancelled"
        assert turn.result(10).snapshot.turns[-1].stop_reason == "cancelled"

    def test_an_agent_that_does_not_confirm_is_given_up(self, talks: Talks) -> None:
        """Past the time of grace the turn is settled here, a restart is offered, the next one goes."""
        talk = talks(cancel_grace_s=0.1)
        turn = talk.send("say a\ndeaf 2\nsay late")
        talk.until(lambda: talk.texts[-1:] == ["a"])
        talk.call(talk.session.cancel)
        assert turn.result(10).snapshot.turns[-1].stop_reason == "cancelled"
        assert talk.state.error.actions == ("restart",)
        assert talk.prompt("say next").text == "next"

    def test_a_second_stop_offers_a_restart(self, talk: Talk) -> None:
        """Stop twice sends `session/cancel` once and offers to restart the agent."""
        turn = talk.send("deaf 0.5")
        talk.until(lambda: talk.state.status == "running")
        talk.call(talk.session.cancel)
        talk.call(talk.session.cancel)
        assert talk.state.error.actions == ("restart",)
        turn.result(10)
        sent = [e for e in talk.call(talk.session.trace) if e.kind == "session/cancel"]
        assert len(sent) == 1

    def test_a_silent_agent_is_stopped_after_its_time(self, talk: Talk) -> None:
        """With `timeout_s`, a turn without any update ends with an error that says so."""
        turn = talk.prompt("say a\nwait 30", timeout_s=0.2)
        assert (turn.state, turn.text) == ("failed", "a")
        assert "0.2 s" in turn.error.message

    def test_updates_keep_a_turn_alive(self, talk: Talk) -> None:
        """`timeout_s` counts silence, not the length of the turn."""
        turn = talk.prompt("wait 0.2\nsay a\nwait 0.2\nsay b\nwait 0.2", timeout_s=0.45)
        assert turn.stop_reason == "end_turn"


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "shown"),
        [
            ({"code": -32603, "message": "Internal error: boom"}, "boom"),
            ({"code": -32603, "message": "Internal error", "data": {"details": "why"}}, "why"),
            ({"code": 400, "message": '{"error": {"message": "bad model"}}'}, "bad model"),
        ],
    )
    def test_the_agents_words_are_the_turns_error(
        self, talk: Talk, error: dict, shown: str
    ) -> None:
        """An error answer fails the turn with the words that say why, wherever they stand."""
        turn = talk.prompt(f"say partly\nerror {json.dumps(error)}")
        assert (turn.state, turn.text, turn.error.message) == ("failed", "partly", shown)
        assert talk.prompt("say again").text == "again"

    def test_exit_in_mid_turn(self, talk: Talk) -> None:
        """An agent that exits in a turn fails it with its exit code and stderr, and offers a restart."""
        turn = talk.prompt("say partly\nstderr last words\nexit 3")
        assert (turn.state, turn.error.message) == ("failed", "The agent ended with exit code 3.")
        talk.until(lambda: talk.state.status == "exited")
        assert talk.state.error.actions == ("restart",)
        assert "last words" in talk.state.error.stderr_tail

    def test_a_signal_is_named(self, talk: Talk) -> None:
        """An agent that is ended by a signal is told with the signal's name."""
        turn = talk.prompt("kill 15")
        assert turn.error.message == "The agent was ended by signal 15 (SIGTERM)."

    def test_a_prompt_after_an_exit_starts_a_new_child(self, talks: Talks, tmp_path) -> None:
        """Send on an ended chat starts the agent anew and loads the session."""
        talk = talks("polite", "--store", str(tmp_path / "sessions.json"))
        talk.prompt("say one\nexit 1")
        assert talk.prompt("say two").text == "two"
        assert talk.texts == ["say one\nexit 1", "one", "say two", "two"]
        assert talk.state.session_id == "s-1"

    def test_a_login_that_is_wanted_in_mid_session(self, talk: Talk) -> None:
        """A prompt refused with -32000 fails its turn and offers a login."""
        turn = talk.prompt('error {"code": -32000, "message": "Authentication required"}')
        assert turn.state == "failed"
        assert "login" in talk.state.error.actions


class TestStart:
    def test_a_missing_command_says_how_to_get_it(self, tmp_path) -> None:
        """A command that is nowhere raises AgentNotFound with the places and the install command."""
        spec = AgentSpec("ghost", "no-such-agent-anywhere", install="npm i ghost")
        talk = Talk(spec, tmp_path)
        with pytest.raises(AgentNotFound, match="npm i ghost"):
            talk.start()
        assert talk.state.status == "start-failed"
        talk.close()

    def test_an_agent_that_ends_at_once(self, tmp_path) -> None:
        """A command that exits before `initialize` fails the start with its code and stderr."""
        spec = AgentSpec("sh", "/bin/sh", ("-c", "echo oh no >&2; exit 4"))
        talk = Talk(spec, tmp_path)
        with pytest.raises(AgentStartError, match="oh no") as caught:
            talk.start()
        assert (caught.value.returncode, caught.value.phase) == (4, "initialize")
        talk.close()

    def test_a_command_that_does_not_speak_acp(self, tmp_path) -> None:
        """A command that never answers is given up after `start_timeout_s`, and is gone then."""
        talk = Talk(AgentSpec("cat", "/bin/sleep", ("600",)), tmp_path, start_timeout_s=0.2)
        with pytest.raises(AgentStartError, match="did not speak ACP"):
            talk.start()
        talk.close()

    def test_a_slow_agent_is_waited_for(self, talks: Talks) -> None:
        """An agent that takes its time to answer starts all the same, and the state says what goes on."""
        talk = talks("polite", "--slow-start", "0.5")
        turn = talk.send("say late")
        talk.until(lambda: talk.state.phase == "waiting for polite")
        assert turn.result(20).snapshot.turns[-1].text == "late"

    def test_another_protocol_version_is_refused(self, talks: Talks) -> None:
        """Any version but 1 is a clear error, and the agent is not used."""
        talk = talks("polite", "--version", "2")
        with pytest.raises(ProtocolError, match="version 2"):
            talk.start()
        assert talk.state.status == "start-failed"

    def test_a_failed_start_gives_the_prompt_back(self, tmp_path) -> None:
        """A prompt that was typed while the start failed is the draft, and nothing is queued."""
        talk = Talk(AgentSpec("ghost", "no-such-agent-anywhere"), tmp_path)
        talk.call(talk.session.enqueue, text("my words"))
        talk.until(lambda: talk.state.status == "start-failed")
        assert (talk.state.draft, talk.state.queue) == ("my words", ())
        talk.close()

    def test_stop_while_starting_gives_the_prompt_back(self, talks: Talks) -> None:
        """Stop before the session exists sends no prompt; the text is the draft."""
        talk = talks("polite", "--slow-start", "0.3")
        talk.call(talk.session.enqueue, text("my words"))
        talk.until(lambda: talk.state.status == "starting")
        talk.call(talk.session.cancel)
        talk.until(lambda: talk.state.status == "idle" and talk.state.session_id)
        assert talk.state.draft == "my words"
        assert "session/prompt" not in [e.kind for e in talk.call(talk.session.trace)]


class TestClose:
    def test_a_closed_chat_takes_no_prompt(self, talk: Talk) -> None:
        """After close the process is gone, the status is `closed`, and a prompt raises."""
        talk.prompt("say hello")
        talk.run(talk.session.close())
        assert talk.state.status == "closed"
        with pytest.raises(SessionError, match="closed"):
            talk.call(talk.session.enqueue, text("more"))

    def test_close_settles_a_running_turn(self, talk: Talk) -> None:
        """A prompt that runs when the chat is closed ends as a failed turn."""
        turn = talk.send("wait 30")
        talk.until(lambda: talk.state.status == "running")
        talk.run(talk.session.close())
        assert turn.result(10).snapshot.turns[-1].error.message == "The chat was closed."

    def test_close_ends_what_ignores_everything(self, talks: Talks) -> None:
        """An agent that ignores end of input and SIGTERM, and its grandchildren, are gone."""
        talk = talks("polite", "--ignore-eof", "--ignore-term", "--grandchild", stop_timeout_s=0.2)
        talk.prompt("say hello")
        process = talk.session.life.connection.process
        talk.run(talk.session.close())
        assert process.returncode is not None


def test_views_are_told_at_most_thirty_times_a_second(talk: Talk) -> None:
    """While updates stream, snapshots are published in steps of `publish_interval_s`."""
    talk.start()
    before = len(talk.changes)
    clock = host_loop().loop.time
    began = clock()
    talk.prompt("flood 30000")
    most = (clock() - began) / talk.session.settings.publish_interval_s
    urgent = sum(change.urgent for change in talk.changes[before:])
    assert len(talk.changes) - before <= most + urgent + 1
