"""The snapshot as JSON and back: the contract's `to_dict`."""

from __future__ import annotations

import json
import pickle

import pytest

from acp_notebook.timeline import (
    Timeline,
    TimelineSnapshot,
)
from tests.timeline.rich import rich


class TestJson:
    """Contract: `to_dict` has a fixed shape and `from_dict` reads it back."""

    def test_round_trip(self):
        """Through JSON, with and without the bytes."""
        shot = rich().snapshot()
        for blobs in (False, True):
            data = json.loads(json.dumps(shot.to_dict(blobs=blobs)))
            again = TimelineSnapshot.from_dict(data)
            assert again == shot
            assert again.to_dict(blobs=blobs) == data
            assert again.blobs == (shot.blobs if blobs else {})
            assert again.attachments == shot.attachments
            assert again.generation == 4

    def test_bytes_can_be_given_apart(self):
        """By their digest."""
        shot = rich().snapshot()
        assert TimelineSnapshot.from_dict(shot.to_dict(), shot.blobs).blobs == shot.blobs

    def test_the_shape(self):
        """Empty and null values are written, false marks are not."""
        assert Timeline("s").snapshot().to_dict() == {
            "schema": 1,
            "sessionId": "s",
            "generation": 0,
            "protocolVersion": 1,
            "agent": {"name": None, "title": None, "version": None},
            "items": [],
            "turns": [],
            "metadata": {
                "currentModeId": None,
                "availableModes": [],
                "availableCommands": [],
                "configOptions": [],
                "models": [],
                "currentModelId": None,
                "usage": None,
                "title": None,
                "updatedAt": None,
                "unrecognized": {},
            },
            "attachments": {},
        }

    def test_an_item_of_each_kind(self):
        """Names are the camelCase of the attributes."""
        data = {item["id"]: item for item in rich().snapshot().to_dict()["items"]}
        assert data["msg:user:u0:0"] == {
            "kind": "message-segment",
            "id": "msg:user:u0:0",
            "role": "user",
            "messageId": "u0",
            "segmentIndex": 0,
            "parts": [{"kind": "markdown", "text": "old"}],
            "historical": True,
        }
        tool = data["tool:t1"]
        assert {k: v for k, v in tool.items() if k != "outputParts"} == {
            "kind": "tool-call",
            "id": "tool:t1",
            "toolCallId": "t1",
            "title": "T",
            "name": None,
            "toolKind": "edit",
            "status": "pending",
            "agentStatus": None,
            "rawInput": {"a": [1, None]},
            "rawOutput": None,
            "locations": [{"path": "/a", "line": 1}],
            "error": None,
            "parentToolCallId": None,
            "startedAt": None,
            "endedAt": None,
            "noResult": True,
        }
        assert tool["outputParts"] == [
            {"kind": "markdown", "text": "x"},
            {"kind": "diff", "path": "/a", "oldText": "o", "newText": "n"},
            {
                "kind": "diff",
                "path": "/b",
                "patch": None,
                "changes": [{"operation": "add", "path": "/b"}],
            },
            {
                "kind": "terminal",
                "terminalId": "t",
                "output": "out",
                "exitStatus": {"exitCode": 0, "signal": None},
                "truncated": False,
            },
            {"kind": "error", "message": "This file change could not be read."},
            {
                "kind": "attachment",
                "refId": "tool:t1/0",
                "uri": None,
                "name": "",
                "mimeType": None,
                "size": None,
                "source": "resource",
                "blob": {
                    "sha256": "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea",
                    "size": 1,
                    "mimeType": "text/plain",
                },
            },
        ]
        assert data["perm:7"]["options"][0] == {
            "optionId": "allow_once",
            "name": "allow_once",
            "kind": "allow_once",
        }
        assert data["msg:assistant:s-e:0"]["supplement"] == "s"
        assert data["user:2"]["failed"] is True

    def test_a_turn(self):
        """With its items by their ids."""
        turn = rich().snapshot().to_dict()["turns"][2]
        assert turn == {
            "index": 2,
            "promptItemId": "user:2",
            "state": "failed",
            "stopReason": None,
            "stoppedByUser": False,
            "error": {"message": "no", "code": 1, "data": {"x": 1}},
            "startedAt": None,
            "endedAt": None,
            "usage": None,
            "agent": {"name": "a", "version": None, "model": None, "mode": None},
            "itemIds": ["user:2"],
        }

    def test_unknown_keys_are_kept(self):
        """At any place, and written again."""
        data = rich().snapshot().to_dict()
        data["future"] = None
        data["items"][0]["future"] = {"x": 1}
        data["items"][4]["parts"][0]["future"] = [1]
        data["turns"][1]["usage"]["future"] = 5
        assert TimelineSnapshot.from_dict(data).to_dict() == data

    @pytest.mark.parametrize("schema", [0, 2, "1", None])
    def test_an_unknown_schema_raises(self, schema):
        """It would be read wrongly."""
        with pytest.raises(ValueError, match="schema"):
            TimelineSnapshot.from_dict({**rich().snapshot().to_dict(), "schema": schema})

    def test_what_is_no_timeline_raises(self):
        """User files raise clearly."""
        for broken in (5, [], {}):
            with pytest.raises(ValueError, match="no timeline"):
                TimelineSnapshot.from_dict(broken)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda d: d.pop("items"),
            lambda d: d["items"][0].pop("role"),
            lambda d: d["items"][0].pop("kind"),
            lambda d: d["items"][0].update(parts=5),
            lambda d: d["items"][0]["parts"][0].update(text=5),
            lambda d: d["turns"][0].update(itemIds=["nope"]),
            lambda d: d.update(attachments=5),
        ],
    )
    def test_a_damaged_timeline_raises(self, damage):
        """And says what is wrong."""
        data = json.loads(json.dumps(rich().snapshot().to_dict()))
        damage(data)
        with pytest.raises(ValueError, match="damaged"):
            TimelineSnapshot.from_dict(data)

    @pytest.mark.parametrize("place", [("items", 0), ("items", 0, "parts", 0)])
    def test_an_unknown_kind_raises(self, place):
        """It could not be shown."""
        data = json.loads(json.dumps(rich().snapshot().to_dict()))
        found = data
        for key in place:
            found = found[key]
        found["kind"] = "hologram"
        with pytest.raises(ValueError, match="hologram"):
            TimelineSnapshot.from_dict(data)

    def test_a_snapshot_that_was_read_can_be_grouped_and_pickled(self):
        """It is a snapshot like any other."""
        again = TimelineSnapshot.from_dict(rich().snapshot().to_dict())
        assert pickle.loads(pickle.dumps(again)) == again
        assert again.turns[0].items[0] is again.items[0]
