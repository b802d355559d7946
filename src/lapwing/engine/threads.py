"""Who runs many independent pieces of work that start from the same: threads here, or a cluster (engine/cluster.py)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from operator import call
from typing import Any, Protocol, TypeVar

from lapwing.engine.interrupt import stop_event
from lapwing.errors import SettingsError

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Pool(Protocol):
    """`function` must be one of a module, and what it returns the same wherever it runs."""

    @property
    def size(self) -> int:
        """How many pieces run at a time."""
        ...

    def run_all(
        self,
        function: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Sequence[Item],
        *,
        progress: Callable[[int], None] | None = None,
        keep: Callable[[Item, Result], None] | None = None,
    ) -> list[Result]:
        """[function(shared, item) for item in items], in that order; each is given to `keep` once it is finished."""
        ...


def thread_count(n_jobs: int | None) -> int:
    """None is 1, a positive number itself, -1 every core, -2 all but one, and so on."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise SettingsError("n_jobs must not be 0; use -1 for every core")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


@dataclass(frozen=True)
class Threads:
    """Kernels release the GIL, and nothing is copied. No piece is begun once the call it belongs to is interrupted."""

    n_jobs: int | None = 1

    @property
    def size(self) -> int:
        return thread_count(self.n_jobs)

    def run_all(
        self,
        function: Callable[[Any, Any], Any],
        shared: Any,
        items: Iterable[Any],
        *,
        progress: Callable[[int], None] | None = None,
        keep: Callable[[Any, Any], None] | None = None,
    ) -> list[Any]:
        stop, results, threads = stop_event(), [], self.size

        def work(item: Any) -> Any:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            result = function(shared, item)
            if keep is not None:
                keep(item, result)
            return result

        with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
            futures = [] if pool is None else [pool.submit(work, item) for item in items]
            try:
                for result in map(work, items) if pool is None else map(Future.result, futures):
                    results.append(result)
                    if progress is not None:
                        progress(1)
            except BaseException:
                if pool is not None:
                    pool.shutdown(cancel_futures=True)
                raise
        return results


def run_all(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    n_jobs: int | None = 1,
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """[function(item) for item in items], in that order whatever the number of threads."""
    return Threads(n_jobs).run_all(call, function, items, progress=progress)
