"""
The bridge's own device identity: an Ed25519 key, kept with the device token beside the ledger.

The gateway knows a device by `id`, the hex SHA-256 of its raw public key, and lets it sign the
nonce of each connection's challenge. OpenClaw's own identity is never read or written.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from acp_notebook.bridge import protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _from_base64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True, slots=True)
class Device:
    """A key pair as the gateway sees it."""

    key: Ed25519PrivateKey

    @classmethod
    def load(cls, path: Path) -> Device:
        """
        Return the device of that file (PEM, mode 0600), made at the first call.

        Raises:
            OSError: the file can be neither read nor made.
            ValueError: the file holds no Ed25519 key.
        """
        try:
            key = load_pem_private_key(path.read_bytes(), password=None)
        except FileNotFoundError:
            return cls._create(path)
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError(f"{path} holds no Ed25519 key")  # noqa: TRY004  # a bad file, not a bad call
        return cls(key)

    @classmethod
    def _create(cls, path: Path) -> Device:
        key = Ed25519PrivateKey.generate()
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        _write_private(fresh, pem)
        try:
            os.link(fresh, path)  # of two bridges that start together, one key wins
        except FileExistsError:
            return cls.load(path)
        finally:
            fresh.unlink()
        return cls(key)

    @property
    def public_key(self) -> bytes:
        """The 32 raw bytes."""
        return self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def id(self) -> str:
        """Hex SHA-256 of the raw public key."""
        return hashlib.sha256(self.public_key).hexdigest()

    def block(self, client: Mapping[str, Any], *, token: str, nonce: str) -> dict[str, Any]:
        """Return `connect.device`: id, key and a signature over this connection's nonce."""
        signed_at = time.time_ns() // 1_000_000
        text = protocol.signed_text(
            device_id=self.id, client=client, signed_at=signed_at, token=token, nonce=nonce
        )
        return {
            "id": self.id,
            "publicKey": _base64url(self.public_key),
            "signature": _base64url(self.key.sign(text.encode())),
            "signedAt": signed_at,
            "nonce": nonce,
        }


def verify(block: Mapping[str, Any], client: Mapping[str, Any], *, token: str, nonce: str) -> bool:
    """Whether a device block is what the gateway accepts: id of its key, good signature, our nonce."""
    try:
        raw = _from_base64url(block["publicKey"])
        text = protocol.signed_text(
            device_id=block["id"],
            client=client,
            signed_at=block["signedAt"],
            token=token,
            nonce=nonce,
        )
        key = Ed25519PublicKey.from_public_bytes(raw)
        key.verify(_from_base64url(block["signature"]), text.encode())
    except (KeyError, ValueError, TypeError, InvalidSignature):
        return False
    return bool(block["nonce"] == nonce) and block["id"] == hashlib.sha256(raw).hexdigest()


class DeviceTokens:
    """The tokens that gateways issued to this device, one a URL, in one private file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, url: str) -> str | None:
        """Return the token of that gateway; None when there is none or the file is unreadable."""
        token = self._read().get(url)
        return token if isinstance(token, str) and token else None

    def put(self, url: str, token: str) -> None:
        """Keep a gateway's token. A file that cannot be written costs nothing but the token."""
        tokens = self._read()
        if tokens.get(url) == token:
            return
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            _write_private(fresh, json.dumps({**tokens, url: token}).encode())
            fresh.replace(self._path)

    def _read(self) -> dict[str, Any]:
        try:
            tokens = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return tokens if isinstance(tokens, dict) else {}


def _write_private(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
