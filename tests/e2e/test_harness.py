"""JupyterLab, Chromium and widgets work together here at all, without anything of ours."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.fixtures import OpenNotebook

pytestmark = pytest.mark.e2e

COUNTER = """
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = '''
    export default {
      render({ model, el }) {
        const button = document.createElement("button");
        const show = () => { button.textContent = `clicked ${model.get("count")}`; };
        button.className = "counter";
        button.onclick = () => { model.set("count", model.get("count") + 1); model.save_changes(); };
        model.on("change:count", show);
        show();
        el.append(button);
      },
    };
    '''
    count = traitlets.Int(0).tag(sync=True)

counter = Counter()
counter
"""


def test_a_widget_is_shown_clicked_and_found_again(open_notebook: OpenNotebook) -> None:
    """A click reaches the kernel, and the widget is there after a reload and a change of theme."""
    notebook = open_notebook([COUNTER, "counter.count"])
    button = notebook.page.locator(".counter")
    notebook.run(0)
    button.click()
    expect(button).to_have_text("clicked 1")
    notebook.run(1)
    assert notebook.output(1).inner_text().strip().endswith("1")
    notebook.set_theme("dark")
    notebook.reload()
    expect(button).to_have_text("clicked 1", timeout=60_000)
    assert [] == notebook.page_errors


@pytest.mark.parametrize("version", ["6.31.0", "7.3.0"])
def test_other_ipykernels_can_be_chosen(open_notebook: OpenNotebook, version: str) -> None:
    """A notebook runs on the ipykernel that was asked for."""
    notebook = open_notebook(["import ipykernel; ipykernel.__version__"], kernel=version)
    notebook.run(0)
    assert version in notebook.output(0).inner_text()


def test_a_running_cell_is_seen_and_interrupted(open_notebook: OpenNotebook) -> None:
    """The harness sees a running cell, interrupts it, and finds a restarted kernel empty."""
    notebook = open_notebook(["import threading; threading.Event().wait()", "'threading' in dir()"])
    notebook.run(0, wait=False)
    notebook.expect_running(0)
    notebook.interrupt_kernel()
    notebook.wait(0)
    assert "KeyboardInterrupt" in notebook.output(0).inner_text()
    notebook.restart_kernel()
    notebook.run(1)
    assert "False" in notebook.output(1).inner_text()
