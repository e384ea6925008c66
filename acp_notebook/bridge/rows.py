"""The gateway's session rows: looked up, resolved, listed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_notebook.bridge import presentation
from acp_notebook.bridge.sessions import SessionRefused, read_number, read_text

if TYPE_CHECKING:
    from acp_notebook.bridge.gateway import Gateway
    from acp_notebook.bridge.options import BridgeOptions
    from acp_notebook.bridge.sessions import SessionMeta

_SEARCH_LIMIT = 200


class Rows:
    """What `sessions.list`, `sessions.resolve` and `sessions.reset` are asked for."""

    def __init__(self, gateway: Gateway, options: BridgeOptions) -> None:
        self._gateway = gateway
        self._options = options

    async def row(self, key: str, *, timeout_s: float = 0) -> dict[str, Any] | None:
        """
        Return the row of a session key, or of the canonical key that it stands for.

        Raises:
            GatewayError, GatewayClosed, TimeoutError: the gateway does not say.
        """
        params = {"limit": _SEARCH_LIMIT, "search": key, "includeDerivedTitles": True}
        answer = await self._gateway.request("sessions.list", params, timeout_s=timeout_s)
        return row_of(_rows(answer), key)

    async def resolve_key(self, meta: SessionMeta, *, fallback: str) -> str:
        """
        Return the gateway session key that a request means, reset when that is asked for.

        The label of the request wins, then its key, then the flags, then `fallback`.

        Raises:
            SessionRefused: a label, or a key that must exist, does not resolve.
            GatewayError, GatewayClosed, TimeoutError: the gateway refuses or does not say.
        """
        options = self._options
        must_exist = (
            options.require_existing if meta.require_existing is None else meta.require_existing
        )
        label = meta.label or (None if meta.key else options.session_label)
        key = None if label else meta.key or options.session_key
        if label:
            key = await self._resolve({"label": label})
            if key is None:
                raise SessionRefused(f"Unable to resolve session label: {label}")
        elif key and must_exist:
            found = await self._resolve({"key": key})
            if found is None:
                raise SessionRefused(f"Session key not found: {key}")
            key = found
        key = key or fallback
        if options.reset_session if meta.reset is None else meta.reset:
            await self._gateway.request("sessions.reset", {"key": key})
        return key

    async def _resolve(self, params: dict[str, Any]) -> str | None:
        answer = await self._gateway.request("sessions.resolve", params)
        key = answer.get("key") if isinstance(answer, dict) else None
        return key if isinstance(key, str) and key else None

    async def page(self, params: dict[str, Any]) -> dict[str, Any]:
        """
        Answer `session/list`.

        Raises:
            ValueError: the cursor is none of ours.
            SessionRefused: the cwd is relative, or not the cursor's.
            GatewayError, GatewayClosed, TimeoutError: the gateway refuses or does not say.
        """
        cwd = params.get("cwd") or None
        if cwd is not None and not os.path.isabs(cwd):  # noqa: PTH117  # of whatever system
            raise SessionRefused("ACP session/list requires an absolute cwd.")
        cursor = params.get("cursor")
        offset, cursor_cwd = presentation.decode_cursor(cursor) if cursor else (0, None)
        if cursor and cursor_cwd != cwd:
            raise SessionRefused("ACP session list cursor does not match the cwd filter.")
        size = _page_size(params)
        rows, more = await self._fetch(offset + size, cwd)
        shown = rows[offset : offset + size]
        more = (more or len(rows) > offset + size) and offset + size <= presentation.MAX_OFFSET
        return {
            "sessions": [self._entry(row, cwd) for row in shown],
            "nextCursor": presentation.encode_cursor(offset + size, cwd)
            if more and shown
            else None,
        }

    async def _fetch(self, end: int, cwd: str | None) -> tuple[list[dict[str, Any]], bool]:
        """Rows that fit the filter, at least one past `end` if there are so many."""
        limit = min(end + 1, presentation.MAX_FETCH)
        while True:
            params = {"limit": limit, "includeDerivedTitles": True}
            answer = await self._gateway.request("sessions.list", params)
            found = [row for row in _rows(answer) if cwd is None or _cwd_of(row) == cwd]
            more = isinstance(answer, dict) and answer.get("hasMore") is True
            if len(found) > end or not more or limit >= presentation.MAX_FETCH:
                return found, False
            limit = min(limit * 2, presentation.MAX_FETCH)

    @staticmethod
    def _entry(row: dict[str, Any], cwd: str | None) -> dict[str, Any]:
        return {
            "sessionId": row["key"],
            "cwd": _cwd_of(row) or cwd or str(Path.cwd()),
            **presentation.session_info(row, row["key"]),
        }


def row_of(rows: list[dict[str, Any]], key: str) -> dict[str, Any] | None:
    """
    Return the row with that key, else the only one whose canonical key stands for it.

    The gateway puts `agent:<agent>:` before a key, and the bridge `acp-bridge:` before an ACP id.
    """
    exact = next((row for row in rows if row["key"] == key), None)
    if exact is not None:
        return exact
    same = [row for row in rows if short_key(row["key"]) in {key, f"acp-bridge:{key}"}]
    return same[0] if len(same) == 1 else None


def short_key(key: str) -> str:
    """Return the key that a canonical one stands for: without `agent:<agent>:`."""
    parts = key.split(":", 2)
    return parts[2] if len(parts) == 3 and parts[0] == "agent" else key


def _rows(answer: Any) -> list[dict[str, Any]]:
    rows = answer.get("sessions") if isinstance(answer, dict) else None
    return [
        row
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and isinstance(row.get("key"), str) and row["key"]
    ]


def _cwd_of(row: dict[str, Any]) -> str | None:
    return read_text(row, "spawnedCwd", "spawnedWorkspaceDir")


def _page_size(params: dict[str, Any]) -> int:
    told = read_number(params.get("_meta"), "limit", "pageSize")
    if told is None:
        return presentation.PAGE_SIZE
    return int(min(presentation.PAGE_SIZE, max(1, told)))
