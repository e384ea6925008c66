"""Trace and records: what is kept of the traffic, and what never is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.host.redact import REDACTED, redact, shorten
from acp_notebook.host.trace import Trace
from tests.host.talk import Talk

Talks = Callable[..., Talk]


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (
            {"method": "authenticate", "params": {"methodId": "m", "token": "s3cret"}},
            {"method": "authenticate", "params": {"methodId": "m"}},
        ),
        ({"method": "authenticate", "params": 3}, {"method": "authenticate", "params": {}}),
        (
            {"mcpServers": [{"name": "x", "env": [{"name": "KEY", "value": "s3cret"}]}]},
            {"mcpServers": [{"name": "x", "env": [{"name": "KEY", "value": REDACTED}]}]},
        ),
        ({"headers": [{"name": "A", "value": "s3cret"}, "s3cret"]},
         {"headers": [{"name": "A", "value": REDACTED}, REDACTED]}),
        ({"env": {"KEY": "s3cret"}}, {"env": {"KEY": REDACTED}}),
        (
            {"_meta": {"apiKey": "s3cret", "terminal_output": {"data": "x"}}},
            {"_meta": {"apiKey": REDACTED, "terminal_output": {"data": "x"}}},
        ),
        ({"uri": "https://user:s3cret@host/x?a=b@c"}, {"uri": "https://host/x?a=b@c"}),
        ({"uri": "https://host/a@b"}, {"uri": "https://host/a@b"}),
    ],
)  # fmt: skip
def test_secrets_are_taken_out(message: Any, kept: Any) -> None:
    """Login params, variables and headers of servers, foreign `_meta`, credentials of URLs are not kept."""
    assert redact(message) == kept


def test_shorten_says_what_was_cut() -> None:
    """Long text and long lists are cut, and how long they were is said."""
    assert shorten({"a": "x" * 201, "b": list(range(51)), "c": 1}) == {
        "a": f"{'x' * 200}… (201 characters)",
        "b": [*range(50), "… (51 entries)"],
        "c": 1,
    }


def test_the_ring_is_bounded() -> None:
    """The trace keeps the newest, numbers them, and counts what was ignored for as long as it lives."""
    trace = Trace(3)
    for n in range(5):
        trace.note("agent->client", "x", {"n": n}, 10, "odd" if n % 2 else "")
    assert [(e.seq, e.message["n"]) for e in trace.entries()] == [(3, 2), (4, 3), (5, 4)]
    assert trace.counts == {"odd": 2}


def test_a_large_message_is_not_held() -> None:
    """What is kept of a large message is short, also in memory."""
    trace = Trace(3)
    trace.note("agent->client", "x", {"text": "x" * 10_000_000}, 10_000_000)
    assert len(trace._ring[0][6]["text"]) < 300


class TestRecord:
    def test_a_session_is_recorded(self, talks: Talks, tmp_path: Path) -> None:
        """A record has its head, then every message in order with time and direction, content whole."""
        path = tmp_path / "talk.jsonl"
        talk = talks(record=str(path))
        talk.prompt("say " + "x" * 5000 + "\nraw junk line")
        talk.close()
        head, *lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert (head["acp_notebook_record"], head["agent"], head["cwd"]) == (
            1,
            "polite",
            str(tmp_path),
        )
        sent = [x["msg"]["method"] for x in lines if x["dir"] == "client->agent"]
        assert sent == ["initialize", "session/new", "session/prompt"]
        assert [x["raw"] for x in lines if "raw" in x] == ["junk line"]
        chunks = [
            x["msg"]["params"]["update"]["content"]["text"]
            for x in lines
            if x.get("msg", {}).get("method") == "session/update"
            and x["msg"]["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
        ]
        assert chunks == ["x" * 5000]
        times = [x["t"] for x in lines]
        assert times == sorted(times)

    def test_a_file_that_cannot_be_made_fails_the_start(self, talks: Talks, tmp_path: Path) -> None:
        """A record in a folder that is not there is an error before anything runs."""
        from acp_notebook.errors import AgentStartError

        talk = talks(record=str(tmp_path / "none" / "x.jsonl"))
        with pytest.raises(AgentStartError, match=r"x\.jsonl"):
            talk.start()


def test_the_trace_shows_no_secret(talks: Talks) -> None:
    """Variables of MCP servers are sent to the agent and are in no trace."""
    server = {"name": "x", "command": "x", "args": [], "env": [{"name": "K", "value": "s3cret"}]}
    talk = talks(mcp_servers=(server,))
    talk.start()
    entries = talk.call(talk.session.trace)
    opened = next(e for e in entries if e.kind == "session/new" and e.direction == "client->agent")
    assert opened.message["params"]["mcpServers"][0]["name"] == "x"
    assert "s3cret" not in repr(entries)
