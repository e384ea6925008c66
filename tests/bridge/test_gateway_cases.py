"""The handed cases of class gateway, each played on the bridge and the double."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridge.case_player import CasePlayer, gateway_cases
from tests.bridge.double import GatewayDouble


@pytest.mark.parametrize("name", gateway_cases())
async def test_case(name: str, gateway: GatewayDouble, state_dir: Path) -> None:
    """The case's outcome is the bridge's."""
    await CasePlayer(name, gateway, state_dir).play()
