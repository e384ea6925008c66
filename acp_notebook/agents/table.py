"""The known agents as a table: in a notebook, in a terminal, for a program."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from acp_notebook.agents.registry import default, installed, known

if TYPE_CHECKING:
    from acp_notebook.host.spec import AgentSpec

_HEAD = ("agent", "", "installed", "how to get it or log in")


@dataclass(frozen=True, slots=True)
class Row:
    """One agent; `path` is where its command lies (of a remote one: its host), None when it is not installed."""

    name: str
    title: str
    path: str | None
    install: str | None
    auth_hint: str | None
    is_default: bool

    @property
    def next_step(self) -> str:
        """What a person does next: install it, or log in; nothing for one that needs neither."""
        return (self.install if self.path is None else self.auth_hint) or ""

    @property
    def shown_name(self) -> str:
        """The name, with a mark at the default agent's."""
        return f"{self.name} *" if self.is_default else self.name


class AgentTable(tuple[Row, ...]):
    """
    The agents that have a name here, as rows that display as a table.

    What is displayed holds no paths, so that a notebook may be committed with it. The values of an
    agent's `env` are in none of its forms.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        cells = [_HEAD, *(self._cells(row) for row in self)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(_HEAD))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join(line.rstrip() for line in [*lines, "", "* the default"])

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{escape(cell)}</th>" for cell in _HEAD)
        body = "".join(
            "<tr>"
            + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in self._html_cells(row))
            + "</tr>"
            for row in self
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_json(self) -> str:
        """Return the rows as a JSON array, one object an agent."""
        fields = ("name", "title", "path", "install", "auth_hint", "is_default")
        return json.dumps([{field: getattr(row, field) for field in fields} for row in self])

    @staticmethod
    def _cells(row: Row) -> tuple[str, str, str, str]:
        return (row.shown_name, row.title, "yes" if row.path else "no", row.next_step)

    @staticmethod
    def _html_cells(row: Row) -> tuple[str, ...]:
        name = f"<strong>{escape(row.name)}</strong>" if row.is_default else escape(row.name)
        place = "yes" if row.path else "no"
        step = (
            f"<code>{escape(row.next_step)}</code>" if row.path is None else escape(row.next_step)
        )
        return (name, escape(row.title), place, step)


def agent_table(*, cwd: str = ".") -> AgentTable:
    """
    Return the table of the agents that are known in this folder.

    Raises:
        ValueError: an agent is configured wrongly.
    """
    chosen = default()
    return AgentTable(
        Row(
            spec.name,
            spec.title or "",
            _place(spec, cwd),
            spec.install,
            spec.auth_hint,
            spec.name == chosen,
        )
        for spec in known()
    )


def _place(spec: AgentSpec, cwd: str) -> str | None:
    """Return where an agent is; of an address only the host, since the rest may be secret."""
    if spec.remote_url:
        return urlsplit(spec.remote_url).hostname or "remote"
    return installed(spec, cwd=cwd)
