"""lapwing warm-up"""

from __future__ import annotations

import time
from typing import Any

import click

from lapwing.cli._output import echo

DOCUMENTS = 100  # of a small corpus, which other kernels fit than a large one
KINDS: dict[str, dict[str, Any]] = {
    "sparse": {},
    "gaussian": {"prior": "gaussian"},
    "multinomial": {"multi_class": "multinomial"},
}


@click.command("warm-up")
@click.argument("kinds", nargs=-1, type=click.Choice([*KINDS]))
def command(kinds: tuple[str, ...]) -> None:
    """Compile what the first trainings of KINDS need (default: all), and keep it on disk.

    For images and for CI: the first training in an environment then takes no longer than others. Kernels are kept in
    the folder NUMBA_CACHE_DIR if that is set, and for this kind of processor.
    """
    from lapwing.corpus import stdlib_docstrings
    from lapwing.text.counts import count_terms
    from lapwing.training import TrainSettings, learn

    corpus = stdlib_docstrings()
    small = corpus.select(range(0, len(corpus), max(1, len(corpus) // DOCUMENTS)))
    for kind in kinds or KINDS:
        start, settings = time.perf_counter(), TrainSettings(**KINDS[kind])
        count_terms(small.documents, settings.text, method="kernel")
        trained = learn(small, settings)
        trained.model.category_proba(small.documents, method="kernel")
        learn(corpus, settings)
        echo(f"{kind}: {time.perf_counter() - start:.1f} s")
