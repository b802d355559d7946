"""Who runs many independent pieces of work that start from the same: threads here, or a cluster (engine/cluster.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from lapwing.engine.threads import run_all, thread_count

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


@dataclass(frozen=True)
class Threads:
    """Kernels release the GIL, and nothing is copied."""

    n_jobs: int | None = 1

    @property
    def size(self) -> int:
        return thread_count(self.n_jobs)

    def run_all(
        self,
        function: Callable[[Any, Any], Any],
        shared: Any,
        items: Sequence[Any],
        *,
        progress: Callable[[int], None] | None = None,
        keep: Callable[[Any, Any], None] | None = None,
    ) -> list[Any]:
        def one(item: Any) -> Any:
            result = function(shared, item)
            if keep is not None:
                keep(item, result)
            return result

        return run_all(one, items, n_jobs=self.n_jobs, progress=progress)
