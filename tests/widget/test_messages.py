"""The two descriptions of the view protocol agree, and page messages are checked at the door."""

from __future__ import annotations

import contextlib
import types
import typing
from pathlib import Path
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.widget import inbound, messages, page_messages
from tests.widget.typescript import Array, Both, Declarations, Name, Record, Union

SOURCE = Path(__file__).parents[2] / "js" / "src" / "messages.ts"
BASE = {"session": "s", "generation": 1, "epoch": "e", "view": "v"}


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return Declarations(SOURCE.read_text(encoding="utf-8"))


def python_fields(shape: type) -> dict[str, tuple[bool, Any]]:
    hints = get_type_hints(shape, include_extras=True)
    return {
        name: (True, get_args(hint)[0]) if get_origin(hint) is NotRequired else (False, hint)
        for name, hint in hints.items()
    }


def same(declared: Declarations, ours: Any, theirs: object) -> bool:
    """Whether a Python type and a TypeScript type allow the same JSON; `dict` fits any object."""
    origin = get_origin(ours)
    if isinstance(theirs, Name):
        match theirs.name:
            case "string":
                return ours is str
            case "number":
                return ours in {int, float}
            case "boolean":
                return ours is bool
            case "null":
                return ours is type(None)
            case "true" | "false":
                return origin is Literal and get_args(ours) == (theirs.name == "true",)
            case "unknown":
                return ours is Any
            case "Record" | "Partial" | "Item":
                return origin is dict
        if theirs.name.startswith('"'):
            return ours is str or (
                origin is Literal and get_args(ours) == (theirs.name.strip('"'),)
            )
        if origin is dict:
            return len(declared.variants(theirs)) >= 1
        return same(declared, ours, declared.types[theirs.name])
    if isinstance(theirs, Array):
        return origin is list and same(declared, get_args(ours)[0], theirs.of)
    if isinstance(theirs, Union):
        words = [one.name.strip('"') for one in theirs.options if isinstance(one, Name)]
        if ours is str or origin is Literal:
            literal = get_args(ours) if origin is Literal else words
            return sorted(literal) == sorted(words)
        if origin in {typing.Union, types.UnionType}:
            rest = list(get_args(ours))
            for option in theirs.options:
                found = next((one for one in rest if same(declared, one, option)), None)
                if found is None:
                    return False
                rest.remove(found)
            return not rest
        return False
    if isinstance(theirs, Record | Both):
        if origin is dict:
            return True
        return (
            is_typeddict(ours) and differences(declared, ours, declared.variants(theirs)[0]) == []
        )
    return False


def differences(
    declared: Declarations, shape: type, theirs: dict[str, tuple[bool, object]]
) -> list[str]:
    ours = python_fields(shape)
    found = [f"{shape.__name__}: fields {sorted(ours)} != {sorted(theirs)}"] * (
        set(ours) != set(theirs)
    )
    for name in ours.keys() & theirs.keys():
        if ours[name][0] != theirs[name][0]:
            found.append(f"{shape.__name__}.{name}: optional on one side only")
        if not same(declared, ours[name][1], theirs[name][1]):
            found.append(f"{shape.__name__}.{name}: {ours[name][1]} != {theirs[name][1]}")
    return found


def key(fields: dict[str, tuple[bool, object]], name: str) -> str:
    """What tells the messages of a union apart: its kind, and `ok` for the two replies."""

    def literal(kind: object) -> str:
        return kind.name.strip('"') if isinstance(kind, Name) else str(get_args(kind)[0]).lower()

    return " ".join(literal(fields[one][1]) for one in (name, "ok") if one in fields)


@pytest.mark.parametrize(
    ("union", "shapes", "name"),
    [
        ("FromKernel", messages.FROM_KERNEL, "kind"),
        ("FromPageBody", page_messages.FROM_PAGE, "kind"),
        ("Op", get_args(messages.Op), "op"),
    ],
)
def test_python_and_typescript_declare_the_same_messages(declared, union, shapes, name):
    """Each message and op has the same fields with the same types in both languages."""
    theirs = {key(fields, name): fields for fields in declared.variants(Name(union))}
    ours = {key(python_fields(shape), name): shape for shape in shapes}

    assert sorted(theirs) == sorted(ours)
    assert [] == [line for one in ours for line in differences(declared, ours[one], theirs[one])]


@pytest.mark.parametrize("name", ["FromPageBase", "Meta", "Address", "BlobRef"])
def test_python_and_typescript_declare_the_same_values(declared, name):
    """The values that several messages carry are the same in both languages."""
    assert [] == differences(
        declared,
        getattr(page_messages, name, None) or getattr(messages, name),
        declared.variants(Name(name))[0],
    )


def test_a_difference_is_seen(declared):
    """The comparison notices a missing field, another type and another optionality."""
    changed = Declarations(
        SOURCE.read_text(encoding="utf-8").replace(
            'kind: "queue"; action: "edit" | "remove" | "send-now"; promptId: string; text?: string',
            'kind: "queue"; action: "edit" | "drop"; promptId: number; text: string; more: string',
        )
    )
    theirs = {key(fields, "kind"): fields for fields in changed.variants(Name("FromPageBody"))}

    assert 4 == len(differences(changed, page_messages.Queue, theirs["queue"]))


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "resync"},
        {"kind": "send", "text": "hello"},
        {"kind": "send", "text": "hello", "queue": True},
        {"kind": "answer", "requestId": 0, "itemId": "perm:0", "optionId": "yes"},
        {"kind": "answer", "requestId": "a", "itemId": "perm:a", "optionId": None},
        {"kind": "ack", "requestIds": [0, "a"]},
        {"kind": "queue", "action": "remove", "promptId": "1"},
        {"kind": "set-option", "optionId": "o", "value": True},
    ],
)
def test_good_messages_are_read(body):
    """A message of a known kind comes out with its own fields and the page's address."""
    found = inbound.read({**BASE, **body, "id": "v:1", "surplus": 1})

    assert body == found.body
    assert ("s", 1, "e", "v", "v:1") == (
        found.session,
        found.generation,
        found.epoch,
        found.view,
        found.id,
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "not an object"),
        ([], "not an object"),
        ({**BASE}, "unknown kind"),
        ({**BASE, "kind": ["send"]}, "unknown kind"),
        ({**BASE, "kind": "eval", "text": "x"}, "unknown kind"),
        ({**BASE, "kind": "send"}, "text is missing"),
        ({**BASE, "kind": "send", "text": 1}, "text has a wrong type"),
        ({**BASE, "kind": "send", "text": "x", "queue": 1}, "queue has a wrong type"),
        ({**BASE, "kind": "ack", "requestIds": [None]}, "requestIds has a wrong type"),
        ({**BASE, "kind": "ack", "requestIds": [True]}, "requestIds has a wrong type"),
        ({**BASE, "kind": "queue", "action": "x", "promptId": "1"}, "action has a wrong type"),
        ({**BASE, "kind": "resync", "id": 1}, "id has a wrong type"),
        ({"kind": "resync"}, "session is missing"),
    ],
)
def test_bad_messages_are_refused(content, reason):
    """A message that is none of the protocol's is refused with the reason."""
    with pytest.raises(inbound.BadMessage, match=reason):
        inbound.read(content)


def test_lone_surrogates_are_replaced():
    """Text that JSON can carry and UTF-8 cannot is made valid before anybody sees it."""
    found = inbound.read({**BASE, "kind": "draft", "text": "a\ud83d b \U0001f600"})

    assert "a\ufffd b \U0001f600" == found.body["text"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
field_names = st.sampled_from(["text", "requestId", "requestIds", "optionId", "itemId", "queue"])
kinds = st.sampled_from(["send", "answer", "ack", "queue", "draft", "set-mode", "fetch-blob"])


@given(
    st.builds(
        lambda kind, fields: {**BASE, "kind": kind, **fields},
        kinds | json_values,
        st.dictionaries(field_names, json_values),
    )
    | json_values
)
def test_nothing_a_page_sends_raises_anything_else(content):
    """Whatever JSON a page sends, it is read or refused."""
    with contextlib.suppress(inbound.BadMessage):
        assert inbound.read(content).kind == content["kind"]
