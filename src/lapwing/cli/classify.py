"""lapwing classify"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from lapwing.cli._common import SPLITS, ExistingPath, model_argument, reading_options
from lapwing.cli._output import as_json_line, echo, json_option
from lapwing.errors import InputError

if TYPE_CHECKING:
    from lapwing.cli._documents import Block
    from lapwing.model import LinearModel

RATE = click.FloatRange(0, 1, min_open=True, max_open=True)
SCORES = 2**22  # at a time: 32 MB
TO_BLANK = str.maketrans("\t\n\r", "   ")


@click.command("classify")
@model_argument
@click.argument("data", default="-", type=ExistingPath("documents (a file, folder or archive)", dash=True))
@click.option("--split", type=SPLITS, help="Use only this part of DATA.")
@click.option("--top", type=click.IntRange(min=1), help="Show the N most probable categories instead of the decisions.")
@click.option(
    "--coverage",
    type=RATE,
    metavar="RATE",
    help="Sets that hold all true categories of a document at this rate, such as 0.9.",
)
@click.option("--abstain", is_flag=True, help="With --coverage: only sets of one category, and none otherwise.")
@click.option(
    "--precision",
    type=RATE,
    metavar="RATE",
    help="Only categories that are sure: right at this rate, such as 0.95, with a confidence of 0.9.",
)
@reading_options
@json_option
def command(
    model: str,
    data: str,
    reading: dict[str, Any],
    split: str | None,
    top: int | None,
    coverage: float | None,
    abstain: bool,
    precision: float | None,
    as_json: bool,
) -> None:
    """Put the documents of DATA into the categories of MODEL.

    DATA is anything `lapwing train` reads, labels not needed; "-", the default, reads one text per line from
    standard input. Prints a line `document, category, probability` for every category a document is put in,
    and `document, , ` for a document in none. With --json one object per document, with the probabilities of
    all categories, or of the --top N. What --coverage and --precision promise, and when, the documentation says
    under "Can I trust the probabilities?".
    """
    from lapwing.cli._documents import streamed
    from lapwing.formats import load
    from lapwing.model.linear import best

    _check_promises(coverage, precision, abstain, top)
    loaded = load(model)
    size = max(SCORES // len(loaded.classes), 1) if loaded.decision == "threshold" else sys.maxsize
    for block in _parts(streamed(data, reading, loaded, split), size):
        ids, scores = _scored(loaded, *block, reading["skip_bad"])
        if not ids:
            continue
        lines = _json_lines if as_json else _table_lines
        proba = loaded.class_proba(scores)
        if coverage is None and precision is None:
            chosen = loaded.decide(scores)
        else:
            chosen = loaded.promised(proba, coverage=coverage, precision=precision)
            if abstain:
                chosen &= chosen.sum(axis=1, keepdims=True) == 1
        answers = lines(loaded, ids, proba, chosen, best(proba, top) if top else None)
        echo("\n".join(answers))


def _parts(blocks: Iterable[Block], size: int) -> Iterator[tuple[list[str], Any]]:
    """No more documents at a time than have scores that fit in memory, however many the categories."""
    for ids, documents, _ in blocks:
        for first in range(0, len(ids), size):
            yield ids[first : first + size], documents[first : first + size]


def _check_promises(coverage: float | None, precision: float | None, abstain: bool, top: int | None) -> None:
    if coverage is not None and precision is not None:
        raise InputError("--coverage promises sets and --precision single categories; give one of them")
    if abstain and coverage is None:
        raise InputError("--abstain needs --coverage RATE, whose sets of more than one category it leaves out")
    if top is not None and (coverage is not None or precision is not None):
        raise InputError("--top shows the most probable categories, sure or not; leave it out, or the promise")


def _scored(model: LinearModel, ids: list[str], documents: Any, skip_bad: bool) -> tuple[list[str], np.ndarray]:
    """The scores of a block; a document that cannot be read is named, and with --skip-bad left out."""
    try:
        return ids, model.scores(documents, n_jobs=os.cpu_count() or 1)
    except Exception as error:
        if len(ids) == 1:
            said = f"document {ids[0]} cannot be classified: {error}"
            if not skip_bad:
                raise InputError(f"{said}; use --skip-bad to go on without it") from error
            echo(f"lapwing: {said}; it is left out", err=True)
            return [], np.empty((0, 0))
    half = len(ids) // 2
    parts = [_scored(model, ids[rows], documents[rows], skip_bad) for rows in (slice(half), slice(half, None))]
    parts = [part for part in parts if part[0]] or parts[:1]
    return [one for part in parts for one in part[0]], np.concatenate([part[1] for part in parts])


def _json_lines(
    model: LinearModel, ids: list[str], proba: np.ndarray, chosen: np.ndarray, top: list[np.ndarray] | None
) -> Iterator[str]:
    for i, document in enumerate(ids):
        shown = range(len(model.classes)) if top is None else top[i]
        yield as_json_line(
            {
                "id": document,
                "predicted": [model.classes[k] for k in _chosen(proba[i], chosen[i])],
                "probabilities": {str(model.classes[k]): float(proba[i, k]) for k in shown},
            }
        )


def _table_lines(
    model: LinearModel, ids: list[str], proba: np.ndarray, chosen: np.ndarray, top: list[np.ndarray] | None
) -> Iterator[str]:
    """Tab-separated; a tab or line end inside a name becomes a blank."""
    labels = [str(label).translate(TO_BLANK) for label in model.classes]
    for i, document in enumerate(ids):
        name = document.translate(TO_BLANK)
        shown = _chosen(proba[i], chosen[i]) if top is None else top[i]
        for k in shown:
            yield f"{name}\t{labels[k]}\t{float(proba[i, k])!r}"
        if not len(shown):
            yield f"{name}\t\t"


def _chosen(proba: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The classes decided on, most probable first."""
    places = np.flatnonzero(chosen)
    return places[np.argsort(-proba[places], kind="stable")]
