"""The gateway double and bridges on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.double import GatewayDouble
from tests.bridge.driver import BridgeClient


@pytest.fixture
async def gateway() -> AsyncIterator[GatewayDouble]:
    async with GatewayDouble() as double:
        yield double


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    path = tmp_path / "state"
    path.mkdir()
    return path


@pytest.fixture
async def bridges(gateway: GatewayDouble, state_dir: Path) -> AsyncIterator[Callable[..., Any]]:
    """Start bridges on the gateway; all are stopped at the end."""
    async with AsyncExitStack() as stack:

        async def start(*flags: str, **how: Any) -> BridgeClient:
            url = how.pop("url", gateway.url)
            bridge = BridgeClient(url, how.pop("state_dir", state_dir), *flags, **how)
            await stack.enter_async_context(bridge)
            return bridge

        yield start


@pytest.fixture
async def bridge(bridges: Callable[..., Any]) -> BridgeClient:
    return await bridges()
