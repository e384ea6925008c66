"""From a chat over a real agent to the page's real wire, with what may happen between them."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import agents
from acp_notebook.host.loop import host_loop
from acp_notebook.host.session import ChatSession
from acp_notebook.host.state import Change
from acp_notebook.widget.feed import Feed
from acp_notebook.widget.pacing import MAX_SENDS, WINDOW_S
from acp_notebook.widget.requests import Requests
from tests.host.talk import Talk, agent
from tests.widget.page import Page, page

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def browser_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with page(tmp_path_factory.mktemp("page")) as started:
        yield started


class Link:
    """A chat and a page, with everything that the kernel sends passing through `deliver`."""

    def __init__(self, folder: Path, browser_page: Page) -> None:
        self.page = browser_page
        self.sent: queue.Queue[tuple[float, Any]] = queue.Queue()
        self.times: list[float] = []
        self.kinds: list[str] = []
        self.session = ChatSession(agents.find("explorer"), cwd=str(folder), policy="allow-all")
        self.feed = Feed(self.session, self._post, lambda: None)
        self.requests = Requests(self.session, self.feed, self._post)
        self.idle = threading.Event()
        host_loop().ask(self.feed.start)
        host_loop().ask(self.session.subscribe, self._changed)

    def _post(self, message: Any, buffers: Any = None) -> None:
        self.sent.put((host_loop().loop.time(), json.loads(json.dumps(message))))

    def _changed(self, _change: Change) -> None:
        if self.session.state.status == "idle" and len(self.session.snapshot.turns) > 0:
            self.idle.set()

    def open(self) -> None:
        """Open the page: it asks for a snapshot."""
        self.to_kernel(self.page.open())

    def to_kernel(self, messages: list[Any]) -> None:
        """Have what the page sends arrive."""
        for message in messages:
            host_loop().ask(self.requests.receive, message)

    def prompt(self, text: str) -> None:
        """Send a prompt."""
        self.idle.clear()
        host_loop().ask(self.session.enqueue, [{"type": "text", "text": text}])

    def carry(self, keeps: Callable[[int, Any], bool]) -> None:
        """Carry messages both ways until the turn has ended and nothing is left, losing some."""
        number = 0
        while True:
            try:
                at, message = self.sent.get(timeout=0.3 if self.idle.is_set() else TIMEOUT_S)
            except queue.Empty:
                return
            self.times.append(at)
            self.kinds.append(message["kind"])
            number += 1
            if keeps(number, message):
                self.to_kernel(self.page.deliver(message))

    def close(self) -> None:
        host_loop().run(self.session.close(), TIMEOUT_S)
        host_loop().ask(self.feed.stop)
        self.page.close()


@pytest.fixture
def link(tmp_path: Path, browser_page: Page) -> Iterator[Link]:
    opened = Link(tmp_path, browser_page)
    yield opened
    opened.close()


def as_the_kernel_has_it(link: Link) -> Any:
    return json.loads(json.dumps(link.session.snapshot.to_dict()))["items"]


def test_a_page_that_loses_every_seventh_message_shows_everything(link: Link) -> None:
    """Gaps are noticed and filled: with every seventh message lost, the page ends up whole."""
    link.open()
    link.prompt("/demo instant")
    link.carry(lambda number, message: number % 7 != 0 or message["kind"] == "snapshot")
    link.to_kernel(
        link.page.deliver({**link.feed.address, "kind": "ops", "version": 10**6, "ops": []})
    )
    link.idle.set()
    link.carry(lambda _number, _message: True)

    assert link.kinds.count("snapshot") > 2
    assert as_the_kernel_has_it(link) == link.page.shown()["items"]


def test_a_page_that_opens_in_mid_stream_goes_on(link: Link) -> None:
    """A page that opens while a turn streams gets all of it and follows from there."""
    link.open()
    link.prompt("/demo instant")
    reopened = False

    def keeps(number: int, message: Any) -> bool:
        nonlocal reopened
        if number == 20 and not reopened:
            reopened = True
            link.page.close()
            link.open()
            return False
        return True

    link.carry(keeps)
    assert reopened
    assert as_the_kernel_has_it(link) == link.page.shown()["items"]


def test_messages_are_paced(link: Link) -> None:
    """However fast an agent is, no second of streaming holds more than 30 messages."""
    link.open()
    for _ in range(3):
        link.prompt("/demo instant")
        link.carry(lambda _number, _message: True)
    ops = [at for at, kind in zip(link.times, link.kinds, strict=True) if kind == "ops"]

    assert len(ops) > 3 * 5
    assert max(sum(start <= at < start + WINDOW_S for at in ops) for start in ops) <= MAX_SENDS


def test_nothing_is_sent_before_a_page_asks(link: Link) -> None:
    """Without a page a turn costs no message; one that opens later gets a snapshot."""
    link.prompt("hello")
    assert link.idle.wait(TIMEOUT_S)
    assert link.sent.empty()
    link.open()
    link.carry(lambda _number, _message: True)

    assert ["snapshot"] == link.kinds
    assert as_the_kernel_has_it(link) == link.page.shown()["items"]


def test_another_session_is_one_snapshot_for_all(link: Link) -> None:
    """When the chat shows another session, every page gets it whole, and drops the old one."""
    link.open()
    link.prompt("hello")
    link.carry(lambda _number, _message: True)
    host_loop().run(link.session.sessions.new(), TIMEOUT_S)
    link.carry(lambda _number, _message: True)

    assert [] == link.page.shown()["items"]
    assert link.session.state.session_key == link.page.shown()["meta"]["sessionKey"]
    link.prompt("in the new one")
    link.carry(lambda _number, _message: True)
    assert as_the_kernel_has_it(link) == link.page.shown()["items"]


def test_what_was_sent_before_the_first_session_is_meant_for_it(link: Link) -> None:
    """A page that shows no session yet speaks to the first one, and not to a later one."""
    asks = [link.feed.is_current(None, 0)]
    link.prompt("hello")
    assert link.idle.wait(TIMEOUT_S)
    asks.append(link.feed.is_current(None, 0))
    host_loop().run(link.session.sessions.new(), TIMEOUT_S)
    asks.append(link.feed.is_current(None, 0))

    assert [True, True, False] == asks


def test_what_is_sent_after_the_shown_session_was_deleted_is_taken(tmp_path: Path) -> None:
    """Where the shown session was deleted, Send opens the next one; so does what follows at once."""
    talk = Talk(agent("polite"), tmp_path)
    feed = Feed(talk.session, lambda _message, _buffers=None: None, lambda: None)
    host_loop().ask(feed.start)
    try:
        talk.prompt("say hello")
        deleted = (str(talk.state.session_key), talk.state.generation)
        talk.run(talk.session.sessions.delete(deleted[0]))
        asks = [host_loop().ask(feed.is_current, *page) for page in ((None, 0), deleted)]
        talk.prompt("say hello again")
        asks.append(host_loop().ask(feed.is_current, None, 0))
    finally:
        host_loop().ask(feed.stop)
        talk.close()

    assert [True, False, True] == asks


def test_a_stopped_feed_sends_what_is_left_and_then_nothing(link: Link) -> None:
    """`stop` leaves no timer and no listener, and what had changed has gone out."""
    link.open()
    link.prompt("hello")
    link.carry(lambda _number, _message: True)

    def change_and_stop() -> None:
        link.session.set_draft("one")
        link.session.set_draft("two")
        link.feed.stop()
        link.feed.stop()

    host_loop().ask(change_and_stop)
    link.carry(lambda _number, _message: True)
    shown = link.page.shown()["meta"]["draft"]
    host_loop().ask(link.session.set_draft, "three")
    host_loop().run(asyncio.sleep(0))

    assert link.sent.empty()
    assert shown in {"one", "two"}
