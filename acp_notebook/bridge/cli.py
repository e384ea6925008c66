"""
`acp-notebook bridge`: flags, secrets, and stdout taken for frames before anything else.

Until `serve` is imported this module needs the standard library only: whatever a library
prints while it is imported must land on stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acp_notebook.bridge.options import BridgeOptions

_NEEDED = ("websockets", "cryptography", "json5")


class UsageError(Exception):
    """The flags contradict each other or name a file that cannot be read."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bridge, or `bridge ledger …` to look inside its ledger; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["ledger"]:
        from acp_notebook.bridge.ledger_cli import main as look_inside

        return look_inside(arguments[1:])
    flags = parser().parse_args(arguments)
    frames = _take_stdout()
    missing = [name for name in _NEEDED if util.find_spec(name) is None]
    if missing:
        return _failed(
            f"the OpenClaw bridge needs {' and '.join(missing)}."
            " Install it with:  pip install 'acp-notebook[bridge]'"
        )
    try:
        options = read_options(flags, os.environ)
    except (UsageError, ValueError) as error:
        return _failed(str(error))
    from acp_notebook.bridge.serve import serve

    return serve(options, frames)


def _take_stdout() -> int:
    """Keep fd 1 for frames alone: what anything prints from now on goes to stderr."""
    sys.stdout.flush()
    frames = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return frames


def _failed(message: str) -> int:
    sys.stderr.write(f"ACP bridge failed: {message}\n")
    return 1


def read_options(flags: argparse.Namespace, env: Mapping[str, str]) -> BridgeOptions:
    """
    Return the options that flags, environment and OpenClaw's config amount to.

    Raises:
        UsageError: both forms of one secret, or a secret's file that cannot be read.
        BadTarget: see `target.resolve`.
    """
    from acp_notebook.bridge import target
    from acp_notebook.bridge.options import BridgeOptions, default_state_dir

    state_dir = flags.state_dir or default_state_dir()
    gateway = target.resolve(
        flags.url,
        _secret("token", flags.token, flags.token_file),
        _secret("password", flags.password, flags.password_file),
        env=env,
        config_path=target.default_config_path(env, state_dir),
    )
    return BridgeOptions(
        url=gateway.url,
        token=gateway.token,
        password=gateway.password,
        session_key=flags.session,
        session_label=flags.session_label,
        require_existing=flags.require_existing,
        reset_session=flags.reset_session,
        prefix_cwd=not flags.no_prefix_cwd,
        provenance=flags.provenance,
        state_dir=state_dir,
        verbose=flags.verbose,
        recovery_grace_s=flags.recovery_grace,
        approval_timeout_s=flags.approval_timeout,
    )


def _secret(name: str, value: str | None, file: Path | None) -> str | None:
    if value is not None and file is not None:
        raise UsageError(f"--{name} and --{name}-file exclude each other")
    if value is not None:
        sys.stderr.write(
            f"warning: --{name} is visible in the process list; use --{name}-file"
            f" or OPENCLAW_GATEWAY_{name.upper()}\n"
        )
        return value
    if file is None:
        return None
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"the {name} file {file} cannot be read: {reason}") from None
    if not text:
        raise UsageError(f"the {name} file {file} is empty")
    return text


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError("must be a number of seconds, 0 or more")
    return value


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"ACP bridge failed: {message}\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser; the original's flags and its `--gateway-*` aliases."""
    from acp_notebook.bridge.options import default_state_dir

    made = _Parser(
        prog="acp-notebook bridge",
        description="A stdio ACP agent that speaks for an OpenClaw Gateway.",
        epilog="`acp-notebook bridge ledger --help` tells how to look inside the ledger.",
    )
    add = made.add_argument
    add(
        "--url",
        "--gateway-url",
        help="gateway URL (else OPENCLAW_GATEWAY_URL, else OpenClaw's config)",
    )
    add(
        "--token",
        "--gateway-token",
        help="gateway token (better: OPENCLAW_GATEWAY_TOKEN or the file)",
    )
    add("--token-file", "--gateway-token-file", type=Path, help="file that holds the gateway token")
    add("--password", "--gateway-password", help="gateway password (better: the file)")
    add(
        "--password-file", "--gateway-password-file", type=Path, help="file that holds the password"
    )
    add("--session", metavar="KEY", help="default gateway session key, such as agent:main:main")
    add("--session-label", metavar="LABEL", help="default session label, resolved by the gateway")
    add("--require-existing", action="store_true", help="fail when the session key does not exist")
    add("--reset-session", action="store_true", help="reset the session key before its first use")
    add("--no-prefix-cwd", action="store_true", help="no working-directory line before the prompts")
    add("--provenance", choices=("off", "meta", "meta+receipt"), default="off", help="default: off")
    add(
        "--state-dir",
        type=Path,
        metavar="DIR",
        help="OpenClaw's state directory; ledger and device key are in acp-notebook/ inside it"
        f" (default: {default_state_dir()})",
    )
    add(
        "--recovery-grace",
        type=_seconds,
        default=600.0,
        metavar="SECONDS",
        help="how long a prompt that the gateway accepted waits for a lost link (default: 600)",
    )
    add(
        "--approval-timeout",
        type=_seconds,
        metavar="SECONDS",
        help="deny an approval that nobody answered in this time (default: as the gateway says)",
    )
    add("-v", "--verbose", action="store_true", help="log to stderr")
    return made
