"""One row per item."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import Timeline
from acp_notebook.views import frame
from tests.timeline.updates import (
    SESSION,
    folded,
    message,
    update,
)
from tests.views.conversation import ME, rich


class TestFrame:
    """One row per item."""

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_the_whole(self, library):
        """The columns of the design, in order, with their types."""
        found = frame.to_frame(rich(), library, home=ME)
        assert list(found.columns) == [
            "turn", "index", "kind", "role", "tool", "tool_kind", "status", "path", "text", "started",
            "duration_s", "tokens",
        ]  # fmt: skip
        rows = found.to_dict("records") if library == "pandas" else found.to_dicts()
        assert [row["index"] for row in rows] == list(range(8))
        assert [row["kind"] for row in rows] == [
            "message-segment", "thought", "message-segment", "tool-call", "tool-call", "plan", "notice", "permission",
        ]  # fmt: skip
        assert (rows[0]["role"], rows[0]["text"], rows[0]["started"]) == (
            "user",
            "Look at ~/x",
            10.0,
        )
        assert (rows[0]["duration_s"], rows[0]["tokens"]) == (4.0, 7)
        tool = rows[3]
        assert (tool["tool"], tool["tool_kind"], tool["status"], tool["path"]) == (
            "Bash",
            "execute",
            "completed",
            "~/a.py",
        )
        assert tool["text"].startswith("red\n--- ~/a.py")
        assert (tool["started"], tool["duration_s"]) == (11.0, 0.0)
        assert rows[4]["tool"] == "Read"
        assert rows[5]["text"] == "[ ] one <i>\n[ ] two"
        assert (rows[6]["status"], rows[7]["text"]) == ("warning", "Run `ls`: allow_once (user)")

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_a_number_that_no_column_holds_is_missing(self, library):
        """An agent may count to more than 64 bits."""
        timeline = folded(prompt="q")
        timeline.settle_prompt("end_turn", usage={"totalTokens": 2**63, "inputTokens": 2**63 - 1})
        shot = timeline.snapshot()
        assert shot.turns[0].usage.input_tokens == 2**63 - 1
        found = frame.to_frame(shot, library)
        assert (
            len(found["tokens"].drop_nulls() if library == "polars" else found["tokens"].dropna())
            == 0
        )

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_an_empty_session_has_its_columns(self, library):
        """With the same types as a full one."""
        empty = frame.to_frame(Timeline(SESSION).snapshot(), library)
        full = frame.to_frame(rich(), library)
        assert list(empty.dtypes) == list(full.dtypes)
        assert len(empty) == 0

    def test_what_is_installed_is_taken(self, monkeypatch):
        """The first of the two."""
        assert type(rich().to_frame()).__module__.startswith("pandas")
        monkeypatch.setattr(frame, "find_spec", lambda name: name == "polars" or None)
        assert type(rich().to_frame()).__module__.startswith("polars")

    def test_what_is_not_installed_says_what_to_do(self, monkeypatch):
        """And an unknown library is the caller's fault."""
        monkeypatch.setattr(frame, "import_module", lambda name: __import__("no_such_module_here"))
        with pytest.raises(ImportError, match="pip install polars"):
            rich().to_frame("polars")
        with pytest.raises(ValueError, match="not of 'numpy'"):
            rich().to_frame("numpy")

    def test_a_turn_without_items_has_no_row(self):
        """Work that has shown nothing yet."""
        shot = folded(update("state_update", state="running"), version=2).snapshot()
        assert len(shot.turns) == 1
        assert len(shot.to_frame()) == 0

    def test_times_of_a_turn_stand_once(self):
        """So that a column can be summed; unknown ones are null."""
        timeline = folded(prompt="a")
        timeline.apply(message("b"))
        timeline.settle_prompt("end_turn", usage={"totalTokens": 3})
        assert list(timeline.snapshot().to_frame()["tokens"].dropna()) == [3]
