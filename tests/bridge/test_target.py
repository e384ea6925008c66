"""Which gateway and which secret: flags, environment, OpenClaw's config; and the flags themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.bridge import cli, target

CONFIG = {
    "gateway": {
        "mode": "local",
        "port": 20000,
        "auth": {"token": "local-token"},
        "remote": {"url": "wss://far.example", "token": "far-token", "password": "far-password"},
    }
}


def resolve(
    tmp_path: Path, config: Any = None, url: str | None = None, token: str | None = None, **env: str
) -> tuple[str, str | None, str | None]:
    path = tmp_path / "openclaw.json"
    if config is not None:
        path.write_text(config if isinstance(config, str) else json.dumps(config))
    found = target.resolve(url, token, None, env=env, config_path=path)
    return found.url, found.token, found.password


def test_a_flag_takes_nothing_from_the_config(tmp_path: Path) -> None:
    """Nor does an environment URL: credentials must be given with it."""
    assert resolve(tmp_path, CONFIG, url="ws://127.0.0.1:1") == ("ws://127.0.0.1:1", None, None)
    assert resolve(tmp_path, CONFIG, OPENCLAW_GATEWAY_URL="ws://127.0.0.1:2") == (
        "ws://127.0.0.1:2",
        None,
        None,
    )


def test_the_environment_gives_secrets_to_any_url(tmp_path: Path) -> None:
    """OPENCLAW_GATEWAY_TOKEN and _PASSWORD."""
    env = {"OPENCLAW_GATEWAY_TOKEN": "t", "OPENCLAW_GATEWAY_PASSWORD": "p"}
    assert resolve(tmp_path, url="ws://127.0.0.1:1", **env) == ("ws://127.0.0.1:1", "t", "p")
    assert resolve(tmp_path, CONFIG, token="flag", **env)[1] == "flag"


def test_a_local_config(tmp_path: Path) -> None:
    """Port and token of the local gateway; the remote one only when the mode is remote."""
    assert resolve(tmp_path, CONFIG) == ("ws://127.0.0.1:20000", "local-token", None)
    tls = {"gateway": {"tls": {"enabled": True}}}
    assert resolve(tmp_path, tls) == ("wss://127.0.0.1:18789", None, None)


def test_a_remote_config(tmp_path: Path) -> None:
    """URL and secrets of the remote gateway."""
    config = {"gateway": {**CONFIG["gateway"], "mode": "remote"}}
    assert resolve(tmp_path, config) == ("wss://far.example", "far-token", "far-password")


def test_no_config_is_the_default_port(tmp_path: Path) -> None:
    """Absent, unreadable or senseless: the local default."""
    default = ("ws://127.0.0.1:18789", None, None)
    assert resolve(tmp_path) == default
    for text in ("{", "[]", '{"gateway": 5}', '{"gateway": {"port": "x"}}'):
        assert resolve(tmp_path, text) == default


def test_json5_and_references(tmp_path: Path) -> None:
    """OpenClaw's config has comments, and may take a secret from the environment."""
    text = "{ // mine\n gateway: { port: 7, auth: { token: '${MY_TOKEN}' }, }, }"
    assert resolve(tmp_path, text, MY_TOKEN="from-env") == ("ws://127.0.0.1:7", "from-env", None)


@pytest.mark.parametrize(
    "url",
    [
        "wss://example.org",
        "ws://localhost:1",
        "ws://127.0.0.1",
        "ws://[::1]:5",
        "ws://10.1.2.3",
        "ws://192.168.0.9",
        "ws://100.100.1.1",
        "ws://[fd00::1]",
        "ws://box.local",
        "ws://host.tail1.ts.net",
    ],
)
def test_urls_that_may_carry_secrets(url: str) -> None:
    """TLS anywhere, plain only where the network is private."""
    target.check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "ws://example.org",
        "ws://8.8.8.8",
        "ws://0.0.0.0",
        "http://localhost",
        "localhost:1",
        "",
        "ws://",
        "ws://u:p@localhost",
        "ws://localhost:x",
    ],
)
def test_urls_that_may_not(url: str) -> None:
    """Refused before anything is opened, and no secret is in the message."""
    with pytest.raises(target.BadTarget) as caught:
        target.check_url(url)
    assert ":p@" not in str(caught.value)


def test_plain_names_are_let_through_when_told() -> None:
    """OPENCLAW_ALLOW_INSECURE_PRIVATE_WS=1; a public address never."""
    target.check_url("ws://gateway", loose=True)
    with pytest.raises(target.BadTarget):
        target.check_url("ws://8.8.8.8", loose=True)


def options(tmp_path: Path, *flags: str, **env: str) -> Any:
    base = ["--url", "ws://127.0.0.1:1", "--state-dir", str(tmp_path)]
    return cli.read_options(cli.parser().parse_args([*base, *flags]), env)


def test_flags_and_aliases(tmp_path: Path) -> None:
    """The original's flags, and the `--gateway-*` forms of some."""
    (tmp_path / "t").write_text(" token \n")
    (tmp_path / "p").write_text("password")
    made = options(
        tmp_path,
        *(
            "--gateway-token-file",
            str(tmp_path / "t"),
            "--gateway-password-file",
            str(tmp_path / "p"),
        ),
        *("--session", "agent:main:main", "--session-label", "L", "--require-existing"),
        *("--reset-session", "--no-prefix-cwd", "--provenance", "meta+receipt", "-v"),
    )
    assert (made.token, made.password, made.state_dir) == ("token", "password", tmp_path)
    assert (made.session_key, made.session_label) == ("agent:main:main", "L")
    assert (made.require_existing, made.reset_session, made.prefix_cwd) == (True, True, False)
    assert (made.provenance, made.verbose, made.recovery_grace_s) == ("meta+receipt", True, 600)


def test_both_forms_of_a_secret_are_an_error(tmp_path: Path) -> None:
    """So is a file that is absent or empty."""
    (tmp_path / "t").write_text("token")
    (tmp_path / "empty").write_text("\n")
    for name, flags in {
        "exclude": ("--token", "x", "--token-file", str(tmp_path / "t")),
        "cannot be read": ("--password-file", str(tmp_path / "absent")),
        "is empty": ("--token-file", str(tmp_path / "empty")),
    }.items():
        with pytest.raises(cli.UsageError, match=name):
            options(tmp_path, *flags)


def run(*flags: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).resolve().parents[2])
    return subprocess.run(
        [sys.executable, "-P", "-m", "acp_notebook.bridge", *flags],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={"PYTHONPATH": root, "PATH": "", **(env or {})},
    )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--url", "ws://example.org"], "refusing plain ws://"),
        (["--provenance", "some"], "invalid choice: 'some'"),
        (["--nope"], "unrecognized arguments"),
        (["--token", "a", "--token-file", "b", "--url", "ws://127.0.0.1:1"], "exclude each other"),
        (["--recovery-grace", "-1"], "must be a number of seconds"),
    ],
)
def test_failures_before_the_start(tmp_path: Path, flags: list[str], said: str) -> None:
    """`ACP bridge failed: …` on stderr, exit 1, nothing on stdout."""
    done = run(*flags, env={"HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (1, "")
    assert "ACP bridge failed: " in done.stderr
    assert said in done.stderr


def test_nobody_there(tmp_path: Path) -> None:
    """The message names the gateway, and no secret."""
    env = {"OPENCLAW_GATEWAY_TOKEN": "very-secret", "HOME": str(tmp_path)}
    done = run("--url", "ws://127.0.0.1:9", env=env)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ACP bridge failed: the gateway at ws://127.0.0.1:9: ")
    assert "very-secret" not in done.stderr


def test_a_direct_secret_is_warned_of(tmp_path: Path) -> None:
    """It stands in the process list."""
    done = run("--url", "ws://127.0.0.1:9", "--token", "very-secret", env={"HOME": str(tmp_path)})
    assert "warning: --token is visible in the process list" in done.stderr
    assert "very-secret" not in done.stderr


def test_help_names_the_state_folder(tmp_path: Path) -> None:
    """Where ledger and key are."""
    done = run("--help", env={"HOME": str(tmp_path), "COLUMNS": "1000"})
    assert done.returncode == 0
    assert f"{tmp_path}/.openclaw" in done.stdout
    assert "acp-notebook/" in done.stdout


def test_the_missing_extra_is_named(tmp_path: Path) -> None:
    """Without websockets the message says what to install."""
    hide = "import sys, importlib.util as u; f = u.find_spec; u.find_spec = lambda n, p=None: None if n == 'websockets' else f(n, p); "
    code = hide + "from acp_notebook.bridge.cli import main; sys.exit(main([]))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "HOME": str(tmp_path)},
    )
    assert done.returncode == 1
    assert "needs websockets" in done.stderr
    assert "pip install 'acp-notebook[bridge]'" in done.stderr


def test_everything_heavy_is_imported_before_the_socket_opens(tmp_path: Path) -> None:
    """Nothing is imported between the import of `serve` and the first hello."""
    code = (
        "import sys, acp_notebook.bridge.serve\n"
        "need = ['acp.schema', 'websockets.asyncio.client', 'sqlite3', 'cryptography', 'pydantic']\n"
        "print([n for n in need if n not in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "HOME": str(tmp_path)},
    )
    assert done.stdout.strip() == "[]"
