"""
Page messages, checked at the door.

What a page sends is not trusted: `read` takes only messages of a known kind with fields of the
right types, so that nothing behind it needs to look again.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from acp_notebook.widget.page_messages import FROM_PAGE, FromPageBase

if TYPE_CHECKING:
    from acp_notebook.widget.messages import Json


class BadMessage(ValueError):
    """A page message that is none of the protocol's; the text says why."""


@dataclass(frozen=True, slots=True)
class PageMessage:
    """A checked message: `body` holds `kind` and the fields of that kind, nothing else."""

    kind: str
    body: Json
    session: str | None
    generation: int
    epoch: str | None
    view: str
    id: str | None


def read(content: object) -> PageMessage:
    """
    Check a message from a page.

    Raises: `BadMessage` when it is of no known kind or a field has a wrong type.
    """
    if not isinstance(content, dict):
        raise BadMessage("not an object")
    kind = content.get("kind")
    shape = _shapes().get(kind) if isinstance(kind, str) else None
    if shape is None:
        raise BadMessage("unknown kind")
    base = _fields(content, FromPageBase)
    return PageMessage(
        kind=str(kind),
        body=_fields(content, shape),
        session=base["session"],
        generation=base["generation"],
        epoch=base["epoch"],
        view=base["view"],
        id=base.get("id"),
    )


@cache
def _shapes() -> dict[object, type]:
    return {get_args(get_type_hints(shape)["kind"])[0]: shape for shape in FROM_PAGE}


@cache
def _hints(shape: type) -> dict[str, Any]:
    return get_type_hints(shape, include_extras=True)


def _fields(content: Json, shape: type) -> Json:
    found: Json = {}
    for name, hint in _hints(shape).items():
        optional = get_origin(hint) is NotRequired
        if name not in content:
            if optional:
                continue
            raise BadMessage(f"{name} is missing")
        expected = get_args(hint)[0] if optional else hint
        if not _fits(content[name], expected):
            raise BadMessage(f"{name} has a wrong type")
        found[name] = _valid_text(content[name])
    return found


def _valid_text(value: Any) -> Any:
    """The value with lone surrogates, which JSON can carry and UTF-8 cannot, replaced in strings."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _fits(value: object, hint: Any) -> bool:
    """Whether a JSON value is of that type; only the forms that page messages use."""
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return value in get_args(hint)
    if origin in {Union, types.UnionType}:
        return any(_fits(value, one) for one in get_args(hint))
    if origin is list:
        return isinstance(value, list) and all(_fits(one, get_args(hint)[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)
