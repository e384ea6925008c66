"""
Which gateway, and with which secret: flags, then environment, then OpenClaw's own config.

The config is read only for a URL that comes from it or for the local default: a URL that was
given by flag or environment never takes credentials from it.
"""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_PORT = 18789
# Tailnet addresses; the private ranges are known to `ipaddress`.
_CARRIER_NAT = ipaddress.ip_network("100.64.0.0/10")
_REFERENCE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")


class BadTarget(ValueError):
    """The gateway cannot be addressed as told; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Target:
    """A gateway's URL and what authenticates us there."""

    url: str
    token: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)


def resolve(
    url: str | None,
    token: str | None,
    password: str | None,
    *,
    env: Mapping[str, str],
    config_path: Path,
) -> Target:
    """
    Return the gateway to use.

    Raises:
        BadTarget: the URL is no WebSocket URL, or a plain one to a host that is not private.
    """
    token = token or env.get("OPENCLAW_GATEWAY_TOKEN") or None
    password = password or env.get("OPENCLAW_GATEWAY_PASSWORD") or None
    told = url or env.get("OPENCLAW_GATEWAY_URL") or None
    if told is not None:
        target = Target(told, token, password)
    else:
        target = _from_config(read_config(config_path), token, password, env)
    check_url(target.url, loose=env.get("OPENCLAW_ALLOW_INSECURE_PRIVATE_WS") == "1")
    return target


def default_config_path(env: Mapping[str, str], state_dir: Path) -> Path:
    """Where OpenClaw's config is."""
    told = env.get("OPENCLAW_CONFIG_PATH")
    return Path(told).expanduser() if told else state_dir / "openclaw.json"


def read_config(path: Path) -> dict[str, Any]:
    """Return OpenClaw's config (JSON5); an absent or unreadable one is empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        import json5

        try:
            value = json5.loads(text)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _from_config(
    config: dict[str, Any], token: str | None, password: str | None, env: Mapping[str, str]
) -> Target:
    gateway = _dict(config.get("gateway"))
    remote = _dict(gateway.get("remote"))
    url = _string(remote.get("url"), env)
    if gateway.get("mode") == "remote" and url:
        secrets = remote
    else:
        port = _port(env.get("OPENCLAW_GATEWAY_PORT")) or _port(gateway.get("port")) or DEFAULT_PORT
        scheme = "wss" if _dict(gateway.get("tls")).get("enabled") is True else "ws"
        url, secrets = f"{scheme}://127.0.0.1:{port}", _dict(gateway.get("auth"))
    if token or password:
        return Target(url, token, password)
    return Target(url, _string(secrets.get("token"), env), _string(secrets.get("password"), env))


def check_url(url: str, *, loose: bool = False) -> None:
    """
    Check that the URL may carry secrets: `wss://`, or `ws://` to a private host.

    `loose` lets every host name through, for a trusted network with names of its own.

    Raises:
        BadTarget: it may not.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadTarget(f"the gateway URL {url!r} is not valid: {error}") from None
    if parts.scheme not in {"ws", "wss"} or not host:
        raise BadTarget(f"the gateway URL {url!r} must begin with ws:// or wss://")
    if parts.username is not None or parts.password is not None:
        raise BadTarget("the gateway URL must not hold a user or password; use --token-file")
    if parts.scheme == "ws" and not _is_private(host, loose=loose):
        raise BadTarget(
            f"refusing plain ws:// to {host}: secrets and prompts would be readable on the way."
            " Use wss://, or a tunnel to a loopback port"
        )


def _is_private(host: str, *, loose: bool) -> bool:
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith((".localhost", ".local", ".ts.net")):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return loose
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return (
        address.is_loopback
        or address.is_link_local
        or (address.is_private and not address.is_unspecified)
        or (isinstance(address, ipaddress.IPv4Address) and address in _CARRIER_NAT)
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: Any, env: Mapping[str, str]) -> str | None:
    """A plain string, with `${NAME}` taken from the environment; OpenClaw's secret refs are not read."""
    if not isinstance(value, str) or not value:
        return None
    return _REFERENCE.sub(lambda match: env.get(match[1], ""), value) or None


def _port(value: Any) -> int | None:
    try:
        port = int(value)
    except (TypeError, ValueError):
        return None
    return port if 0 < port < 65536 else None
