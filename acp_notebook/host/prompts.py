"""
Prompts before they go out: what may be in them, how large they may be, and how they wait.

Only what the agent's `promptCapabilities` allow is sent. An unknown block type fails the whole prompt
with every agent that was tried, and an empty list with some: neither is ever sent.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acp_notebook.errors import LimitExceeded
from acp_notebook.host.state import QueuedPrompt, TurnResult
from acp_notebook.timeline import Timeline

if TYPE_CHECKING:
    import asyncio

Blocks = Sequence[Mapping[str, Any]]

_numbers = itertools.count(1)

_TEXT_FIELDS = {"text": "text", "resource_link": "uri"}


@dataclass(slots=True, eq=False)
class Entry:
    """A prompt that waits or runs. `done` resolves with its settled turn."""

    shown: QueuedPrompt
    done: asyncio.Future[Any]
    timeout_s: float | None = None
    headless: bool = False
    awaited: bool = False
    """Somebody waits for `done`: a failure to open the session is told there."""
    run: PromptRun | None = None
    """Once it has been sent."""


@dataclass(slots=True, eq=False)
class PromptRun:
    """
    A prompt on its way. `stopped`: `session/cancel` was sent. `failure`: it was not a person who
    stopped it, and why. `unconfirmed`: settled here, since the agent did not answer in time.
    """

    entry: Entry
    began: float
    """On the loop's clock."""
    started_at: float
    """Seconds since the epoch."""
    index: int = -1
    stopped: bool = False
    settled: bool = False
    unconfirmed: bool = False
    failure: str | None = None
    grace: asyncio.TimerHandle | None = None
    timer: asyncio.TimerHandle | None = None


def queued(blocks: Blocks) -> QueuedPrompt:
    """
    Return a prompt with a new id.

    Raises:
        ValueError: there is nothing in it, or a block is no content block.
    """
    checked = tuple(_checked(block) for block in blocks)
    if not any(_has_content(block) for block in checked):
        raise ValueError("The prompt is empty.")
    return QueuedPrompt(f"q{next(_numbers)}", shown_text(checked), checked)


def shown_text(blocks: Blocks) -> str:
    """Return what a person reads of a prompt."""
    return "\n\n".join(str(b["text"]) for b in blocks if b.get("type") == "text" and b.get("text"))


def title_of(prompt: str) -> str:
    """Return the title that a first prompt gives: its first line, at most 80 characters."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return line if len(line) <= 80 else f"{line[:79]}…"


def unsent_turn(blocks: Blocks) -> TurnResult:
    """Return a turn for a prompt that was stopped before it could be sent; no session holds it."""
    timeline, now = Timeline(""), time.time()
    timeline.begin_prompt(list(blocks), at=now)
    timeline.cancel_prompt(at=now)
    timeline.settle_prompt("cancelled", at=now)
    return TurnResult(timeline.snapshot(), 0)


def check_size(blocks: Blocks, max_bytes: int) -> None:
    """
    Check the text of a prompt, per block and in total.

    Raises:
        LimitExceeded: it is larger than `max_bytes` (UTF-8).
    """
    total = 0
    for block in blocks:
        total += len(_text_of(block).encode("utf-8", "surrogatepass"))
        if total > max_bytes:
            raise LimitExceeded(
                "max_prompt_bytes",
                max_bytes,
                f"The prompt has more than {max_bytes:,} bytes of text (max_prompt_bytes).",
            )


def allowed_blocks(
    blocks: Blocks, capabilities: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[str]]:
    """
    Return the blocks that this agent takes, and a note for each one that had to be changed.

    An image, a sound or an embedded resource without the capability becomes a link when it has a uri,
    an embedded text becomes text; what has neither is left out.
    """
    prompt = capabilities.get("promptCapabilities")
    offered: Mapping[str, Any] = prompt if isinstance(prompt, dict) else {}
    sent: list[dict[str, Any]] = []
    notes: list[str] = []
    for block in blocks:
        kind = block.get("type")
        needed = {"image": "image", "audio": "audio", "resource": "embeddedContext"}.get(str(kind))
        if needed is None or offered.get(needed) is True:
            sent.append(dict(block))
            continue
        other = _instead(block)
        if other is None:
            notes.append(f"The agent takes no {kind} content; it was left out.")
        else:
            sent.append(other)
            how = "a link" if other["type"] == "resource_link" else "text"
            notes.append(f"The agent takes no {kind} content; it was sent as {how}.")
    return sent, notes


def _instead(block: Mapping[str, Any]) -> dict[str, Any] | None:
    resource = block.get("resource")
    inner: Mapping[str, Any] = resource if isinstance(resource, dict) else block
    uri = inner.get("uri")
    if isinstance(inner.get("text"), str) and block.get("type") == "resource":
        name = f"{uri}\n" if isinstance(uri, str) else ""
        return {"type": "text", "text": f"{name}{inner['text']}"}
    if not isinstance(uri, str) or not uri:
        return None
    link = {"type": "resource_link", "uri": uri, "name": uri.rstrip("/").rpartition("/")[2] or uri}
    if isinstance(inner.get("mimeType"), str):
        link["mimeType"] = inner["mimeType"]
    return link


def _checked(block: Any) -> dict[str, Any]:
    kinds = {"text", "image", "audio", "resource_link", "resource"}
    if not isinstance(block, Mapping) or block.get("type") not in kinds:
        kind = block.get("type") if isinstance(block, Mapping) else type(block).__name__
        raise ValueError(f"{kind!r} is no content block of ACP ({', '.join(sorted(kinds))}).")
    return dict(block)


def _has_content(block: Mapping[str, Any]) -> bool:
    return block["type"] != "text" or bool(str(block.get("text") or "").strip())


def _text_of(block: Mapping[str, Any]) -> str:
    if block.get("type") == "resource" and isinstance(block.get("resource"), Mapping):
        return str(block["resource"].get("text") or "")
    return str(block.get(_TEXT_FIELDS.get(str(block.get("type")), "")) or "")
