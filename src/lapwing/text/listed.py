"""Names as Python's strings. They are made with the interpreter held: by the thread that waits while others count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

PIECE = 1 << 12  # names that are made at a time, in a fifth of a millisecond

Make = Callable[[int, int], list[str]]  # from a number to another
Given = TypeVar("Given")
Result = TypeVar("Result")


def listed(n: int, make: Make, n_jobs: int) -> Sequence[str]:
    """n names: made now, or where there are several threads, while those are at work."""
    names = Later(n, make)
    return names if n_jobs > 1 else names.now()


class Later(Sequence[str]):
    """Names of which some are made. Whoever asks for one makes all."""

    def __init__(self, n: int, make: Make) -> None:
        self._n = n
        self._names: list[str] = []
        self._pieces = (make(first, min(first + PIECE, n)) for first in range(0, n, PIECE))

    def some(self) -> bool:
        """Make some more; whether any were left."""
        piece = next(self._pieces, [])
        self._names += piece
        return len(piece) > 0

    def now(self) -> list[str]:
        while self.some():
            pass
        return self._names

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, k: Any) -> Any:
        return self.now()[k]

    def __iter__(self) -> Iterator[str]:
        return iter(self.now())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | Later) and self.now() == list(other)

    __hash__ = None  # type: ignore[assignment]


def now(names: Sequence[str]) -> list[str]:
    """All of them, as a list."""
    if isinstance(names, Later):
        return names.now()
    return names if isinstance(names, list) else list(names)


def meanwhile(
    names: Sequence[str],
    run: Callable[..., Iterable[Result]],
    function: Callable[[Given], Result],
    parts: Sequence[Given],
) -> list[Result]:
    """The function of every part, by `run`: `map`, or that on other threads. Until they are done, names are made."""
    done = []

    def one(part: Given) -> Result:
        try:
            return function(part)
        finally:
            done.append(True)

    results = run(one, parts)
    if isinstance(names, Later):
        while len(done) < len(parts) and names.some():
            pass
    return list(results)
