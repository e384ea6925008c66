"""A real ipykernel, driven by its messages as a front end drives it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.source import REPOSITORY

# Versions of ipykernel beside the environment's own, put there by scripts/kernels.sh.
OTHER_IPYKERNELS = Path(sys.prefix) / "ipykernel"


def python_path(ipykernel: str | None) -> str:
    """
    The PYTHONPATH of a kernel: the repository, and before it the ipykernel of that version.

    Raises:
        FileNotFoundError: that version was not set up.
    """
    if ipykernel is None:
        return str(REPOSITORY)
    folder = OTHER_IPYKERNELS / ipykernel
    if not folder.is_dir():
        raise FileNotFoundError(f"ipykernel {ipykernel} is not set up; run: make setup")
    return os.pathsep.join([str(folder), str(REPOSITORY)])


class CellError(Exception):
    """A cell raised."""


@dataclass
class Kernel:
    """A running kernel with a client that may be asked for input by nobody."""

    manager: KernelManager
    client: BlockingKernelClient

    def run(self, source: str, *, timeout_s: float = 60) -> str:
        """
        Run a cell and return what it printed.

        Raises:
            CellError: the cell raised; the message is its traceback.
        """
        printed: list[str] = []

        def collect(message: dict) -> None:
            if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
                printed.append(message["content"]["text"])

        reply = self.client.execute_interactive(
            source, timeout=timeout_s, allow_stdin=False, output_hook=collect
        )
        if reply["content"]["status"] != "ok":
            raise CellError("\n".join(reply["content"].get("traceback", ["aborted"])))
        return "".join(printed)

    def restart(self, *, now: bool) -> None:
        """Restart as a front end does: politely, or at once with SIGKILL."""
        self.manager.restart_kernel(now=now)
        self.client.wait_for_ready(timeout=60)


@contextlib.contextmanager
def kernel(cwd: Path, *, ipykernel: str | None = None) -> Iterator[Kernel]:
    """
    A kernel of this very environment in that folder, shut down at the end.

    `ipykernel` names another version than the environment's.
    """
    manager = KernelManager()
    manager.kernel_spec_manager.kernel_dirs = []  # so that "python3" is this Python
    manager.start_kernel(
        cwd=str(cwd),
        env=os.environ
        | {"PYTHONPATH": python_path(ipykernel), "IPYTHONDIR": str(cwd / ".ipython")},
    )
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        manager.context.destroy(linger=0)
