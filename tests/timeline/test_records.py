"""Records: what is written without secrets, and how it is folded again."""

from __future__ import annotations

import json

import pytest

from acp_notebook.timeline import TurnError, load_record
from acp_notebook.timeline.records import REDACTED, fold_record, header, redacted
from tests.timeline.updates import SESSION, call, message, permission, text, update, user

OUT, IN = "client->agent", "agent->client"


class Record:
    """Writes the lines of a record."""

    def __init__(self, **head):
        self.lines = [json.dumps({"acp_notebook_record": 1, "started": 100.0, **head})]
        self.t = 0

    def add(self, way, by=None, **msg):
        """Add a line a second later than the last."""
        self.t += 1000
        entry = {"t": self.t, "dir": way, "msg": msg}
        self.lines.append(json.dumps(entry if by is None else {**entry, "by": by}))
        return self

    def request(self, id_, method, **params):
        """Add a request of the client."""
        return self.add(OUT, id=id_, method=method, params=params)

    def result(self, id_, **result):
        """Add an answer of the agent."""
        return self.add(IN, id=id_, result=result)

    def update(self, *params):
        """Add updates of the agent."""
        for one in params:
            self.add(IN, method="session/update", params=one)
        return self

    def opened(self, version=1):
        """Greet and open a session."""
        greeting = {"protocolVersion": version, "agentInfo": {"name": "a"}}
        return (
            self.request(0, "initialize")
            .result(0, **greeting)
            .request(1, "session/new", cwd="/w")
            .result(1, sessionId=SESSION)
        )

    def prompt(self, id_, words):
        """Add a prompt."""
        return self.request(id_, "session/prompt", sessionId=SESSION, prompt=[text(words)])

    def snapshot(self, session=SESSION):
        """Fold it."""
        return fold_record(self.lines)[session].snapshot()


class TestFolding:
    """Both directions make the calls that the host made."""

    def test_a_prompt_and_its_answer(self):
        """With times from the header."""
        shot = (
            Record()
            .opened()
            .prompt(2, "hi")
            .update(message("a", "m"))
            .result(2, stopReason="end_turn", usage={"totalTokens": 1})
            .snapshot()
        )
        (turn,) = shot.turns
        assert (turn.prompt, turn.text, turn.stop_reason, turn.usage.total_tokens) == (
            "hi",
            "a",
            "end_turn",
            1,
        )
        assert (turn.started_at, turn.ended_at) == (105.0, 107.0)
        assert shot.agent.name == "a"

    def test_without_a_header_times_are_unknown(self):
        """As in a trace."""
        record = Record().opened().prompt(2, "hi").result(2, stopReason="end_turn")
        shot = fold_record(record.lines[1:])[SESSION].snapshot()
        assert (shot.turns[0].started_at, shot.turns[0].state) == (None, "idle")

    def test_an_error_answer(self):
        """Settles the turn as failed."""
        record = Record().opened().prompt(2, "hi").add(IN, id=2, error={"code": 5, "message": "no"})
        assert record.snapshot().turns[0].error == TurnError("no", 5)

    def test_a_permission_and_who_answered_it(self):
        """The record says it beside the message."""
        record = Record().opened().prompt(2, "hi")
        record.add(IN, id=0, method="session/request_permission", params=permission())
        outcome = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
        record.add(OUT, by="rule 1", id=0, result=outcome)
        found = record.snapshot()["perm:0"]
        assert (found.status, found.selected_option_id, found.decided_by) == (
            "selected",
            "allow_once",
            "rule 1",
        )

    def test_an_error_to_a_permission_cancels_it(self):
        """It is no approval; answers to other requests are not looked at."""
        record = Record().opened()
        record.add(IN, id="x", method="session/request_permission", params=permission())
        record.add(OUT, id="x", error={"code": 1}).add(OUT, id=77, result={})
        assert record.snapshot()['perm:"x"'].status == "cancelled"

    def test_an_agent_withdraws_its_request(self):
        """By `$/cancel_request`."""
        record = Record().opened()
        record.add(IN, id=3, method="session/request_permission", params=permission())
        record.add(IN, method="$/cancel_request", params={"requestId": 3})
        record.add(OUT, id=3, result={"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        assert record.snapshot()["perm:3"].status == "cancelled"

    @pytest.mark.parametrize(("by", "stopped"), [(None, True), ("user", True), ("timeout", False)])
    def test_stop_is_the_persons(self, by, stopped):
        """What else cancels is not."""
        record = Record().opened().prompt(2, "hi")
        record.add(OUT, by=by, method="session/cancel", params={"sessionId": SESSION})
        record.result(2, stopReason="cancelled")
        assert record.snapshot().turns[0].stopped_by_user is stopped

    def test_a_load_is_replayed_until_its_answer(self):
        """And begins anew each time."""
        record = Record().opened()
        for number in (2, 3):
            record.request(number, "session/load", sessionId=SESSION)
            record.update(user("q", "u1"), message("old", "m1")).result(number)
        record.update(message("live"))
        shot = record.snapshot()
        assert [(item.text, item.historical) for item in shot.items] == [
            ("q", True),
            ("old", True),
            ("live", False),
        ]

    def test_an_agent_may_replay_after_its_answer(self):
        """Gemini: until the first prompt then."""
        record = Record().request(2, "session/load", sessionId=SESSION).result(2)
        record.update(user("q"), message("old")).prompt(3, "hi").update(message("new"))
        assert [item.historical for item in record.snapshot().items] == [True, True, False, False]

    def test_a_resumed_session_is_live_from_its_answer(self):
        """Only a load is waited for."""
        record = Record().request(2, "session/resume", sessionId=SESSION).result(2)
        assert not record.update(message("live")).snapshot().items[0].historical

    def test_a_fork_replays_under_its_new_id(self):
        """Before its answer; a new session does not."""
        record = Record().opened().request(2, "session/fork", sessionId=SESSION)
        forked = {**message("old"), "sessionId": "fork"}
        record.update(forked).result(2, sessionId="fork")
        record.update({**message("banner"), "sessionId": "third"})
        record.request(3, "session/new").result(3, sessionId="third")
        assert record.snapshot("fork").items[0].historical
        assert not record.snapshot("third").items[0].historical

    def test_modes_are_taken_from_what_was_set(self):
        """Results of set_*; a refused one changes nothing."""
        record = Record().opened()
        record.request(2, "session/set_mode", sessionId=SESSION, modeId="code").result(2)
        record.request(3, "session/set_mode", sessionId=SESSION, modeId="x").add(
            IN, id=3, error={"code": 1}
        )
        assert record.snapshot().metadata.current_mode_id == "code"

    def test_v2_settles_by_state_update(self):
        """The response only acknowledges."""
        record = Record().opened(version=2).prompt(2, "hi").result(2, messageId="u")
        record.update(
            message("a", "m"), update("state_update", state="idle", stopReason="end_turn")
        )
        shot = record.snapshot()
        assert (shot.protocol_version, shot.turns[0].stop_reason, shot.turns[0].text) == (
            2,
            "end_turn",
            "a",
        )

    @pytest.mark.parametrize("version", [99, "1", [1], None])
    def test_an_unknown_version_is_read_as_the_first(self, version):
        """Nobody speaks it."""
        assert Record().opened(version=version).snapshot().protocol_version == 1

    def test_the_hosts_terminals_are_recorded(self):
        """Their output is not on the wire."""
        record = Record().opened().update(call(content=[{"type": "terminal", "terminalId": "x"}]))
        record.add("terminal", terminalId="x", data="out", exitStatus={"exitCode": 0})
        part = record.snapshot()["tool:t1"].output_parts[0]
        assert (part.output, part.exit_status.exit_code) == ("out", 0)

    def test_the_end_of_the_agent_is_recorded(self):
        """With the reason."""
        record = (
            Record().opened().prompt(2, "hi").add("closed", message="The agent has ended.", code=3)
        )
        turn = record.snapshot().turns[0]
        assert (turn.state, turn.error, turn.ended_at) == (
            "failed",
            TurnError("The agent has ended.", 3),
            106.0,
        )

    def test_a_record_that_ends_in_a_turn_says_so(self):
        """Nothing runs in what was read."""
        turn = Record().opened().prompt(2, "hi").snapshot().turns[0]
        assert turn.error == TurnError("The record ends before the turn did.")

    def test_another_process_begins_anew(self):
        """Ids of requests are used again."""
        record = Record().opened().prompt(1, "hi").request(0, "initialize").result(0)
        record.result(1, stopReason="end_turn")
        assert record.snapshot().turns[0].state == "failed"

    def test_what_is_no_message_of_a_session_is_passed_over(self):
        """stderr, raw lines, notes, other traffic."""
        record = Record().opened()
        record.lines += [
            json.dumps({"t": 1, "dir": "stderr", "raw": "x"}),
            json.dumps({"t": 1, "dir": IN, "raw": "no json"}),
            json.dumps({"t": 1, "dir": "note", "msg": {}}),
            "",
        ]
        record.add(IN, method="fs/read_text_file", id=1, params={"sessionId": SESSION})
        record.add(IN, method="x").add(IN, id=None, error={}).add(OUT, method="x", id=9).result(9)
        record.add(OUT, id=8, method="session/prompt", params={"sessionId": SESSION, "prompt": 5})
        record.request(7, "session/new").add(IN, id=7, result={"sessionId": 5})
        assert record.snapshot().items[0].parts == ()


class TestFiles:
    """User files raise clearly."""

    def write(self, tmp_path, *lines):
        path = tmp_path / "r.jsonl"
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return path

    def test_the_last_opened_session_is_meant(self, tmp_path):
        """Or the one that is named."""
        record = (
            Record().opened().prompt(2, "one").request(3, "session/new").result(3, sessionId="b")
        )
        path = self.write(tmp_path, *record.lines)
        assert load_record(path).session_id == "b"
        assert load_record(str(path), SESSION).turns[0].prompt == "one"

    def test_a_torn_last_line_is_passed_over(self, tmp_path):
        """The kernel was killed while it wrote."""
        path = self.write(tmp_path, *Record().opened().prompt(2, "hi").lines, '{"t": 5, "di')
        assert load_record(path).turns[0].prompt == "hi"

    @pytest.mark.parametrize("line", ["no json", "5", "[]"])
    def test_a_line_that_is_none_raises(self, tmp_path, line):
        """With its number."""
        path = self.write(tmp_path, line, *Record().opened().lines)
        with pytest.raises(ValueError, match="Line 1 is no line of a record"):
            load_record(path)

    def test_a_newer_record_raises(self, tmp_path):
        """It would be read wrongly."""
        path = self.write(tmp_path, json.dumps({"acp_notebook_record": 2}))
        with pytest.raises(ValueError, match="version 2"):
            load_record(path)

    def test_a_record_without_the_session_raises(self, tmp_path):
        """Also an empty one."""
        path = self.write(tmp_path, *Record().opened().lines)
        with pytest.raises(ValueError, match="holds no session nope"):
            load_record(path, "nope")
        with pytest.raises(ValueError, match=r"holds no session\."):
            load_record(self.write(tmp_path, ""))
        with pytest.raises(FileNotFoundError):
            load_record(tmp_path / "gone")

    def test_a_start_that_is_no_time_is_unknown(self, tmp_path):
        """Nothing is invented."""
        record = Record(started="then").opened().prompt(2, "hi")
        assert load_record(self.write(tmp_path, *record.lines)).turns[0].started_at is None


class TestRedaction:
    """Secrets never reach a file; content is kept whole."""

    def test_the_header(self):
        """The first line."""
        assert header(agent="a", version="1", cwd="/w", started=1.5) == {
            "acp_notebook_record": 1,
            "agent": "a",
            "version": "1",
            "cwd": "/w",
            "started": 1.5,
        }

    @pytest.mark.parametrize(
        ("message_", "kept"),
        [
            (
                {"method": "authenticate", "params": {"methodId": "x", "key": "s"}},
                {"method": "authenticate", "params": {"methodId": REDACTED, "key": REDACTED}},
            ),
            ({"method": "authenticate", "params": 5}, {"method": "authenticate", "params": 5}),
            (
                {
                    "params": {
                        "mcpServers": [
                            {
                                "name": "a",
                                "command": "c",
                                "env": [{"name": "TOKEN", "value": "s"}, 5],
                            },
                            {
                                "name": "b",
                                "url": "https://u:p@h/x",
                                "headers": [{"name": "A", "value": "s"}],
                            },
                            {"name": "c", "env": {"TOKEN": "s"}},
                            5,
                        ]
                    }
                },
                {
                    "params": {
                        "mcpServers": [
                            {
                                "name": "a",
                                "command": "c",
                                "env": [{"name": "TOKEN", "value": REDACTED}],
                            },
                            {
                                "name": "b",
                                "url": f"https://{REDACTED}@h/x",
                                "headers": [{"name": "A", "value": REDACTED}],
                            },
                            {"name": "c", "env": REDACTED},
                            5,
                        ]
                    }
                },
            ),
            ({"mcpServers": 5}, {"mcpServers": 5}),
            (
                {
                    "_meta": {
                        "terminal_output": {"terminal_id": "x", "data": "d"},
                        "claudeCode": {"toolName": "Bash", "apiKey": "s"},
                        "apiKey": "s",
                    }
                },
                {
                    "_meta": {
                        "terminal_output": {"terminal_id": "x", "data": "d"},
                        "claudeCode": {"toolName": "Bash"},
                        "apiKey": REDACTED,
                    }
                },
            ),
            ({"_meta": None}, {"_meta": REDACTED}),
            (
                {"text": "see ftp://user:pw@host/a and https://e.org/@x"},
                {"text": f"see ftp://{REDACTED}@host/a and https://e.org/@x"},
            ),
            ({"list": ["a", 5, None, {"env": "kept"}]}, {"list": ["a", 5, None, {"env": "kept"}]}),
        ],
    )
    def test_what_is_taken_out(self, message_, kept):
        """And what stays."""
        before = json.dumps(message_)
        assert redacted(message_) == kept
        assert json.dumps(message_) == before
