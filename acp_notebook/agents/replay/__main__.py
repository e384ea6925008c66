"""`python -P -m acp_notebook.agents.replay [--speed N] FILE`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from acp_notebook.agents.replay.player import Player, Step
from acp_notebook.agents.replay.record import load
from acp_notebook.agents.stdio import Stdio
from acp_notebook.wire import Message

if TYPE_CHECKING:
    from acp_notebook.agents.replay.record import Event
    from acp_notebook.wire import Frame


def main() -> None:
    """Play a record on stdio until the client closes the pipe."""
    parser = argparse.ArgumentParser(prog="replay", description=__doc__)
    parser.add_argument("file", type=Path, help="the record")
    parser.add_argument(
        "--speed", type=float, help="keep the recorded pauses, so many times faster"
    )
    options = parser.parse_args()
    if options.speed is not None and options.speed <= 0:
        parser.error("--speed must be above 0")
    try:
        events = load(options.file)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    asyncio.run(play(events, options.speed))


async def play(events: list[Event], speed: float | None) -> None:
    """Play the events to one client; without a speed there are no pauses."""
    stdio, player = Stdio(), Player(events)
    frames: asyncio.Queue[Frame | None] = asyncio.Queue()
    reading = asyncio.create_task(_forward(stdio, frames))
    played_ms: float | None = None
    while True:
        step = player.step()
        pause_s = 0.0
        if speed and step is not None and step.at is not None:
            pause_s = max(step.at - (played_ms or step.at), 0) / 1000 / speed
            played_ms = step.at
        # What the client says meanwhile (a cancel) counts before the next step.
        try:
            frame = await asyncio.wait_for(frames.get(), None if step is None else pause_s)
            if frame is None:
                break
            if isinstance(frame, Message):
                player.take(frame.value)
                played_ms = None
        except TimeoutError:
            pass
        if step is not None:
            _write(stdio, step)
    await reading


def _write(stdio: Stdio, step: Step) -> None:
    if step.stderr:
        sys.stderr.write(step.stderr + "\n")
    elif step.message is not None:
        stdio.send(step.message)
    else:
        stdio.send_bytes(step.raw.encode("utf-8", "replace") + b"\n")


async def _forward(stdio: Stdio, frames: asyncio.Queue[Frame | None]) -> None:
    async for frame in stdio.frames():
        frames.put_nowait(frame)
    frames.put_nowait(None)


if __name__ == "__main__":
    main()
