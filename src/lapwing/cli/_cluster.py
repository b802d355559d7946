"""--cluster and --workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from lapwing.cli._output import echo
from lapwing.errors import SettingsError

F = TypeVar("F", bound=Callable[..., Any])


def cluster_options(does: str) -> Callable[[F], F]:
    """Adds both; `does` is what the workers do."""

    def adding(function: F) -> F:
        function = click.option("--workers", type=click.IntRange(min=1), help="Worker processes of --cluster local.")(
            function
        )
        return click.option(
            "--cluster",
            metavar="local|ADDRESS|FILE",
            help=f"{does} on the workers of a Dask cluster: local ones started for the occasion, those of the "
            "scheduler at an address, or of its JSON file. The result is the same.",
        )(function)

    return adding


def check_workers(cluster: str | None, workers: int | None) -> None:
    if workers is not None and cluster is None:
        raise SettingsError("--workers belongs to --cluster local; add that")


@contextmanager
def cluster_client(cluster: str | None, workers: int | None) -> Iterator[Any]:
    """Of a cluster while it is needed; None without."""
    if cluster is None:
        yield None
        return
    from lapwing.engine import connect

    client = connect(cluster, workers)
    echo(f"cluster of {len(client.nthreads())} workers; dashboard {client.dashboard_link}", err=True)
    try:
        yield client
    finally:
        if client.cluster is not None:
            client.cluster.close()
        client.close()
