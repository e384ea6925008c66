"""A page as the kernel sees one: comm messages in and out, the page's real store behind them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.kernels import Kernel
from tests.widget.page import Page

NAME = "page"


class KernelPage:
    """
    One page that shows the last widget that the kernel has made.

    `messages` are the widget's custom messages in order, each with the time at which it came.
    """

    def __init__(self, kernel: Kernel, store: Page) -> None:
        self.kernel = kernel
        self.store = store
        self.comm_id = ""
        self.traits: dict[str, Any] = {}
        self.messages: list[tuple[float, dict[str, Any], list[bytes]]] = []
        self.replies: dict[str, dict[str, Any]] = {}
        self.displays: list[dict[str, Any]] = []
        self.idle: set[str] = set()
        self.printed: dict[str, str] = {}
        self.address: dict[str, Any] = {"session": None, "generation": 0, "epoch": None}
        self.version = -1
        self.live = False
        self._requests = 0
        self._pieces: list[Any] = []
        self.errors: list[str] = []
        self.stderr = ""

    # -- out

    def run(self, source: str) -> str:
        """Start a cell; returns the id to wait for with `ended`."""
        return str(self.kernel.client.execute(source, allow_stdin=False))

    def say(self, kind: str, **fields: Any) -> str:
        """Send a message as the page does; returns its id."""
        self._requests += 1
        id_ = f"{NAME}:{self._requests}"
        content = {"kind": kind, "id": id_, "view": NAME, **self.address, **fields}
        client = self.kernel.client
        data = {"method": "custom", "content": content}
        client.shell_channel.send(
            client.session.msg("comm_msg", {"comm_id": self.comm_id, "data": data})
        )
        return id_

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a message and wait for its answer."""
        id_ = self.say(kind, **fields)
        self.until(lambda: id_ in self.replies)
        return self.replies[id_]

    # -- in

    def until(self, done: Callable[[], object], *, timeout_s: float = 90) -> None:
        """Take what the kernel sends until that is true."""
        deadline = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.errors}\n{[m for _, m, _ in self.messages[-5:]]}")
            self._take(self.kernel.client.get_iopub_msg(timeout=timeout_s))

    def ended(self, cell: str) -> str:
        """Wait for the end of a cell; returns what it printed."""
        self.until(lambda: cell in self.idle)
        return self.printed.get(cell, "")

    def cell(self, source: str) -> str:
        """Run a cell to its end; returns what it printed."""
        return self.ended(self.run(source))

    def open(self) -> None:
        """Ask for a snapshot and wait until it is there."""
        self.live = False
        self.say("resync")
        self.until(lambda: self.live)

    def view(self) -> Any:
        """What the page shows now."""
        return self.store.shown()

    def custom(self, kind: str) -> list[dict[str, Any]]:
        """The widget's messages of that kind."""
        return [message for _, message, _ in self.messages if message["kind"] == kind]

    def item(self, kind: str, **fields: Any) -> dict[str, Any] | None:
        """The last shown item of that kind with these fields."""
        found = [
            item
            for item in self.view()["items"]
            if item["kind"] == kind and all(item[name] == value for name, value in fields.items())
        ]
        return found[-1] if found else None

    def _take(self, message: dict[str, Any]) -> None:
        content, kind = message["content"], message["msg_type"]
        cell = message["parent_header"].get("msg_id", "")
        if kind == "comm_open" and "_esm" in content["data"].get("state", {}):
            self.comm_id = content["comm_id"]
            self.traits = dict(content["data"]["state"])
        elif kind == "comm_msg" and content["comm_id"] == self.comm_id:
            data = content["data"]
            if data["method"] == "update":
                self.traits |= data["state"]
            elif data["method"] == "custom":
                self._custom(data["content"], [bytes(b) for b in message["buffers"]])
        elif kind == "status" and content["execution_state"] == "idle":
            self.idle.add(cell)
        elif kind == "stream" and content["name"] == "stderr":
            self.stderr += content["text"]
        elif kind == "stream":
            self.printed[cell] = self.printed.get(cell, "") + content["text"]
        elif kind == "error":
            self.errors.append("\n".join(content["traceback"]))
        elif kind in {"display_data", "update_display_data", "execute_result", "comm_close"}:
            self.displays.append({"type": kind, "parent": cell, **content})

    def _custom(self, message: dict[str, Any], buffers: list[bytes]) -> None:
        self.messages.append((time.monotonic(), message, buffers))
        match message["kind"]:
            case "reply":
                self.replies[message["id"]] = message
            case "snapshot" if message["for"] in {NAME, "*"}:
                self._pieces.append({"view": message["view"], "ops": message["ops"]})
                if message["piece"] == message["pieces"] - 1:
                    self.store.snapshot(self._pieces)
                    self._pieces = []
                    self.version = message["version"]
                    self.address = {key: message[key] for key in ("session", "generation", "epoch")}
                    self.live = True
            case "ops" if self.live:
                assert message["version"] == self.version + 1
                self.version += 1
                self.store.apply(message["ops"])
