"""What a page asks about sessions, answered by a real kernel over the embedded agent."""

from __future__ import annotations

import json
import re

import pytest

from tests.widget.kernel_page import KernelPage
from tests.widget.test_kernel import running, send, shown, store, until_settled

__all__ = ["running", "shown", "store"]

pytestmark = pytest.mark.kernel


def test_sessions_are_listed_opened_copied_and_deleted(shown: KernelPage) -> None:
    """The list names what the agent can do and has; new, load, fork and delete do what they say."""
    send(shown, "/help")
    until_settled(shown)
    first = shown.view()["meta"]["sessionKey"]

    listed = shown.ask("sessions")["result"]
    assert {"list", "load", "fork", "delete"} == set(listed["can"])
    if not listed["can"]["list"]:
        assert [] == listed["sessions"]
        return
    assert [False] == [one["busy"] for one in listed["sessions"] if one["key"] == first]

    assert shown.ask("open-session", action="new")["ok"]
    shown.until(lambda: [] == shown.view()["items"])
    if listed["can"]["load"]:
        assert shown.ask("open-session", action="load", key=first)["ok"]
        shown.until(lambda: first == shown.view()["meta"]["sessionKey"])
        assert "/help" == shown.view()["items"][0]["parts"][0]["text"]
    if listed["can"]["delete"]:
        assert shown.ask("delete-session", key=first)["ok"]
        keys = [one["key"] for one in shown.ask("sessions")["result"]["sessions"]]
        assert first not in keys


def test_a_load_without_a_key_is_refused(shown: KernelPage) -> None:
    """A message that names no session to load is answered with a refusal."""
    assert not shown.ask("open-session", action="load")["ok"]


def test_the_conversation_is_exported_as_bytes(shown: KernelPage) -> None:
    """Each format comes as bytes under the named digest, with a file name of its own."""
    send(shown, "/help")
    until_settled(shown)
    for form, ending in (("markdown", "md"), ("html", "html"), ("json", "json")):
        exported = shown.ask("export", format=form)["result"]
        assert re.fullmatch(rf"[\w-]+\.{ending}", exported["name"])
        chunks = [
            buffers[0]
            for _, message, buffers in shown.messages
            if message["kind"] == "blob" and message["sha256"] == exported["sha256"]
        ]
        text = b"".join(chunks).decode()
        assert exported["size"] == len(text.encode())
        assert "/help" in text
    assert 1 == json.loads(text)["schema"]


def test_policy_and_trace(shown: KernelPage) -> None:
    """A preset becomes the chat's policy, an unknown one is refused, and the trace names what passed."""
    assert shown.ask("set-policy", policy="deny")["ok"]
    shown.until(lambda: "deny" == shown.view()["meta"]["policy"])
    assert not shown.ask("set-policy", policy="whatever")["ok"]
    send(shown, "/help")
    until_settled(shown)
    kinds = [line["kind"] for line in shown.ask("trace")["result"]]
    assert "session/prompt" in kinds


def test_an_unknown_login_is_refused(shown: KernelPage) -> None:
    """Logging in by a method that the agent does not have says which ones it has."""
    reply = shown.ask("login", methodId="nothing")
    assert not reply["ok"]
    assert "nothing" in reply["error"]["message"]
