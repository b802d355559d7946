"""lapwing classify"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
import scipy.sparse as sp

from lapwing.cli._cluster import check_workers, cluster_client, cluster_options
from lapwing.cli._common import (
    BROADER,
    SPLITS,
    ExistingPath,
    broader_file,
    model_argument,
    read_hierarchy,
    reading_options,
)
from lapwing.cli._output import as_json_line, echo, json_option
from lapwing.cli._parts import is_pattern
from lapwing.errors import InputError

Named = list[tuple[Hashable, float]]

if TYPE_CHECKING:
    from lapwing.corpus import Hierarchy
    from lapwing.model import LinearModel

RATE = click.FloatRange(0, 1, min_open=True, max_open=True)
SCORES = 2**22  # at a time: 32 MB
TO_BLANK = str.maketrans("\t\n\r", "   ")


@click.command("classify")
@model_argument
@click.argument("data", default="-")
@click.option("-o", "--output", help="The folder for the answers to many files, which DATA names with * in it.")
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
@cluster_options("Classify the parts")
@click.option("--broader", type=broader_file, help=BROADER + " Adds the broader ones to each answer.")
@reading_options
@json_option
def command(
    model: str, data: str, output: str | None, reading: dict[str, Any], broader: str | None, cluster: str | None,
    workers: int | None, **options: Any,
) -> None:  # fmt: skip
    """Put the documents of DATA into the categories of MODEL.

    DATA is anything `lapwing train` reads, labels not needed; "-", the default, reads one text per line from
    standard input. Prints a line `document, category, probability` for every category a document is put in,
    and `document, , ` for a document in none. With --json one object per document, with the probabilities of
    all categories, or of the --top N. What --coverage and --precision promise, and when, the documentation says
    under "Can I trust the probabilities?".

    DATA can name many files ('folder/*.parquet', or s3:// and the like where fsspec is installed): each has its answers
    in a file of its own in the folder -o, on the workers of a --cluster if there is one. Started again, it goes on.
    """
    from lapwing.formats import load

    split, asked = options.pop("split"), AnswerOptions(**options)
    _check_promises(asked)
    check_workers(cluster, workers)
    several = is_pattern(data)
    if not several:
        data = ExistingPath("documents (a file, folder or archive)", dash=True).convert(data, None, None)
        if output is not None or cluster is not None:
            raise InputError(
                f"-o and --cluster are for DATA that names many files, such as 'folder/*.jsonl', got {data!r}"
            )
    elif output is None:
        raise InputError(f"many files need a folder for their answers: give -o FOLDER beside {data!r}")
    if reading["qrels"]:  # which workers in other folders look for, too
        reading["qrels"] = os.path.abspath(reading["qrels"])
    loaded = load(model)
    shared = Answering(loaded, reading, split, asked, read_hierarchy(broader, loaded))
    if not several:
        for answers in answered(shared, data):
            echo(answers)
        return
    with cluster_client(cluster, workers) as client:
        from lapwing.cli._parts import classify_parts
        from lapwing.engine import Cluster, Threads

        pool = Threads() if client is None else Cluster(client)
        above = None if broader is None else Path(broader).read_bytes()
        key = (Path(model).read_bytes(), sorted(reading.items()), split, asked, broader, above)
        there = classify_parts(data, str(output), _all_answers, shared, key, "jsonl" if asked.as_json else "tsv", pool)
        if there:
            echo(f"{there} parts were there already", err=True)


class Answering(NamedTuple):
    """What all documents are answered with."""

    model: LinearModel
    reading: dict[str, Any]
    split: str | None
    asked: AnswerOptions
    hierarchy: Hierarchy | None


def answered(shared: Answering, data: Any) -> Iterator[str]:
    """Lines, a block of documents at a time."""
    from lapwing.cli._documents import streamed

    model, asked = shared.model, shared.asked
    lines = _json_lines if asked.as_json else _table_lines
    for ids, documents, _ in streamed(data, shared.reading, model, shared.split):
        ids, matrix = _vectors(model, ids, documents, shared.reading["skip_bad"])
        if ids:
            answers = (_named(answer, model, shared.hierarchy, asked) for answer in _answers(model, matrix, asked))
            pairs = zip(ids, answers, strict=True)
            yield "\n".join(line for document, answer in pairs for line in lines(document, *answer))


def _all_answers(shared: Answering, data: Any) -> str:
    return "".join(f"{answers}\n" for answers in answered(shared, data))


class AnswerOptions(NamedTuple):
    top: int | None
    coverage: float | None
    precision: float | None
    abstain: bool
    as_json: bool


class Answer(NamedTuple):
    """Of one document: classes by their number, with probabilities, the predicted ones most probable first."""

    shown: list[tuple[int, float]]
    predicted: list[tuple[int, float]]


def _answers(model: LinearModel, matrix: sp.csr_matrix, asked: AnswerOptions) -> Iterator[Answer]:
    """Document by document; all categories are scored at once only where all are asked for."""
    if asked.coverage is not None or asked.precision is not None or (asked.as_json and asked.top is None):
        yield from _of_all(model, matrix, asked)
        return
    if asked.top is None:
        for places, proba in model.decided(matrix):
            chosen = list(zip(places.tolist(), proba.tolist(), strict=True))
            yield Answer(chosen, chosen)
        return
    decided = model.decided(matrix) if asked.as_json else repeat((np.empty(0), np.empty(0)))
    for shown, values, (places, proba) in zip(*model.most_probable(matrix, asked.top), decided, strict=False):
        most_probable = list(zip(shown.tolist(), values.tolist(), strict=True))
        yield Answer(most_probable, list(zip(places.tolist(), proba.tolist(), strict=True)))


def _of_all(model: LinearModel, matrix: sp.csr_matrix, asked: AnswerOptions) -> Iterator[Answer]:
    """By the probabilities of all categories: of no more documents at a time than have scores that fit in memory."""
    n = matrix.shape[0]
    size = max(SCORES // len(model.classes), 1) if model.decision == "threshold" else n
    for start in range(0, n, size):
        scores = model.scores(matrix[start : start + size])
        proba = model.class_proba(scores)
        if asked.coverage is None and asked.precision is None:
            chosen = model.decide(scores)
        else:
            chosen = model.promised(proba, coverage=asked.coverage, precision=asked.precision, abstain=asked.abstain)
        for values, inside in zip(proba, chosen, strict=True):
            predicted = [(k, float(values[k])) for k in _most_probable_first(values, np.flatnonzero(inside))]
            yield Answer(list(enumerate(values.tolist())) if asked.as_json else predicted, predicted)


def _named(
    answer: Answer, model: LinearModel, hierarchy: Hierarchy | None, asked: AnswerOptions
) -> tuple[Named, Named]:
    """What is shown and what is predicted, by name; where asked for with the broader labels."""
    shown, predicted = ([(model.classes[k], p) for k, p in some] for some in answer)
    if hierarchy is None:
        return shown, predicted
    added = hierarchy.added(predicted)
    if asked.top is not None:
        return hierarchy.added(shown), added
    return (list({**dict(shown), **dict(added)}.items()) if asked.as_json else added), added


def _check_promises(asked: AnswerOptions) -> None:
    if asked.coverage is not None and asked.precision is not None:
        raise InputError("--coverage promises sets and --precision single categories; give one of them")
    if asked.abstain and asked.coverage is None:
        raise InputError("--abstain needs --coverage RATE, whose sets of more than one category it leaves out")
    if asked.top is not None and (asked.coverage is not None or asked.precision is not None):
        raise InputError("--top shows the most probable categories, sure or not; leave it out, or the promise")


def _vectors(model: LinearModel, ids: list[str], documents: Any, skip_bad: bool) -> tuple[list[str], sp.csr_matrix]:
    """A block as vectors; a document that cannot be read is named, and with --skip-bad left out."""
    try:
        return ids, model.vectors(documents, n_jobs=os.cpu_count() or 1)
    except Exception as error:
        if len(ids) == 1:
            said = f"document {ids[0]} cannot be classified: {error}"
            if not skip_bad:
                raise InputError(f"{said}; use --skip-bad to go on without it") from error
            echo(f"lapwing: {said}; it is left out", err=True)
            return [], sp.csr_matrix((0, len(model.feature_names)))
    half = len(ids) // 2
    parts = [_vectors(model, ids[rows], documents[rows], skip_bad) for rows in (slice(half), slice(half, None))]
    return [one for part in parts for one in part[0]], sp.vstack([part[1] for part in parts], format="csr")


def _most_probable_first(proba: np.ndarray, places: np.ndarray) -> list[int]:
    return places[np.argsort(-proba[places], kind="stable")].tolist()


def _json_lines(document: str, shown: Named, predicted: Named) -> Iterator[str]:
    yield as_json_line(
        {
            "id": document,
            "predicted": [label for label, _ in predicted],
            "probabilities": {str(label): p for label, p in shown},
        }
    )


def _table_lines(document: str, shown: Named, predicted: Named) -> Iterator[str]:
    """Tab-separated; a tab or line end inside a name becomes a blank."""
    name = document.translate(TO_BLANK)
    for label, p in shown:
        yield f"{name}\t{str(label).translate(TO_BLANK)}\t{p!r}"
    if not shown:
        yield f"{name}\t\t"
