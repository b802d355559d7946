"""From a corpus to the files: results.json, index.html and the pictures."""

from __future__ import annotations

from collections.abc import Collection as Labels
from dataclasses import asdict
from typing import Any

from lapwing.corpus import Corpus
from lapwing.evaluate import compare
from lapwing.training import Progress
from lapwing_papers.glm07.collection import Collection, collect
from lapwing_papers.glm07.figures import FIGURES, figures
from lapwing_papers.glm07.paper import PAIRS, Paper
from lapwing_papers.glm07.run import RunResult, run_everything
from lapwing_papers.glm07.settings import THRESHOLDS
from lapwing_papers.glm07.tables import BY, SHOWN, Runs, categories_table, compared_run, parameters, tables
from lapwing_papers.shown import Reproduction, check_matplotlib, near

FEW = 3  # positive test documents of a category that swings the average


def reproduce(
    corpus: Corpus,
    paper: Paper | None = None,
    *,
    categories: Labels[str] | None = None,
    test_ids: Labels[str] | None = None,
    quick: bool = False,
    seed: int = 0,
    n_jobs: int | None = 1,
    progress: Progress | None = None,
) -> Reproduction:
    """Fit everything, and make the tables, the text and the pictures."""
    check_matplotlib()
    collection = collect(
        corpus, paper, categories=categories, test_ids=test_ids, quick=quick, seed=seed, progress=progress
    )
    runs = run_everything(collection, n_jobs=n_jobs, seed=seed, progress=progress)
    if progress is not None:
        progress("drawing figures", 0, len(FIGURES))
    n, d = collection.train.shape
    left_out = f", {collection.left_out} others left out" if collection.left_out else ""
    return Reproduction(
        experiment="glm07",
        title=f"GLM07 on {paper.name if paper else collection.name}",
        about=f"{n:,} training and {collection.test.shape[0]:,} test documents, {d:,} terms, "
        f"{len(collection.categories)} categories{left_out}.",
        tables=tables(runs, paper, d),
        notes=_notes(collection, runs, paper),
        pictures=figures(collection, runs, seed),
        record=_record(collection, runs, seed),
        folded=categories_table(collection, runs),
    )


def _notes(collection: Collection, runs: Runs, paper: Paper | None) -> tuple[str, ...]:
    if collection.quick:
        return (f"A quick run over {len(collection.categories)} of the categories: its averages are not the paper's.",)
    if paper is None:
        return ()
    table4 = {
        f"{SHOWN[method]} with the {threshold} threshold": (printed, runs[compared_run(method)].macro_f1(threshold))
        for (method, threshold), printed in paper.f1.items()
    }
    variance = {
        f"{SHOWN[method]} with {size or 'all'} features ({BY[by]})": (
            printed, runs[f"{method}/{by}/{'all' if size is None else f'bns-{size}'}"].macro_f1("default"),
        )
        for (method, by, size), printed in paper.variance.items()
    }  # fmt: skip
    few = int((collection.truth.sum(axis=0) <= FEW).sum())
    return (
        near("Table 4", table4),
        near(f"Table {paper.variance_table}", variance),
        f"{few} of {len(collection.categories)} categories have at most {FEW} positive test documents: one decision "
        f"about such a one moves macro-averaged F1 by up to {100 / len(collection.categories):.1f} points. The paper "
        f"had {paper.documents[0]:,} and {paper.documents[1]:,} documents, {paper.categories} categories and "
        f"{paper.terms:,} terms; its words were cut by other tools, its folds drawn otherwise (here positives are "
        "dealt out evenly), and its SVM leaves the constant free, where liblinear penalises it.",
    )


def _record(collection: Collection, runs: Runs, seed: int) -> dict[str, Any]:
    """Per run and category what was fitted and what it did; the paper's figures beside."""
    return {
        "corpus": collection.name,
        "seed": seed,
        "quick": collection.quick,
        "documents": {"train": collection.train.shape[0], "test": collection.test.shape[0]},
        "features": collection.train.shape[1],
        "categories": [
            {"category": label, "train": int(collection.positives[k]), "test": int(collection.truth[:, k].sum())}
            for k, label in enumerate(collection.categories)
        ],
        "categories_left_out": collection.left_out,
        "runs": {name: _run(done, collection) for name, done in runs.items()},
        "versus": _versus(runs),
        "paper": None if collection.paper is None else _paper(collection.paper),
    }


def _run(done: RunResult, collection: Collection) -> dict[str, Any]:
    scored = {threshold: done.tables(threshold) for threshold in THRESHOLDS}
    f1 = {threshold: scored[threshold].f1() for threshold in THRESHOLDS}
    return {
        **asdict(done.run),
        "macro_f1": {threshold: done.macro_f1(threshold) for threshold in THRESHOLDS},
        "parameters": {
            "mean": float(parameters(done).mean()),
            "min": int(parameters(done).min()),
            "max": int(parameters(done).max()),
        },
        "seconds": round(done.seconds, 2),
        "categories": [
            {
                "category": label,
                "variance": one.variance,
                "features": one.kept,
                "constant": float(one.weights[-1]),
                "threshold": one.threshold,
                "relative_gap": one.gap,
                "rounds": one.rounds,
                **{
                    threshold: {
                        "tp": int(scored[threshold].tp[k]),
                        "errors": int(scored[threshold].errors[k]),
                        "f1": float(f1[threshold][k]),
                    }
                    for threshold in THRESHOLDS
                },
            }
            for k, (label, one) in enumerate(zip(collection.categories, done.results, strict=True))
        ],
    }


def _versus(runs: Runs) -> list[dict[str, Any]]:
    return [
        {
            "left": left, "right": right, "threshold": threshold,
            **asdict(compare(*(runs[compared_run(method)].errors(threshold) for method in (left, right)))),
        }
        for left, right in PAIRS
        for threshold in THRESHOLDS
    ]  # fmt: skip


def _paper(paper: Paper) -> dict[str, Any]:
    """The paper's figures with keys that JSON has."""
    return {
        "name": paper.name,
        "documents": {"train": paper.documents[0], "test": paper.documents[1]},
        "categories": paper.categories,
        "features": paper.terms,
        "versus": [{"left": a, "right": b, **asdict(row)} for (a, b), row in paper.versus.items()],
        "macro_f1": {f"{method}/{threshold}": value for (method, threshold), value in paper.f1.items()},
        "macro_f1_by_variance": {
            f"{method}/{variance}/{'all' if size is None else f'bns-{size}'}": value
            for (method, variance, size), value in paper.variance.items()
        },
        "parameters": asdict(paper.kept),
    }
