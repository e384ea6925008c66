"""
What a person holds: a chat with an agent, a prompt on its way, and the one-shot `ask`.

    chat = Chat("opencode")
    turn = chat.ask("What does this repository do?")
    turn = await chat.prompt("And its tests?")

A `Chat` is a thin face over the host's session. It starts nothing before it is used or shown. One
without a name is closed when nobody refers to it any more and no widget shows it; a named one lives
until it is closed, and `Chat(name=…)` finds it again.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from acp_notebook.chat.calls import SessionCalls
from acp_notebook.chat.options import new_session
from acp_notebook.chat.printing import TurnPrinter
from acp_notebook.chat.prompt import Content, Prompt, content_blocks
from acp_notebook.chat.stream import Step, TurnStream
from acp_notebook.chat.turn import Turn
from acp_notebook.host.blocking import (
    Interrupts,
    Surroundings,
    check_thread,
    nested_allowed,
)
from acp_notebook.host.loop import host_loop
from acp_notebook.host.policy import Policy
from acp_notebook.kernel.surroundings import kernel, surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from acp_notebook.host.permissions import Decision
    from acp_notebook.host.prompts import Entry
    from acp_notebook.host.session import ChatSession
    from acp_notebook.host.settings import Settings
    from acp_notebook.host.spec import AgentSpec
    from acp_notebook.host.state import AgentInfo, ChatState, QueuedPrompt
    from acp_notebook.host.trace import TraceEntry
    from acp_notebook.timeline import TimelineSnapshot

__all__ = ["Chat", "Prompt", "Step", "Turn", "ask"]

# A reload of this module (autoreload) must not lose the chats that run.
_named: dict[str, ChatSession] = globals().setdefault("_named", {})


class Chat(SessionCalls):
    """
    A chat with an ACP agent.

    `agent` is a name (`agents.known()`), a command (a list, or text with blanks), an address
    (`ws://…`), a spec, or nothing for the default agent. `policy` answers permission requests: a
    preset (`ask`, `read-only`, `accept-edits`, `deny`, `allow-all`), rules, or a `Policy`. `session` is
    the key of a session to go on with. Any limit of `Settings` can be given by its name.

    Raises:
        AgentNotFound: the agent is not installed; the message says how to get it.
        ValueError: there is no such policy or limit, or the named chat runs another agent.
    """

    def __init__(
        self,
        agent: AgentSpec | str | Sequence[str] | None = None,
        *,
        cwd: str | os.PathLike[str] = ".",
        policy: Policy | str | None = None,
        session: str | None = None,
        name: str | None = None,
        settings: Settings | None = None,
        **limits: Any,
    ) -> None:
        self._pid = os.getpid()
        self._widget: Any = None
        known = _named.get(name) if name else None
        if known is not None and known.state.status != "closed":
            self._session = known
            self._join(agent, policy)
        else:
            self._session = new_session(
                agent,
                cwd=os.fspath(cwd),
                policy=policy,
                session=session,
                name=name or "",
                settings=settings,
                limits=limits,
            )
            if name:
                _named[name] = self._session
        self._finalizer = weakref.finalize(self, _close_soon, self._session, self._pid)
        self._finalizer.atexit = False  # the host ends its agents itself
        if name:
            self._finalizer.detach()

    # --- prompts

    def ask(
        self,
        prompt: Content,
        *,
        context: Sequence[Any] = (),
        timeout_s: float | None = None,
        check: bool = False,
    ) -> Turn:
        """
        Send a prompt, wait until its turn has settled, and return the turn.

        What the agent did never raises: an error, a refusal, an exit are found in `turn.error`.
        `timeout_s` is the longest silence of the agent.

        Raises:
            TurnFailed: with `check=True`, when the turn is not ok.
            AgentStartError, AuthRequired, SessionError, ValueError: the prompt could not be sent.
            KeyboardInterrupt: after an interrupt, when the agent has confirmed the stop; the turn is
                in `chat.turns` then.
            NotOnHostThread: called where waiting would never end.
        """
        check_thread()
        around = self._surroundings()
        with Interrupts() as interrupts, self._printed(around) as on_step:
            handle = self._send(prompt, context, timeout_s, around)
            turn = handle.wait(around, interrupts, on_step)
        return turn.raise_for_error() if check else turn

    async def prompt(
        self,
        prompt: Content,
        *,
        context: Sequence[Any] = (),
        timeout_s: float | None = None,
        check: bool = False,
    ) -> Turn:
        """Send a prompt and await its turn: `ask` for code that runs in a loop."""
        around = self._surroundings(nested=False)
        handle = self._send(prompt, context, timeout_s, around)
        turn = await handle.follow(around)
        return turn.raise_for_error() if check else turn

    def send(
        self, prompt: Content, *, context: Sequence[Any] = (), timeout_s: float | None = None
    ) -> Prompt:
        """Send a prompt and return at once; it queues while another one runs."""
        return self._send(prompt, context, timeout_s, self._surroundings(nested=False))

    def stream(
        self, prompt: Content, *, context: Sequence[Any] = (), timeout_s: float | None = None
    ) -> TurnStream:
        """
        Send a prompt and iterate over what comes, with `for` or `async for`.

        Each `Step` holds the text that was added and the items that changed; the last value is the
        `Turn` itself.
        """
        around = self._surroundings(nested=False)
        return TurnStream(
            self._session, self._submission(prompt, context, timeout_s, around), around, self
        )

    def cancel(self) -> None:
        """Stop the running turn, or what is being started. Returns at once."""
        self._call(self._session.cancel)

    # --- life

    def close(self) -> None:
        """End the agent and take the chat out of every view. Idempotent."""
        self._finalizer.detach()
        if self._named:
            _named.pop(self.name, None)
        if self._widget is not None:
            self._widget.close()
        if os.getpid() == self._pid:
            self._run(self._session.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    # --- what it is

    @property
    def session(self) -> ChatSession:
        """The host's side of this chat."""
        return self._session

    @property
    def state(self) -> ChatState:
        """Everything about it that a view shows: status, error, queue, capabilities."""
        return self._session.state

    @property
    def status(self) -> str:
        """`idle`, `running`, `starting`, … (contract: *Turns and states*)."""
        return self._session.state.status

    @property
    def name(self) -> str:
        """The name under which it is found again; empty without one."""
        return self._session.name

    @property
    def title(self) -> str:
        """The session's title: the agent's, else the first prompt."""
        return self._session.state.title

    @property
    def session_key(self) -> str | None:
        """The name of the session that `load` takes."""
        return self._session.state.session_key

    @property
    def session_id(self) -> str | None:
        """The ACP id of the session."""
        return self._session.state.session_id

    @property
    def agent(self) -> AgentInfo:
        """Name, title and version of the agent."""
        return self._session.state.agent

    @property
    def timeline(self) -> TimelineSnapshot:
        """The timeline as it was last published. Never waits."""
        return self._session.snapshot

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the session."""
        snapshot = self._session.snapshot
        return tuple(Turn(snapshot, index) for index in range(len(snapshot.turns)))

    @property
    def queue(self) -> tuple[QueuedPrompt, ...]:
        """The prompts that wait."""
        return self._session.state.queue

    @property
    def policy(self) -> Policy:
        """Who answers permission requests; may be set."""
        return self._session.policy

    @policy.setter
    def policy(self, value: Policy | str) -> None:
        self._call(self._session.set_policy, Policy.of(value))

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Every permission request that was answered, and by what."""
        return tuple(self._session.decisions)

    @property
    def trace(self) -> tuple[TraceEntry, ...]:
        """The last messages on the wire, without secrets."""
        return tuple(host_loop().ask(self._session.trace))

    @property
    def widget(self) -> Any:
        """The chat as an ipywidget, made when it is first asked for; it keeps the chat alive."""
        if self._widget is None:
            from acp_notebook.agents.configuration import configured
            from acp_notebook.widget import ChatWidget

            saved = configured("save_transcript") is not False
            self._widget = ChatWidget(self._session, saved=saved)
            self._finalizer.detach()
        return self._widget

    def __repr__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        return f"<Chat{named} with {self._session.spec.name}>"

    def _ipython_display_(self) -> None:
        if kernel() is None:
            print(self)  # noqa: T201  this is how IPython shows it in a terminal
        else:
            self.widget._ipython_display_()

    # --- inside

    @property
    def _named(self) -> bool:
        return _named.get(self.name) is self._session

    def _join(self, agent: Any, policy: Policy | str | None) -> None:
        """Become another face of the chat of this name."""
        if agent is not None:
            from acp_notebook import agents

            if agents.resolve(agent) != self._session.spec:
                raise ValueError(
                    f"The chat {self.name!r} runs another agent ({self._session.spec.name}). "
                    "Close it first, or give this one another name."
                )
        if policy is not None:
            self.policy = Policy.of(policy)

    def _surroundings(self, *, nested: bool | None = None) -> Surroundings:
        from dataclasses import replace

        from acp_notebook.agents.configuration import configured

        around = surroundings()
        if nested is None and configured("nest_asyncio"):
            around = replace(around, nested=nested_allowed())
        return around

    def _send(
        self,
        prompt: Content,
        context: Sequence[Any],
        timeout_s: float | None,
        around: Surroundings,
    ) -> Prompt:
        submit = self._submission(prompt, context, timeout_s, around)
        return Prompt(self._session, host_loop().ask(submit), self)

    def _submission(
        self,
        prompt: Content,
        context: Sequence[Any],
        timeout_s: float | None,
        around: Surroundings,
    ) -> Callable[[], Entry]:
        """Return what queues the prompt when it is called on the host thread."""
        self._check_process()
        if timeout_s is None and around.headless:
            timeout_s = self._session.settings.headless_timeout_s
        blocks = content_blocks(prompt, context)
        return partial(
            self._session.prompts.submit,
            blocks,
            timeout_s=timeout_s,
            headless=around.headless,
            awaited=True,
        )

    @contextlib.contextmanager
    def _printed(self, around: Surroundings) -> Iterator[Callable[[], None]]:
        """Print the turn as it comes, where that is how it is shown."""
        if not around.streams:
            yield lambda: None
            return
        printer = TurnPrinter(self._session)
        yield printer.step
        printer.finish()

    def _call(self, function: Callable[..., object], *args: Any) -> None:
        self._check_process()
        host_loop().call(function, *args)


def ask(agent: AgentSpec | str | Sequence[str] | None, prompt: Content, **options: Any) -> Turn:
    """
    Ask an agent once, in a chat of its own that is closed afterwards.

    `options` are those of `Chat` and of `Chat.ask`. Arguments and result pickle, so it runs unchanged
    under Dask, joblib and multiprocessing.
    """
    asking = {k: options.pop(k) for k in ("context", "timeout_s", "check") if k in options}
    with Chat(agent, **options) as chat:
        return chat.ask(prompt, **asking)


def _close_soon(session: ChatSession, pid: int) -> None:
    """Close a chat that nobody refers to any more, without waiting; never that of a parent process."""
    if os.getpid() == pid:
        host_loop().submit(session.close())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_named.clear)
