"""Which rule answers a permission request, and with which of the agent's options."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_notebook.host.permissions import NOBODY, Verdict, judge
from acp_notebook.host.policy import (
    PRESETS,
    Asked,
    Policy,
    Rule,
    choose_option,
    describe_request,
    remembered_rule,
)


def options(*kinds: str) -> tuple[dict, ...]:
    return tuple({"optionId": f"o{n}", "name": k, "kind": k} for n, k in enumerate(kinds))


USUAL = options("allow_once", "allow_always", "reject_once")


@pytest.mark.parametrize(
    ("rule", "asked", "matches"),
    [
        (Rule("ask"), Asked(), True),
        (Rule("ask", kind="read|search"), Asked(kind="search"), True),
        (Rule("ask", kind="read"), Asked(kind="reading"), False),
        (Rule("ask", tool="Web*"), Asked(tool="WebFetch"), True),
        (Rule("ask", tool="Web*"), Asked(title="Websearch"), True),
        (Rule("ask", tool="Web*"), Asked(tool="xWeb"), False),
        (Rule("ask", command="git (status|diff).*"), Asked(command="git status -s"), True),
        (Rule("ask", command="git status"), Asked(command="git status; rm -rf /"), False),
        (Rule("ask", command="git.*"), Asked(), False),
        (Rule("ask", path="{cwd}/**"), Asked(paths=("/w/a/b",), cwd="/w"), True),
        (Rule("ask", path="{cwd}/**"), Asked(paths=("/w/a", "/etc/x"), cwd="/w"), False),
        (Rule("ask", path="{cwd}/**"), Asked(paths=("/wider/a",), cwd="/w"), False),
        (Rule("ask", path="{cwd}/**"), Asked(cwd="/w"), False),
        (Rule("ask", path="{cwd}/*"), Asked(paths=("/w[1]/a",), cwd="/w[1]"), True),
        (Rule("ask", mcp_server="db"), Asked(mcp_server="db"), True),
        (Rule("ask", mcp_server="db"), Asked(), False),
    ],
)
def test_what_a_rule_matches(rule: Rule, asked: Asked, matches: bool) -> None:
    """All fields of a rule must match, patterns match the whole, and every path counts."""
    assert rule.matches(asked) is matches


@pytest.mark.parametrize(
    ("offered", "action", "chosen"),
    [
        (USUAL, "allow_once", "o0"),
        (USUAL, "reject_once", "o2"),
        (USUAL, "reject_always", None),
        (options("reject_once", "allow_always", "allow_always"), "allow_always", None),
        (options("reject_once", "reject_once"), "reject_once", "o0"),
        ((), "allow_once", None),
        (({"optionId": 7, "kind": "allow_once"},), "allow_once", None),
    ],
)
def test_an_option_is_chosen_by_its_kind(offered: tuple, action: str, chosen: str | None) -> None:
    """The only option of the wanted kind is chosen; several approvals are a question for a person."""
    assert choose_option(offered, action) == chosen


@pytest.mark.parametrize(
    ("preset", "asked", "verdict"),
    [
        ("ask", Asked(kind="read"), None),
        ("read-only", Asked(kind="read"), Verdict("o0", "read-only")),
        ("read-only", Asked(kind="edit"), None),
        (
            "accept-edits",
            Asked(kind="edit", paths=("/w/a",), cwd="/w"),
            Verdict("o0", "accept-edits"),
        ),
        ("accept-edits", Asked(kind="edit", paths=("/x/a",), cwd="/w"), None),
        ("accept-edits", Asked(kind="execute", paths=("/w/a",), cwd="/w"), None),
        ("deny", Asked(kind="read"), Verdict("o2", "deny")),
        ("allow-all", Asked(kind="execute"), Verdict("o0", "allow-all")),
    ],
)
def test_presets(preset: str, asked: Asked, verdict: Verdict | None) -> None:
    """What each preset answers, and what it leaves to a person (None)."""
    assert judge(asked, USUAL, PRESETS[preset], live=True, headless=False) == verdict


@pytest.mark.parametrize(
    ("preset", "offered", "live", "headless", "decided_by"),
    [
        ("ask", USUAL, True, True, NOBODY),
        ("ask", USUAL, False, False, "no prompt is running"),
        ("allow-all", (), True, False, "no options"),
        ("allow-all", options("allow_once", "allow_once"), True, True, NOBODY),
        ("deny", options("allow_once"), True, False, "deny"),
    ],
)
def test_when_a_request_is_cancelled(
    preset: str, offered: tuple, live: bool, headless: bool, decided_by: str
) -> None:
    """Without options, prompt, person or a possible rejection the answer is `cancelled`."""
    verdict = judge(Asked(), offered, PRESETS[preset], live=live, headless=headless)
    assert verdict == Verdict(None, decided_by)


@pytest.mark.parametrize(
    ("tool_call", "expected"),
    [
        ({"kind": "execute", "rawInput": {"command": "ls"}}, {"command": "ls"}),
        ({"rawInput": {"command": ["bash", "-lc", "make test"]}}, {"command": "make test"}),
        ({"rawInput": {"cmd": ["git", "log"]}}, {"command": "git log"}),
        ({"locations": [{"path": "a.py"}]}, {"paths": ("a.py",)}),
        ({"content": [{"type": "diff", "path": "b.py"}]}, {"paths": ("b.py",)}),
        ({"rawInput": {"file_path": "c.py"}}, {"paths": ("c.py",)}),
        ({"name": "mcp__db__query"}, {"mcp_server": "db", "tool": "mcp__db__query"}),
        ({"kind": None, "locations": "?", "content": [3], "rawInput": []}, {"kind": "other"}),
    ],
)
def test_what_is_read_from_a_request(tool_call: dict, expected: dict, tmp_path: Path) -> None:
    """Command, paths, tool and server are found where agents put them; nonsense is read as nothing."""
    if "paths" in expected:
        expected = {"paths": tuple(str(tmp_path / p) for p in expected["paths"])}
    asked = describe_request(tool_call, str(tmp_path))
    assert {name: getattr(asked, name) for name in expected} == expected


def test_links_are_seen_through(tmp_path: Path) -> None:
    """A rule for the folder does not match a path that only seems to lie in it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to(outside)
    asked = describe_request({"kind": "edit", "locations": [{"path": "link/x"}]}, str(work))
    assert PRESETS["accept-edits"].decide(asked) is None


@pytest.mark.parametrize(
    ("asked", "also", "other"),
    [
        (
            Asked("execute", command="ls *"),
            Asked("execute", command="ls *"),
            Asked("execute", command="ls a"),
        ),
        (
            Asked("edit", paths=("/w/[a]",)),
            Asked("edit", paths=("/w/[a]",)),
            Asked("edit", paths=("/w/a",)),
        ),
        (Asked("fetch", tool="get"), Asked("fetch", tool="get"), Asked("fetch", tool="getx")),
    ],
)
def test_a_remembered_rule_is_narrow(asked: Asked, also: Asked, other: Asked) -> None:
    """What is remembered matches the same request and not its neighbour."""
    rule = remembered_rule(asked, "allow_once")
    assert (rule.matches(also), rule.matches(other)) == (True, False)
    assert remembered_rule(Asked("other"), "allow_once") is None


def test_wrong_policies_say_what_there_is() -> None:
    """An unknown preset and an unknown action raise with the names that exist."""
    with pytest.raises(ValueError, match="accept-edits"):
        Policy.of("yolo")
    with pytest.raises(ValueError, match="allow_once"):
        Rule("allow")
    assert Policy.of([Rule("ask")]).rules == (Rule("ask"),)
    assert Policy.of(Rule("ask")).decide(Asked()) == ("ask", "ask")
    assert Rule("allow_once", kind="read", path="/x").shown_name == "allow_once kind=read path=/x"
