"""The main job, as a person does it: a chat with the embedded agent in JupyterLab."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.fixtures import OpenNotebook
from tests.e2e.notebook import Notebook

pytestmark = pytest.mark.e2e

LOAD = "%load_ext acp_notebook"
SHOW = "from acp_notebook import Chat\nchat = Chat('explorer')\nchat"
LAST = "print(chat.timeline.turns[-1].stop_reason, chat.timeline.turns[-1].text[-60:])"
ENDING = "`chat.timeline` holds them all as data."
SHOWN_ENDING = "chat.timeline holds them all as data."
STREAM_MS = 60_000


def composer(chat: Locator) -> Locator:
    return chat.locator("textarea")


def send(notebook: Notebook, chat: Locator, text: str) -> None:
    """Type a message and press Enter."""
    expect(composer(chat)).to_be_enabled(timeout=STREAM_MS)
    composer(chat).click()
    notebook.page.keyboard.type(text)
    notebook.page.keyboard.press("Enter")


def allow(chat: Locator) -> Locator:
    """The button that lets the explorer write its scratch file."""
    return chat.get_by_role("button", name=re.compile("Write it$"))


def printed(notebook: Notebook, index: int) -> str:
    notebook.run(index)
    return notebook.output(index).inner_text()


def test_a_message_is_typed_and_answered(open_notebook: OpenNotebook) -> None:
    """`%acp_chat` shows a chat; what is typed is shown and answered as Markdown, and no key reaches the notebook."""
    notebook = open_notebook([LOAD, "%acp_chat explorer", "untouched = 1"])
    notebook.run(0)
    notebook.run(1)
    chat = notebook.widget()
    send(notebook, chat, "add a b c d d x")
    expect(chat.locator("strong", has_text="explorer")).to_be_visible(timeout=STREAM_MS)
    asked = chat.get_by_role("region", name="You")
    expect(asked.get_by_text("add a b c d d x", exact=True)).to_be_visible()
    expect(composer(chat)).to_have_value("")
    assert 3 == notebook.page.locator(".jp-Notebook .jp-CodeCell").count()
    assert [] == notebook.page_errors


def test_every_kind_of_item_is_shown_in_light_and_dark(open_notebook: OpenNotebook) -> None:
    """The explorer's tour is shown whole: prose, tools, diff, permission, plan, picture, and looks right in both themes."""
    notebook = open_notebook([LOAD, "%acp_chat explorer --policy allow-all --height 900px"])
    notebook.page.set_viewport_size({"width": 1280, "height": 1200})
    notebook.run(0)
    notebook.run(1)
    chat = notebook.widget()
    send(notebook, chat, "/demo instant")
    expect(chat.get_by_text(SHOWN_ENDING)).to_be_visible(timeout=STREAM_MS)
    expect(chat.locator("table")).not_to_have_count(0)
    expect(chat.locator("img")).not_to_have_count(0)
    for theme in ("light", "dark"):
        notebook.set_theme(theme)
        for place, top in (("top", 0), ("end", 1e9)):
            chat.locator("[role=log]").evaluate("(log, top) => log.scrollTo(0, top)", top)
            notebook.screenshot(f"demo-{theme}-{place}", of=chat)
    assert [] == notebook.page_errors


@pytest.mark.parametrize("kernel", ["python3", "7.3.0", "6.31.0"])
def test_the_first_click_answers_a_blocked_cell(open_notebook: OpenNotebook, kernel: str) -> None:
    """While a cell is blocked in `chat.ask`, the very first click on the chat answers its permission."""
    notebook = open_notebook(
        [
            SHOW,
            "turn = chat.ask('/demo instant')\nprint(turn.stop_reason)",
            "print(chat.timeline.to_dict()['items'])",
        ],
        kernel=kernel,
    )
    notebook.run(0)
    chat = notebook.widget()
    notebook.run(1, wait=False)
    allow(chat).click(timeout=STREAM_MS)
    notebook.wait(1)
    assert "end_turn" in notebook.output(1).inner_text()
    expect(chat.get_by_text(SHOWN_ENDING)).to_be_visible(timeout=STREAM_MS)
    expect(allow(chat)).to_have_count(0)
    expect(notebook.page.locator(".jp-Stdin")).to_have_count(0)
    assert "'decidedBy': 'user'" in printed(notebook, 2)


def test_stop_ends_a_streaming_turn(open_notebook: OpenNotebook) -> None:
    """Stop in mid-stream ends the turn as cancelled, keeps what was said, and the chat goes on."""
    notebook = open_notebook([SHOW, LAST])
    notebook.run(0)
    chat = notebook.widget()
    send(notebook, chat, "/demo slow")
    expect(chat.get_by_text("Prose with")).to_be_visible(timeout=STREAM_MS)
    chat.get_by_role("button", name="Stop").click()
    expect(chat.get_by_role("button", name="Stop")).to_have_count(0, timeout=STREAM_MS)
    assert printed(notebook, 1).startswith("cancelled")
    expect(chat.get_by_text("Prose with")).to_be_visible()
    send(notebook, chat, "/help")
    expect(chat.get_by_text("/find").first).to_be_visible(timeout=STREAM_MS)


def test_a_reload_in_mid_stream_loses_nothing(open_notebook: OpenNotebook) -> None:
    """After a reload in mid-stream the whole timeline is there and the stream goes on to its end."""
    notebook = open_notebook([SHOW, LAST, "print(*[i.id for i in chat.timeline.items])"])
    notebook.run(0)
    chat = notebook.widget()
    send(notebook, chat, "/demo slow")
    expect(chat.get_by_text("Prose with")).to_be_visible(timeout=STREAM_MS)
    notebook.reload()
    chat = notebook.widget()
    expect(chat.get_by_text("Prose with")).to_be_visible(timeout=STREAM_MS)
    allow(chat).click(timeout=2 * STREAM_MS)
    expect(chat.get_by_text(SHOWN_ENDING)).to_be_visible(timeout=2 * STREAM_MS)
    assert f"end_turn {ENDING[-20:]}".split()[0] in printed(notebook, 1)
    ids = printed(notebook, 2).split()
    shown = chat.locator("[data-item]").evaluate_all("nodes => nodes.map(n => n.dataset.item)")
    assert [one for one in ids if one in set(shown)] == list(dict.fromkeys(shown))


def test_two_views_stay_in_step_and_one_click_acts_once(open_notebook: OpenNotebook) -> None:
    """A chat shown twice shows the same in both, and a permission answered in one is gone in both."""
    notebook = open_notebook([SHOW, "chat", "print(len(chat.timeline.turns))"])
    notebook.run(0)
    notebook.run(1)
    first, second = notebook.widget(0), notebook.widget(1)
    send(notebook, first, "/demo instant")
    allow(second).click(timeout=STREAM_MS)
    for view in (first, second):
        expect(view.get_by_text(SHOWN_ENDING)).to_be_visible(timeout=STREAM_MS)
        expect(allow(view)).to_have_count(0)
    assert "1" == printed(notebook, 2).strip().split()[-1]


def test_a_restarted_kernel_leaves_the_text_and_takes_no_message(
    open_notebook: OpenNotebook,
) -> None:
    """After a kernel restart the view keeps its text and says that the kernel is gone; the cell brings a new chat."""
    notebook = open_notebook([SHOW])
    notebook.run(0)
    chat = notebook.widget()
    send(notebook, chat, "/help")
    expect(chat.get_by_text("/find").first).to_be_visible(timeout=STREAM_MS)
    notebook.restart_kernel()
    expect(chat.get_by_text("kernel is gone")).to_be_visible(timeout=STREAM_MS)
    expect(chat.get_by_text("/find").first).to_be_visible()
    notebook.run(0)
    send(notebook, notebook.widget(), "/help")
    expect(notebook.widget().get_by_text("/find").first).to_be_visible(timeout=STREAM_MS)


def test_the_saved_notebook_keeps_a_copy_that_needs_nothing(open_notebook: OpenNotebook) -> None:
    """The file holds the answer as HTML and Markdown in an output of its own, and constant plain text."""
    notebook = open_notebook([SHOW])
    notebook.run(0)
    chat = notebook.widget()
    send(notebook, chat, "/help")
    kept = notebook.output(0).locator(".acp-saved")
    expect(kept).to_contain_text("/find", timeout=STREAM_MS)
    outputs = notebook.save()["cells"][0]["outputs"]
    live, copy = (output["data"] for output in outputs)
    assert "application/vnd.jupyter.widget-view+json" in live
    assert not re.search(r"0x[0-9a-f]{6}", json.dumps(live["text/plain"]))
    assert "/find" in "".join(copy["text/html"])
    assert "<script" not in "".join(copy["text/html"])
    assert "/find" in "".join(copy["text/markdown"])
    expect(kept).to_be_hidden()
