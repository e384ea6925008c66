"""Reading the gateway's message records, live (`chat` events) and stored (`sessions.get`). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Record = dict[str, Any]


def blocks(record: Record) -> list[dict[str, Any]]:
    """Return a record's content blocks; a bare text, in `content` or `text`, is one."""
    content = record.get("content", record.get("text"))
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def texts(record: Record) -> list[str]:
    """Return the texts of a record's text blocks."""
    return [
        block["text"]
        for block in blocks(record)
        if block.get("type") == "text" and isinstance(block.get("text"), str)
    ]


def chunk_of(piece: str | dict[str, Any]) -> dict[str, Any]:
    """Return the message chunk of a text or of a content block."""
    content = {"type": "text", "text": piece} if isinstance(piece, str) else piece
    return {"sessionUpdate": "agent_message_chunk", "content": content}


def image_content(block: dict[str, Any]) -> dict[str, Any] | None:
    """Return an image block with its bytes inline as ACP's `image`; None when there are none."""
    data, mime_type = block.get("data"), block.get("mimeType")
    if _is_text(data) and _is_text(mime_type):
        return {"type": "image", "mimeType": mime_type, "data": data}
    return None


def media_facts(
    record: Record, link: Callable[[str], dict[str, Any] | None]
) -> list[dict[str, Any]]:
    """Return the links of a record's `__openclaw.media` facts."""
    own = record.get("__openclaw")
    facts = own.get("media") if isinstance(own, dict) else None
    found: list[dict[str, Any]] = []
    for fact in facts if isinstance(facts, list) else ():
        named = (
            [fact.get(key) for key in ("path", "url", "uri")] if isinstance(fact, dict) else [fact]
        )
        reference = next((value for value in named if _is_text(value)), None)
        content = link(reference) if reference else None
        if content is not None and content not in found:
            found.append(content)
    return found


def after_prompt(transcript: Iterable[Any], run_id: str) -> list[Record] | None:
    """Return what was recorded between a run's prompt and the next one; None without the prompt."""
    found: list[Record] | None = None
    for record in transcript:
        if not isinstance(record, dict):
            continue
        if record.get("role") == "user":
            if found is not None:
                break
            if record.get("idempotencyKey") == f"{run_id}:user":
                found = []
        elif found is not None:
            found.append(record)
    return found


def find_run(records: Sequence[Record], run_id: str, message: str) -> list[Record] | None:
    """
    Return the records that follow a run's prompt, up to the next one; None when it is not there.

    The prompt is found by its idempotency key. Where no record has one, the newest user record
    with the very text that was sent, with its directory line or without, is it.
    """
    found = after_prompt(records, run_id)
    if found is not None or any(_is_text(record.get("idempotencyKey")) for record in records):
        return found
    wanted = {message.strip(), message.partition("]\n\n")[2].strip()} - {""}
    for at in reversed(range(len(records))):
        if records[at].get("role") == "user" and "\n".join(texts(records[at])).strip() in wanted:
            return list(records[at + 1 :])
    return None


def has_ended(after: Sequence[Record]) -> bool:
    """Whether the records after a prompt hold its last answer: it asks for no more tools."""
    last = after[-1] if after else {}
    return last.get("role") == "assistant" and last.get("stopReason") not in {None, "toolUse"}


def run_text(after: Iterable[Record]) -> str:
    """Return the text of all assistant records, joined as the gateway joins it live."""
    return "".join(
        text for record in after if record.get("role") == "assistant" for text in texts(record)
    ).rstrip()


def error_text(after: Sequence[Record]) -> str | None:
    """Return the error that a run ended with, as its last assistant record has it."""
    last = after[-1] if after else {}
    message = last.get("errorMessage")
    return message if last.get("stopReason") == "error" and _is_text(message) else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""
