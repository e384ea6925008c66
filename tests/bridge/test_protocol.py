"""Frames, signatures and parameter checks, without I/O."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.bridge import device, protocol

CLIENT = {**protocol.CLIENT, "platform": "linux"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda c: st.lists(c) | st.dictionaries(st.text(), c),
)


@given(st.dictionaries(st.text(), JSON))
def test_frames_survive_the_way(payload: dict[str, Any]) -> None:
    """What is written is what is read, lone surrogates and all."""
    assert protocol.parse(protocol.request("1", "m", payload)) == protocol.Request(
        "1", "m", payload
    )
    assert protocol.parse(protocol.success("1", payload)) == protocol.Response(
        "1", True, payload, {}
    )
    assert protocol.parse(protocol.event("e", payload, 3)) == protocol.Event("e", payload, 3)


@given(st.text() | st.binary())
def test_anything_else_is_no_frame(data: str | bytes) -> None:
    """Whatever a peer writes, parsing does not raise."""
    protocol.parse(data)


@pytest.mark.parametrize(
    "text", ["", "[]", "1", "{}", '{"type":"req"}', '{"type":"event","event":5}', "[" * 5000]
)
def test_no_frames(text: str) -> None:
    """Other JSON is dropped."""
    assert protocol.parse(text) is None


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("agent.wait", {}, "must have property 'runId'"),
        ("agent.wait", {"runId": ""}, "runId must not be empty"),
        ("agent.wait", {"runId": "x", "timeoutMs": True}, "timeoutMs must be int"),
        ("chat.abort", {"sessionKey": "k" * 513}, "1 to 512 characters"),
        ("no.such", {}, "unknown method"),
    ],
)
def test_bad_params_are_not_sent(method: str, params: dict[str, Any], said: str) -> None:
    """The message says what is wrong."""
    with pytest.raises(protocol.BadParams, match=said):
        protocol.check_params(method, params)


def test_a_device_signs_what_the_gateway_checks(tmp_path: Path) -> None:
    """The block verifies with its nonce, token and client, and with no other."""
    ours = device.Device.load(tmp_path / "home" / "device.pem")
    block = ours.block(CLIENT, token="t", nonce="n")
    assert device.verify(block, CLIENT, token="t", nonce="n")
    assert not device.verify(block, CLIENT, token="t2", nonce="n")
    assert not device.verify(block, CLIENT, token="t", nonce="n2")
    assert not device.verify(block, {**CLIENT, "platform": "darwin"}, token="t", nonce="n")
    assert not device.verify({**block, "id": "0" * 64}, CLIENT, token="t", nonce="n")


def test_the_signed_text_has_the_documented_form() -> None:
    """Version, device, client, role, scopes, time, token, nonce, platform, family, joined with |."""
    text = protocol.signed_text(
        device_id="d", client={**CLIENT, "platform": "Linux"}, signed_at=5, token="t", nonce="n"
    )
    assert text == "v3|d|cli|cli|operator|operator.admin|5|t|n|linux|"


def test_a_device_is_made_once(tmp_path: Path) -> None:
    """The second load is the first's key; the file is its owner's alone."""
    path = tmp_path / "home" / "device.pem"
    assert device.Device.load(path).id == device.Device.load(path).id
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["device.pem"]


def test_a_file_that_is_no_key_is_refused(tmp_path: Path) -> None:
    """It is neither used nor overwritten."""
    path = tmp_path / "device.pem"
    path.write_text("no key")
    with pytest.raises(ValueError, match=r"PEM|key"):
        device.Device.load(path)
    assert path.read_text() == "no key"


def test_tokens_are_kept_per_gateway(tmp_path: Path) -> None:
    """Each URL has its own; a damaged file is as good as none."""
    tokens = device.DeviceTokens(tmp_path / "tokens.json")
    tokens.put("ws://a", "1")
    tokens.put("ws://b", "2")
    assert (tokens.get("ws://a"), tokens.get("ws://b"), tokens.get("ws://c")) == ("1", "2", None)
    (tmp_path / "tokens.json").write_text("{")
    assert tokens.get("ws://a") is None
    tokens.put("ws://a", "3")
    assert tokens.get("ws://a") == "3"


def test_errors_say_what_they_are() -> None:
    """Code, reason and retry time are read from the gateway's error object."""
    error = protocol.GatewayError(
        {
            "code": "UNAVAILABLE",
            "message": "m",
            "retryAfterMs": 500,
            "details": {"reason": "startup-sidecars"},
        }
    )
    assert (error.is_starting, error.retry_after_s, str(error)) == (True, 0.5, "m")
    assert protocol.GatewayError({}).reason == ""
    assert str(protocol.GatewayClosed(1006, "gone")) == "gateway closed (1006): gone"
