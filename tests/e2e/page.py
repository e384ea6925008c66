"""The widget's page without a notebook: the real wire, store and components over recorded views."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, Page

JS = Path(__file__).parents[2] / "js"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def gallery() -> Iterator[str]:
    """The address of `js/dev`, built."""
    node = shutil.which("node")
    assert node is not None
    subprocess.run([node, "build.mjs", "--gallery"], cwd=JS, check=True, timeout=120)
    serve = functools.partial(_Quiet, directory=str(JS / "dev"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


class OpenScene(Protocol):
    """What the fixture `open_scene` gives."""

    def __call__(self, scene: str, **options: Any) -> Page: ...


@pytest.fixture
def open_scene(gallery: str, browser: Browser) -> Iterator[OpenScene]:
    """Open a scene; whatever it asks another host for, or says as an error, fails the test."""
    pages: list[Page] = []
    faults: list[str] = []

    def open_(scene: str, *, reduced_motion: bool = False, **options: Any) -> Page:
        width = int(options.setdefault("width", 900))
        motion = "reduce" if reduced_motion else "no-preference"
        page = browser.new_page(
            viewport={"width": width + 40, "height": 760}, reduced_motion=motion
        )
        pages.append(page)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((gallery, "blob:", "data:"))
                else faults.append(request.url)
            ),
        )
        query = "&".join(f"{name}={value}" for name, value in options.items())
        page.goto(f"{gallery}/gallery.html?scene={scene}&{query}")
        page.wait_for_selector(".acp-notebook textarea")
        page.wait_for_function("store.connection.value === 'live'")
        return page

    yield open_
    for page in pages:
        page.close()
    assert [] == faults
