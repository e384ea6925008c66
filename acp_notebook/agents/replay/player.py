"""
The rules by which a record is played, without I/O: what the client says goes in, what the agent
says comes out.

The record is one line of events, and `_position` is how far it has been played.

- What the agent said is said again, in order. At a request of the client the player waits for it; at
  an answer of the client to a request of the agent it waits for that answer, whatever it says.
- A request of the client is matched with the first unmatched recorded request of its method, whatever
  its params (what was asked before the recorded `initialize` counts only until that has come). It gets
  the recorded answer under its own id, and updates name the session that it names.
- While a request is in work the client is not waited for: what it asked meanwhile in the record may
  never come. If it comes later, it gets its recorded answer.
- When the client goes ahead (it leaves out recorded requests), what stands before is passed over: the
  answers to what was not asked, and the updates of prompts and loads that were not asked for.
- A cancel is never waited for. One that comes goes on after the recorded cancel of that prompt; when
  none is recorded, at the prompt's answer, which then says `cancelled`.
- `session/load` of a record that holds none is answered with the record itself as history.
- What is not in the record is refused; a prompt after the end is answered by saying so.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from acp_notebook.agents.replay.record import Event

END = "The record ends here. Start the agent anew to play it again."

_METHOD_NOT_FOUND = -32601
_INTERNAL_ERROR = -32603
# What stands between such a request and its answer belongs to it.
_NAMING = {"session/load", "session/resume", "session/prompt"}
_WITH_UPDATES = {"session/prompt", "session/load", "session/resume", "session/fork"}


@dataclass(frozen=True, slots=True)
class Step:
    """Something to write: a message, a raw line, or a line for stderr. `at` is its recorded time."""

    message: dict[str, Any] | None = None
    raw: str = ""
    stderr: str = ""
    at: float | None = None


class Player:
    """Plays one record to one client."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._owners = _owners(events)
        self._position = 0
        self._initialized = 0
        self._goal = 0
        """Up to here the client has gone ahead: what it left out before is passed over."""
        self._matched: dict[int, Any] = {}
        """Recorded requests of the client that came, with the id under which they came."""
        self._in_work: set[int] = set()
        """Those of them that wait for an answer which is still to be played."""
        self._asked: dict[str, int] = {}
        """Requests of the agent that were sent and wait for the client, by id."""
        self._cancelled: set[int] = set()
        self._sessions: dict[Any, Any] = {}
        """Recorded session ids, where the client uses others."""
        self._ready: deque[Step] = deque()
        """What is to be said before the record goes on."""

    def take(self, message: dict[str, Any]) -> None:
        """Take one message of the client."""
        method = message.get("method")
        if not isinstance(method, str):
            self._take_answer(message)
        elif "id" in message:
            self._take_request(method, message)
        elif method == "session/cancel":
            self._take_cancel(_params(message).get("sessionId"))

    def step(self) -> Step | None:
        """Return what is said next; None when the client has the word."""
        if self._ready:
            return self._ready.popleft()
        while self._position < len(self._events):
            event = self._events[self._position]
            if self._waits_for(event):
                self._give_up_unanswered()
                return self._ready.popleft() if self._ready else None
            self._position += 1
            step = self._play(event, self._position - 1)
            if step is not None:
                return step
        self._give_up_unanswered()
        return self._ready.popleft() if self._ready else None

    def _waits_for(self, event: Event) -> bool:
        index, owner = self._position, self._owners[self._position]
        if index < self._goal:
            return False
        if event.side == "client" and event.kind == "answer":
            return event.pair is not None and event.pair in self._asked.values()
        if event.side == "client":
            missing = event.kind == "request" and index not in self._matched
        else:
            # The rest of a prompt that was passed while another was in work.
            missing = owner is not None and owner not in self._matched and owner >= self._goal
        return missing and not self._answer_is_ahead()

    def _answer_is_ahead(self) -> bool:
        return any((self._events[i].pair or -1) >= self._position for i in self._in_work)

    def _play(self, event: Event, index: int) -> Step | None:
        if event.side == "stderr":
            return Step(stderr=event.raw, at=event.at)
        if event.side == "client":
            return None
        if event.kind == "raw":
            return Step(raw=event.raw, at=event.at)
        if event.kind == "answer":
            return self._play_answer(event)
        owner = self._owners[index]
        if owner is not None and owner not in self._matched:
            return None
        if event.kind == "request":
            self._asked[json.dumps(event.message["id"])] = index
        return Step(message=self._for_client(event.message), at=event.at)

    def _play_answer(self, event: Event) -> Step | None:
        request = event.pair
        if request is None and event.message.get("id") is None:
            return Step(message=event.message, at=event.at)  # to a line that was no message
        if request is None or request not in self._in_work:
            return None
        self._in_work.discard(request)
        answer = self._for_client(event.message) | {"id": self._matched[request]}
        result = answer.get("result")
        stopped = isinstance(result, dict) and result.get("stopReason") == "cancelled"
        if request in self._cancelled and not stopped:
            answer.pop("error", None)
            answer["result"] = {"stopReason": "cancelled"}
        return Step(message=answer, at=event.at)

    def _take_request(self, method: str, message: dict[str, Any]) -> None:
        index = next(
            (
                index
                for index in range(self._initialized, len(self._events))
                if self._is_client_request(index)
                and self._events[index].method == method
                and index not in self._matched
            ),
            None,
        )
        if index is None:
            self._take_unrecorded(method, message)
            return
        event = self._events[index]
        self._matched[index] = message["id"]
        if method == "initialize":
            self._initialized = index
        self._note_differences(event, _params(message))
        if event.pair is not None and event.pair < self._position:
            # Passed while something else was in work: its answer is there already.
            answer = self._for_client(self._events[event.pair].message)
            self._ready.append(Step(message=answer | {"id": message["id"]}))
            return
        if index >= self._position and not self._in_work:
            self._goal = index
        self._in_work.add(index)

    def _note_differences(self, event: Event, params: dict[str, Any]) -> None:
        recorded, given = event.params.get("sessionId"), params.get("sessionId")
        if event.method in _NAMING and given != recorded:
            self._sessions[recorded] = given
        if event.method == "session/prompt" and _text(params) != _text(event.params):
            self._ready.append(
                Step(
                    stderr=f"replay: the record holds another prompt here: {_text(event.params)!r}"
                )
            )

    def _take_answer(self, message: dict[str, Any]) -> None:
        index = self._asked.pop(json.dumps(message.get("id")), None)
        recorded = self._events[index].pair if index is not None else None
        if recorded is None:
            return
        then = self._events[recorded].message
        if (message.get("result"), "error" in message) != (then.get("result"), "error" in then):
            method = self._events[index or 0].method
            self._ready.append(Step(stderr=f"replay: the record holds another answer to {method}"))

    def _take_cancel(self, session: Any) -> None:
        prompts = [i for i in self._in_work if self._events[i].method == "session/prompt"]
        mine = [i for i in prompts if self._for_client_id(i) == session] or prompts
        if not mine:
            return
        prompt = min(mine)
        end = self._events[prompt].pair
        self._asked.clear()
        last = end if end is not None else len(self._events)
        span = range(prompt, last)
        recorded = [i for i in span if self._events[i].method == "session/cancel"]
        if end is None:
            self._in_work.discard(prompt)
            self._answer(self._matched[prompt], {"stopReason": "cancelled"})
            span = range(self._position, len(self._events))
            self._position = next(
                (i for i in span if self._is_client_request(i)), len(self._events)
            )
        elif not recorded:
            self._cancelled.add(prompt)
            self._position = max(self._position, end)
        else:
            self._position = max(self._position, recorded[0] + 1)

    def _take_unrecorded(self, method: str, message: dict[str, Any]) -> None:
        request_id, params = message["id"], _params(message)
        session = params.get("sessionId")
        if method == "initialize":
            self._answer(request_id, {"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/prompt":
            self._ready.append(_update(session, "agent_message_chunk", _text_block(END)))
            self._answer(request_id, {"stopReason": "end_turn"})
        elif method == "session/load":
            self._ready.extend(self._history(session))
            self._answer(request_id, {})
            self._position = len(self._events)
            for index in range(len(self._events)):
                self._matched.setdefault(index, None)
        elif method == "session/resume":
            self._sessions[self._session()] = session
            self._answer(request_id, {})
        elif method == "session/new" and not self._holds("session/new"):
            self._answer(request_id, {"sessionId": self._session()})
        elif method == "session/close":
            self._answer(request_id, {})
        else:
            self._refuse(request_id, _METHOD_NOT_FOUND, f"The record holds no further {method}.")

    def _holds(self, method: str) -> bool:
        return any(event.side == "client" and event.method == method for event in self._events)

    def _session(self) -> Any:
        """Return the id of the first session that the record speaks of."""
        ids = (event.params.get("sessionId") for event in self._events)
        return next((i for i in ids if isinstance(i, str)), "replay")

    def _history(self, session: Any) -> Iterator[Step]:
        """Return the record as an agent replays a session: prompts as user messages, no requests."""
        ids = {event.params.get("sessionId") for event in self._events}
        for index, event in enumerate(self._events):
            if session in ids and event.params.get("sessionId") != session:
                continue
            if event.side == "client" and event.method == "session/prompt":
                if not self._is_echoed(index):
                    for block in event.params.get("prompt") or ():
                        yield _update(session, "user_message_chunk", block)
            elif event.side == "agent" and event.method == "session/update":
                yield Step(
                    message=event.message | {"params": event.params | {"sessionId": session}}
                )

    def _is_echoed(self, prompt: int) -> bool:
        end = self._events[prompt].pair
        span = self._events[prompt : end if end is not None else len(self._events)]
        updates = (event.params.get("update") for event in span if event.side == "agent")
        return any(
            isinstance(update, dict) and update.get("sessionUpdate") == "user_message_chunk"
            for update in updates
        )

    def _give_up_unanswered(self) -> None:
        """Answer what the record leaves without an answer, or ends before; else the client hangs."""
        for index in sorted(self._in_work):
            end = self._events[index].pair
            if end is None:
                self._in_work.discard(index)
                text = "The record holds no answer to this request."
                self._refuse(self._matched[index], _INTERNAL_ERROR, text)
            elif end < self._position:  # a cancel of another request went past it
                answer = self._play_answer(self._events[end])
                self._ready.extend([answer] if answer else [])

    def _is_client_request(self, index: int) -> bool:
        event = self._events[index]
        return event.side == "client" and event.kind == "request"

    def _for_client_id(self, index: int) -> Any:
        recorded = self._events[index].params.get("sessionId")
        return self._sessions.get(recorded, recorded)

    def _for_client(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a recorded message with the session id that this client uses."""
        params = message.get("params")
        if not self._sessions or not isinstance(params, dict):
            return dict(message)
        recorded = params.get("sessionId")
        if not isinstance(recorded, str) or recorded not in self._sessions:
            return dict(message)
        return message | {"params": params | {"sessionId": self._sessions[recorded]}}

    def _answer(self, request_id: Any, result: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", "id": request_id, "result": result}
        self._ready.append(Step(message=message))

    def _refuse(self, request_id: Any, code: int, text: str) -> None:
        error = {"code": code, "message": text}
        self._ready.append(Step(message={"jsonrpc": "2.0", "id": request_id, "error": error}))


def _owners(events: Sequence[Event]) -> list[int | None]:
    """Return for each event the first prompt or load that is open there; its updates are for that."""
    owners: list[int | None] = []
    opened: list[int] = []
    for index, event in enumerate(events):
        if event.side == "agent" and event.kind == "answer" and event.pair in opened:
            opened.remove(event.pair)
        owners.append(opened[0] if opened else None)
        if event.side == "client" and event.pair is not None and event.method in _WITH_UPDATES:
            opened.append(index)
    return owners


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _update(session: Any, kind: str, block: Any) -> Step:
    params = {"sessionId": session, "update": {"sessionUpdate": kind, "content": block}}
    return Step(message={"jsonrpc": "2.0", "method": "session/update", "params": params})


def _params(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _text(params: dict[str, Any]) -> str:
    blocks = params.get("prompt")
    blocks = blocks if isinstance(blocks, list) else []
    texts = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
    return "\n".join(str(text) for text in texts)
