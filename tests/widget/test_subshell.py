"""Clicks arrive while a cell runs, on a real ipykernel."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.kernels import Kernel, kernel

pytestmark = pytest.mark.kernel

SETUP = """
import threading, time
from comm import create_comm
from acp_notebook.widget.subshell import route_to_own_subshell

clicked = threading.Event()
where = []
made = create_comm(target_name="acp-test", data={})
route = route_to_own_subshell(made)

@made.on_msg
def heard(message):
    where.append(threading.current_thread().name)
    clicked.set()

print(made.comm_id)
"""
BLOCK = "made.send({}); print(clicked.wait(60), where); clicked.clear(); where.clear()"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with kernel(tmp_path_factory.mktemp("kernel")) as started:
        yield started


def click_in_busy_cell(running: Kernel, comm_id: str, cell: str) -> str:
    """Start a cell, send a comm message once it runs, and return what the cell printed."""
    client = running.client
    run_id = client.execute(cell)
    deadline = time.monotonic() + 90
    clicked, printed = False, ""
    while time.monotonic() < deadline:
        message = client.get_iopub_msg(timeout=90)
        if message["parent_header"].get("msg_id") != run_id:
            continue
        if message["msg_type"] == "comm_msg" and not clicked:
            clicked = True
            content = {"comm_id": comm_id, "data": {"method": "custom", "content": {}}}
            client.shell_channel.send(client.session.msg("comm_msg", content))
        elif message["msg_type"] == "stream":
            printed += message["content"]["text"]
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            client.get_shell_msg(timeout=90)
            return printed
    raise TimeoutError(printed)


def test_the_first_click_arrives_while_the_cell_blocks(running: Kernel) -> None:
    """The very first message from the page is handled during the cell, in a subshell's thread."""
    comm_id = running.run(SETUP).strip()
    said = click_in_busy_cell(running, comm_id, BLOCK)
    assert said.startswith("True ['subshell-"), said


def test_clicks_still_arrive_after_another_cell_used_the_comm(running: Kernel) -> None:
    """The route stays when the main shell publishes on the comm again."""
    comm_id = running.run(SETUP).strip()
    running.run("made.send({'more': 1})")
    for _ in range(3):
        assert click_in_busy_cell(running, comm_id, BLOCK).startswith("True ['subshell-")


def test_all_chats_share_one_subshell(running: Kernel) -> None:
    """A second comm, and a reloaded module, take the same subshell."""
    running.run(SETUP)
    said = running.run(
        "import importlib, acp_notebook.widget.subshell as s\n"
        "importlib.reload(s)\n"
        "other = create_comm(target_name='acp-test', data={})\n"
        "print(route is not None, s.route_to_own_subshell(other) == route)"
    )
    assert "True True" == said.strip()


def test_a_deleted_subshell_is_not_used_and_then_replaced(running: Kernel) -> None:
    """When somebody deletes our subshell, messages go where they would without us; the next chat makes one."""
    running.run(SETUP)
    said = running.run(
        "from concurrent.futures import Future\n"
        "channel = get_ipython().kernel.shell_channel_thread\n"
        "gone = Future()\n"
        "def delete():\n"
        "    channel.manager._delete_subshell(route)\n"
        "    gone.set_result(None)\n"
        "channel.io_loop.add_callback(delete)\n"
        "gone.result(10)\n"
        "print(made._reply_subshell_for({}, 'default'))\n"
        "other = create_comm(target_name='acp-test', data={})\n"
        "print(route_to_own_subshell(other) not in {None, route})"
    )
    assert ["default", "True"] == said.split()


@pytest.mark.parametrize(
    "breakage",
    [
        "made = object()",
        "kernel.shell_channel_thread = None",
        "import sys; sys.modules['ipykernel.kernelbase'] = None",
        "manager_class._create_subshell = None; del channel._acp_notebook_subshell",
    ],
)
def test_a_kernel_without_these_parts_is_left_as_it_is(breakage: str, running: Kernel) -> None:
    """Whatever is missing of ipykernel's private API, nothing raises and there is no route."""
    said = running.run(
        f"{SETUP}\nimport sys\nkernel, saved = get_ipython().kernel, dict(sys.modules)\n"
        "manager_class = type(kernel.shell_channel_thread.manager)\n"
        "channel, create = kernel.shell_channel_thread, manager_class._create_subshell\n"
        f"try:\n    {breakage}\n    print(route_to_own_subshell(made))\n"
        "finally:\n    kernel.shell_channel_thread, manager_class._create_subshell = channel, create\n"
        "    sys.modules.update(saved)\n"
    )
    assert "None" == said.splitlines()[-1]


def test_without_a_kernel_there_is_no_route() -> None:
    """In plain Python nothing is routed and nothing raises."""
    from comm import create_comm

    from acp_notebook.widget.subshell import route_to_own_subshell

    assert route_to_own_subshell(create_comm(target_name="acp-test")) is None
