"""OpenClaw through our own bridge: the agent of a gateway's address, `openclaw+ws://host:port`."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from acp_notebook.agents.catalog import embedded
from acp_notebook.errors import AgentNotFound

if TYPE_CHECKING:
    from acp_notebook.host.spec import AgentSpec

ADDRESS = re.compile(r"openclaw\+(wss?://\S+)")
INSTALL = "pip install 'acp-notebook[bridge]'"

_NEEDED = ("websockets", "cryptography")


def through_bridge(
    address: str, *, token: str | None = None, password: str | None = None
) -> AgentSpec:
    """
    Return the spec of the bridge to the gateway at `openclaw+ws://…` or `openclaw+wss://…`.

    Secrets go through the environment, never through the command line. Without one the bridge
    takes those of the kernel's environment, or the token that the gateway gave to this machine.

    Raises:
        AgentNotFound: the extra `bridge` is not installed.
        ValueError: it is no such address, or it holds a user or password.
    """
    match = ADDRESS.fullmatch(address)
    if match is None:
        raise ValueError(
            "The address of an OpenClaw gateway begins with openclaw+ws:// or +wss://."
        )
    url = match[1]
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ValueError("The address must not hold a user or password; give token= or password=.")
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise AgentNotFound(f"the OpenClaw bridge ({', '.join(missing)})", [sys.prefix], INSTALL)
    base = embedded("bridge", name="openclaw", title="OpenClaw")
    secrets = {"OPENCLAW_GATEWAY_TOKEN": token, "OPENCLAW_GATEWAY_PASSWORD": password}
    return replace(
        base,
        args=("-P", "-m", "acp_notebook.bridge", "--url", url),
        env={**base.env, **{name: value for name, value in secrets.items() if value}},
        auth_hint="give the gateway's token: Chat(..., token=...) or OPENCLAW_GATEWAY_TOKEN",
    )
