"""A client's prompt as the parameters of `chat.send`."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from acp_notebook.bridge import mapping
from acp_notebook.bridge.sessions import SessionMeta, read_bool, read_number, read_text

if TYPE_CHECKING:
    from acp_notebook.bridge.options import BridgeOptions
    from acp_notebook.bridge.sessions import Session

_MAX_SAFE_INTEGER = 2**53 - 1


def chat_send(
    session: Session, params: dict[str, Any], run_id: str, options: BridgeOptions, home: str
) -> dict[str, Any]:
    """
    Return the parameters; the idempotency key is the run id.

    Raises:
        PromptTooLarge: blocks, or blocks and working-directory line, are over the limit.
    """
    blocks, meta = params["prompt"], params.get("_meta")
    text = mapping.prompt_text(blocks, options.max_prompt_bytes)
    told = SessionMeta.of(params).prefix_cwd
    if told is None:
        told = session.prefix_cwd if session.prefix_cwd is not None else options.prefix_cwd
    message = mapping.with_cwd(text, session.cwd, home) if told else text
    if mapping.utf8_size(message) > options.max_prompt_bytes:
        raise mapping.PromptTooLarge(options.max_prompt_bytes)
    optional: dict[str, Any] = {
        "attachments": mapping.attachments(blocks) or None,
        "thinking": read_text(meta, "thinking", "thinkingLevel"),
        "deliver": read_bool(meta, "deliver"),
        "timeoutMs": _milliseconds(read_number(meta, "timeoutMs")),
        **_provenance(session, options, home),
    }
    return {
        "sessionKey": session.key,
        "message": message,
        "idempotencyKey": run_id,
        **{name: value for name, value in optional.items() if value is not None},
    }


def first_line(blocks: list[dict[str, Any]]) -> str:
    """Return the first text of a prompt, which stands in for a title that is missing."""
    return next(
        (
            block["text"].strip()
            for block in blocks
            if block.get("type") == "text" and block.get("text", "").strip()
        ),
        "",
    )


def _milliseconds(value: float | None) -> int | None:
    if value is None or value != int(value) or not 0 <= value <= _MAX_SAFE_INTEGER:
        return None
    return int(value)


def _provenance(session: Session, options: BridgeOptions, home: str) -> dict[str, Any]:
    if options.provenance == "off":
        return {}
    told: dict[str, Any] = {
        "systemInputProvenance": {
            "kind": "external_user",
            "originSessionId": session.id,
            "sourceChannel": "acp",
            "sourceTool": "openclaw_acp",
        }
    }
    if options.provenance == "meta+receipt":
        told["systemProvenanceReceipt"] = "\n".join(
            (
                "[Source Receipt]",
                "bridge=openclaw-acp",
                f"originHost={socket.gethostname()}",
                f"originCwd={mapping.shorten_home(session.cwd, home)}",
                f"acpSessionId={session.id}",
                f"originSessionId={session.id}",
                f"targetSession={session.key}",
                "[/Source Receipt]",
            )
        )
    return told
