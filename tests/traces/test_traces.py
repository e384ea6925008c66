"""Recorded traffic of real agents: folded, replayed, read out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_notebook.timeline import MessageSegment, TimelineSnapshot, load_record
from acp_notebook.timeline.records import fold_record, header, redacted

FOLDER = Path(__file__).parent / "agents"
TRACES = sorted(FOLDER.glob("*.ndjson"))
each = pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)


def entries(trace):
    """Return the lines of a trace as objects."""
    return [json.loads(line) for line in trace.read_text("utf-8").splitlines()]


def said(trace):
    """Return what the agent said in each session since it was last opened, chunk by chunk."""
    spoken = {}
    for entry in entries(trace):
        message = entry.get("msg") or {}
        params = message.get("params") or {}
        if message.get("method") in ("session/load", "session/resume"):
            spoken[params.get("sessionId")] = []
        body = params.get("update") or {}
        if body.get("sessionUpdate") == "agent_message_chunk" and body["content"]["type"] == "text":
            spoken.setdefault(params["sessionId"], []).append(body["content"]["text"])
    return {session: "".join(texts) for session, texts in spoken.items()}


def heard(snapshot):
    """Return what a snapshot says the agent said."""
    return "".join(
        item.text
        for item in snapshot.items
        if isinstance(item, MessageSegment) and item.role == "assistant"
    )


def test_there_are_traces_of_nine_agents():
    """The files are here, and none is empty."""
    assert len(TRACES) == 121
    assert {path.name.split("-")[0] for path in TRACES} == {
        "claude", "codex", "codex2", "deepagents", "gemini", "opencode", "pi", "pyexample", "sdkexample",
    }  # fmt: skip
    assert min(path.stat().st_size for path in TRACES) > 100


@each
def test_all_assistant_text_is_there_in_order(trace):
    """Nothing raises, nothing is lost, nothing is unknown."""
    timelines = fold_record(trace.read_text("utf-8").splitlines())
    snapshots = {session: timeline.snapshot() for session, timeline in timelines.items()}
    for session, text in said(trace).items():
        assert heard(snapshots[session]) == text
    assert all(not shot.metadata.unrecognized for shot in snapshots.values())


@each
def test_every_snapshot_can_be_kept_and_read_out(trace):
    """JSON and back is the same; every view is written."""
    for timeline in fold_record(trace.read_text("utf-8").splitlines()).values():
        shot = timeline.snapshot()
        assert TimelineSnapshot.from_dict(json.loads(json.dumps(shot.to_dict(blobs=True)))) == shot
        for view in (shot.to_text(thoughts=True), shot.to_markdown(thoughts=True), shot.to_html()):
            view.encode()
        assert len(shot.to_frame("pandas")) == len(shot)


@each
def test_a_record_of_it_gives_the_same_snapshot_and_views(trace, tmp_path):
    """Redacted and with a header, as a chat records: equal but for the times."""
    record = tmp_path / "record.jsonl"
    lines = [header(agent="a", version=None, cwd="/w", started=0.0)]
    lines += [
        {**entry, "msg": redacted(entry["msg"])} if "msg" in entry else entry
        for entry in entries(trace)
    ]
    record.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    for session in fold_record(trace.read_text("utf-8").splitlines()):
        one, two = load_record(trace, session), load_record(record, session)
        assert timeless(one.to_dict(blobs=True)) == timeless(two.to_dict(blobs=True))
        assert one.to_text(thoughts=True) == two.to_text(thoughts=True)
        assert one.to_markdown(thoughts=True) == two.to_markdown(thoughts=True)
        assert one.to_html() == two.to_html()


def timeless(value):
    """Return JSON data without times."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in ("startedAt", "endedAt")}
    return [timeless(member) for member in value] if isinstance(value, list) else value


def one_of(name, session=None):
    """Return the snapshot of a trace."""
    return load_record(FOLDER / f"{name}.ndjson", session)


class TestQuirks:
    """Reference agents.md, section 3, seen in what is folded."""

    def test_no_bubble_is_empty(self):
        """Quirk 3: empty chunks leave nothing."""
        for trace in TRACES:
            for timeline in fold_record(trace.read_text("utf-8").splitlines()).values():
                for item in timeline.snapshot().items:
                    if isinstance(item, MessageSegment) and item.role == "assistant":
                        assert item.parts

    def test_every_settled_turn_has_no_open_call(self):
        """Quirks 8, 12 and 14: what agents leave open is closed by the client."""
        for trace in TRACES:
            for timeline in fold_record(trace.read_text("utf-8").splitlines()).values():
                shot = timeline.snapshot()
                assert not [c for c in shot.tool_calls if c.is_open]
                assert not [p for p in shot.permissions if p.status == "pending"]

    def test_gemini_announces_calls_by_asking(self):
        """Quirk 12: and a rejected one is marked by the client."""
        shot = one_of("gemini-tools-reject")
        rejected = [
            p for p in shot.permissions if p.selected and p.selected.kind.startswith("reject")
        ]
        assert rejected
        assert {shot[f"tool:{p.tool_call_id}"].status for p in rejected} <= {"cancelled", "failed"}

    @pytest.mark.parametrize("name", ["codex2-tools-allow", "pi-tools-allow", "claude-metacaps"])
    def test_agents_terminals_have_their_output(self, name):
        """Quirk 17: it comes in `_meta`."""
        calls = one_of(name).tool_calls
        assert any(p.output for c in calls for p in c.output_parts if p.kind == "terminal")

    def test_an_empty_terminal_leaves_the_raw_output_to_be_shown(self):
        """Quirk 17: codex names a terminal that it never feeds."""
        shot = one_of("codex-metacaps")
        assert any(
            p.kind == "terminal" and not p.output for c in shot.tool_calls for p in c.output_parts
        )
        assert "red" in shot.to_text()

    def test_reused_ids_are_new_calls(self):
        """Quirk 16: the SDK's example numbers its calls anew in each prompt."""
        ids = [c.id for c in one_of("sdkexample-basic").tool_calls]
        assert ids == ["tool:call_1", "tool:call_2", "tool:call_1#2", "tool:call_2#2"]

    def test_a_replayed_session_has_turns_and_no_times(self):
        """Quirk 26: a replay has neither usage nor times."""
        shot = one_of("claude-load")
        replayed = [t for t in shot.turns if t.items and t.items[0].historical]
        assert replayed
        assert {(t.usage, t.stop_reason, t.duration) for t in replayed} == {(None, None, None)}

    @pytest.mark.parametrize("name", ["claude-v2", "codex2-v2"])
    def test_v2_is_understood(self, name):
        """Section 4: claude and codex2 speak the draft when asked for it."""
        shot = one_of(name)
        assert shot.protocol_version == 2
        assert {turn.stop_reason for turn in shot.turns} <= {"end_turn", "cancelled", None}
        assert [turn for turn in shot.turns if turn.text and turn.stop_reason == "end_turn"]
        assert shot.tool_calls
