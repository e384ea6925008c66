"""
Policy: an ordered list of rules that answers permission requests, or says that a person is asked.

The first rule that matches a request decides. An answer is an option of the agent, chosen by the
option's kind and sent by the agent's own id. When the kind is not offered, or stands for several
options (then it is a question, not a permission), no rule can answer, and `otherwise` says what follows.
Patterns match the whole: a command rule never matches a longer command, a path rule sees the path with
symbolic links resolved, and a rule with a path matches only if *every* path of the request matches.
"""

from __future__ import annotations

import fnmatch
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Action = Literal["ask", "allow_once", "allow_always", "reject_once", "reject_always"]
Preset = Literal["ask", "read-only", "accept-edits", "deny", "allow-all"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a permission request is about, as far as the agent tells. Paths are absolute and resolved."""

    kind: str = "other"
    tool: str = ""
    title: str = ""
    paths: tuple[str, ...] = ()
    command: str | None = None
    mcp_server: str | None = None
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """
    One rule; a field that is `None` matches everything.

    `kind` is ACP's tool kind (several: `"read|search"`), `tool` a glob over the tool's name or title,
    `path` a glob over absolute paths (`{cwd}` stands for the session's folder, `**` for any depth),
    `command` a regular expression over the whole command line, `mcp_server` a server's name.
    """

    action: Action
    kind: str | None = None
    tool: str | None = None
    path: str | None = None
    command: str | None = None
    mcp_server: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.action not in get_args(Action):
            raise ValueError(f"action {self.action!r} is none of {', '.join(get_args(Action))}")
        if self.command is not None:
            re.compile(self.command)

    @property
    def shown_name(self) -> str:
        """The name that stands in the audit: the given one, else the rule itself."""
        if self.name:
            return self.name
        fields = ("kind", "tool", "path", "command", "mcp_server")
        parts = [f"{f}={getattr(self, f)}" for f in fields if getattr(self, f) is not None]
        return f"{self.action} {' '.join(parts)}".strip()

    def matches(self, asked: Asked) -> bool:
        """Whether this rule is about such a request."""
        return (
            (self.kind is None or asked.kind in self.kind.split("|"))
            and (self.tool is None or _globs(self.tool, (asked.tool, asked.title)))
            and (self.path is None or self._covers(asked.paths, asked.cwd))
            and (
                self.command is None
                or (
                    asked.command is not None
                    and re.fullmatch(self.command, asked.command, re.DOTALL) is not None
                )
            )
            and (self.mcp_server is None or self.mcp_server == asked.mcp_server)
        )

    def _covers(self, paths: Sequence[str], cwd: str) -> bool:
        pattern = (self.path or "").replace("{cwd}", glob_escape(cwd))
        regex = re.compile(fnmatch.translate(pattern))
        return bool(paths) and all(regex.match(path) is not None for path in paths)


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order. `otherwise` is for requests that no rule answers: `ask`, or `cancel` at once."""

    name: str = "ask"
    rules: tuple[Rule, ...] = ()
    otherwise: Literal["ask", "cancel"] = "ask"

    @classmethod
    def of(cls, value: Policy | Rule | Preset | str | Iterable[Rule]) -> Policy:
        """
        Return a policy from a preset's name, rules, or a policy.

        Raises:
            ValueError: there is no preset of that name.
        """
        if isinstance(value, Policy):
            return value
        if isinstance(value, Rule):
            return cls("custom", (value,))
        if isinstance(value, str):
            if value not in PRESETS:
                raise ValueError(f"policy {value!r} is none of {', '.join(PRESETS)}")
            return PRESETS[value]
        return cls("custom", tuple(value))

    def with_rule(self, rule: Rule) -> Policy:
        """Return this policy with a rule that comes before all others."""
        return replace(self, rules=(rule, *self.rules))

    def decide(self, asked: Asked) -> tuple[Action, str] | None:
        """Return the action of the first rule that matches, and its name; `None` when none does."""
        for rule in self.rules:
            if rule.matches(asked):
                return rule.action, rule.shown_name
        return None

    def refuses(self, asked: Asked) -> bool:
        """Whether a rule rejects this outright (for what the agent does through us, unasked)."""
        decided = self.decide(asked)
        return decided is not None and decided[0].startswith("reject")

    def opens(self, kind: str, path: str, cwd: str) -> bool:
        """Whether a rule that names paths allows this one, also outside the session's folders."""
        asked = Asked(kind=kind, paths=(path,), cwd=cwd)
        for rule in self.rules:
            if rule.path is not None and rule.matches(asked):
                return rule.action.startswith("allow")
        return False


PRESETS: dict[str, Policy] = {
    "ask": Policy("ask"),
    "read-only": Policy("read-only", (Rule("allow_once", kind="read|search", name="read-only"),)),
    "accept-edits": Policy(
        "accept-edits",
        (
            Rule("allow_once", kind="read|search", path="{cwd}/**", name="accept-edits"),
            Rule("allow_once", kind="edit", path="{cwd}/**", name="accept-edits"),
        ),
    ),
    "deny": Policy("deny", (Rule("reject_once", name="deny"),), "cancel"),
    "allow-all": Policy("allow-all", (Rule("allow_once", name="allow-all"),)),
}


def choose_option(options: Sequence[Mapping[str, Any]], action: Action) -> str | None:
    """
    Return the id of the option that an action stands for, or `None` when a person has to look.

    A rejection may have several options of its kind (the first is taken); an approval may not.
    """
    ids = [
        str(option["optionId"])
        for option in options
        if option.get("kind") == action and isinstance(option.get("optionId"), str)
    ]
    if not ids or (len(ids) > 1 and action.startswith("allow")):
        return None
    return ids[0]


def describe_request(tool_call: Mapping[str, Any], cwd: str) -> Asked:
    """Read what is asked from a tool call (the request's own fields over the card's)."""
    raw = tool_call.get("rawInput")
    raw_input: Mapping[str, Any] = raw if isinstance(raw, dict) else {}
    name = str(tool_call.get("name") or "")
    return Asked(
        kind=str(tool_call.get("kind") or "other"),
        tool=name,
        title=str(tool_call.get("title") or ""),
        paths=tuple(resolved(path, cwd) for path in _paths(tool_call, raw_input)),
        command=_command(raw_input),
        mcp_server=name.split("__")[1]
        if name.startswith("mcp__") and name.count("__") > 1
        else None,
        cwd=str(Path(cwd).resolve()),
    )


def remembered_rule(asked: Asked, action: Action) -> Rule | None:
    """
    Return the rule that "remember for this chat" adds: as narrow as what was asked.

    The same command, or the same kind of tool on the same paths, or the same tool; `None` when the
    request says too little to tell it from others.
    """
    if asked.command is not None:
        return Rule(action, kind=asked.kind, command=re.escape(asked.command), name="remembered")
    if len(asked.paths) == 1:
        path = glob_escape(asked.paths[0])
        return Rule(action, kind=asked.kind, path=path, name="remembered")
    if asked.tool:
        tool = glob_escape(asked.tool)
        return Rule(action, kind=asked.kind, tool=tool, name="remembered")
    return None


def resolved(path: str, cwd: str) -> str:
    """Return a path as it is on the disk, links followed; relative ones start at `cwd`."""
    try:
        return str(Path(cwd, path).resolve())
    except (OSError, RuntimeError, ValueError):
        return path


def glob_escape(text: str) -> str:
    """Return a glob that matches exactly this text."""
    return re.sub(r"([*?[])", r"[\1]", text)


def _globs(pattern: str, names: Iterable[str]) -> bool:
    return any(name and fnmatch.fnmatchcase(name, pattern) for name in names)


def _paths(tool_call: Mapping[str, Any], raw_input: Mapping[str, Any]) -> list[str]:
    found: dict[str, None] = {}
    places = [tool_call.get("locations"), tool_call.get("content")]
    for entry in (e for place in places if isinstance(place, list) for e in place):
        if isinstance(entry, dict) and isinstance(entry.get("path"), str):
            found[entry["path"]] = None
    for key in ("path", "file_path", "filePath", "filepath", "abs_path"):
        if isinstance(raw_input.get(key), str):
            found[raw_input[key]] = None
    return list(found)


def _command(raw_input: Mapping[str, Any]) -> str | None:
    for key in ("command", "cmd"):
        value = raw_input.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            # `["bash", "-lc", "make test"]`: what is run is the last part.
            if len(value) == 3 and str(value[1]).startswith("-") and str(value[1]).endswith("c"):
                return str(value[2])
            return " ".join(part if isinstance(part, str) else json.dumps(part) for part in value)
    return None
