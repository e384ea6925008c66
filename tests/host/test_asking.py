"""Questions of the agent: elicitations, and what is asked in text where no card can be clicked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from acp_notebook.host.permissions import PendingPermission
from acp_notebook.host.policy import Asked
from acp_notebook.host.questions import OpenRequest, ask_in_text, visible
from acp_notebook.host.state import Elicitation
from acp_notebook.host.transport import AgentRequest
from tests.host.talk import Talk

Talks = Callable[..., Talk]

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name"},
        "age": {"type": "integer"},
        "ratio": {"type": "number"},
        "sure": {"type": "boolean"},
        "colour": {"oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
        "sizes": {"type": "array", "items": {"enum": ["s", "m", "l"]}},
    },
    "required": ["name"],
}


def elicit(params: dict[str, Any]) -> str:
    return f"request elicitation/create {json.dumps(params)}"


class TestElicitation:
    def test_a_form_is_shown_and_answered(self, talk: Talk) -> None:
        """A form stands in the state until it is answered; its content goes back as it is."""
        turn = talk.send(elicit({"mode": "form", "message": "Who?", "requestedSchema": SCHEMA}))
        (shown,) = talk.until(lambda: talk.state.elicitations)
        assert (shown.mode, shown.message, shown.schema) == ("form", "Who?", SCHEMA)
        assert talk.call(talk.session.answer_elicitation, shown.id, "accept", {"name": "Ada"})
        answer = json.loads(turn.result(10).snapshot.turns[-1].text)
        assert answer == {"result": {"action": "accept", "content": {"name": "Ada"}}}
        assert talk.state.elicitations == ()
        assert not talk.call(talk.session.answer_elicitation, shown.id, "decline")

    def test_a_url_is_shown(self, talk: Talk) -> None:
        """A URL elicitation shows its address, and has no content."""
        turn = talk.send(elicit({"mode": "url", "url": "https://example.org/x", "message": "Open"}))
        (shown,) = talk.until(lambda: talk.state.elicitations)
        assert (shown.mode, shown.url) == ("url", "https://example.org/x")
        talk.call(talk.session.answer_elicitation, shown.id, "decline")
        assert json.loads(turn.result(10).snapshot.turns[-1].text) == {
            "result": {"action": "decline"}
        }

    def test_stop_closes_it(self, talk: Talk) -> None:
        """Stop answers an open elicitation with `cancel`."""
        turn = talk.send(elicit({"mode": "form", "message": "?", "requestedSchema": {}}))
        talk.until(lambda: talk.state.elicitations)
        talk.call(talk.session.cancel)
        assert turn.result(10).snapshot.turns[-1].stop_reason == "cancelled"
        assert talk.state.elicitations == ()

    def test_headless_it_is_cancelled(self, talk: Talk) -> None:
        """With nobody there, it is answered `cancel` at once."""
        turn = talk.prompt(elicit({"mode": "form", "message": "?"}), headless=True)
        assert json.loads(turn.text) == {"result": {"action": "cancel"}}


@pytest.mark.parametrize("policy", ["ask", "allow-all", "deny"])
def test_after_stop_nothing_is_allowed(talks: Talks, policy: str) -> None:
    """What the agent asks between Stop and its answer is cancelled, whatever the rules say."""
    talk = talks(policy=policy)
    turn = talk.send("say on it\nstopped ask ls")
    talk.until(lambda: talk.texts[1:])
    talk.call(talk.session.cancel)
    assert turn.result(10).snapshot.turns[-1].text.endswith("answer: cancelled")
    assert [d.decided_by for d in talk.session.decisions] == ["the turn was stopped"]


class Typed:
    """Somebody who types these answers; what was asked is kept."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, question: str) -> str:
        self.asked.append(question)
        return self.answers.pop(0)


def form(schema: dict[str, Any] = SCHEMA, message: str = "Who?") -> OpenRequest:
    return OpenRequest(
        "1", acknowledged=False, elicitation=Elicitation("1", "form", message, schema)
    )


class TestInText:
    @pytest.mark.parametrize(
        ("answers", "content"),
        [
            (["Ada", "36", "1.5", "y", "2", "1,3"],
             {"name": "Ada", "age": 36, "ratio": 1.5, "sure": True, "colour": "b", "sizes": ["s", "l"]}),
            (["Ada", "", "", "n", "", ""], {"name": "Ada", "sure": False}),
            (["Ada", "old", "36", "", "maybe", "no", "7", "0", "1", "9", "2"],
             {"name": "Ada", "age": 36, "sure": False, "colour": "r", "sizes": ["m"]}),
        ],
    )  # fmt: skip
    def test_a_form(self, answers: list[str], content: dict[str, Any]) -> None:
        """Each field is asked for in turn; what does not fit is asked again, what is empty left out."""
        typed = Typed(*answers)
        assert ask_in_text(form(), typed) == {"action": "accept", "content": content}
        assert typed.answers == []
        assert typed.asked[0].startswith("Who?\nName")

    def test_a_needed_field_left_empty_cancels(self) -> None:
        """An empty answer to a needed field cancels the form."""
        assert ask_in_text(form(), Typed("")) == {"action": "cancel"}

    @pytest.mark.parametrize(
        ("typed", "action"), [("y", "accept"), ("no", "decline"), ("", "decline")]
    )
    def test_a_url(self, typed: str, action: str) -> None:
        """A URL is shown, and whether it was done is asked."""
        shown = Elicitation("1", "url", "Log in", url="https://example.org")
        asked = Typed(typed)
        request = OpenRequest("1", acknowledged=False, elicitation=shown)
        assert ask_in_text(request, asked) == {"action": action}
        assert "https://example.org" in asked.asked[0]

    @pytest.mark.parametrize(
        ("answers", "option"), [(["1"], "yes"), (["x", "9", "2"], "no"), ([""], None)]
    )
    def test_a_permission(self, answers: list[str], option: str | None) -> None:
        """The options are numbered; nonsense is asked again, nothing cancels."""
        typed = Typed(*answers)
        assert (
            ask_in_text(self.permission(Asked("execute", command="ls", cwd="/w")), typed) == option
        )
        assert typed.asked[0].splitlines() == [
            "The agent asks: execute",
            "  $ ls",
            "  in /w",
            "  1) Yes",
            "  2) No",
            "Number (empty: cancel): ",
        ]

    def test_what_is_hidden_is_seen(self) -> None:
        """Control and bidirectional characters of a command are shown as their code."""
        typed = Typed("")
        asked = Asked("execute", command="rm \u202e/ \x1b[8m; ls\u200b", cwd="/w")
        ask_in_text(self.permission(asked), typed)
        assert "  $ rm \\u{202e}/ \\u{1b}[8m; ls\\u{200b}" in typed.asked[0].splitlines()

    @staticmethod
    def permission(asked: Asked) -> OpenRequest:
        options = (
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        )
        request = AgentRequest(0, "session/request_permission", {})
        pending = PendingPermission(request, asked, options, None, None)
        return OpenRequest("0", acknowledged=False, permission=pending)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain é 日本 🙂\n\ttab", "plain é 日本 🙂\n\ttab"),
        ("a\u2066b\r\x00", "a\\u{2066}b\\u{d}\\u{0}"),
        ("\ud83d", "\\u{d83d}"),
        ("\ue000\ufeff", "\\u{e000}\\u{feff}"),
    ],
)
def test_visible(text: str, seen: str) -> None:
    """Text that shows stays as it is; what hides is shown as its code point."""
    assert visible(text) == seen


def frame(method: str, params: dict[str, Any], request_id: int | None = None) -> str:
    """A line of the prompt that has the agent send this, and not wait."""
    message = {"jsonrpc": "2.0", "method": method, "params": {"sessionId": "s-1", **params}}
    return f"raw {json.dumps(message if request_id is None else {**message, 'id': request_id})}"


CALL = {"toolCallId": "open", "title": "Run", "status": "pending"}
OPEN_CALL = frame("session/update", {"update": {"sessionUpdate": "tool_call", **CALL}})
OPEN_FORM = frame("elicitation/create", {"mode": "form", "message": "?"}, 71)
PERMISSION = frame(
    "session/request_permission",
    {"toolCall": CALL, "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]},
    72,
)


class TestWhatViewsAreTold:
    """Every item that differs is named by the change that publishes it; else no view would show it."""

    @pytest.mark.parametrize("end", ["say bye", "exit 3", "wait"])
    def test_the_end_of_a_turn_with_an_open_question(self, talk: Talk, end: str) -> None:
        """A question closed with its turn hides nothing of what the end of the turn changes."""
        turn = talk.send(f"{OPEN_CALL}\n{OPEN_FORM}\nwait 0.2\n{end}")
        talk.until(lambda: talk.state.elicitations)
        if end == "wait":
            talk.call(talk.session.cancel)
        turn.result(30)
        assert not talk.session.snapshot.tool_calls[0].is_open
        assert talk.untold == []

    def test_a_request_asked_twice(self, talk: Talk) -> None:
        """A permission request under the id of one that is open takes its place, and is shown."""
        talk.send(f"{PERMISSION}\n{PERMISSION}\nwait")
        talk.until(lambda: len(talk.session.snapshot.permissions) == 2)
        assert [p.status for p in talk.session.snapshot.permissions] == ["cancelled", "pending"]
        assert talk.untold == []
