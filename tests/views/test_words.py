"""What the views say in words, the same in each."""

from __future__ import annotations

import pytest

from acp_notebook.views import words
from tests.timeline.updates import (
    call,
    folded,
    message,
    output,
    permission,
    snapshot,
    update,
    user,
)


class TestWords:
    """What the views say, the same in each."""

    @pytest.mark.parametrize(
        ("reason", "said"),
        [
            ("end_turn", None),
            ("max_tokens", "The agent stopped at its token limit."),
            ("max_turn_requests", "The agent stopped at its limit of requests in a turn."),
            ("refusal", "The agent refused to go on."),
            ("cancelled", "Stopped."),
            ("on_holiday", "The agent stopped: on_holiday"),
        ],
    )
    def test_the_end_of_a_turn(self, reason, said):
        """An unknown reason is shown as it is."""
        timeline = folded(message("a"), prompt="x")
        timeline.settle_prompt(reason)
        assert words.turn_note(timeline.snapshot().turns[0]) == said

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"title": "Title"}, "Title"),
            ({"title": "Title", "description": "one\n\ntwo"}, "Title — one\n\ntwo"),
        ],
    )
    def test_a_notice(self, fields, said):
        """A title is set off from what an agent says below it, in every view."""
        taken = folded(update("notice", severity="info", **fields)).snapshot()
        assert said == words.notice_text(taken.items[0])
        assert f"[info: {said}]" in taken.to_text()
        assert said.replace("\n\n", " ") in taken.to_markdown()
        assert f'<p class="note">{said}</p>' in taken.to_html()

    def test_a_silent_turn_and_a_failed_one(self):
        """Both say so; a replayed one of which nothing is known does not."""
        silent, failed = folded(prompt="x"), folded(prompt="x")
        silent.settle_prompt("end_turn")
        failed.settle_prompt(error={"message": "boom"})
        assert (
            words.turn_note(silent.snapshot().turns[0])
            == "The agent ended the turn without a word."
        )
        assert words.turn_note(failed.snapshot().turns[0]) == "Error: boom"
        assert words.turn_note(snapshot(user("x", "u"), historical=True).turns[0]) is None

    @pytest.mark.parametrize(
        ("raw", "said"),
        [
            (None, ""),
            ("", ""),
            ({}, ""),
            ("out", "out"),
            ({"output": "", "stdout": "so"}, "so"),
            ({"aggregated_output": "ag", "stdout": "so"}, "ag"),
            ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
            ({"exit_code": 3}, '{\n "exit_code": 3\n}'),
            ([1], "[\n 1\n]"),
            (5, "5"),
        ],
    )
    def test_raw_output_stands_in(self, raw, said):
        """Quirk 19: what is text in it, else its JSON."""
        (found,) = snapshot(call(rawOutput=raw)).tool_calls
        assert "".join(shown for _, shown in words.output_of(found)) == said

    def test_a_change_in_lines(self):
        """New files, patches, and changes without texts."""
        new = {"type": "diff", "path": "/a", "oldText": None, "newText": "n"}
        patch = {"type": "diff", "changes": [], "patch": {"text": "@@ p"}}
        names = {"type": "diff", "changes": [{"operation": "delete", "path": "/b"}]}
        (found,) = snapshot(call(content=[new, patch, names])).tool_calls
        assert [shown for _, shown in words.output_of(found)] == [
            "--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n+n",
            "@@ p",
            "delete /b",
        ]

    def test_an_empty_terminal_shows_nothing(self):
        """What stands beside it is enough."""
        (found,) = snapshot(
            call(content=[{"type": "terminal", "terminalId": "t"}, output("x")])
        ).tool_calls
        assert words.output_of(found) == [("text", "x")]

    def test_statuses(self):
        """In words; what has no result is not called success."""
        timeline = folded(call("a", status="in_progress"), call("b", status="odd"), prompt="x")
        shot = timeline.snapshot()
        assert [words.status_of(c) for c in shot.tool_calls] == ["in progress", "odd"]
        timeline.settle_prompt("end_turn")
        assert words.status_of(timeline.snapshot().tool_calls[0]) == "no result reported"
        gone = folded(call("a"), prompt="x")
        gone.settle_all("gone")
        assert words.status_of(gone.snapshot().tool_calls[0]) == "cancelled"

    def test_decisions(self):
        """By name; else by id; and who decided."""
        timeline = folded()
        timeline.request_permission(1, permission())
        timeline.request_permission(2, permission())
        timeline.request_permission(3, permission())
        timeline.resolve_permission(1, {"outcome": "selected", "optionId": "gone"})
        timeline.resolve_permission(2, {"outcome": "cancelled"}, "rule")
        assert [words.decision_of(p) for p in timeline.snapshot().permissions] == [
            "gone",
            "cancelled (rule)",
            "waiting for an answer",
        ]

    def test_names_of_what_is_no_text(self):
        """Each has some words."""
        contents = [
            {"type": "image", "uri": "https://e.org/a.png", "name": "pic"},
            {"type": "audio", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "", "mimeType": "text/x"},
            {"type": "resource_link"},
        ]
        parts = [
            snapshot(update("agent_message_chunk", content=c)).items[0].parts[0] for c in contents
        ]
        assert [words.note_of(part) for part in parts] == [
            "[pic: image]",
            "[audio/wav]",
            "[text/x]",
            "[attachment]",
        ]
        (diff,) = (
            snapshot(call(content=[{"type": "diff", "path": "/a", "newText": "n"}]))
            .items[0]
            .output_parts
        )
        assert words.note_of(diff) == "[content of type diff]"
