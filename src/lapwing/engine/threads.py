"""Independent fits over a pool of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lapwing.engine.interrupt import until_stopped
from lapwing.errors import SettingsError

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """None is 1, a positive number itself, -1 every core, -2 all but one, and so on."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise SettingsError("n_jobs must not be 0; use -1 for every core")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def run_all(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    n_jobs: int | None = 1,
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """[function(item) for item in items], in that order whatever the number of threads."""
    results: list[Result] = []
    function = until_stopped(function)
    threads = thread_count(n_jobs)
    if threads == 1:
        for item in items:
            results.append(function(item))
            if progress is not None:
                progress(1)
        return results
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            for future in futures:
                results.append(future.result())
                if progress is not None:
                    progress(1)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return results
