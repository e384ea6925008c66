"""Without a kernel the widget does nothing, and does it without a fault."""

from __future__ import annotations

import threading
from pathlib import Path

import ipywidgets
import pytest
from traitlets.config import Config

from acp_notebook import agents
from acp_notebook.host.loop import host_loop
from acp_notebook.host.session import ChatSession
from acp_notebook.widget import ChatWidget

TIMEOUT_S = 60


def test_a_widget_in_plain_python_follows_its_chat_and_sends_nothing(tmp_path: Path) -> None:
    """In plain Python the traits follow the chat, observers are called, and `close` is quiet."""
    session = ChatSession(agents.find("explorer"), cwd=str(tmp_path))
    widget = ChatWidget(session, height=300)
    told = threading.Event()
    widget.observe(lambda _: told.set(), "session_key")
    box = ipywidgets.VBox([widget])
    host_loop().run(session.prompt([{"type": "text", "text": "hello"}]), TIMEOUT_S)

    assert told.wait(TIMEOUT_S)
    assert ("300px", "ACP chat") == (widget.height, repr(widget))
    assert "hello" in widget.saved
    widget.close()
    widget.close()
    box.close()
    host_loop().run(session.close(), TIMEOUT_S)


def test_showing_it_in_a_terminal_prints_a_constant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """IPython in a terminal prints the plain text and no address."""
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    try:
        session = ChatSession(agents.find("explorer"), cwd=str(tmp_path))
        widget = ChatWidget(session)
        widget._ipython_display_()
        assert {"ACP chat"} == set(capsys.readouterr().out.split("\n")) - {""}
        widget.close()
        host_loop().run(session.close(), TIMEOUT_S)
    finally:
        InteractiveShell.clear_instance()
