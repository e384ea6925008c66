"""Chats with real children, closed after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.host.talk import Talk, agent


@pytest.fixture
def talks(tmp_path: Path) -> Iterator[Callable[..., Talk]]:
    """Makes chats: `talks("polite", "--resume", policy="deny", max_queue=3)`."""
    made: list[Talk] = []

    def make(name: str = "polite", *args: str, cwd: Path | None = None, **options: Any) -> Talk:
        env = options.pop("env", None)
        talk = Talk(agent(name, *args, env=env), cwd or tmp_path, **options)
        made.append(talk)
        return talk

    yield make
    for talk in made:
        talk.close()


@pytest.fixture
def talk(talks: Callable[..., Talk]) -> Talk:
    """A chat with the polite agent."""
    return talks()
