"""lapwing evaluate"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import (
    BROADER,
    SPLITS,
    apart_in_training,
    as_in_training,
    broader_file,
    data_argument,
    model_argument,
    read_documents,
    read_hierarchy,
    reading_options,
    split_part,
)
from lapwing.cli._output import echo, fitting, json_option, largest_of, percent, print_json, show, table
from lapwing.cli._progress import progress_bar
from lapwing.errors import some

log = logging.getLogger("lapwing")

MATRIX = 20  # classes up to which all that was taken for another is shown,
PAIRS = 10  # and of more so many pairs

if TYPE_CHECKING:
    from rich.table import Table

    from lapwing.cli._progress import Progress
    from lapwing.corpus import Corpus
    from lapwing.evaluate import Evaluation, Ranking
    from lapwing.model import LinearModel


@click.command("evaluate")
@model_argument
@data_argument
@click.option("--split", type=SPLITS, help="Evaluate on this part; the test part by default.")
@click.option("--undefined-f1", type=click.Choice(["0", "1"]), default="1", show_default=True,
              help="F1 of a category without positive documents and without positive decisions.")  # fmt: skip
@click.option(
    "--store",
    is_flag=True,
    help="Store the evaluation next to MODEL, where `lapwing report` and `lapwing serve` look for it.",
)
@click.option("--cv", "folds", type=click.IntRange(min=2),
              help="Train anew, as MODEL was, on all but each of so many portions of DATA.")  # fmt: skip
@click.option("--roll-up", metavar="SEPARATOR",
              help="Judge broader labels, too: what stands before this in names, as / in science/physics.")  # fmt: skip
@click.option("--broader", type=broader_file, help=BROADER + " Judges the broader ones, too, level by level.")
@click.option("--at", metavar="K,K,…",
              help="How good the first K categories of every document are, such as 1,3,5, most probable first: "
              "precision, recall, nDCG, propensity-scored precision (PSP), F1.")  # fmt: skip
@click.option("--propensity", type=(float, float), default=(0.55, 1.5), show_default=True, metavar="A B",
              help="Constants of the propensity model behind PSP, for --at.")  # fmt: skip
@reading_options
@json_option
def command(
    model: str, data: str, reading: dict[str, Any], split: str | None, undefined_f1: str, folds: int | None,
    at: str | None, propensity: tuple[float, float], store: bool, roll_up: str | None, broader: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Compare the decisions of MODEL with the labels of DATA, category by category.

    Averages run over the categories that occur in the data evaluated. With --at their ranking is measured instead,
    and with --store or --json, too.
    """
    from lapwing.evaluate import assess, evaluate, rank, store_assessment
    from lapwing.evaluate.documents import blocks_of, check_kind, check_labels
    from lapwing.formats import load

    loaded = load(model)
    hierarchy = read_hierarchy(broader, loaded, roll_up)
    reading = as_in_training(reading, loaded, data)
    if folds is not None:
        from lapwing.training.again import settings_of

        with progress_bar(quiet=as_json) as progress:
            corpus = split_part(read_documents(data, reading, progress), split, "train")
            measured = _cross_validated(loaded, corpus, folds, float(undefined_f1), progress)
        if as_json:
            print_json({"folds": measured, **_mean_and_deviation(measured)})
        else:
            show(*_folds(measured, forward=settings_of(loaded).fold_by == "time"))
        return
    with progress_bar(quiet=as_json) as progress:
        documents = apart_in_training(read_documents(data, reading, progress), loaded, data)
        corpus = split_part(documents, split, "test")
        check_kind(corpus.kind, loaded)
        check_labels(corpus, loaded)
        blocks = _counted(blocks_of(corpus, loaded), len(corpus), progress)
        how: dict[str, Any] = {"at": at, "propensity": propensity} if at is not None else {}
        only_ranking = at is not None and not (store or as_json or hierarchy is not None)
        if only_ranking:
            ranking = rank(loaded, blocks, **how)
        elif store:
            result, kept = assess(loaded, blocks, corpus.name, undefined=float(undefined_f1), **how)
            store_assessment(model, kept)
        else:
            result = evaluate(loaded, blocks, undefined=float(undefined_f1), **how)
    if only_ranking:
        show(*_ranked(ranking))
        return
    levels = None
    if hierarchy is not None:
        from lapwing.evaluate.documents import in_columns
        from lapwing.evaluate.rolled import roll_up as judged

        levels = judged(corpus.labels, loaded.predict(in_columns(corpus, loaded)), hierarchy)
    if as_json:
        _warn(result)
        print_json(result.to_dict() | ({} if levels is None else {"levels": levels}))
    else:
        print_evaluation(result)
        for one in levels or ():
            echo(
                f"level {one['level']}: {one['labels']} labels, macro F1 {percent(one['macro_f1'])}, "
                f"micro F1 {percent(one['micro_f1'])}"
            )


def _ranked(ranking: Ranking) -> list[Table | str]:
    grid = table("first", "precision", "recall", "nDCG", "PSP", "micro F1", "macro F1")
    for place, k in enumerate(ranking.at):
        values = (ranking.precision, ranking.recall, ranking.ndcg, ranking.psp, ranking.micro_f1, ranking.macro_f1)
        grid.add_row(str(k), *("" if value[place] != value[place] else f"{100 * value[place]:.2f}" for value in values))
    return [grid, "", f"{ranking.documents} documents, their categories ranked by probability"]


def _cross_validated(
    model: LinearModel, corpus: Corpus, count: int, undefined: float, progress: Progress
) -> list[dict[str, Any]]:
    """The whole procedure without each portion in turn, and how the model it gives fares on it."""
    import numpy as np

    from lapwing.evaluate import evaluate
    from lapwing.evaluate.documents import blocks_of
    from lapwing.training import portions, train
    from lapwing.training.again import settings_of

    settings = replace(settings_of(model), n_jobs=-1)
    measured = []
    folds = portions(corpus, count, settings)
    for k in range(folds.portions):
        fitted = train(corpus.select(np.flatnonzero(folds.training(k, np.ones(len(corpus))))), settings)
        part = corpus.select(np.flatnonzero(folds.fold == k))
        result = evaluate(fitted, blocks_of(part, fitted), undefined=undefined)
        averages, calibration = result.averages(), result.calibration()
        measured.append(
            {
                "documents": len(part),
                "macro_f1": averages["macro"]["f1"],
                "micro_f1": averages["micro"]["f1"],
                **({"accuracy": result.accuracy()} if result.exclusive else {}),
                "relative_log_loss": calibration.relative_log_loss,
                "expected_calibration_error": calibration.error,
            }
        )
        progress("portions left out in turn", 1, folds.portions)
    return measured


def _mean_and_deviation(measured: list[dict[str, Any]]) -> dict[str, Any]:
    import statistics

    names = [name for name in measured[0] if name != "documents"]
    values = {name: [one[name] for one in measured] for name in names}
    return {
        "mean": {name: statistics.fmean(some) for name, some in values.items()},
        "deviation": {name: statistics.stdev(some) for name, some in values.items()},
    }


def _folds(measured: list[dict[str, Any]], *, forward: bool) -> list[Table | str]:
    names = list(measured[0])
    shown = table("portion", *(name.replace("_", " ").replace("f1", "F1") for name in names))
    for k, one in enumerate(measured):
        shown.add_row(str(k + 1), *(str(one[name]) if name == "documents" else f"{one[name]:.4f}" for name in names))
    for kind, values in _mean_and_deviation(measured).items():
        shown.add_row(kind, *("" if name == "documents" else f"{values[name]:.4f}" for name in names))
    others = "all earlier ones" if forward else "all others"
    return [shown, "", f"each portion by a model trained, as this one was, on {others}"]


def _counted(blocks: Iterable[Any], total: int, progress: Progress) -> Iterator[Any]:
    for block in blocks:
        yield block
        progress("scoring documents", len(block[1]), total)


def print_evaluation(result: Evaluation) -> None:
    kept = result.n_kept[result.occurs]
    averaged = int(result.occurs.sum())
    notes = [
        f"{result.documents} documents; averages over the {averaged} categories that occur in them"
        + (f", {result.left_out} that do not are left out" if result.left_out else ""),
    ]
    if averaged:
        notes.append(f"features per category averaged: {kept.min()} to {kept.max()}, mean {kept.mean():.1f}")
    if result.exclusive:
        notes.append(f"accuracy {percent(result.accuracy())} %")
    if result.unknown:
        notes.append(f"{len(result.unknown)} labels of the data are not in the model: {some(result.unknown)}")
    _warn(result)
    show(*_categories(result), "", _averages(result), "", *notes, "", *_confused(result), *_calibration(result))


def _warn(result: Evaluation) -> None:
    if result.memorised:
        log.warning("%s; `lapwing inspect` has figures of unseen documents", result.memorised)


def _confused(result: Evaluation) -> list[Table | str]:
    """Of exclusive classes, what was taken for what: of few a matrix, if it fits, else the most frequent pairs."""
    if result.confusion is None:
        return []
    names = [f"{k} {label}" for k, label in enumerate(result.confusion.classes, 1)]
    if len(names) <= MATRIX:
        rows = [["." if n == 0 else str(n) for n in row] for row in result.confusion.matrix().tolist()]
        columns = {"true": names} | {str(k): list(cells) for k, cells in enumerate(zip(*rows, strict=True), 1)}
        if len(fitting(columns, spare=list(columns)[-1:])) == len(columns):
            grid = table(*columns)
            for cells in zip(*columns.values(), strict=True):
                grid.add_row(*cells)
            return [grid, "each row's documents by the number of the class chosen", ""]
    pairs = ", ".join(f"{true} for {chosen} ({count})" for true, chosen, count in result.confusion.pairs(PAIRS))
    return [f"most often taken for another: {pairs}", ""] if pairs else []


def _calibration(result: Evaluation) -> list[Table | str]:
    """How often categories given a probability were right."""
    from lapwing.evaluate.calibration import span

    calibration = result.calibration()
    grid = table("probability given", "times", "mean", "were in the category", "95 % band")
    for one in calibration.reliability():
        low, high = (f"{100 * share:.2f}" for share in one.band)
        grid.add_row(span(one.low, one.high), str(one.documents), f"{100 * one.probability:.2f} %",
                     f"{100 * one.share:.2f} %", f"{low} to {high} %")  # fmt: skip
    mean, limit = calibration.chance()
    return [
        grid,
        "",
        calibration.sentence(),
        f"log loss {calibration.relative_log_loss:.3f}, Brier score {calibration.relative_brier:.3f}, "
        "relative to always predicting the base rates (1)",
        f"expected calibration error {100 * calibration.error:.3f} % "
        f"(perfect calibration: {100 * mean:.3f} % on average, rarely above {100 * limit:.3f} %)",
        *_selective(result),
    ]


def _selective(result: Evaluation) -> list[str]:
    """The error among the more confident half, and the coverage of prediction sets."""
    from lapwing.evaluate.selective import OWN

    curve = result.selective.risk_coverage()
    half = next(risk for coverage, risk in curve if coverage >= 0.5)
    what = "class" if result.exclusive else "set of categories"
    lines = [f"{100 * curve[-1][1]:.1f} % have a wrong {what}; among the more confident half, {100 * half:.1f} %"]
    if result.selective.own > OWN:
        lines.append(
            "prediction sets were calibrated on these documents, so their coverage is not tested here: "
            "use other documents"
        )
    for one in result.selective.promises():
        lines.append(
            f"{100 * one['promised']:.0f} % prediction sets contained the true label {100 * one['kept']:.1f} % of the "
            f"time, with {one['mean_size']:.2f} labels on average"
        )
    return lines


def _categories(result: Evaluation) -> list[Table | str]:
    tables = result.tables
    counts = {
        "features": result.n_kept,
        "TP": tables.tp,
        "FP": tables.fp,
        "FN": tables.fn,
        "errors": tables.errors,
    }
    rates = {"precision": tables.precision, "recall": tables.recall, "F1": tables.f1}
    columns = {"category": [str(label) for label in result.categories]}
    columns |= {name: [str(value) for value in values] for name, values in counts.items()}
    columns |= {name: [percent(value) for value in rate(result.undefined)] for name, rate in rates.items()}
    columns["AUC"] = [percent(value) for value in result.auc]
    shown = largest_of((tables.tp + tables.fn).tolist())
    columns = {name: [values[k] for k in shown] for name, values in columns.items()}
    columns = fitting(columns, spare=("errors", "features", "AUC", "FN", "FP", "TP"))
    grid = table(*columns)
    for k, cells in zip(shown, zip(*columns.values(), strict=True), strict=True):
        grid.add_row(*cells, style=None if result.occurs[k] else "dim")
    left_out = len(result.categories) - len(shown)
    return [grid, *([f"and {left_out:,} more, with fewer documents; --json has all"] if left_out else [])]


def _averages(result: Evaluation) -> Table:
    grid = table("", "precision", "recall", "F1")
    for kind, values in result.averages().items():
        grid.add_row(kind, *(f"{100 * values[m]:.2f}" for m in ("precision", "recall", "f1")))
    return grid
