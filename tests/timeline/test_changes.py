"""Changes applied to files and taken back: the file is looked at first."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_notebook.timeline import Diff


@pytest.fixture
def file(tmp_path):
    """A file with three lines."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\nthree\n")
    return path


def unexpected():
    return pytest.raises(ValueError, match="not as this change expects it; nothing was written")


class TestTexts:
    """Protocol v1: whole texts or a snippet."""

    def test_a_snippet_is_replaced_and_put_back(self, file):
        """In its only place."""
        diff = Diff(str(file), "two\n", "TWO\n")
        assert diff.apply() is True
        assert file.read_text() == "one\nTWO\nthree\n"
        assert diff.apply() is False
        assert diff.revert() is True
        assert file.read_text() == "one\ntwo\nthree\n"
        assert diff.revert() is False

    def test_a_line_added_behind_another_is_added_once(self, file):
        """The new text holds the old one, which is still there afterwards."""
        diff = Diff(str(file), "two\n", "two\n2\n")
        assert diff.apply() is True
        assert diff.apply() is False
        assert file.read_text() == "one\ntwo\n2\nthree\n"
        assert diff.revert() is True
        assert diff.revert() is False
        assert file.read_text() == "one\ntwo\nthree\n"

    def test_a_whole_file_is_replaced(self, file):
        """When the old text is all of it."""
        Diff("a.txt", "one\ntwo\nthree\n", "").apply(file.parent)
        assert file.read_text() == ""
        Diff("a.txt", "one\ntwo\nthree\n", "").revert(file.parent)
        assert file.read_text() == "one\ntwo\nthree\n"

    def test_a_new_file_is_made_and_removed(self, tmp_path):
        """With its folders; an empty one may stand there."""
        path = tmp_path / "sub" / "new.txt"
        diff = Diff("sub/new.txt", None, "x\n")
        assert diff.apply(tmp_path)
        assert path.read_text() == "x\n"
        assert not diff.apply(tmp_path)
        assert diff.revert(tmp_path)
        assert not path.exists()
        path.touch()
        assert diff.apply(tmp_path)

    def test_line_ends_are_kept(self, file):
        """The file's own."""
        file.write_bytes(b"one\r\ntwo\r\n")
        Diff(str(file), "two", "TWO").apply()
        assert file.read_bytes() == b"one\r\nTWO\r\n"

    def test_relative_paths_are_below_the_working_folder(self, file, monkeypatch):
        """When none is given."""
        monkeypatch.chdir(file.parent)
        assert Diff("a.txt", "two", "TWO").apply()

    @pytest.mark.parametrize(
        ("old", "new"), [("four", "x"), ("o", "x"), (None, "x"), ("", "x"), ("four", "")]
    )
    def test_a_file_that_is_otherwise_is_left_alone(self, file, old, new):
        """Not there, in two places, or there already."""
        with unexpected():
            Diff(str(file), old, new).apply()
        assert file.read_text() == "one\ntwo\nthree\n"

    def test_a_file_that_is_missing_is_not_made(self, tmp_path):
        """There is nothing to change."""
        with unexpected():
            Diff("gone.txt", "a", "b").apply(tmp_path)

    def test_what_changed_since_is_not_taken_back(self, file):
        """The person has gone on."""
        diff = Diff(str(file), None, "new")
        with unexpected():
            diff.revert()

    def test_a_change_without_texts_cannot_be_made(self):
        """It names files only."""
        for diff in (Diff("a", changes=()), Diff(None, "a", "b")):
            with pytest.raises(ValueError, match="not what is in them"):
                diff.apply()


def patch(text, *changes):
    """Return a v2 change of this patch."""
    return Diff(None, patch=text, changes=tuple({"path": str(path)} for path in changes))


EDIT = """diff --git a/a.txt b/a.txt
index 1..2 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,4 @@
 one
-two
+TWO
+2
 three
"""


class TestPatches:
    """Protocol v2: a git patch."""

    def test_hunks_are_applied_and_taken_back(self, file):
        """Names are found among the paths of the changes, else below the folder."""
        for diff, root in ((patch(EDIT, file), None), (patch(EDIT), file.parent)):
            assert diff.apply(root)
            assert file.read_text() == "one\nTWO\n2\nthree\n"
            assert not diff.apply(root)
            assert diff.revert(root)
            assert file.read_text() == "one\ntwo\nthree\n"
            assert not diff.revert(root)

    def test_a_last_line_without_an_end_is_a_whole_line(self, file):
        """Not the beginning of a longer one."""
        end = "\\ No newline at end of file\n"
        text = f"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n{end}+2\n{end}"
        file.write_text("one\ntwofold\n")
        with unexpected():
            patch(text, file).apply()
        file.write_text("one\ntwo")
        assert patch(text, file).apply()
        assert file.read_text() == "one\n2"

    def test_lines_that_have_moved_are_found(self, file):
        """When they stand in one place only."""
        file.write_text("zero\n" * 5 + "one\ntwo\nthree\n")
        assert patch(EDIT, file).apply()
        assert file.read_text().endswith("one\nTWO\n2\nthree\n")

    def test_of_equal_places_the_named_line_is_taken(self, file):
        """Else it is not known which."""
        file.write_text("a\n" * 6)
        diff = patch("--- a/a.txt\n+++ b/a.txt\n@@ -3 +3 @@\n-a\n+b\n", file)
        assert diff.apply()
        assert file.read_text() == "a\na\nb\na\na\na\n"
        file.write_text("x\na\ny\na\n")
        with unexpected():
            diff.apply()

    def test_two_hunks_shift_each_other(self, file):
        """Line numbers are those of the old file."""
        file.write_text("a\n" * 3 + "mid\n" + "a\n" * 3)
        text = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-a\n+b\n+c\n@@ -6 +7 @@\n-a\n+d\n"
        assert patch(text, file).apply()
        assert file.read_text() == "b\nc\na\na\nmid\na\nd\na\n"

    def test_files_are_made_and_removed(self, tmp_path):
        """By `/dev/null`."""
        new = patch("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n")
        path = tmp_path / "new.txt"
        assert new.apply(tmp_path)
        assert path.read_text() == "a\nb\n"
        assert not new.apply(tmp_path)
        gone = patch("--- a/new.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n")
        assert gone.apply(tmp_path)
        assert not path.exists()
        assert not gone.apply(tmp_path)
        assert gone.revert(tmp_path)
        assert new.revert(tmp_path)
        assert not path.exists()

    def test_a_file_that_is_there_is_not_made(self, tmp_path):
        """And one with more in it is not removed."""
        (tmp_path / "new.txt").write_text("other\n")
        with unexpected():
            patch("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+a\n").apply(tmp_path)
        with unexpected():
            patch("--- a/new.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n").apply(tmp_path)
        with unexpected():
            patch("--- a/gone.txt\n+++ b/gone.txt\n@@ -1 +1 @@\n-a\n+b\n").apply(tmp_path)

    def test_files_are_renamed(self, file):
        """With a change in them."""
        text = "--- a/a.txt\n+++ b/b.txt\n@@ -1,3 +1,3 @@\n-one\n+ONE\n two\n three\n"
        assert patch(text).apply(file.parent)
        assert not file.exists()
        assert (file.parent / "b.txt").read_text() == "ONE\ntwo\nthree\n"
        assert patch(text).revert(file.parent)
        assert file.read_text() == "one\ntwo\nthree\n"

    def test_nothing_is_written_when_one_file_does_not_fit(self, file):
        """All or nothing."""
        other = file.with_name("b.txt")
        other.write_text("unlike\n")
        with unexpected():
            patch(EDIT + EDIT.replace("a.txt", "b.txt"), file, other).apply()
        assert file.read_text() == "one\ntwo\nthree\n"

    def test_the_last_line_may_have_no_end(self, file):
        """Git says so."""
        file.write_bytes(b"one")
        text = (
            "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n"
            "+two\n\\ No newline at end of file\n"
        )
        assert patch(text, file).apply()
        assert file.read_bytes() == b"two"
        half = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,2 @@\n-two\n\\ No newline at end of file\n+two\n+3\n"
        assert patch(half, file).apply()
        assert file.read_bytes() == b"two\n3\n"

    def test_an_empty_context_line_may_have_lost_its_blank(self, file):
        """Editors strip it."""
        file.write_text("a\n\nb\n")
        assert patch("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-a\n+A\n\n b\n", file).apply()
        assert file.read_text() == "A\n\nb\n"

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "words",
            "--- a\n+++ b\n",
            "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
            "@@ -1 +1 @@\n-a\n+b\n",
        ],
    )
    def test_what_is_no_patch_raises(self, text, tmp_path):
        """And says so."""
        with pytest.raises(ValueError, match="could not be read"):
            patch(text).apply(tmp_path)

    def test_old_paths_of_changes_are_known(self, tmp_path):
        """A move names two."""
        (tmp_path / "x.txt").write_text("a\n")
        diff = Diff(
            None,
            patch="--- a/x.txt\t2026\n+++ b/y.txt\n@@ -1 +1 @@\n-a\n+b\n",
            changes=(
                {"oldPath": str(tmp_path / "x.txt"), "path": str(tmp_path / "y.txt")},
                {"path": 5},
            ),
        )
        assert diff.apply()
        assert (tmp_path / "y.txt").read_text() == "b\n"


lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), min_size=1, max_size=12).map("".join)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(old=lines, new=lines)
def test_what_git_diff_writes_is_applied_and_taken_back(old, new, tmp_path):
    """Any two texts; where lines are equal the named line decides."""
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_text(old)
    after.write_text(new)
    found = subprocess.run(
        ["git", "diff", "--no-index", "--no-color", "before", "after"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    if old == new:
        return
    diff = patch(found.replace("after", "before"))
    assert diff.apply(tmp_path)
    assert before.read_text() == new
    assert diff.revert(tmp_path)
    assert before.read_text() == old
