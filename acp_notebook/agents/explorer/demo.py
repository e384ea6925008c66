"""
`/demo`: every kind of item that a chat can have, each made by really doing it.

The text holds no time, id or path, so that a notebook with it compares equal run after run. The one
file that it writes is its own, is written only after a permission, and is removed at the end.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_notebook.agents.explorer.picture import sine_png
from acp_notebook.agents.explorer.session import PACES, pace_ms
from acp_notebook.agents.peer import Refused

if TYPE_CHECKING:
    from acp_notebook.agents.explorer.session import Turn

STEPS = (
    "Say something in Markdown",
    "Run a command",
    "Read a file that is not there",
    "Edit a scratch file, if that is allowed",
    "Show a picture and two attachments",
)

THOUGHT = (
    "A thought is what an agent says to itself. A client folds it away; mine is this sentence."
)

MARKDOWN = """\
## What an answer can hold

Prose with **strong**, *soft* and `code` words, a [link](https://agentclientprotocol.com), and lists:

1. first
2. second
   - [x] done
   - [ ] not yet

A table:

| n | n² | n³ |
|--:|---:|---:|
| 1 | 1 | 1 |
| 2 | 4 | 8 |
| 3 | 9 | 27 |

Code:

```python
def mean(values: list[float]) -> float:
    return sum(values) / len(values)
```

Maths, in a line \\(e^{i\\pi} + 1 = 0\\) and on its own:

$$
\\bar{x} = \\frac{1}{n} \\sum_{i=1}^{n} x_i
$$

> And a quotation, with <b>HTML that stays text</b>.
"""

PROGRAM = """\
import sys
for done in range(0, 101, 25):
    sys.stdout.write(f"\\rcounting {done:3d} %")
    sys.stdout.flush()
print()
for number, name in enumerate(("red", "green", "yellow"), 31):
    print(f"\\x1b[{number}m{name}\\x1b[0m")
"""

SOURCE = Path(__file__)

BEFORE = "# Scratch\n\nalpha\nbeta\ngamma\n"
AFTER = "# Scratch\n\nalpha\nBETA, edited\ngamma\n"

OPTIONS = [
    {"optionId": "write", "name": "Write it", "kind": "allow_once"},
    {"optionId": "write-always", "name": "Write it, and do not ask again", "kind": "allow_always"},
    {"optionId": "leave", "name": "Leave it", "kind": "reject_once"},
]


async def demo(turn: Turn, pace: str) -> None:
    """Show everything once; `pace` is for this turn."""
    usual = turn.session.pace
    try:
        turn.session.pace = pace_ms(pace) if pace else usual
    except ValueError:
        await turn.say(f"`{pace}` is no pace. There are {', '.join(PACES)}.")
        return
    try:
        await _show(turn)
    finally:
        turn.session.pace = usual


async def _show(turn: Turn) -> None:
    turn.update("session_info_update", title="A tour of every item kind")
    turn.update("current_mode_update", currentModeId=turn.session.mode)
    parts = (_speak, _run_command, _read_missing, _edit, _attach)
    for done, part in enumerate(parts):
        _plan(turn, done)
        await turn.pause(5)
        await part(turn)
    _plan(turn, len(parts))
    if turn.offers("session", "notices"):
        turn.update(
            "notice",
            severity="info",
            title="This is a notice",
            description="An agent says so what is neither answer nor error.",
        )
    await turn.say("That was every kind of item. `chat.timeline` holds them all as data.")


def _plan(turn: Turn, done: int) -> None:
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * len(STEPS)
    turn.update(
        "plan",
        entries=[
            {"content": step, "priority": "medium", "status": status}
            for step, status in zip(STEPS, statuses, strict=False)
        ],
    )


async def _speak(turn: Turn) -> None:
    await turn.think(THOUGHT)
    await turn.say(MARKDOWN)


async def _run_command(turn: Turn) -> None:
    """Run a real command; its output streams as a terminal of the agent's own where the client shows those."""
    call = turn.new_id("call")
    live = turn.offers("_meta", "terminal_output")
    terminal = f"{call}-terminal"
    start: dict[str, Any] = {}
    if live:
        start["content"] = [{"type": "terminal", "terminalId": terminal}]
        start["_meta"] = {"terminal_info": {"terminal_id": terminal}}
    turn.update(
        "tool_call",
        toolCallId=call,
        title="python -c …",
        kind="execute",
        status="in_progress",
        rawInput={"command": ["python", "-I", "-c", PROGRAM]},
        **start,
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", PROGRAM,
        cwd=turn.session.cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    output = ""
    try:
        # By line ends, not by reads: what a client sees is then the same in every run.
        while line := await process.stdout.readline():
            text = line.decode()
            output += text
            if live:
                turn.update(
                    "tool_call_update",
                    toolCallId=call,
                    _meta={"terminal_output": {"terminal_id": terminal, "data": text}},
                )
            await turn.pause(5)
        exit_code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    turn.update(
        "tool_call_update",
        toolCallId=call,
        status="completed" if exit_code == 0 else "failed",
        rawOutput={"exitCode": exit_code},
        **(
            {"_meta": {"terminal_exit": {"terminal_id": terminal, "exit_code": exit_code}}}
            if live
            else {"content": [_text(f"```console\n{output}```")]}
        ),
    )


async def _read_missing(turn: Turn) -> None:
    """Fail honestly: ask the client for a file that does not exist."""
    if turn.offers("fs", "readTextFile"):
        await _read(turn, _free_path(turn.session.cwd), "Read a file that is not there")


async def _edit(turn: Turn) -> None:
    """Write a scratch file and change a line of it, after a permission; read it back; remove it."""
    if turn.session.mode == "read-only" or not turn.offers("fs", "writeTextFile"):
        await turn.say("I write no file here: the mode, or the client, rules it out.")
        return
    path = _free_path(turn.session.cwd)
    call = turn.new_id("call")
    title = f"Write {path.name}, and remove it at the end"
    about = {
        "toolCallId": call,
        "title": title,
        "kind": "edit",
        "locations": [{"path": str(path), "line": 1}],
        "content": [_diff(path, None, BEFORE)],
        "rawInput": {"file": path.name},
    }
    turn.update("tool_call", status="pending", **about)
    refusal = await _ask(turn, about)
    if refusal:
        turn.update("tool_call_update", toolCallId=call, status="failed", content=[_text(refusal)])
        await turn.say(f"{refusal} So no file was written. On with the rest.")
        return
    try:
        if await _write(turn, call, path, BEFORE):
            await turn.pause(10)
            call = turn.new_id("call")
            turn.update(
                "tool_call",
                toolCallId=call,
                title=f"Change a line of {path.name}",
                kind="edit",
                status="pending",
                locations=[{"path": str(path), "line": 4}],
                content=[_diff(path, BEFORE, AFTER)],
                rawInput={"file": path.name, "old": "beta", "new": "BETA, edited"},
            )
            await _write(turn, call, path, AFTER)
            await _read(turn, path, f"Read {path.name}")
    finally:
        existed = path.exists()
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
    if existed:
        turn.update(
            "tool_call",
            toolCallId=turn.new_id("call"),
            title=f"Remove {path.name}",
            kind="delete",
            status="completed",
            locations=[{"path": str(path)}],
            content=[_text(f"Removed {path.name}.")],
        )


async def _ask(turn: Turn, about: dict[str, Any]) -> str:
    """Ask for the permission to write; returns why not, or nothing."""
    if turn.session.may_write:
        return ""
    answer = await turn.request("session/request_permission", toolCall=about, options=OPTIONS)
    outcome = answer.get("outcome") if isinstance(answer, dict) else None
    option = outcome.get("optionId") if isinstance(outcome, dict) else None
    if option is None:
        return "Nobody answered."
    turn.session.may_write = option == "write-always"
    return "" if option in {"write", "write-always"} else "You said no."


async def _write(turn: Turn, call: str, path: Path, content: str) -> bool:
    turn.update("tool_call_update", toolCallId=call, status="in_progress")
    try:
        await turn.request("fs/write_text_file", path=str(path), content=content)
    except Refused as error:
        turn.update(
            "tool_call_update", toolCallId=call, status="failed", content=[_text(error.message)]
        )
        return False
    turn.update("tool_call_update", toolCallId=call, status="completed")
    return True


async def _read(turn: Turn, path: Path, title: str) -> None:
    call = turn.new_id("call")
    turn.update(
        "tool_call",
        toolCallId=call,
        title=title,
        kind="read",
        status="in_progress",
        locations=[{"path": str(path)}],
        rawInput={"file": path.name},
    )
    try:
        answer = await turn.request("fs/read_text_file", path=str(path))
        status, text = "completed", str(answer.get("content")) if isinstance(answer, dict) else ""
    except Refused:
        status, text = "failed", f"{path.name} cannot be read."
    turn.update("tool_call_update", toolCallId=call, status=status, content=[_text(text)])


async def _attach(turn: Turn) -> None:
    png = base64.b64encode(sine_png()).decode()
    turn.show({"type": "image", "data": png, "mimeType": "image/png"})
    await turn.pause(5)
    turn.show(
        {
            "type": "resource_link",
            "name": SOURCE.name,
            "title": "The source of this demo",
            "uri": SOURCE.as_uri(),
            "mimeType": "text/x-python",
        }
    )
    turn.show(
        {
            "type": "resource_link",
            "name": "agentclientprotocol.com",
            "title": "The Agent Client Protocol",
            "uri": "https://agentclientprotocol.com",
        }
    )


def _free_path(cwd: Path) -> Path:
    """Return a scratch path that nothing stands at: a file of the user's is never touched."""
    number, path = 1, cwd / "explorer-scratch.md"
    while path.exists():
        number += 1
        path = cwd / f"explorer-scratch-{number}.md"
    return path


def _text(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def _diff(path: Path, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": str(path), "oldText": old, "newText": new}
