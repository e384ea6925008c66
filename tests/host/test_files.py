"""Files that the agent reads and writes through the host."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from acp_notebook.host.files import FileAccess, FileRefused
from acp_notebook.host.policy import Policy, Rule
from tests.host.talk import Talk


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def access(
    cwd: Path, policy: Policy | None = None, agent: str = "x", **options: object
) -> FileAccess:
    additional = options.pop("additional", ())
    size = options.pop("max_bytes", 1000)
    return FileAccess.of(str(cwd), additional, policy or Policy(), size, agent)


class TestRead:
    @pytest.mark.parametrize(
        ("line", "limit", "expected"),
        [
            (None, None, "a\r\nb\nc"),
            (2, None, "b\nc"),
            (1, 1, "a\r\n"),
            (3, 5, "c"),
            (9, 2, ""),
            (0, 1, "a\r\n"),
            (None, 0, ""),
        ],
    )
    def test_lines(self, inside: Path, line: int | None, limit: int | None, expected: str) -> None:
        """`line` counts from 1, `limit` is a number of lines, line ends stay as they are."""
        (inside / "a.txt").write_bytes(b"a\r\nb\nc")
        assert access(inside).read(str(inside / "a.txt"), line, limit) == expected

    def test_a_path_of_the_folder_itself(self, inside: Path) -> None:
        """A relative path counts from the session's folder."""
        (inside / "a.txt").write_text("here")
        assert access(inside).read("a.txt") == "here"

    @pytest.mark.parametrize(
        "path", ["../outside/secret.txt", "link", "folder/secret.txt", "", "a\0b"]
    )
    def test_outside_is_refused(self, inside: Path, outside: Path, path: str) -> None:
        """A path that leaves the roots is refused, also by a link or a linked folder."""
        (inside / "link").symlink_to(outside / "secret.txt")
        (inside / "folder").symlink_to(outside)
        with pytest.raises(FileRefused):
            access(inside).read(path)

    def test_additional_directories_are_roots(self, inside: Path, outside: Path) -> None:
        """Files in an additional directory may be read."""
        assert (
            access(inside, additional=[str(outside)]).read(str(outside / "secret.txt")) == "secret"
        )

    def test_a_rule_opens_a_path(self, inside: Path, outside: Path) -> None:
        """A rule that names the path allows it; `allow-all` names none and opens nothing outside."""
        path = str(outside / "secret.txt")
        opened = Policy("own", (Rule("allow_once", kind="read", path=f"{outside}/*"),))
        assert access(inside, opened).read(path) == "secret"
        with pytest.raises(FileRefused):
            access(inside, Policy.of("allow-all")).read(path)

    def test_what_is_no_text_is_refused(self, inside: Path) -> None:
        """A folder, a pipe, binary data and a file that is too large are errors, and nothing hangs."""
        (inside / "folder").mkdir()
        (inside / "data").write_bytes(b"\xff\xfe\x00")
        (inside / "large").write_text("x" * 1001)
        os.mkfifo(inside / "pipe")
        for name in ("folder", "data", "large", "pipe"):
            with pytest.raises(FileRefused):
                access(inside).read(name)

    def test_a_missing_file(self, inside: Path) -> None:
        """A missing file is an error, but empty text for gemini, which takes no error here."""
        with pytest.raises(FileRefused, match="does not exist"):
            access(inside).read("none.txt")
        assert access(inside, agent="gemini-cli").read("none.txt") == ""


class TestWrite:
    def test_is_atomic_and_keeps_mode_and_line_ends(self, inside: Path) -> None:
        """An existing file keeps its mode and CRLF line ends, and nothing is left beside it."""
        path = inside / "run.sh"
        path.write_bytes(b"one\r\ntwo\r\n")
        path.chmod(0o755)
        access(inside).write("run.sh", "one\nthree\n")
        assert path.read_bytes() == b"one\r\nthree\r\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o755
        assert [p.name for p in inside.iterdir()] == ["run.sh"]

    def test_new_files_in_new_folders(self, inside: Path) -> None:
        """Folders on the way are made, and a new file has the mode that the umask leaves."""
        (inside / "plain").write_text("")
        access(inside).write("a/b/c.txt", "x\n")
        path = inside / "a/b/c.txt"
        assert path.read_text() == "x\n"
        assert path.stat().st_mode == (inside / "plain").stat().st_mode

    @pytest.mark.parametrize("path", ["../outside/new.txt", "dangling", "folder/new.txt"])
    def test_nothing_is_made_outside(self, inside: Path, outside: Path, path: str) -> None:
        """A write through a link, also a dangling one, makes nothing outside."""
        (inside / "dangling").symlink_to(outside / "new.txt")
        (inside / "folder").symlink_to(outside)
        with pytest.raises(FileRefused):
            access(inside).write(path, "x")
        assert [p.name for p in outside.iterdir()] == ["secret.txt"]

    def test_a_notebook_needs_a_rule(self, inside: Path) -> None:
        """A notebook is written only when a rule names it."""
        with pytest.raises(FileRefused, match="notebook"):
            access(inside, Policy.of("allow-all")).write("a.ipynb", "{}")
        rule = Policy("own", (Rule("allow_once", kind="edit", path="{cwd}/*.ipynb"),))
        assert access(inside, rule).write("a.ipynb", "{}").read_text() == "{}"

    def test_too_much_is_refused(self, inside: Path) -> None:
        """More than `max_file_bytes` is refused and nothing is written."""
        with pytest.raises(FileRefused, match="1,000"):
            access(inside).write("a.txt", "é" * 600)
        assert list(inside.iterdir()) == []


class TestOnTheWire:
    def ask(self, talk: Talk, method: str, **params: object) -> dict:
        return json.loads(talk.prompt(f"request {method} {json.dumps(params)}").text)

    def test_read_and_write(self, talk: Talk, tmp_path: Path) -> None:
        """An agent reads and writes below the session's folder."""
        path = str(tmp_path / "a.txt")
        assert self.ask(talk, "fs/write_text_file", path=path, content="hi\n") == {"result": {}}
        assert self.ask(talk, "fs/read_text_file", path=path) == {"result": {"content": "hi\n"}}

    def test_refusals_are_errors(self, talk: Talk) -> None:
        """A refused or malformed request is answered with an error, and the session goes on."""
        codes = [
            self.ask(talk, "fs/read_text_file", path="/etc/passwd")["error"]["code"],
            self.ask(talk, "fs/read_text_file", path="none.txt")["error"]["code"],
            self.ask(talk, "fs/read_text_file", path=7)["error"]["code"],
            self.ask(talk, "fs/read_text_file", path="a", line="x")["error"]["code"],
            self.ask(talk, "fs/no_such_method")["error"]["code"],
        ]
        assert codes == [-32602, -32002, -32602, -32602, -32601]

    def test_a_policy_that_denies_refuses_writes(self, talk: Talk, tmp_path: Path) -> None:
        """Under `deny`, a write that was not even asked for is refused."""
        talk.call(talk.session.set_policy, Policy.of("deny"))
        answer = self.ask(talk, "fs/write_text_file", path="a.txt", content="x")
        assert "refuses" in answer["error"]["message"]
        assert list(tmp_path.iterdir()) == []
