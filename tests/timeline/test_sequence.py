"""Sequences that share what did not change."""

from __future__ import annotations

import pickle

import pytest

from acp_notebook.timeline.sequence import Chunks, Shared


class TestSequence:
    """`Shared` is a sequence like a tuple."""

    def test_like_a_tuple(self):
        """Indexes, slices, iteration, equality."""
        members = tuple(range(200))
        shared = Shared(members)
        assert (len(shared), shared[0], shared[-1], shared[63], shared[64]) == (200, 0, 199, 63, 64)
        assert tuple(shared) == members
        assert shared[10:150:7] == members[10:150:7]
        assert shared == members
        assert shared == list(members)
        assert shared == Shared(members)
        assert shared != Shared(members[1:])
        assert shared != "x"
        assert pickle.loads(pickle.dumps(shared)) == shared
        assert repr(Shared([1, 2])) == "[1, 2]"
        for index in (200, -201):
            with pytest.raises(IndexError, match="there are 200"):
                shared[index]

    @pytest.mark.parametrize("start", [0, 1, 63, 64, 100, 190])
    @pytest.mark.parametrize("length", [0, 1, 5, 64, 100])
    def test_the_growing_side_slices_like_a_list(self, start, length):
        """Within a chunk and over many."""
        chunks = Chunks(range(300))
        assert chunks.slice(start, start + length) == tuple(range(start, start + length))

    def test_the_growing_side_grows_and_replaces(self):
        """Over the edge of a chunk."""
        chunks = Chunks(range(60))
        first = chunks.freeze()
        chunks.extend(range(60, 200))
        chunks.replace(3, -3)
        second = chunks.freeze()
        assert first == tuple(range(60))
        assert second == (0, 1, 2, -3, *range(4, 200))
        assert len(chunks) == 200
