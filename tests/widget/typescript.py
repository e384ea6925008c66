"""Reads the type declarations of `js/src/messages.ts`: the part of TypeScript that file uses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[A-Za-z_][\w.]*|\.\.\.|\[\]|[{}()\[\]<>|&;:?,=])')


@dataclass(frozen=True)
class Name:
    """A named type, with its arguments."""

    name: str
    args: tuple = ()


@dataclass(frozen=True)
class Array:
    of: object


@dataclass(frozen=True)
class Union:
    options: tuple


@dataclass(frozen=True)
class Both:
    parts: tuple


@dataclass(frozen=True)
class Record:
    """An object type: name of the field -> (optional, type)."""

    fields: dict[str, tuple[bool, object]] = field(hash=False)


class Declarations:
    """`interface` and `type` declarations by name; `record(type)` flattens `extends` and `&`."""

    def __init__(self, source: str) -> None:
        self.tokens = _tokens(source)
        self.at = 0
        self.types: dict[str, object] = {}
        while self.at < len(self.tokens):
            self._declaration()

    def variants(self, kind: object) -> list[dict[str, tuple[bool, object]]]:
        """The object types that a union stands for, each with all its fields."""
        if isinstance(kind, Name) and kind.name == "Pick":
            (source,) = self.variants(kind.args[0])
            names = kind.args[1].options if isinstance(kind.args[1], Union) else (kind.args[1],)
            return [{name.name.strip('"'): source[name.name.strip('"')] for name in names}]
        if isinstance(kind, Name) and kind.name == "Partial":
            (source,) = self.variants(kind.args[0])
            return [{name: (True, of) for name, (_, of) in source.items()}]
        if isinstance(kind, Name):
            return self.variants(self.types[kind.name])
        if isinstance(kind, Union):
            return [variant for option in kind.options for variant in self.variants(option)]
        if isinstance(kind, Both):
            found: list[dict] = [{}]
            for part in kind.parts:
                found = [
                    {**new, **old} for old in found for new in self.variants(part)
                ]  # the field of the first part counts: `Pick<View, …> & Partial<View>`
            return found
        assert isinstance(kind, Record), kind
        return [kind.fields]

    def _declaration(self) -> None:
        if self._take("export"):
            pass
        if self._take("interface"):
            name = self._next()
            bases = []
            if self._take("extends"):
                bases.append(self._type())
            body = self._object()
            self.types[name] = Both((*bases, body)) if bases else body
            return
        assert self._take("type"), self.tokens[self.at : self.at + 5]
        name = self._next()
        assert self._take("=")
        self.types[name] = self._type()
        assert self._take(";")

    def _type(self) -> object:
        self._take("|")
        options = [self._both()]
        while self._take("|"):
            options.append(self._both())
        return options[0] if len(options) == 1 else Union(tuple(options))

    def _both(self) -> object:
        parts = [self._array()]
        while self._take("&"):
            parts.append(self._array())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _array(self) -> object:
        found = self._simple()
        while True:
            if self._take("[]"):
                found = Array(found)
            elif self._peek() == "[":  # Meta["attachments"]
                self._next()
                key = self._next().strip('"')
                assert self._take("]")
                assert isinstance(found, Name)
                found = self.variants(found)[0][key][1]
                if self._take("["):
                    key = self._next().strip('"')
                    assert self._take("]")
                    assert isinstance(found, Record)
                    found = found.fields[key][1]
            else:
                return found

    def _simple(self) -> object:
        if self._peek() == "{":
            return self._object()
        if self._take("("):
            found = self._type()
            assert self._take(")")
            return found
        name = self._next()
        args = []
        if self._take("<"):
            args.append(self._type())
            while self._take(","):
                args.append(self._type())
            assert self._take(">")
        return Name(name, tuple(args))

    def _object(self) -> Record:
        assert self._take("{")
        fields = {}
        while not self._take("}"):
            name = self._next()
            optional = self._take("?")
            assert self._take(":"), (name, self.tokens[self.at : self.at + 5])
            fields[name] = (optional, self._type())
            self._take(";")
        return Record(fields)

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def _take(self, token: str) -> bool:
        if self._peek() == token:
            self.at += 1
            return True
        return False


def _tokens(source: str) -> list[str]:
    source = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    source = "\n".join(_without_comment(line) for line in source.splitlines())
    found, at = [], 0
    source = source.rstrip()
    while at < len(source):
        match = TOKEN.match(source, at)
        assert match, source[at : at + 40]
        found.append(match[1])
        at = match.end()
    return found


def _without_comment(line: str) -> str:
    at = line.find("//")
    return line if at < 0 else line[:at]
