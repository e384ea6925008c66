"""The widget in a real kernel, over a real agent, as a page sees it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from acp_notebook.widget.requests import STATIC
from tests.kernels import Kernel, kernel
from tests.widget.kernel_page import KernelPage
from tests.widget.page import Page, page

pytestmark = pytest.mark.kernel

SETUP = """
import json, tempfile
from acp_notebook import agents
from acp_notebook.host.loop import host_loop
from acp_notebook.host.session import ChatSession
from acp_notebook.widget import ChatWidget
session = ChatSession(agents.find("explorer"), cwd=tempfile.mkdtemp())
widget = ChatWidget(session, saved={saved})
"""
ASK = "host_loop().run(session.prompt([{'type': 'text', 'text': '/demo instant'}]))"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with page(tmp_path_factory.mktemp("page")) as started:
        yield started


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with kernel(tmp_path_factory.mktemp("kernel")) as started:
        yield started


@pytest.fixture
def shown(running: Kernel, store: Page) -> Iterator[KernelPage]:
    """A page that shows a fresh chat with the explorer."""
    opened = KernelPage(running, store)
    opened.cell(SETUP.format(saved=True))
    opened.open()
    yield opened
    opened.cell("widget.close(); host_loop().run(session.close(), 20)")
    assert [] == opened.errors
    assert "" == opened.stderr


def send(shown: KernelPage, text: str) -> None:
    assert shown.ask("send", text=text)["ok"]


def until_status(shown: KernelPage, status: str) -> None:
    shown.until(lambda: shown.view()["meta"]["status"] == status)


def until_settled(shown: KernelPage) -> None:
    shown.until(lambda: (turns := shown.view()["turns"]) and turns[-1]["state"] != "running")
    until_status(shown, "idle")


def until_asked(shown: KernelPage) -> dict[str, Any]:
    """Wait for a permission request."""
    shown.until(lambda: shown.item("permission", status="pending"))
    found = shown.item("permission", status="pending")
    assert found
    return found


def answer(shown: KernelPage, asked: dict[str, Any], kind: str) -> dict[str, Any]:
    """Click on the option of that kind."""
    option = next(option for option in asked["options"] if option["kind"] == kind)
    return shown.ask(
        "answer", requestId=asked["requestId"], itemId=asked["id"], optionId=option["optionId"]
    )


def kernel_items(shown: KernelPage) -> Any:
    """The items as the kernel has them."""
    return json.loads(shown.cell("print(json.dumps(session.snapshot.to_dict()['items']))"))


def test_a_prompt_is_sent_and_its_answer_streams(shown: KernelPage) -> None:
    """Send makes a user bubble and a streamed answer, and the page shows what the kernel has."""
    send(shown, "hello there")
    until_settled(shown)

    assert kernel_items(shown) == shown.view()["items"]
    assert "hello there" == shown.view()["items"][0]["parts"][0]["text"]
    assert "append" in {op["op"] for message in shown.custom("ops") for op in message["ops"]}


def test_a_page_that_opens_later_shows_the_same(shown: KernelPage) -> None:
    """After a resync the page shows what following by ops had given."""
    send(shown, "hello there")
    until_settled(shown)
    before = shown.view()
    shown.open()

    assert before == shown.view()


def test_the_first_click_answers_a_permission_while_the_cell_blocks(shown: KernelPage) -> None:
    """A click that is the page's first reaches the agent although a cell waits for the turn."""
    cell = shown.run(f"print({ASK}.snapshot.turns[-1].stop_reason)")
    asked = until_asked(shown)
    assert answer(shown, asked, "allow_once")["ok"]

    assert "end_turn" == shown.ended(cell).strip()
    decided = shown.item("permission")
    assert decided
    assert ("selected", "user") == (decided["status"], decided["decidedBy"])


def test_one_click_acts_once(shown: KernelPage) -> None:
    """The second click on a request is refused as data."""
    send(shown, "/demo instant")
    asked = until_asked(shown)
    assert answer(shown, asked, "reject_once")["ok"]
    again = answer(shown, asked, "allow_once")

    assert "This request is no longer open." == again["error"]["message"]


def test_a_request_that_somebody_sees_is_acknowledged(shown: KernelPage) -> None:
    """A page's acknowledgement reaches the request."""
    send(shown, "/demo instant")
    asked = until_asked(shown)
    shown.cell("told = []; session.acknowledge = told.append")
    shown.ask("ack", requestIds=[asked["requestId"]])

    assert [asked["requestId"]] == json.loads(shown.cell("print(json.dumps(told))"))
    shown.ask("cancel")
    until_settled(shown)


def test_stop_ends_the_turn(shown: KernelPage) -> None:
    """Stop in mid-stream ends the turn as cancelled."""
    send(shown, "/demo slow")
    shown.until(lambda: shown.item("message-segment", role="assistant"))
    shown.ask("cancel")
    until_settled(shown)

    turn = shown.view()["turns"][-1]
    assert ("cancelled", True) == (turn["stopReason"], turn["stoppedByUser"])


def test_prompts_queue_and_can_be_changed(shown: KernelPage) -> None:
    """While a turn runs a prompt waits; it can be edited, removed, and no more once it is gone."""
    send(shown, "/demo slow")
    until_status(shown, "running")
    first, second = (shown.ask("send", text=text)["result"]["promptId"] for text in ("one", "two"))
    assert shown.ask("queue", action="edit", promptId=first, text="edited")["ok"]
    assert shown.ask("queue", action="remove", promptId=second)["ok"]
    shown.until(lambda: [q["text"] for q in shown.view()["meta"]["queue"]] == ["edited"])
    gone = shown.ask("queue", action="remove", promptId=second)
    refused = shown.ask("send", text="now", queue=False)
    empty = shown.ask("queue", action="edit", promptId=first, text=" ")
    assert shown.ask("queue", action="send-now", promptId=first)["ok"]
    shown.until(lambda: len(shown.view()["turns"]) == 2)
    until_settled(shown)

    assert "This prompt is no longer in the queue." == gone["error"]["message"]
    assert "The agent is still answering." == refused["error"]["message"]
    assert "There is nothing to send." == empty["error"]["message"]
    assert ["/demo slow", "edited"] == [
        item["parts"][0]["text"]
        for item in shown.view()["items"]
        if item["kind"] == "message-segment" and item["role"] == "user"
    ]


def test_the_draft_is_kept(shown: KernelPage) -> None:
    """A draft survives in the kernel, and goes when it is sent."""
    shown.ask("draft", text="half a thou")
    shown.until(lambda: shown.view()["meta"]["draft"] == "half a thou")
    shown.open()
    assert "half a thou" == shown.view()["meta"]["draft"]
    send(shown, "half a thought")
    until_settled(shown)
    assert "" == shown.view()["meta"]["draft"]
    assert not shown.ask("draft", text="x" * 300_000)["ok"]


def test_bad_messages_are_answered_as_data(shown: KernelPage) -> None:
    """A message of no known kind, or with wrong fields, is refused; the kernel prints nothing."""
    refusals = [
        shown.ask("no such kind"),
        shown.ask("send"),
        shown.ask("send", text="  "),
        shown.ask("answer", requestId=9, itemId="x", optionId="y"),
        shown.ask("elicit", elicitationId="x", action="cancel"),
        shown.ask("fetch-blob", sha256="0" * 64),
        shown.ask("queue", action="edit", promptId="x", text="y"),
    ]
    assert [False] * 7 == [refusal["ok"] for refusal in refusals]
    assert all(refusal["error"]["message"] for refusal in refusals)


def test_a_message_about_another_session_does_nothing(shown: KernelPage) -> None:
    """A click of a page that shows another session or generation is refused."""
    send(shown, "hello")
    until_settled(shown)
    other = shown.ask("send", text="x", session="other")
    older = shown.ask("send", text="x", generation=99)

    assert ["This chat now shows another session."] * 2 == [
        refusal["error"]["message"] for refusal in (other, older)
    ]
    assert 1 == len(shown.view()["turns"])


def test_a_snapshot_names_its_reader(shown: KernelPage) -> None:
    """Each page that asks is named in what it gets, and the version goes on for all."""
    version = shown.version
    shown.say("resync", view="another page")
    shown.until(lambda: shown.custom("snapshot")[-1]["for"] == "another page")

    assert version == shown.custom("snapshot")[-1]["version"] == shown.version


def test_image_bytes_come_when_asked_for(shown: KernelPage) -> None:
    """An image's bytes come in the buffers of a message of their own, and match their digest."""
    send(shown, "/demo instant")
    answer(shown, until_asked(shown), "allow_once")
    until_settled(shown)
    parts = [part for item in shown.view()["items"] for part in item.get("parts", ())]
    ref = next(part["blob"] for part in parts if part["kind"] == "image")
    assert shown.ask("fetch-blob", sha256=ref["sha256"])["ok"]
    (message, buffers) = next((m, b) for _, m, b in shown.messages if m["kind"] == "blob")

    assert (ref["sha256"], ref["size"]) == (
        hashlib.sha256(buffers[0]).hexdigest(),
        message["size"],
    )


def test_lazy_code_comes_when_asked_for(shown: KernelPage) -> None:
    """The code that is not in the bundle comes as bytes, with its reference as the answer."""
    ref = shown.ask("fetch-module", name="maths")["result"]
    data = b"".join(b[0] for _, m, b in shown.messages if m["kind"] == "blob")

    assert (STATIC / "maths.js").read_bytes() == data
    assert hashlib.sha256(data).hexdigest() == ref["sha256"]


def test_an_agent_that_exits_is_shown_and_can_be_started_again(shown: KernelPage) -> None:
    """The page sees the exit, and Restart brings the agent back."""
    send(shown, "hello")
    until_settled(shown)
    shown.cell(
        "import psutil\n"
        "for child in psutil.Process().children(recursive=True):\n"
        "    if 'acp_notebook.agents.explorer' in child.cmdline()[:4]: child.kill()"
    )
    until_status(shown, "exited")
    assert shown.ask("restart")["ok"]
    until_status(shown, "idle")
    send(shown, "again")
    until_settled(shown)


def test_traits_follow_the_chat_and_can_be_linked(shown: KernelPage) -> None:
    """Status, title, agent and session key are traits; an observer's fault stops nothing."""
    shown.cell(
        "seen = []\n"
        "widget.observe(lambda change: seen.append(change['new']), 'status')\n"
        "widget.observe(lambda change: 1 / 0, 'title')\n"
        "import logging; logging.getLogger('acp_notebook.widget').propagate = False\n"
        "logging.getLogger('acp_notebook.widget').addHandler(logging.NullHandler())\n"
        "import ipywidgets\nlabel = ipywidgets.Label(); link = ipywidgets.link((widget, 'agent_name'), (label, 'value'))"
    )
    send(shown, "hello")
    until_settled(shown)
    said = shown.cell(
        "print(label.value, seen[-1], widget.session_key == session.state.session_key)"
    )

    assert "Explorer idle True" == said.strip()
    assert ("Explorer", "hello") == (shown.traits["agent_name"], shown.traits["title"])


def test_a_trait_set_in_a_cell_is_sent_by_the_host_thread(shown: KernelPage) -> None:
    """A cell may set a trait; what goes out goes out on the host thread."""
    shown.cell(
        "import threading\nsenders = set()\nreal = widget.comm.send\n"
        "def send(*a, **k):\n    senders.add(threading.current_thread().name); real(*a, **k)\n"
        "widget.comm.send = send\nwidget.height = '300px'"
    )
    shown.until(lambda: shown.traits["height"] == "300px")
    send(shown, "hello")
    until_settled(shown)

    assert "{'acp-notebook-host'}" == shown.cell("print(senders)").strip()


def test_the_route_for_clicks_is_laid_again_when_the_comm_is_replaced(shown: KernelPage) -> None:
    """A widget that gets another comm has its clicks routed there, too."""
    shown.cell("widget.comm.close(); widget.comm = None; widget.open()")
    shown.open()
    cell = shown.run(ASK)
    assert answer(shown, until_asked(shown), "allow_once")["ok"]
    shown.ended(cell)


def test_a_closed_widget_is_silent(shown: KernelPage) -> None:
    """After `close` the comm is closed, the session goes on, and nothing more is sent."""
    send(shown, "hello")
    until_settled(shown)
    shown.cell("widget.close(); widget.close()")
    shown.until(lambda: [d for d in shown.displays if d["type"] == "comm_close"])
    count = len(shown.messages)
    shown.cell("host_loop().run(session.prompt([{'type': 'text', 'text': 'hi'}]))")

    assert count == len(shown.messages)
    assert "2" == shown.cell("print(len(session.snapshot.turns))").strip()


def test_the_widget_is_displayed_once_and_its_copy_below_it(shown: KernelPage) -> None:
    """A displayed chat has two outputs: the widget, never updated, and a copy that follows at rest."""
    cell = shown.run("display(widget)")
    shown.ended(cell)
    widget_output, copy = [d for d in shown.displays if d["parent"] == cell]
    send(shown, "hello there")
    until_settled(shown)
    shown.cell("pass")
    updates = [d for d in shown.displays if d["type"] == "update_display_data"]

    assert "application/vnd.jupyter.widget-view+json" in widget_output["data"]
    assert ["ACP chat"] * 2 == [d["data"]["text/plain"] for d in (widget_output, copy)]
    assert "Nothing has been said yet." in copy["data"]["text/html"]
    assert {copy["transient"]["display_id"]} == {d["transient"]["display_id"] for d in updates}
    assert "hello there" in updates[-1]["data"]["text/html"]
    assert "hello there" in updates[-1]["data"]["text/markdown"]
    assert len(updates) < 10 < len(shown.custom("ops"))


def test_a_copy_is_made_when_a_permission_is_asked(shown: KernelPage) -> None:
    """Rest points are the ends of turns and open requests; what streams between makes no copy."""
    shown.cell("display(widget)")
    send(shown, "/demo instant")
    asked = until_asked(shown)
    shown.until(lambda: asked["title"] in json.dumps(shown.displays))
    assert asked["id"] in shown.traits["saved"]
    shown.ask("cancel")
    until_settled(shown)


def test_the_copy_is_written_before_the_cell_that_asked_ends(shown: KernelPage) -> None:
    """An executed notebook holds the last turn: its copy belongs to the cell that waited for it."""
    shown.cell("display(widget)")
    cell = shown.run(
        "host_loop().run(session.prompt([{'type': 'text', 'text': 'hello last'}])); None"
    )
    shown.ended(cell)
    updates = [d for d in shown.displays if d["type"] == "update_display_data"]

    assert "hello last" in updates[-1]["data"]["text/html"]
    assert cell == updates[-1]["parent"]


def test_without_copies_nothing_of_the_chat_is_kept(shown: KernelPage) -> None:
    """With `saved=False` there is one output and the trait stays empty."""
    shown.cell("widget.close(); widget = ChatWidget(session, saved=False)")
    shown.open()
    cell = shown.run("display(widget)")
    shown.ended(cell)
    send(shown, "hello there")
    until_settled(shown)

    assert 1 == len([d for d in shown.displays if d["parent"] == cell])
    assert "" == shown.traits["saved"]


def test_a_chat_stands_in_other_widgets(shown: KernelPage) -> None:
    """In a box or a tab, and with a layout of its own, the chat is a widget like any other."""
    cell = shown.run(
        "import ipywidgets\n"
        "box = ipywidgets.VBox([ipywidgets.Tab([widget]), ipywidgets.Label('x')])\n"
        "widget.layout = ipywidgets.Layout(width='50%')\ndisplay(box)"
    )
    shown.ended(cell)
    outputs = [d for d in shown.displays if d["parent"] == cell]
    shown.until(lambda: "layout" in shown.traits)
    send(shown, "hello")
    until_settled(shown)

    assert 1 == len(outputs)
    assert "50%" == shown.cell("print(widget.layout.width)").strip()


def test_a_closed_widget_displays_its_copy(shown: KernelPage) -> None:
    """A widget that was closed shows the constant and the copy, and raises nothing."""
    send(shown, "hello there")
    until_settled(shown)
    shown.cell("widget.close()")
    cell = shown.run("display(widget)")
    shown.ended(cell)
    plain, copy = [d for d in shown.displays if d["parent"] == cell]

    assert {"text/plain": "ACP chat"} == plain["data"]
    assert "hello there" in copy["data"]["text/html"]


@pytest.mark.parametrize("phase", ["starting", "idle"])
def test_a_prompt_sent_while_the_agent_starts_is_answered(shown: KernelPage, phase: str) -> None:
    """What is sent in any phase of the start goes out once the session is there."""
    shown.run("display(widget)")
    until_status(shown, "starting")
    until_status(shown, phase)
    send(shown, "hello early")
    until_settled(shown)

    assert ["hello early"] == [
        item["parts"][0]["text"]
        for item in shown.view()["items"]
        if item["kind"] == "message-segment" and item["role"] == "user"
    ]
    assert "" == shown.view()["meta"]["draft"]


def test_a_configuration_can_keep_the_conversation_out_of_the_file(running: Kernel) -> None:
    """With `save_transcript` off a chat displays one output, and its widget's state holds no copy."""
    said = running.run(
        "import os\nos.environ['ACP_NOTEBOOK_SAVE_TRANSCRIPT'] = 'false'\n"
        "import acp_notebook\nquiet = acp_notebook.Chat('explorer')\n"
        "turn = quiet.ask('hello')\nprint(repr(quiet.widget.saved), quiet.widget._copies)\n"
        "quiet.close()\ndel os.environ['ACP_NOTEBOOK_SAVE_TRANSCRIPT']"
    )
    assert "'' None" == said.strip()
