"""
Sequences that share what did not change.

A `Shared` is a frozen sequence in chunks of 64. Its growing side, `Chunks`, remakes only the
chunks that were written since the last `freeze`, so that the next version costs the change and
one pointer a chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

WIDTH = 64


class Shared(Sequence[T]):
    """A frozen sequence; equal to another of equal members."""

    __slots__ = ("_chunks", "_length")

    def __init__(self, members: Iterable[T] = ()) -> None:
        whole = tuple(members)
        self._chunks = tuple(whole[at : at + WIDTH] for at in range(0, len(whole), WIDTH))
        self._length = len(whole)

    @classmethod
    def _of(cls, chunks: tuple[tuple[T, ...], ...], length: int) -> Shared[T]:
        made = cls.__new__(cls)
        made._chunks = chunks  # noqa: SLF001  # another constructor of this class
        made._length = length  # noqa: SLF001
        return made

    @property
    def chunks(self) -> tuple[tuple[T, ...], ...]:
        """The members in chunks; an unchanged chunk is the same object in the next version."""
        return self._chunks

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(f"index out of range: there are {self._length}")
        return self._chunks[index // WIDTH][index % WIDTH]

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._chunks)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Shared):
            return self._length == other._length and self._chunks == other._chunks
        if isinstance(other, tuple | list):
            return tuple(self) == tuple(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # members may hold JSON objects

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (tuple(self),))

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"


class Chunks(Generic[T]):
    """The growing side of a `Shared`: members are added, replaced, put between or taken out."""

    __slots__ = ("_chunks", "_frozen", "_length", "_stale")

    def __init__(self, members: Iterable[T] = ()) -> None:
        whole = list(members)
        self._chunks = [whole[at : at + WIDTH] for at in range(0, len(whole), WIDTH)]
        self._frozen: list[tuple[T, ...]] = [()] * len(self._chunks)
        self._stale: set[int] = set(range(len(self._chunks)))
        self._length = len(whole)

    def __len__(self) -> int:
        return self._length

    def extend(self, members: Sequence[T]) -> None:
        """Add members at the end."""
        taken = 0
        while taken < len(members):
            at, filled = divmod(self._length, WIDTH)
            if not filled:
                self._chunks.append([])
                self._frozen.append(())
            some = members[taken : taken + WIDTH - filled]
            self._chunks[at].extend(some)
            self._stale.add(at)
            self._length += len(some)
            taken += len(some)

    def replace(self, position: int, member: T) -> None:
        """Put another member in the place of one."""
        at = position // WIDTH
        self._chunks[at][position % WIDTH] = member
        self._stale.add(at)

    def slice(self, start: int, stop: int) -> tuple[T, ...]:
        """Return the members from `start` to `stop`, at the cost of these."""
        if start == stop:
            return ()
        first, last = start // WIDTH, (stop - 1) // WIDTH
        if first == last:
            offset = first * WIDTH
            return tuple(self._chunks[first][start - offset : stop - offset])
        return tuple(
            chain(
                self._chunks[first][start % WIDTH :],
                *self._chunks[first + 1 : last],
                self._chunks[last][: stop - last * WIDTH],
            )
        )

    def freeze(self) -> Shared[T]:
        """Return the members as they are now."""
        for at in self._stale:
            self._frozen[at] = tuple(self._chunks[at])
        self._stale.clear()
        return Shared._of(tuple(self._frozen), self._length)  # noqa: SLF001  # its growing side
