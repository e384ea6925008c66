"""Plays a case straight into a `Timeline`: the updates as they stand, a script as its host would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from acp_notebook.timeline import Timeline
from tests.cases.case import Case, Played

CWD = Path("/project")
PROMPT = "hello"


def blocks_of(prompt: str | list[Any]) -> list[Any]:
    """Return a prompt as content blocks."""
    if isinstance(prompt, str):
        return [{"type": "text", "text": prompt}]
    filled = json.dumps(prompt).replace("{CWD_URI}", CWD.as_uri())
    return list(json.loads(filled))


def play(case: Case) -> Played:
    """Play a case of mode `updates` or `scripted`."""
    return play_updates(case) if case.mode == "updates" else ScriptPlayer(case).play()


def all_messages(case: Case) -> list[Any]:
    """Return the messages of an `updates` case, with those that are made at play time."""
    messages = case.messages(CWD)
    repeat = case.given.get("repeatLine")
    if repeat:
        at = repeat["line"]
        messages[at : at + 1] = [messages[at]] * repeat["times"]
    generate = case.given.get("generate", {})
    call_id, step = generate.get("toolCallId"), "o" * generate.get("bytesPerStep", 0)
    outputs = [step * (k + 1) for k in range(generate.get("progressUpdates", 0))]
    if "lines" in generate:
        width = generate["bytesPerLine"] - 7
        outputs.append("\n".join(f"{k:06d} " + "w" * width for k in range(generate["lines"])))
    made = [
        {
            "params": {
                "sessionId": "sess-1",
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": call_id,
                    "content": [{"type": "content", "content": {"type": "text", "text": text}}],
                },
            }
        }
        for text in outputs
    ]
    return [*messages[:-1], *made, *messages[-1:]] if made else messages


def play_updates(case: Case) -> Played:
    """Begin the prompt in each session, fold line by line, settle; note each prefix."""
    timelines: dict[str, Timeline] = {}
    modes = [{"id": mode, "name": mode} for mode in case.given.get("modes", ())]
    for session in case.given.get("sessions", ["sess-1"]):
        timeline = timelines[session] = Timeline(session)
        if modes:
            state = {"currentModeId": modes[0]["id"], "availableModes": modes}
            timeline.apply_response("session/new", {"modes": state})
        timeline.begin_prompt(blocks_of(case.given.get("prompt", PROMPT)))
    prefixes = []
    for message in all_messages(case):
        for timeline in timelines.values():
            timeline.apply(message["params"])
        prefixes.append(next(iter(timelines.values())).snapshot())
    for timeline in timelines.values():
        timeline.settle_prompt("end_turn")
    return Played(case, {s: t.snapshot() for s, t in timelines.items()}, prefixes)


class ScriptPlayer:
    """Plays a script as an obedient host sees it: it sends what is waited for, at once."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.messages = case.messages(CWD)
        self.prompts = list(case.given.get("prompts", [PROMPT]))
        self.timeline = Timeline("sess-1")
        self.replaying = False
        self.prefixes: list[Any] = []

    def play(self) -> Played:
        """Do all steps."""
        for step in self.case.given["script"]:
            if "recv" in step:
                self.request(step["recv"])
            elif "send" in step:
                for message in self.messages[slice(*step["send"])]:
                    self.fold(message)
            elif "sendAs" in step:
                self.fold(self.messages[step["sendAs"]["line"]])
        return Played(self.case, {"sess-1": self.timeline.snapshot()}, self.prefixes)

    def request(self, method: str) -> None:
        """Send what the agent waits for."""
        if method == "session/load":
            self.timeline, self.replaying = Timeline("sess-1"), True
        elif method == "session/prompt":
            self.timeline.begin_prompt(blocks_of(self.prompts.pop(0)))

    def fold(self, message: Any) -> None:
        """Take a line of the agent."""
        if message.get("method") == "session/update":
            self.timeline.apply(message["params"], historical=self.replaying)
        elif message.get("id") == "$REQ:session/load":
            self.replaying = False
            self.timeline.apply_response("session/load", message["result"])
        elif message.get("id") == "$REQ:session/prompt":
            self.timeline.settle_prompt(message["result"]["stopReason"])
        self.prefixes.append(self.timeline.snapshot())
