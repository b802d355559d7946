"""A Dask cluster as a pool: the same pieces of work, and so the same bytes, whatever workers there are and fail.

What all pieces start from goes to every worker once. A worker that dies loses what it was at, which is done again; if
all that hold what is shared are gone it is sent again. A piece that costs `DEATHS` workers their lives is given up.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lapwing.engine.interrupt import stopped
from lapwing.errors import InputError, LapwingError, SettingsError
from lapwing.shards.folder import BY_VALUE, LIST, check_attached, in_use

DEATHS = 10
ATTEMPTS = 5  # to send what all pieces share
ANSWER = 10  # seconds within which a scheduler answers
BACK = "5 minutes"  # within which a worker of a local cluster is started again


class Cluster:
    """`client` is a `distributed.Client`; lapwing of the same release must be installed where its workers are."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._shared: tuple[Any, Any] | None = None  # what was sent last, and where it is

    @property
    def size(self) -> int:
        return max(sum(self.client.nthreads().values()), 1)

    def run_all(
        self,
        function: Callable[[Any, Any], Any],
        shared: Any,
        items: Sequence[Any],
        *,
        progress: Callable[[int], None] | None = None,
        keep: Callable[[Any, Any], None] | None = None,
    ) -> list[Any]:
        results: dict[int, Any] = {}
        deaths = dict.fromkeys(range(len(items)), 0)
        while len(results) < len(items):
            before = len(results)
            for k, outcome in self._round(function, shared, {k: items[k] for k in deaths if k not in results}):
                if isinstance(outcome, Lost):
                    deaths[k] += outcome.blamed
                    _check_deaths(deaths[k], outcome.why)
                    continue
                results[k] = outcome
                if keep is not None:
                    keep(items[k], outcome)
                if progress is not None:
                    progress(1)
            if len(results) == before:  # whoever is to blame
                deaths = {k: count + 1 for k, count in deaths.items()}
                _check_deaths(max(deaths.values()), "none of it was finished")
        return [results[k] for k in range(len(items))]

    def _round(self, function: Callable[[Any, Any], Any], shared: Any, items: dict[int, Any]) -> Any:
        """(number, result or Lost) of each, as they are finished."""
        from distributed import as_completed

        with gone():
            there = self._send(shared)
            ours = version("lapwing")
            futures = {
                self.client.submit(_work, ours, function, there, item, pure=False): k for k, item in items.items()
            }
            waiting = as_completed(futures, raise_errors=False)
            while not waiting.is_empty():
                for future in waiting.next_batch():
                    yield futures[future], self._outcome(future)
                if stopped():
                    self.client.cancel(list(futures))
                    raise KeyboardInterrupt

    def _send(self, shared: Any) -> Any:
        if self._shared is None or self._shared[0] is not shared or self._shared[1].status != "finished":
            self._shared = shared, self._scattered(shared)
        return self._shared[1]

    def _scattered(self, shared: Any) -> Any:
        """`shared` on every worker; those that it was on its way to may die, and others come."""
        for attempts_left in reversed(range(ATTEMPTS)):
            try:
                self.client.wait_for_workers(1, timeout=60)
                BY_VALUE[0] = not all(self.sees(folder) for folder in in_use())
                # In a list: what is one itself would be taken apart.
                return self.client.scatter([shared], broadcast=True, hash=False)[0]
            except (TimeoutError, OSError):
                if not attempts_left or self.client.status != "running":
                    raise
            finally:
                BY_VALUE[0] = False
        raise AssertionError("an attempt returns or raises")

    def sees(self, folder: str | os.PathLike[str]) -> bool:
        """Whether all workers can read what is in a folder of this machine."""
        return all(self.client.run(_reads, os.fspath(folder)).values())

    def _outcome(self, future: Any) -> Any:
        from distributed import CancelledError, KilledWorker

        try:
            if future.status == "finished":
                result = future.result()  # which may have gone down with its worker by now
                future.release()
                return result
            if future.status not in ("cancelled", "lost"):
                error = future.exception()
                if isinstance(error, KilledWorker):
                    return Lost(str(error), blamed=True)
                raise error
        except CancelledError:
            pass
        self._shared = None
        return Lost("it was lost")


def _reads(folder: str) -> bool:
    """On a worker."""
    return os.access(os.path.join(folder, LIST), os.R_OK)


@contextmanager
def gone() -> Iterator[None]:
    """A cluster that answers no more, in a sentence."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise LapwingError(f"workers of the cluster died at the same piece of work: {error}") from error
    except (CommClosedError, TimeoutError, OSError, CancelledError) as error:
        raise LapwingError(
            f"the cluster is gone ({error or type(error).__name__}); given again, the same command goes on"
        ) from error


class Lost:
    """A piece of work that went down with a worker: that which did it, and may be to blame, or that which held it."""

    def __init__(self, why: str, *, blamed: bool = False) -> None:
        self.why, self.blamed = why, blamed


def _check_deaths(count: int, why: str) -> None:
    if count >= DEATHS:
        raise LapwingError(
            f"{count} workers of the cluster died at the same piece of work: {why}; they may have too little memory"
        )


def _work(ours: str, function: Callable[[Any, Any], Any], shared: Any, item: Any) -> Any:
    """On a worker."""
    theirs = version("lapwing")
    if theirs != ours:
        from distributed import get_worker

        raise InputError(f"the worker {get_worker().address} has lapwing {theirs}, and {ours} is needed; install that")
    check_attached()
    return function(shared, item)


def connect(cluster: str, workers: int | None = None, threads: int = 1) -> Any:
    """A client of a cluster: "local", an address, or a scheduler's JSON file. `workers` processes and `threads` each
    are for a local one."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise SettingsError('a cluster needs Dask: pip install "lapwing[dask]"') from error
    if workers is not None and cluster != "local":
        raise SettingsError("workers are counted for a local cluster only; another has those it has")
    address = _address_in(cluster) if cluster.endswith(".json") else cluster
    try:
        if cluster == "local":
            # Dask would give up a worker that was killed and is not back in 15 seconds; a busy machine takes longer.
            dask.config.set({"distributed.deploy.lost-worker-timeout": BACK})
            here = "127.0.0.1:0"  # no other machine is to see it
            return Client(LocalCluster(n_workers=workers, threads_per_worker=threads, dashboard_address=here))
        return Client(address, timeout=ANSWER)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"expected a Dask scheduler at {cluster}, and there is none: {error}") from error


def _address_in(file: str) -> str:
    """Of the scheduler that wrote it; one that is about to start has time to."""
    until = time.monotonic() + ANSWER
    while True:
        try:
            about = json.loads(Path(file).read_bytes())
        except (OSError, ValueError) as error:
            if time.monotonic() < until:
                time.sleep(0.1)
                continue
            raise InputError(
                f"expected the JSON file of a Dask scheduler at {file}, and it cannot be read: {error}; a scheduler "
                f"writes it: dask scheduler --scheduler-file {file}"
            ) from error
        address = about.get("address") if isinstance(about, dict) else None
        if not isinstance(address, str):
            raise InputError(f"expected the JSON file of a Dask scheduler at {file}, and it names no address")
        return address
