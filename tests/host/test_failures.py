"""What an agent's error means: the shapes that were seen, and those that nobody should send."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.errors import AuthRequired, RequestFailed, UnknownSession
from acp_notebook.host.failures import as_exception, describe_failure, read_error

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        # seen from opencode, claude, codex, qwen, gemini, pi, deepagents
        ({"code": -32603, "message": "Internal error: scripted failure 400", "data": {"service": "s"}},
         "scripted failure 400"),
        ({"code": -32603, "message": "Internal error: API Error: 400 scripted"}, "API Error: 400 scripted"),
        ({"code": -32603, "message": "Internal error",
          "data": {"message": '{"error": {"message": "scripted failure 400", "code": 400}}'}},
         "scripted failure 400"),
        ({"code": -32603, "message": "Internal error", "data": {"details": "Unknown model x"}},
         "Unknown model x"),
        ({"code": 400, "message": '{"error":{"message":"scripted failure 400","status":"X"}}'},
         "scripted failure 400"),
        ({"code": -32602, "message": "Invalid params", "data": "Unknown sessionId: x"}, "Unknown sessionId: x"),
        ({"code": -32603, "message": "Internal error", "data": {}}, "Internal error"),
        ({"code": -32603, "message": "Internal error", "data": {"errorKind": "rate_limit"}},
         "The model's rate limit is reached."),
        ({"code": -32603, "message": "Internal error",
          "data": {"details": "429 usage limit reached; resets in 3h 21min"}},
         "429 usage limit reached; resets in 3h 21min"),
        ({"code": 429, "message": "Too many requests", "data": {"details": "retry in 20 s"}},
         "Too many requests: retry in 20 s"),
        ({"message": ""}, "The agent answered with an error."),
        ({}, "The agent answered with an error."),
        ("oops", "oops"),
        (None, "None"),
    ],
)  # fmt: skip
def test_the_reason_is_found(error: Any, message: str) -> None:
    """The words that say why are found wherever the agent puts them."""
    assert read_error(error).message == message


@given(JSON)
def test_no_error_object_raises(error: Any) -> None:
    """Whatever stands in place of an error is read as some words."""
    assert read_error(error).message


@pytest.mark.parametrize(
    ("method", "error", "kind"),
    [
        ("session/new", {"code": -32000, "message": "Authentication required"}, AuthRequired),
        (
            "session/prompt",
            {"code": -32000, "message": "Too many requests are open."},
            RequestFailed,
        ),
        ("session/load", {"code": -32002, "message": "Resource not found"}, UnknownSession),
        (
            "session/load",
            {"code": -32603, "data": {"details": "Session x not found"}},
            UnknownSession,
        ),
        ("session/new", {"code": -32603, "message": "no"}, RequestFailed),
    ],
)
def test_the_exception_for_a_request(method: str, error: dict, kind: type) -> None:
    """A login that is wanted and a session that is lost have exceptions of their own."""
    assert type(as_exception(method, read_error(error))) is kind


def test_the_methods_of_the_error_itself_come_first() -> None:
    """An agent that names its logins in the error (qwen) is believed."""
    error = read_error({"code": -32000, "message": "x", "data": {"authMethods": [{"id": "a"}, 3]}})
    assert as_exception("session/new", error, ({"id": "b"},)).methods == ({"id": "a"},)


def test_a_banner_offers_what_may_help() -> None:
    """What is shown for a failure has no stderr in its text, and buttons that fit."""
    error = RequestFailed("session/load", 1, "no")
    shown = describe_failure(error, "Agent", loading="key", login_tried=False, has_login=False)
    assert (shown.title, shown.actions[0]) == ("The session key could not be loaded", "new")
    tried = describe_failure(AuthRequired([]), "Agent", login_tried=True, has_login=True)
    assert tried.actions == ("login", "restart")
