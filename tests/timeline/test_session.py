"""Metadata and notices: rules 15 and 17 of timeline.md."""

from __future__ import annotations

import pytest

from acp_notebook.timeline import AgentInfo, Timeline
from acp_notebook.timeline.metadata import Cost, WindowUsage
from tests.timeline.updates import SESSION, folded, ids, message, snapshot, text, update


def metadata(*updates, **options):
    """Return the metadata after these updates."""
    return snapshot(*updates, **options).metadata


def test_metadata_makes_no_item_and_touches_none():
    """It is a value of its own; unchanged, it is the same object."""
    timeline = folded(message("a"))
    before = timeline.snapshot()
    assert timeline.apply(update("session_info_update", title="t")) == ()
    after = timeline.snapshot()
    assert after.metadata.title == "t"
    assert after.items[0] is before.items[0]
    timeline.apply(update("session_info_update", title="t"))
    assert timeline.snapshot() is after


def test_lists_are_whole_each_time():
    """Commands and options, without `_meta`."""
    found = metadata(
        update("available_commands_update", availableCommands=[{"name": "a"}, {"name": "b"}]),
        update(
            "available_commands_update", availableCommands=[{"name": "c", "_meta": {"x": 1}}, 5]
        ),
        update(
            "config_option_update",
            configOptions=[{"id": "x", "category": "model", "currentValue": "m"}],
        ),
    )
    assert found.available_commands == ({"name": "c"},)
    assert found.config_options[0]["id"] == "x"
    assert found.model == "m"
    assert found.unrecognized == {"available_commands_update.availableCommands": 1}


def test_a_mode_that_was_never_offered_is_taken():
    """Its id is shown as text."""
    assert (
        metadata(update("current_mode_update", currentModeId="yolo<script>")).current_mode_id
        == "yolo<script>"
    )


def test_title_and_time():
    """Omitted is unchanged, null clears."""
    first = update("session_info_update", title="t", updatedAt="2026-01-01T00:00:00Z")
    assert metadata(first, update("session_info_update")).title == "t"
    cleared = metadata(first, update("session_info_update", title=None, updatedAt=None))
    assert (cleared.title, cleared.updated_at) == (None, None)


def test_usage_replaces_and_cost_stays():
    """A cost that is omitted or null is kept."""
    found = metadata(
        update("usage_update", used=1, size=10, cost={"amount": 0.5, "currency": "USD"}),
        update("usage_update", used=2, size=10, cost=None),
        update("usage_update", used=3, size=20),
    )
    assert found.usage == WindowUsage(3, 20, Cost(0.5, "USD"))


@pytest.mark.parametrize("amount", ["x", True, float("nan"), 10**400, None])
def test_a_cost_that_is_no_number_is_counted(amount):
    """And what was known stays."""
    found = metadata(update("usage_update", used=1, size=2, cost={"amount": amount}))
    assert found.usage == WindowUsage(1, 2, None)
    assert found.unrecognized == {"usage_update.cost": 1}


@pytest.mark.parametrize(
    ("broken", "counted"),
    [
        (update("available_commands_update"), "available_commands_update.availableCommands"),
        (update("config_option_update", configOptions=5), "config_option_update.configOptions"),
        (update("current_mode_update"), "current_mode_update.currentModeId"),
        (update("session_info_update", title=5), "session_info_update.title"),
        (update("usage_update", used=1), "usage_update.size"),
        (update("usage_update", size=1), "usage_update.used"),
        (update("usage_update", used=1, size=1, cost=5), "usage_update.cost"),
        (update("notice", title=""), "notice.title"),
        (update("compaction_update"), "compaction_update.compactionId"),
        (update("compaction_summary_chunk", compactionId="c"), "compaction_summary_chunk.content"),
        (
            update("compaction_summary_chunk", compactionId=5),
            "compaction_summary_chunk.compactionId",
        ),
        (update("hologram"), "hologram"),
        (update(None), "session/update.sessionUpdate"),
        (update(["x"]), "session/update.sessionUpdate"),
        ({"sessionId": SESSION, "update": 5}, "session/update.update"),
        ({"sessionId": SESSION}, "session/update.update"),
        (5, "session/update"),
    ],
)
def test_what_is_not_understood_is_counted(broken, counted):
    """Rule 17: by kind, or kind and field; nothing raises."""
    assert metadata(broken).unrecognized == {counted: 1}


def test_what_cannot_be_read_stands_between_chunks_without_harm():
    """The text before and after it is one segment."""
    junk = [
        {},
        5,
        {"sessionId": SESSION},
        {"sessionId": SESSION, "update": {"sessionUpdate": "agent_message_chunk"}},
    ]
    shot = snapshot(message("a", "m"), *junk, message("b", "m"))
    assert shot.items[0].text == "ab"


def test_counts_are_bounded():
    """A hostile agent cannot fill memory with names."""
    shot = snapshot(*(update(f"kind-{n}") for n in range(2000)), update("x" * 5000))
    counts = shot.metadata.unrecognized
    assert len(counts) == 501
    assert sum(counts.values()) == 2001


class TestResponses:
    """Rule 15: responses of new, load, resume and set_* feed the same fields."""

    def test_initialize_names_the_agent(self):
        """v2 says it under another name."""
        timeline = Timeline(SESSION)
        timeline.apply_response(
            "initialize", {"agentInfo": {"name": "a", "title": "A", "version": 5}}
        )
        assert timeline.snapshot().agent == AgentInfo("a", "A", None)
        timeline.apply_response("initialize", {"info": {"name": "b"}})
        assert timeline.snapshot().agent == AgentInfo("b")
        timeline.apply_response("initialize", {})
        assert timeline.snapshot().agent == AgentInfo("b")

    def test_modes_models_and_options(self):
        """A list that is not there is unchanged."""
        timeline = Timeline(SESSION)
        timeline.apply_response(
            "session/new",
            {
                "modes": {"currentModeId": "plan", "availableModes": [{"id": "plan"}]},
                "models": {"currentModelId": "m", "availableModels": [{"modelId": "m"}]},
                "configOptions": [{"id": "o", "category": "mode", "currentValue": "x"}],
            },
        )
        timeline.apply_response(
            "session/set_mode", {"modes": {"availableModes": 5}, "models": None}
        )
        found = timeline.snapshot().metadata
        assert (found.current_mode_id, found.available_modes, found.mode) == (
            "plan",
            ({"id": "plan"},),
            "plan",
        )
        assert (found.current_model_id, found.models, found.model) == (
            "m",
            ({"modelId": "m"},),
            "m",
        )
        assert found.config_options[0]["id"] == "o"
        assert found.unrecognized == {"session/set_mode.availableModes": 1}

    def test_the_mode_may_be_an_option_only(self):
        """Some agents have no other."""
        timeline = Timeline(SESSION)
        options = [
            {"id": "o", "category": "mode", "currentValue": "x"},
            {"category": "mode", "currentValue": 5},
        ]
        timeline.apply_response("session/new", {"configOptions": options})
        assert timeline.snapshot().metadata.mode == "x"
        assert timeline.snapshot().metadata.model is None

    def test_what_was_asked_holds_when_the_answer_is_empty(self):
        """Gemini answers `{}` and announces nothing."""
        timeline = Timeline(SESSION)
        timeline.apply_response("session/set_mode", {}, {"modeId": "code"})
        timeline.apply_response("session/set_model", None, {"modelId": "m"})
        timeline.apply_response("session/set_mode", {}, {"modeId": 5})
        timeline.apply_response("session/set_model", {}, {})
        found = timeline.snapshot().metadata
        assert (found.current_mode_id, found.current_model_id) == ("code", "m")

    @pytest.mark.parametrize("result", [None, 5, [], {"modes": 5, "configOptions": None}])
    def test_a_result_that_cannot_be_read_changes_nothing(self, result):
        """Quirk: some results are null."""
        timeline = Timeline(SESSION)
        timeline.snapshot()
        assert timeline.apply_response("session/new", result) == ()
        assert timeline.snapshot().metadata.unrecognized == {}


class TestNotices:
    """Notices and compactions of schema 1.25."""

    def test_a_notice_is_an_item(self):
        """With its severity, title and description."""
        shot = snapshot(
            update("notice", severity="warning", title="T", description="d"),
            update("notice", title="U"),
        )
        assert [(n.id, n.level, n.text, n.source) for n in shot.items] == [
            ("notice:1", "warning", "T\n\nd", "agent"),
            ("notice:2", "info", "U", "agent"),
        ]

    def test_a_compaction_keeps_its_place(self):
        """Later updates of its id patch it."""
        shot = snapshot(
            update("compaction_update", compactionId="c", status="in_progress"),
            message("a", "m"),
            update("compaction_summary_chunk", compactionId="c", content=text("we ")),
            update("compaction_summary_chunk", compactionId="c", content=text("spoke")),
            update("compaction_update", compactionId="c", status="completed"),
        )
        assert ids(shot) == ["notice:1", "msg:assistant:m:0"]
        assert (shot.items[0].level, shot.items[0].text, shot.items[0].source) == (
            "info",
            "we spoke",
            "compaction",
        )

    @pytest.mark.parametrize("summary", [[], None])
    def test_a_summary_is_replaced_and_cleared(self, summary):
        """Other blocks than text are left out."""
        first = update(
            "compaction_update",
            compactionId="c",
            status="completed",
            summary=[text("a"), 5, text("b")],
        )
        assert snapshot(first).items[0].text == "ab"
        second = update("compaction_update", compactionId="c", status="completed", summary=summary)
        assert snapshot(first, second).items[0].text == ""

    def test_a_failed_compaction_says_why(self):
        """As an error."""
        shot = snapshot(
            update("compaction_update", compactionId="c", status="failed", error="no room")
        )
        assert (shot.items[0].level, shot.items[0].text) == ("error", "no room")
