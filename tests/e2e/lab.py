"""A real JupyterLab server on a free port, with a folder and a configuration of its own."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat

from tests.kernels import OTHER_IPYKERNELS, python_path
from tests.source import REPOSITORY


class LabServer:
    """
    JupyterLab as a user starts it, but without news, update checks and the extension registry.

    Its settings are the defaults; `window.jupyterapp` is exposed so that a test can ask the page
    for its state and run the commands that stand behind menus.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.token = secrets.token_hex(16)
        self.log = folder / "server.log"
        runtime = folder / "runtime"
        environment = os.environ | {
            "JUPYTER_TOKEN": self.token,
            "JUPYTER_RUNTIME_DIR": str(runtime),
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "JUPYTER_DATA_DIR": str(folder / "data"),
            "IPYTHONDIR": str(folder / "ipython"),
            "PYTHONPATH": str(REPOSITORY),
        }
        self._write_kernel_specs(folder / "data" / "kernels")
        settings = (
            folder / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
        )
        settings.mkdir(parents=True)
        # As if the user had answered the question of the first start with no: a toast would lie
        # over the pictures.
        (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
        command = [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"),
            f"--ServerApp.root_dir={self.root}",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.extension_manager=readonly",
            "--LabApp.expose_app_in_browser=True",
        ]
        with self.log.open("wb") as log:
            self._server = subprocess.Popen(
                command, cwd=self.root, env=environment, stdout=log, stderr=log
            )
        self.url = self._wait_for_url(runtime)

    @staticmethod
    def _write_kernel_specs(folder: Path) -> None:
        """Offer each other ipykernel as a kernel of its own, named by its version."""
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        for version in sorted(found.name for found in OTHER_IPYKERNELS.glob("*.*.[0-9]")):
            spec = {
                "argv": command,
                "display_name": f"ipykernel {version}",
                "language": "python",
                "env": {"PYTHONPATH": python_path(version)},
            }
            (folder / version).mkdir(parents=True)
            (folder / version / "kernel.json").write_text(json.dumps(spec))

    def _wait_for_url(self, runtime: Path) -> str:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self._server.poll() is None:
            try:
                (description,) = runtime.glob("jpserver-*.json")
                port = json.loads(description.read_text())["port"]
            except ValueError:  # not written, or not wholly
                time.sleep(0.1)
                continue
            return f"http://127.0.0.1:{port}"
        self.close()
        raise RuntimeError(f"JupyterLab did not come up:\n{self.log.read_text()}")

    def request(self, method: str, path: str) -> Any:
        """Ask the server's REST interface; the answer is decoded JSON or None."""
        request = urllib.request.Request(
            f"{self.url}/{path}", method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            body = response.read()
        return json.loads(body) if body else None

    def write_notebook(self, path: str, cells: list[str], kernel: str = "python3") -> Path:
        """Put a notebook with these code cells below the server's root."""
        notebook = nbformat.v4.new_notebook(
            metadata={"kernelspec": {"name": kernel, "display_name": kernel}}
        )
        # The front end names cells by itself only when it saves; ids of our own keep files alike.
        notebook.cells = [
            nbformat.v4.new_code_cell(source, id=f"cell-{index}")
            for index, source in enumerate(cells)
        ]
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target)
        return target

    def document_url(self, path: str) -> str:
        """Where the page shows this notebook alone, in single-document mode."""
        return f"{self.url}/doc/tree/{quote(path)}?token={self.token}&reset"

    def shut_down_kernels(self) -> None:
        """End every session with its kernel, and wait until the server says so."""
        for session in self.request("GET", "api/sessions"):
            self.request("DELETE", f"api/sessions/{session['id']}")
        for kernel in self.request("GET", "api/kernels"):
            self.request("DELETE", f"api/kernels/{kernel['id']}")

    def close(self) -> None:
        """Stop the server, which shuts its kernels down."""
        self._server.terminate()
        try:
            self._server.wait(30)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
