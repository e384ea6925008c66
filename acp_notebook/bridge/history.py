"""The gateway's transcripts: read when the ledger or the link does not have all of a session."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from acp_notebook.bridge.protocol import BadParams, GatewayClosed, GatewayError

if TYPE_CHECKING:
    from acp_notebook.bridge.gateway import Gateway
    from acp_notebook.bridge.records import Record

_log = logging.getLogger(__name__)

_WHOLE = 1_000_000
_CHAT_HISTORY_LIMIT = 1000


class History:
    """`sessions.get`, and `chat.history` where that gives nothing."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def read(self, key: str) -> list[Record]:
        """
        Return the records of a gateway session, oldest first; none when it has none.

        Raises:
            GatewayClosed: there is no link, or it was lost meanwhile.
        """
        for method, params in (
            ("sessions.get", {"key": key, "limit": _WHOLE}),
            ("chat.history", {"sessionKey": key, "limit": _CHAT_HISTORY_LIMIT}),
        ):
            try:
                answer = await self._gateway.request(method, params)
            except (GatewayError, TimeoutError, BadParams) as error:
                _log.info("%s: %s", method, error)
                continue
            messages = answer.get("messages") if isinstance(answer, dict) else None
            if isinstance(messages, list) and messages:
                return [record for record in messages if isinstance(record, dict)]
        return []

    async def read_when_connected(self, key: str) -> list[Record]:
        """Return the same, waiting for the link as often as it is lost."""
        while True:
            try:
                return await self.read(key)
            except GatewayClosed:
                await self._gateway.wait_connected()
