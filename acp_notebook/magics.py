"""
The magics: `%acp_chat` shows a chat, `%acp_agents` lists the agents.

    %load_ext acp_notebook
    %acp_chat opencode --policy accept-edits

Neither sends anything by itself. What a person got wrong is said in one line, without a traceback.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import TryNext, UsageError
from IPython.core.magic_arguments import MagicArgumentParser
from traitlets import Bool, Dict, Float, Int, List, Unicode, observe
from traitlets.config import Configurable

from acp_notebook import agents
from acp_notebook.agents.configuration import KEYS, set_here
from acp_notebook.agents.table import AgentTable, agent_table
from acp_notebook.chat import Chat, _named
from acp_notebook.errors import AcpNotebookError
from acp_notebook.host.command import split_command
from acp_notebook.host.policy import PRESETS
from acp_notebook.kernel.surroundings import kernel

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from types import SimpleNamespace

DEFAULT_NAME = "main"
COMPLETED = "%acp_chat"
OTHER_CHAT = " Begin another with --new, or give this one another --name."
COMMENT = re.compile(r"""('[^']*'|"[^"]*")|(?:^|(?<=\s))#.*""")
PATH_OPTIONS = {"--cwd", "--record", "--replay"}

OPTIONS: dict[str, dict[str, Any]] = {
    "--name": {"default": DEFAULT_NAME, "help": "which chat; the same name shows the same chat"},
    "--cwd": {"metavar": "DIR", "help": "the agent's folder; default: the kernel's"},
    "--policy": {"choices": list(PRESETS), "help": "who answers permissions"},
    "--session": {"metavar": "KEY", "help": "go on with a session of the agent"},
    "--replay": {"metavar": "FILE", "help": "play a record instead of an agent"},
    "--record": {"metavar": "FILE", "help": "write the traffic to a record"},
    "--height": {"metavar": "CSS", "help": "of the panel, such as 480px"},
    "--new": {"action": "store_true", "help": "end the chat of that name and begin another"},
    "--stop": {"action": "store_true", "help": "end the chat of that name"},
}


class AcpChat(Configurable):  # type: ignore[misc]  # traitlets is not looked into
    """
    What `c.AcpChat` configures, for the magics and for `Chat` alike.

    A key that is None is not set here; the environment comes before it, `agents.toml` after it.
    """

    default_agent = Unicode(
        None, allow_none=True, help="The agent that is meant when none is named; else explorer."
    ).tag(config=True)
    agents = Dict(
        None,
        allow_none=True,
        help="More agents by name: a command, or a table; see docs/agents.md.",
    ).tag(config=True)
    policy = Unicode(
        None, allow_none=True, help=f"Who answers permissions: {', '.join(PRESETS)}."
    ).tag(config=True)
    mcp_servers = List(
        None, allow_none=True, help="MCP servers that are passed on to the agent."
    ).tag(config=True)
    additional_directories = List(
        None,
        allow_none=True,
        help="Folders beside cwd in which the agent may read and write files.",
    ).tag(config=True)
    start_timeout_s = Float(
        None, allow_none=True, help="Seconds for the agent's process to answer first."
    ).tag(config=True)
    open_timeout_s = Float(
        None, allow_none=True, help="Seconds for a session to be opened or loaded."
    ).tag(config=True)
    cancel_grace_s = Float(
        None, allow_none=True, help="Seconds until a turn that ignores Stop is ended here."
    ).tag(config=True)
    max_prompt_bytes = Int(None, allow_none=True, help="Bytes of text in one prompt.").tag(
        config=True
    )
    max_line_bytes = Int(None, allow_none=True, help="Bytes of one line of the agent.").tag(
        config=True
    )
    save_transcript = Bool(
        None, allow_none=True, help="Whether the saved notebook holds the transcript."
    ).tag(config=True)
    tools = Bool(None, allow_none=True, help="Whether the agent gets the kernel tools.").tag(
        config=True
    )
    nest_asyncio = Bool(None, allow_none=True, help="Whether nest_asyncio may be applied.").tag(
        config=True
    )

    @observe(*KEYS)  # type: ignore[untyped-decorator]
    def _set(self, change: dict[str, Any]) -> None:
        set_here(change["name"], change["new"])

    def forget(self) -> None:
        """Take back everything that was set here."""
        for key in KEYS:
            set_here(key, None)


def acp_chat(line: str) -> Chat | None:
    """
    Show a chat with an agent. Nothing is sent before you send it.

    Run again with the same name it shows the same chat; `chat = %acp_chat` keeps it in a variable.
    """
    with _told_in_one_line():
        options = PARSER.parse_args(split_command(_without_comment(line)))
        if options.stop:
            if not stop(options.name):
                print(f"There is no chat {options.name!r} to stop.")  # noqa: T201  to the cell
            return None
        return show(options)


def acp_agents(line: str) -> AgentTable:
    """List the agents that are known here, and how to get or log in to each."""
    with _told_in_one_line():
        if _without_comment(line).strip():
            raise UsageError("%acp_agents takes no arguments.")
        return agent_table()


PARSER = MagicArgumentParser(COMPLETED, description=acp_chat.__doc__)
PARSER.add_argument(
    "agent", nargs="?", help="a name (%%acp_agents lists them), or a quoted command"
)
for option, fields in OPTIONS.items():
    PARSER.add_argument(option, **fields)
acp_chat.__doc__ = PARSER.format_help()  # what `%acp_chat?` shows

MAGICS = (acp_chat, acp_agents)


def show(options: Namespace) -> Chat:
    """
    Return the chat of that name, or a new one.

    Raises:
        AcpNotebookError, ValueError: it cannot be had, or it is another than the one asked for.
    """
    if options.new:
        stop(options.name)
    cwd = str(Path(options.cwd).expanduser().absolute()) if options.cwd else None
    known = _named.get(options.name)
    if known is not None and cwd not in {None, known.state.cwd}:
        raise ValueError(f"The chat {options.name!r} works in {known.state.cwd}.{OTHER_CHAT}")
    if known is not None and options.record:
        raise ValueError(f"A record begins with its chat.{OTHER_CHAT}")
    limits: dict[str, Any] = (
        {"record": str(Path(options.record).expanduser())} if options.record else {}
    )
    chat = Chat(
        _agent(options),
        cwd=cwd or ".",
        policy=options.policy,
        session=options.session,
        name=options.name,
        **limits,
    )
    if known is not None and options.session:
        chat.load(options.session)
    if options.height and kernel() is not None:
        chat.widget.height = options.height
    return chat


def stop(name: str) -> bool:
    """End the chat of that name and its agent; whether there was one."""
    if name not in _named:
        return False
    Chat(name=name).close()
    return True


def complete(_shell: Any, event: SimpleNamespace) -> list[str]:
    """
    Complete a `%acp_chat` line: options, and after each what it takes.

    Raises:
        TryNext: what is typed is a path, which IPython completes itself.
    """
    words = event.text_until_cursor.split()[1:]
    if not event.text_until_cursor.endswith((" ", "\t")):
        words = words[:-1]
    before = words[-1] if words else ""
    if before in PATH_OPTIONS:
        raise TryNext
    if before == "--policy":
        return list(PRESETS)
    if before == "--name":
        return list(_named)
    if event.symbol.startswith("-"):
        return [option for option in OPTIONS if option not in words]
    with _told_in_one_line():
        return [spec.name for spec in agents.known()]


def load(shell: Any) -> None:
    """Register the magics, their completion and their configuration in an IPython shell."""
    shell.configurables.append(AcpChat(parent=shell))
    for magic in MAGICS:
        shell.register_magic_function(magic)
    shell.set_hook("complete_command", complete, str_key=COMPLETED)


def unload(shell: Any) -> None:
    """Stop the chats of this kernel and take the magics away."""
    for name in list(_named):
        stop(name)
    for configurable in [c for c in shell.configurables if isinstance(c, AcpChat)]:
        configurable.forget()
        shell.configurables.remove(configurable)
    for magic in MAGICS:
        shell.magics_manager.magics["line"].pop(magic.__name__, None)
    shell.strdispatchers["complete_command"].strs.pop(COMPLETED, None)


def _without_comment(line: str) -> str:
    """Return a line without what stands behind ` #`: IPython hands it to a magic as it is."""
    return COMMENT.sub(lambda match: match[1] or "", line)


def _agent(options: Namespace) -> Any:
    if not options.replay:
        return options.agent
    if options.agent:
        raise ValueError("Choose an agent or a record to replay, not both.")
    path = Path(options.replay).expanduser()
    if not path.is_file():
        raise ValueError(f"There is no record {options.replay}.")
    return agents.recorded(path)


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    """Let a person's mistake be said as IPython says its own: in one line, without a traceback."""
    try:
        yield
    except (AcpNotebookError, ValueError, OSError) as error:
        raise UsageError(str(error)) from None
