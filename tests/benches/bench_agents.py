"""
What the embedded agents cost: the time until one answers `initialize`.

Baseline: the same answer from a child on the SDK's agent side, `import acp` and all, in turns
within one run.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 7

ON_THE_SDK = """\
import asyncio
import acp
from acp.schema import InitializeResponse

class Plain(acp.Agent):
    async def initialize(self, protocol_version, **_):
        return InitializeResponse(protocol_version=protocol_version)

asyncio.run(acp.run_agent(Plain()))
"""

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": 1, "clientCapabilities": {}},
}


def answer_s(*arguments: str) -> float:
    """Seconds from the start of the process to its answer."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        took = time.perf_counter() - began
        process.stdin.close()
    assert answer["result"]["protocolVersion"] == 1
    return took


def test_starting_an_embedded_agent(tmp_path: Path) -> None:
    """Explorer and replay answer in at most a third of the time that the SDK's agent takes."""
    record = tmp_path / "talk.jsonl"
    reply = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}
    lines = [{"dir": "client->agent", "msg": INITIALIZE}, {"dir": "agent->client", "msg": reply}]
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    children = {
        "SDK": ("-c", ON_THE_SDK),
        "explorer": ("-P", "-m", "acp_notebook.agents.explorer"),
        "replay": ("-P", "-m", "acp_notebook.agents.replay", str(record)),
    }
    times: dict[str, list[float]] = {name: [] for name in children}
    for _ in range(ROUNDS):
        for name, arguments in children.items():
            times[name].append(answer_s(*arguments))
    median = {name: statistics.median(taken) for name, taken in times.items()}
    for name, taken in median.items():
        print(f"{name:9} {taken * 1000:6.0f} ms  {taken / median['SDK']:5.2f} of the SDK's")
    assert median["explorer"] < median["SDK"] / 3
    assert median["replay"] < median["SDK"] / 3
