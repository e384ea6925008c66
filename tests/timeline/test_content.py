"""Content blocks, attachments and their states: rules 16a and 17 of timeline.md."""

from __future__ import annotations

from hashlib import sha256

import pytest

from acp_notebook.timeline import Attachment, Audio, Blob, Image, Timeline, Unsupported
from tests.timeline.updates import (
    SESSION,
    call,
    call_update,
    folded,
    message,
    snapshot,
    text,
    update,
)

PNG = b"\x89PNG\r\n\x1a\n"
PNG_TEXT = "iVBORw0KGgo="


def parts(*blocks):
    """Return the parts of one message of these blocks."""
    updates = [update("agent_message_chunk", content=block, messageId="m") for block in blocks]
    shot = snapshot(*updates)
    return shot.items[0].parts if len(shot) else ()


def link(uri, **fields):
    """Return a resource link."""
    return {"type": "resource_link", "uri": uri, **fields}


def resource(**fields):
    """Return an embedded resource."""
    return {"type": "resource", "resource": fields}


class TestBlocks:
    """Each block is a part at its place."""

    def test_a_picture_is_its_bytes(self):
        """Its uri is a reference only."""
        (part,) = parts(
            {"type": "image", "data": PNG_TEXT, "mimeType": "image/png", "uri": "file:///w/a.png"}
        )
        assert part == Image(
            Blob(sha256(PNG).hexdigest(), 8, "image/png"), "file:///w/a.png", "image/png", "a.png"
        )
        assert part.blob.data == PNG

    def test_base64_may_have_line_breaks(self):
        """Some encoders break lines."""
        (part,) = parts(
            {"type": "image", "data": f"{PNG_TEXT[:4]}\n{PNG_TEXT[4:]}", "mimeType": "image/png"}
        )
        assert part.blob.data == PNG

    @pytest.mark.parametrize("data", ["!!not base64!!", "", None, 5, "iVBO=w0KGgo", "é"])
    def test_a_picture_that_cannot_be_read_has_no_bytes(self, data):
        """It stays at its place."""
        (part,) = parts({"type": "image", "data": data, "mimeType": "image/png"})
        assert part == Image(None, None, "image/png", None)

    def test_sound_is_its_bytes(self):
        """As a picture."""
        (part,) = parts({"type": "audio", "data": PNG_TEXT, "mimeType": "audio/wav"})
        assert part == Audio(Blob(sha256(PNG).hexdigest(), 8, "audio/wav"), "audio/wav")

    def test_an_unknown_type_is_shown_as_unsupported(self):
        """Rule 17: and nothing is counted, since it is shown."""
        assert parts({"type": "hologram", "z": 1}) == (Unsupported("hologram"),)

    def test_bytes_are_found_by_their_digest(self):
        """`snap.blobs` has them, once."""
        block = {"type": "image", "data": PNG_TEXT, "mimeType": "image/png"}
        shot = snapshot(
            update("agent_message_chunk", content=block),
            update("agent_message_chunk", content=block),
            call(content=[{"type": "content", "content": block}]),
            call("t2", content=[{"type": "content", "content": {"type": "image"}}]),
        )
        assert shot.blobs == {sha256(PNG).hexdigest(): PNG}


class TestNames:
    """Rule 16a: what an attachment is called."""

    @pytest.mark.parametrize(
        ("block", "name"),
        [
            (link("file:///a/b.txt", name="n", title="t"), "n"),
            (link("file:///a/b.txt", title="t"), "t"),
            (link("file:///a/b%20c%2520.txt"), "b c%20.txt"),
            (link("https://e.org/x/y.pdf?q=1#f"), "y.pdf"),
            (link("file:///a/dir/"), "dir"),
            (link("weird:"), "weird:"),
            (link("http://[broken/x"), "x"),
            (link("file:///a/b.txt", name=5, title=""), "b.txt"),
            (resource(uri="file:///a/b.txt", text="x"), "b.txt"),
            (resource(uri="file:///a/b.txt", text="x", name="n"), "n"),
            ({**resource(uri="file:///a/b.txt", text="x"), "title": "t"}, "t"),
            (resource(text="x"), ""),
        ],
    )
    def test_name_else_title_else_the_last_part_of_the_uri(self, block, name):
        """Decoded once."""
        (part,) = parts(block)
        assert part.name == name

    def test_a_link_keeps_what_it_says(self):
        """Uri, type and size as given."""
        (part,) = parts(link("file:///a.txt", name="a", mimeType="text/x", size=5))
        assert part == Attachment(
            "msg:assistant:m:0/0", "file:///a.txt", "a", "text/x", 5, "resource_link"
        )

    @pytest.mark.parametrize("size", ["5", True, 1.5, None])
    def test_a_size_that_is_no_number_is_unknown(self, size):
        """Never a guess."""
        assert parts(link("file:///a", size=size))[0].size is None


class TestEmbedded:
    """Embedded content is shown from the timeline itself."""

    def test_text_is_kept_as_bytes(self):
        """With a type of its own when none is given."""
        (part,) = parts(resource(uri="kernel:df", text="é"))
        assert (part.source, part.blob.data, part.blob.mime_type) == (
            "resource",
            "é".encode(),
            "text/plain",
        )

    def test_bytes_are_decoded(self):
        """And kept."""
        (part,) = parts(resource(uri="file:///a.png", blob=PNG_TEXT, mimeType="image/png"))
        assert part.blob.data == PNG

    @pytest.mark.parametrize(
        "broken", [{"type": "resource"}, {"type": "resource", "resource": 5}, resource()]
    )
    def test_without_content_and_uri_it_is_unavailable_in_its_place(self, broken):
        """Never an error of unsupported content."""
        shot = snapshot(update("agent_message_chunk", content=broken, messageId="m"))
        (part,) = shot.items[0].parts
        assert (part.kind, part.uri, part.blob) == ("attachment", None, None)
        assert shot.attachments == {
            part.ref_id: {"state": "unavailable", "reason": "no_usable_uri"}
        }


class TestStates:
    """The host says what it found; the timeline keeps it by `refId`."""

    def test_each_reference_has_its_own_id(self):
        """Equal uris before and after a tool call stay two."""
        shot = snapshot(
            update("agent_message_chunk", content=link("file:///a"), messageId="m"),
            call(content=[{"type": "content", "content": link("file:///a")}]),
            update("agent_message_chunk", content=link("file:///a"), messageId="m"),
        )
        assert shot.attachments == {
            "msg:assistant:m:0/0": {"state": "pending"},
            "tool:t1/0": {"state": "pending"},
            "msg:assistant:m:1/0": {"state": "pending"},
        }

    def test_a_resolution_touches_its_item(self):
        """And makes another turn object, so that groups are made anew."""
        timeline = folded(update("agent_message_chunk", content=link("file:///a"), messageId="m"))
        before = timeline.snapshot()
        state = {"state": "available", "identity": "/a", "size": 5}
        assert timeline.resolve_attachment("msg:assistant:m:0/0", state) == ("msg:assistant:m:0",)
        after = timeline.snapshot()
        assert after.attachments == {"msg:assistant:m:0/0": state}
        assert after.items[0] is before.items[0]
        assert after.turns[0] is not before.turns[0]
        assert after == before

    def test_the_same_state_again_touches_nothing(self):
        """There is nothing to tell."""
        timeline = folded(update("agent_message_chunk", content=link("file:///a"), messageId="m"))
        assert timeline.resolve_attachment("msg:assistant:m:0/0", {"state": "pending"}) == ()

    @pytest.mark.parametrize("ref_id", ["", "x/0", "msg:assistant:m:0/7", "msg:assistant:m:0"])
    def test_an_unknown_reference_changes_nothing(self, ref_id):
        """It may be gone by now."""
        timeline = folded(message("a", "m"))
        assert timeline.resolve_attachment(ref_id, {"state": "available"}) == ()

    def test_another_reference_at_the_same_place_drops_the_resolution(self):
        """An equal one keeps it."""
        timeline = folded(call(content=[{"type": "content", "content": link("file:///a")}]))
        timeline.resolve_attachment("tool:t1/0", {"state": "available"})
        timeline.apply(call_update(content=[{"type": "content", "content": link("file:///a")}]))
        assert timeline.snapshot().attachments["tool:t1/0"] == {"state": "available"}
        timeline.apply(call_update(content=[{"type": "content", "content": link("file:///b")}]))
        assert timeline.snapshot().attachments["tool:t1/0"] == {"state": "pending"}
        late = {"state": "available", "uri": "file:///a"}
        assert timeline.resolve_attachment("tool:t1/0", late) == ()
        assert timeline.resolve_attachment("tool:t1/0", {**late, "uri": "file:///b"}) == (
            "tool:t1",
        )
        assert timeline.snapshot().attachments["tool:t1/0"] == {"state": "available"}

    def test_states_of_what_is_gone_are_forgotten(self):
        """Content that is replaced takes its attachments along."""
        two = [{"type": "content", "content": link(f"file:///{n}")} for n in "ab"]
        timeline = folded(call(content=two), call_update(content=two[:1]))
        assert list(timeline.snapshot().attachments) == ["tool:t1/0"]
        timeline.apply(call_update(content=[]))
        assert timeline.snapshot().attachments == {}


class TestSupplements:
    """Rule 18a: content that is not from ACP."""

    def timeline(self):
        timeline = Timeline(SESSION)
        for question in "ab":
            timeline.begin_prompt([text(question)])
            timeline.apply(message(f"answer {question}", f"m{question}"))
            timeline.settle_prompt("end_turn")
        return timeline

    def test_it_stands_in_its_turn_marked_with_its_source(self):
        """Also in an earlier one."""
        timeline = self.timeline()
        before = timeline.snapshot()
        (touched,) = timeline.supplement(0, [link("file:///a")], source="openclaw", evidence="e:1")
        shot = timeline.snapshot()
        assert touched == "msg:assistant:openclaw-e%3A1:0"
        assert [item.id for item in shot.turns[0].items] == [
            "user:1",
            "msg:assistant:ma:0",
            touched,
        ]
        assert [item.id for item in shot.items][2:4] == [touched, "user:2"]
        assert shot[touched].supplement == "openclaw"
        assert shot.items.position("user:2") == 3
        assert before.items.position("user:2") == 2
        assert shot.turns[1] is before.turns[1]

    def test_the_same_evidence_replaces(self):
        """And empty parts clear."""
        timeline = self.timeline()
        timeline.supplement(1, [text("x")], source="s", evidence="e")
        (touched,) = timeline.supplement(1, [text("y")], source="s", evidence="e")
        assert timeline.snapshot()[touched].text == "y"
        timeline.supplement(1, [], source="s", evidence="e")
        assert timeline.snapshot()[touched].parts == ()

    def test_live_text_goes_on_as_if_it_were_not_there(self):
        """It ends no segment."""
        timeline = folded(message("a"))
        timeline.supplement(0, [text("x")], source="s", evidence="e")
        timeline.apply(message("b"))
        assert timeline.snapshot().items[0].text == "ab"

    def test_times_are_taken_where_acp_told_none(self):
        """And only there."""
        timeline = folded(message("a"), historical=True)
        assert timeline.supplement(0, source="s", evidence="t", started_at=1.0, ended_at=4.0) == ()
        assert timeline.snapshot().turns[0].duration == 3.0
        timeline.supplement(0, source="s", evidence="t", started_at=7.0)
        assert timeline.snapshot().turns[0].started_at == 1.0

    def test_nothing_given_changes_nothing(self):
        """No item is made."""
        timeline = folded(message("a"))
        before = timeline.snapshot()
        assert timeline.supplement(0, source="s", evidence="t") == ()
        assert timeline.snapshot() is before

    def test_a_turn_that_is_not_there_raises(self):
        """That is the caller's fault."""
        with pytest.raises(IndexError):
            folded().supplement(0, source="s", evidence="t")
