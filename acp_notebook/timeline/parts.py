"""
What a message, a thought or a tool call is made of, in block order.

    markdown     text                                                 grows
    image        blob | source, mimeType, alt
    audio        blob, mimeType
    attachment   refId, uri, name, mimeType, size, source, blob
    diff         path, oldText, newText   or   path, patch, changes
    terminal     terminalId, output, exitStatus, truncated            output grows
    error        message                                              in tool output only
    unsupported  type                                                 a block of an unknown type

Parts are frozen. The text of `markdown` and the output of `terminal` are `Text`: `part.origin`,
`part.length` and `part.since(n)` say what was added since another version of the same part.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from acp_notebook.timeline.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from acp_notebook.timeline.text import Text


@frozen
class Blob:
    """Bytes by their digest. `data` is None when they were left out of the JSON that was read."""

    sha256: str
    size: int
    mime_type: str | None
    data: bytes | None = field(default=None, compare=False, repr=False)


class _Growing:
    """The growing text of a part, under one name for those who send deltas."""

    __slots__ = ()

    body: Text

    @property
    def origin(self) -> object:
        """Who grows this text: parts of one origin are prefixes of each other."""
        return self.body.origin

    @property
    def length(self) -> int:
        """Characters in the text."""
        return self.body.length

    def since(self, length: int) -> str:
        """Return what comes after the first `length` characters."""
        return self.body.since(length)


@frozen
class Markdown(_Growing):
    """Text, read as Markdown."""

    kind: ClassVar[Literal["markdown"]] = "markdown"
    body: Text

    @property
    def text(self) -> str:
        """The whole text, joined when first asked for."""
        return str(self.body)


@frozen
class Image:
    """A picture: its bytes, or only a reference (`source`) that nobody fetches unasked."""

    kind: ClassVar[Literal["image"]] = "image"
    blob: Blob | None
    source: str | None
    mime_type: str | None
    alt: str | None


@frozen
class Audio:
    """Sound, by its bytes."""

    kind: ClassVar[Literal["audio"]] = "audio"
    blob: Blob | None
    mime_type: str | None


@frozen
class Attachment:
    """
    A reference to a file or a resource.

    `source` says where it comes from: `resource_link`, `resource` (embedded, then `blob` holds
    what it carries) or the name of a supplement. Whether it can be opened stands in
    `snapshot.attachments[ref_id]`, because that depends on this machine's disk.
    """

    kind: ClassVar[Literal["attachment"]] = "attachment"
    ref_id: str
    uri: str | None
    name: str
    mime_type: str | None
    size: int | None
    source: str
    blob: Blob | None = None


@frozen
class Diff:
    """
    A change of files: whole texts or snippets of one file (v1), or a patch (v2).

    `old_text` is None for a new file. `changes` are `{operation, path, oldPath?, …}`; they are
    authoritative for the paths, `patch` may be absent.
    """

    kind: ClassVar[Literal["diff"]] = "diff"
    path: str | None
    old_text: str | None = None
    new_text: str | None = None
    patch: str | None = None
    changes: tuple[Mapping[str, Any], ...] | None = None

    def apply(self, cwd: str | PathLike[str] | None = None) -> bool:
        """
        Make this change in the files; False when they are that way already.

        Relative paths are below `cwd`. Raises: ValueError when a file is not as the change
        expects it, and then no file is written.
        """
        from acp_notebook.timeline import changes

        return changes.apply(self, cwd)

    def revert(self, cwd: str | PathLike[str] | None = None) -> bool:
        """Take this change back, with the same care as `apply`."""
        from acp_notebook.timeline import changes

        return changes.apply(self, cwd, revert=True)


@frozen
class ExitStatus:
    """How a command ended; both fields may be unknown."""

    exit_code: int | None
    signal: str | None


@frozen
class Terminal(_Growing):
    """A terminal's output so far, escape codes and all. `truncated`: its middle was dropped."""

    kind: ClassVar[Literal["terminal"]] = "terminal"
    terminal_id: str
    body: Text
    exit_status: ExitStatus | None
    truncated: bool

    @property
    def output(self) -> str:
        """The whole output, joined when first asked for."""
        return str(self.body)


@frozen
class Error:
    """Tool content that could not be read."""

    kind: ClassVar[Literal["error"]] = "error"
    message: str


@frozen
class Unsupported:
    """A content block of a type that this version does not know, at its place."""

    kind: ClassVar[Literal["unsupported"]] = "unsupported"
    type: str


Part = Markdown | Image | Audio | Attachment | Diff | Terminal | Error | Unsupported
