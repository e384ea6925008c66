"""
The import direction of docs/architecture.md, read from the source.

What is imported for type checkers only is bound by the direction too, since a type is a seam; it
is free of the rules about other people's packages, since it loads nothing.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.source import REPOSITORY, Import, all_imports, imports, is_foreign, modules, part

CORE = {"errors", "wire", "timeline"}
# For each part, what it may import beside itself.
DIRECTION = {
    "errors": set(),
    "wire": {"errors"},
    "timeline": {"errors"},
    "views": {"errors", "timeline"},
    "host": CORE,
    "kernel": CORE | {"host"},
    "agents": CORE | {"host"},
    "widget": CORE | {"host", "views"},
    "chat": CORE | {"views", "host", "kernel", "agents", "widget"},
    "magics": CORE | {"views", "host", "kernel", "agents", "widget", "chat"},
    "bridge": {"errors", "wire"},
}
# The agents' child processes know no more of us than any other agent does.
CHILDREN = {"acp_notebook.agents.explorer", "acp_notebook.agents.replay"}
CHILD_PARTS = {"errors", "wire"}
# Faces over everything: the public names, loaded lazily, and the command line.
FACES = {"", "__main__", "commands"}

# For each package of other people, the modules (and what is below them) that may import it.
FOREIGN = {
    "acp": {"host.transport", "host.connection", "host.remote", "agents", "bridge"},
    "anywidget": {"widget"},
    "comm": {"widget"},
    "cryptography": {"bridge"},
    "ipykernel": {"kernel", "widget", "magics"},
    "IPython": {"kernel", "widget", "magics"},
    "ipywidgets": {"widget"},
    "json5": {"bridge"},
    "mcp": {"kernel"},
    "nest_asyncio": {"host.blocking"},
    "pandas": {"views.frame", "kernel"},
    "PIL": {"host", "widget"},
    "platformdirs": {"agents"},
    "polars": {"views.frame", "kernel"},
    "pydantic": {"bridge"},
    "pydantic_core": {"wire", "bridge"},
    "traitlets": {"widget", "magics"},
    "websockets": {"bridge"},
    "zmq": {"kernel", "widget"},
}
# Standard modules with a home of their own.
SQLITE_HOME = "acp_notebook.bridge.ledger"
IMPURE = {"asyncio", "concurrent", "multiprocessing", "socket", "subprocess", "threading", "time"}


def below(module: str, home: str) -> bool:
    """Whether a module is that one or lies below it."""
    return module == home or module.startswith(f"{home}.")


def allowed_parts(module: str) -> set[str]:
    if any(below(module, child) for child in CHILDREN):
        return CHILD_PARTS
    return DIRECTION.get(part(module), set())


def against_direction(found: Import) -> bool:
    ours = found.module.partition(".")[0] == "acp_notebook"
    own, other = part(found.importer), part(found.module)
    if not ours or own in FACES or other in {own, ""}:
        return False
    return other not in allowed_parts(found.importer)


def away_from_home(found: Import) -> bool:
    if found.typing or not is_foreign(found.module):
        return False
    homes = FOREIGN.get(found.module.partition(".")[0], set())
    return not any(below(found.importer, f"acp_notebook.{home}") for home in homes)


def test_every_part_has_a_place_in_the_direction() -> None:
    """Each folder and top-level module is named in the table of who may import whom."""
    assert {part(module) for module in modules()} <= DIRECTION.keys() | FACES


def test_imports_follow_the_direction() -> None:
    """No part imports one that stands above it."""
    assert [] == [str(found) for found in all_imports() if against_direction(found)]


def test_each_foreign_package_is_imported_in_its_home_only() -> None:
    """A package of other people is imported only where the table says, under no other name."""
    assert [] == [str(found) for found in all_imports() if away_from_home(found)]


def test_sqlite_is_the_ledgers() -> None:
    """Only the ledger's modules import sqlite3."""
    users = {found.importer for found in all_imports() if found.module == "sqlite3"}
    assert [] == [user for user in users if not user.startswith(SQLITE_HOME)]


@pytest.mark.parametrize("pure", ["timeline", "views"])
def test_the_pure_parts_wait_for_nothing_and_know_no_clock(pure: str) -> None:
    """Timeline and views import nothing that waits, starts something, or tells the time."""
    assert [] == [
        str(found)
        for found in all_imports()
        if part(found.importer) == pure and found.module.partition(".")[0] in IMPURE
    ]


@pytest.mark.parametrize("home", ["timeline", "host.reaper"])
def test_standard_library_only(home: str) -> None:
    """The timeline and the reaper run on a bare Python."""
    assert [] == [
        str(found)
        for found in all_imports()
        if below(found.importer, f"acp_notebook.{home}") and is_foreign(found.module)
    ]


def test_the_reaper_imports_nothing_of_ours() -> None:
    """The reaper is run by its path, in an interpreter that does not see this package."""
    assert [] == [
        str(found)
        for found in all_imports()
        if found.importer == "acp_notebook.host.reaper" and found.module.startswith("acp_notebook")
    ]


def test_chat_loads_the_widget_when_it_is_shown() -> None:
    """The chat imports the widget inside a function, so that a script never loads it."""
    assert [] == [
        str(found)
        for found in all_imports()
        if part(found.importer) == "chat"
        and part(found.module) == "widget"
        and not (found.lazy or found.typing)
    ]


def test_frames_load_pandas_and_polars_when_asked() -> None:
    """The frame view imports pandas and polars inside a function."""
    assert [] == [
        str(found)
        for found in all_imports()
        if found.module.partition(".")[0] in {"pandas", "polars"}
        and not (found.lazy or found.typing)
    ]


@pytest.mark.parametrize(
    ("importer", "source", "wrong"),
    [
        ("acp_notebook.timeline.items", "from acp_notebook.host import loop", True),
        ("acp_notebook.timeline.items", "from ..host.loop import HostLoop", True),
        ("acp_notebook.views.text", "def f():\n    import acp_notebook.widget", True),
        (
            "acp_notebook.host.loop",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from acp_notebook.chat import Chat",
            True,
        ),
        ("acp_notebook.bridge.server", "from acp_notebook.timeline import Timeline", True),
        ("acp_notebook.agents.explorer.agent", "import acp_notebook.host.spec", True),
        ("acp_notebook.agents", "import acp_notebook.host.spec", False),
        ("acp_notebook.host.loop", "from acp_notebook import errors", False),
        ("acp_notebook.host.loop", "from . import spec", False),
        ("acp_notebook.magics", "from acp_notebook import chat", False),
    ],
)
def test_the_direction_is_read_from_every_form_of_import(
    importer: str, source: str, wrong: bool
) -> None:
    """Absolute, relative, lazy and typing imports are all seen, and only wrong ones reported."""
    assert wrong == any(against_direction(found) for found in imports(importer, source))


@pytest.mark.parametrize(
    ("importer", "source", "wrong"),
    [
        ("acp_notebook.chat", "import acp", True),
        ("acp_notebook.host.session", "def f():\n    from acp.schema import Plan", True),
        ("acp_notebook.host.transport", "from acp.schema import Plan", False),
        (
            "acp_notebook.host.session",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import acp",
            False,
        ),
        ("acp_notebook.host.session", "import requests", True),
        ("acp_notebook.chat", "import IPython.display", True),
    ],
)
def test_homes_are_read_from_every_form_of_import(importer: str, source: str, wrong: bool) -> None:
    """A foreign package away from its home is reported, wherever in the module it stands."""
    assert wrong == any(away_from_home(found) for found in imports(importer, source))


@pytest.mark.parametrize(
    "use",
    [
        "import acp_notebook",
        "import acp_notebook\nfor name in acp_notebook.__all__: getattr(acp_notebook, name)",
        "import acp_notebook\nacp_notebook.Chat(['some-agent'])",
    ],
)
def test_importing_loads_neither_acp_nor_widgets(use: str) -> None:
    """The package, its public names and a chat that nobody has used load nothing heavy."""
    program = f"{use}\nimport sys; print(*(sys.modules.keys() & {{'acp', 'anywidget', 'ipywidgets', 'IPython', 'pandas'}}))"
    child = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert ("", "") == (child.stdout.strip(), child.stderr)
