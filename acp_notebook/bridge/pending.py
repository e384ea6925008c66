"""One prompt between its request and its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from acp_notebook.bridge.output import RunOutput
    from acp_notebook.bridge.sessions import Session


class PromptFailed(Exception):
    """The prompt is answered with an error; the message is for the client."""


@dataclass(slots=True, eq=False)
class Prompt:
    """
    One prompt and the run that answers it.

    `run_id` is the run that is followed now, `mark` the one it began as: idempotency key and
    name in the ledger. `began_at` is when it was sent, in milliseconds on the gateway's clock;
    `lost_at` when the link was lost that it waits for, on the loop's.
    """

    session: Session
    run_id: str
    params: dict[str, Any]
    output: RunOutput
    answer: asyncio.Future[str]
    flush: Callable[[], None]
    mark: str = ""
    began_at: int = 0
    is_acknowledged: bool = False
    is_cancelled: bool = False
    is_ended: bool = False
    is_follower: bool = False
    is_watched: bool = False
    lost_at: float | None = None
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)
    model_stop: str = ""

    @property
    def is_answered(self) -> bool:
        """Whether the client has its answer."""
        return self.answer.done()

    def heard(self) -> None:
        """The run lives and we hear of it: nothing is waited for."""
        self.is_acknowledged = True
        self.lost_at = None
        self.stop_timer()

    def stop_timer(self) -> None:
        """What was waited for is here."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
