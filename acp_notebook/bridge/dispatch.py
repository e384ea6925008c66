"""
JSON-RPC methods to the agent's: parameters are validated, whatever fails becomes an error object.

Messages are validated by the SDK's models and handed on as they came: a client's own fields and
blocks stay what they were.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from acp import schema
from acp.exceptions import RequestError
from pydantic import ValidationError

from acp_notebook.bridge.mapping import PromptTooLarge
from acp_notebook.bridge.pending import PromptFailed
from acp_notebook.bridge.protocol import BadParams, GatewayClosed, GatewayError
from acp_notebook.bridge.sessions import SessionRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import BaseModel

    from acp_notebook.bridge.agent import OpenClawAgent

_log = logging.getLogger(__name__)

_EXPECTED = (
    SessionRefused,
    PromptFailed,
    GatewayError,
    GatewayClosed,
    BadParams,
    TimeoutError,
    ValueError,
)


class Dispatch:
    """What the SDK's `Connection` calls for each request and notification."""

    def __init__(self, agent: OpenClawAgent) -> None:
        self._methods: dict[
            str, tuple[type[BaseModel], Callable[[dict[str, Any]], Awaitable[Any]]]
        ] = {
            "initialize": (schema.InitializeRequest, agent.initialize),
            "authenticate": (schema.AuthenticateRequest, agent.authenticate),
            "session/new": (schema.NewSessionRequest, agent.new_session),
            "session/load": (schema.LoadSessionRequest, agent.load_session),
            "session/resume": (schema.ResumeSessionRequest, agent.resume_session),
            "session/close": (schema.CloseSessionRequest, agent.close_session),
            "session/list": (schema.ListSessionsRequest, agent.list_sessions),
            "session/set_mode": (schema.SetSessionModeRequest, agent.set_mode),
            "session/set_config_option": (
                schema.SetSessionConfigOptionSelectRequest,
                agent.set_config_option,
            ),
            "session/prompt": (schema.PromptRequest, agent.prompt),
            "session/cancel": (schema.CancelNotification, agent.cancel),
        }

    async def __call__(self, method: str, params: Any, is_notification: bool) -> Any:  # noqa: FBT001  # the SDK's signature
        """
        Answer one request; an unknown notification is ignored.

        Raises:
            RequestError: the text stands in `data.details`, as with the original.
        """
        known = self._methods.get(method)
        if known is None:
            if is_notification:
                return None
            raise RequestError(-32601, f'"Method not found": {method}', {"method": method})
        model, call = known
        _refuse_other_values(method, params)
        try:
            model.model_validate(params)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            raise RequestError.invalid_params({"errors": found}) from None
        try:
            return await call(params)
        except PromptTooLarge as error:
            raise RequestError(-32603, str(error), {"details": str(error)}) from None
        except _EXPECTED as error:
            _log.info("%s: %s", method, error)
            raise _failure(str(error)) from None
        except Exception as error:
            _log.exception("fault in %s", method)
            raise _failure(f"{type(error).__name__}: {error}") from error


def _failure(text: str) -> RequestError:
    return RequestError.internal_error({"details": text})


def _refuse_other_values(method: str, params: Any) -> None:
    """Config options are select options; the original says it in these words."""
    if method != "session/set_config_option" or not isinstance(params, dict):
        return
    if "value" in params and not isinstance(params["value"], str):
        raise _failure(
            "ACP bridge does not support non-string session config option values"
            f' for "{params.get("configId")}".'
        )
