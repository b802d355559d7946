"""Names as Python's strings. They are made with the interpreter held, which is no reason for other threads to wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

PIECE = 1 << 13  # names that are made at a time, in half a millisecond
PAUSE = 2e-5  # seconds between: enough for a thread that waits for the interpreter to wake

Make = Callable[[int, int], list[str]]  # from a number to another


def listed(n: int, make: Make, n_jobs: int) -> Sequence[str]:
    """n names, made now, or on a thread of their own where there are several: their number is known before."""
    return Later(n, make) if n_jobs > 1 else [name for some in _pieces(n, make) for name in some]


def _pieces(n: int, make: Make) -> Iterator[list[str]]:
    return (make(first, min(first + PIECE, n)) for first in range(0, n, PIECE))


class Later(Sequence[str]):
    """Names that are being made. Whoever asks for one waits for all."""

    def __init__(self, n: int, make: Make) -> None:
        self._n = n
        with_a_thread = ThreadPoolExecutor(1)
        self._names = with_a_thread.submit(self._make, make)
        with_a_thread.shutdown(wait=False)

    def _make(self, make: Make) -> list[str]:
        names: list[str] = []
        for some in _pieces(self._n, make):
            names += some
            time.sleep(PAUSE)
        return names

    def now(self) -> list[str]:
        return self._names.result()

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
