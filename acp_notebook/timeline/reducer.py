"""
`Timeline`: folds what a session sends into items, one update after another.

Pure code: no clock (times come in as `at`), no I/O, no SDK models; updates are plain dicts as they
came off the wire. Used from one thread. Every method returns the ids that it touched, the first
touched first; whatever a peer sends, nothing raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_notebook.timeline import (
    content,
    messages,
    permissions,
    plans,
    prompts,
    session,
    supplements,
    terminals,
    tools,
)
from acp_notebook.timeline.drafts import SegmentDraft
from acp_notebook.timeline.fold import Fold
from acp_notebook.timeline.plain import text_or_none
from acp_notebook.timeline.snapshot import Items, TimelineSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from acp_notebook.timeline.content import Append
    from acp_notebook.timeline.limits import Limits
    from acp_notebook.timeline.turns import TurnError, Usage

RULES_V1: dict[str, Callable[[Fold, Any], Append | None]] = {
    "agent_message_chunk": messages.agent_message_chunk,
    "agent_thought_chunk": messages.agent_thought_chunk,
    "user_message_chunk": messages.user_message_chunk,
    "tool_call": tools.tool_call,
    "tool_call_update": tools.tool_call_update,
    "plan": plans.plan,
    "plan_update": plans.plan_update,
    "plan_removed": plans.plan_removed,
    "available_commands_update": session.available_commands_update,
    "current_mode_update": session.current_mode_update,
    "config_option_update": session.config_option_update,
    "session_info_update": session.session_info_update,
    "usage_update": session.usage_update,
    "notice": session.notice,
    "compaction_update": session.compaction_update,
    "compaction_summary_chunk": session.compaction_summary_chunk,
}
"""Update kinds of protocol v1, stable and unstable up to schema 1.25."""

RULES_V2 = RULES_V1 | {
    "user_message": messages.user_message,
    "agent_message": messages.agent_message,
    "agent_thought": messages.agent_thought,
    "state_update": session.state_update,
    "tool_call_content_chunk": tools.tool_call_content_chunk,
    "terminal_update": terminals.terminal_update,
    "terminal_output_chunk": terminals.terminal_output_chunk,
}
"""Update kinds of the draft of protocol v2."""


class Timeline:
    """
    The reducer of one session.

        tl = Timeline("sess-1")
        tl.begin_prompt([{"type": "text", "text": "hi"}])
        tl.apply({"sessionId": "sess-1", "update": {...}})
        tl.settle_prompt("end_turn")
        tl.snapshot().turns[-1].text
    """

    def __init__(
        self,
        session_id: str,
        protocol_version: int = 1,
        generation: int = 0,
        *,
        limits: Limits | None = None,
    ) -> None:
        self._fold = Fold(session_id, protocol_version, generation, limits)
        self._rules = RULES_V2 if protocol_version >= 2 else RULES_V1
        self._snapshot: TimelineSnapshot | None = None

    @property
    def session_id(self) -> str:
        """The ACP id of the session."""
        return self._fold.session_id

    @property
    def generation(self) -> int:
        """The race token of this timeline, compared for equality only."""
        return self._fold.generation

    def apply(
        self,
        update: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        historical: bool = False,
        at: float | None = None,
    ) -> tuple[str, ...]:
        """
        Fold one `session/update` params object, or an iterable of them.

        `historical` marks a replay. An update of another session changes nothing.
        """
        fold = self._enter(at, historical=historical)
        own, rules = fold.session_id, self._rules
        append: Append | None = None
        tail_kind = tail_id = None
        batch: Iterable[Any] = (update,) if isinstance(update, dict) else update
        for params in batch:
            if append is not None:
                # Nine updates of ten only add a word to the text that the one before grew.
                try:
                    body = params["update"]
                    if (
                        body["sessionUpdate"] == tail_kind
                        and params["sessionId"] == own
                        and body.get("messageId") == tail_id
                    ):
                        block = body["content"]
                        if block["type"] == "text" and type(text := block["text"]) is str:
                            if text:
                                append(text)
                            continue
                except (LookupError, TypeError, AttributeError):
                    pass  # no such update: the rules below look closely
            if not isinstance(params, dict):
                fold.count("session/update")
                continue
            if params.get("sessionId") != own:
                continue
            body = params.get("update")
            append = None
            if not isinstance(body, dict):
                fold.count("session/update.update")
                continue
            kind = body.get("sessionUpdate")
            rule = rules.get(kind) if isinstance(kind, str) else None
            if rule is None:
                fold.count(text_or_none(kind) or "session/update.sessionUpdate")
                continue
            append = rule(fold, body)
            if append is not None:
                tail_kind, tail_id = kind, body.get("messageId")
        return self._touched()

    def begin_prompt(
        self, blocks: Iterable[Mapping[str, Any]], *, at: float | None = None
    ) -> tuple[str, ...]:
        """Begin a turn: what is sent shows at once as an optimistic user segment."""
        fold = self._enter(at)
        prompts.begin(fold, list(blocks))
        return self._touched()

    def settle_prompt(
        self,
        stop_reason: str | None = None,
        *,
        error: TurnError | Mapping[str, Any] | str | None = None,
        usage: Usage | Mapping[str, Any] | None = None,
        at: float | None = None,
    ) -> tuple[str, ...]:
        """
        End the oldest open turn as the prompt's response says; without one nothing changes.

        In protocol v2 a response without stop reason and error only acknowledges.
        """
        fold = self._same(at)
        if fold.version < 2 or stop_reason is not None or error is not None:
            prompts.settle(
                fold, text_or_none(stop_reason), prompts.error_of(error), prompts.usage_of(usage)
            )
        return self._touched()

    def cancel_prompt(self, *, at: float | None = None) -> tuple[str, ...]:
        """Note that the person pressed Stop: open tool calls and requests end at once."""
        fold = self._same(at)
        prompts.cancel(fold)
        return self._touched()

    def settle_all(
        self, reason: str | TurnError | Mapping[str, Any], *, at: float | None = None
    ) -> tuple[str, ...]:
        """End everything that is open: the agent's process is gone, or the chat is closed."""
        fold = self._same(at)
        prompts.settle_all(fold, prompts.error_of(reason))
        return self._touched()

    def apply_response(self, method: str, result: Any, params: Any = None) -> tuple[str, ...]:
        """
        Take agent, modes, options and models from the response to a request of ours.

        With the request's `params` also what was asked for, since some agents answer `{}`.
        """
        fold = self._same(None)
        session.response(fold, method, result, params)
        return self._touched()

    def request_permission(
        self, request_id: Any, params: Mapping[str, Any], *, at: float | None = None
    ) -> tuple[str, ...]:
        """Add a permission request, after the card that it asks about."""
        fold = self._enter(at)
        if isinstance(params, dict) and params.get("sessionId", fold.session_id) == fold.session_id:
            permissions.request(fold, request_id, params)
        return self._touched()

    def resolve_permission(
        self, request_id: Any, outcome: Any, decided_by: str | None = None
    ) -> tuple[str, ...]:
        """Note the answer: `{"outcome": "selected", "optionId": …}` or `{"outcome": "cancelled"}`."""
        fold = self._same(None)
        permissions.resolve(fold, request_id, outcome, decided_by)
        return self._touched()

    def resolve_attachment(self, ref_id: str, state: Mapping[str, Any]) -> tuple[str, ...]:
        """
        Note what the host found where an attachment points.

        `state` is `{state: pending|available|unavailable, reason?, identity?, entryKind?,
        mimeType?, size?, displayPath?}`. When it has a `uri` that is no longer the attachment's,
        it is the answer to an old question and changes nothing.
        """
        fold = self._same(None)
        content.resolve(fold, ref_id, dict(state))
        return self._touched()

    def terminal_output(
        self, terminal_id: str, data: str, exit_status: Any = None
    ) -> tuple[str, ...]:
        """Add output of a terminal that the host runs; `exit_status` is `{exitCode, signal}`."""
        fold = self._same(None)
        terminals.output(fold, terminal_id, data, exit_status)
        return self._touched()

    def supplement(
        self,
        turn: int,
        parts: Iterable[Mapping[str, Any]] = (),
        *,
        source: str,
        evidence: str,
        started_at: float | None = None,
        ended_at: float | None = None,
    ) -> tuple[str, ...]:
        """
        Add content that is not from ACP to a turn, marked with its source.

        `parts` are content blocks; the same source and evidence replaces what it brought before.
        Times are taken only where ACP gave none. Raises: IndexError when there is no such turn.
        """
        fold = self._same(None)
        draft = fold.turns[turn]
        blocks = list(parts)
        if blocks or (source, evidence) in fold.supplements:
            supplements.add(fold, draft, blocks, source, evidence)
        supplements.times(fold, draft, started_at, ended_at)
        return self._touched()

    def snapshot(self) -> TimelineSnapshot:
        """Return the timeline as it is now; the same object while nothing has changed."""
        fold = self._fold
        if self._snapshot is not None and not fold.changed:
            return self._snapshot
        fold.freeze()
        metadata = fold.frozen_metadata()
        self._snapshot = TimelineSnapshot(
            fold.session_id,
            generation=fold.generation,
            protocol_version=fold.version,
            agent=fold.agent,
            items=Items.sharing(fold.items.freeze(), fold.positions),
            turns=fold.frozen_turns.freeze(),
            metadata=metadata,
            streaming_segments=streaming(fold),
        )
        fold.changed = False
        return self._snapshot

    def _enter(self, at: float | None, *, historical: bool = False) -> Fold:
        fold = self._fold
        if fold.historical and not historical:
            fold.end_replay()
        fold.historical = historical
        fold.at = at
        return fold

    def _same(self, at: float | None) -> Fold:
        """Enter for what is neither replayed nor ends a replay."""
        self._fold.at = at
        return self._fold

    def _touched(self) -> tuple[str, ...]:
        touched = tuple(self._fold.touched)
        self._fold.touched.clear()
        return touched


def streaming(fold: Fold) -> tuple[str, ...]:
    """Return the segments that a running turn may still grow."""
    if not fold.running:
        return ()
    first = fold.running[0].index
    found = [
        segment.id
        for segment in fold.open
        if not segment.closed and segment.turn.index >= first and segment.role != "user"
    ]
    last = fold.last
    if (
        isinstance(last, SegmentDraft)
        and last.message_id is None
        and not last.closed
        and last.role != "user"
        and last.turn.index >= first
    ):
        found.append(last.id)
    return tuple(found)
