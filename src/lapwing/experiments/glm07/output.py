"""From a corpus to the files: results.json, index.html and the pictures."""

from __future__ import annotations

from collections.abc import Collection as Labels
from dataclasses import asdict, dataclass
from typing import Any

from lapwing.corpus import Corpus
from lapwing.evaluate import compare
from lapwing.experiments import shown
from lapwing.experiments.glm07.collection import Collection, collect
from lapwing.experiments.glm07.deviations import deviations
from lapwing.experiments.glm07.figures import FIGURES, figures
from lapwing.experiments.glm07.page import page
from lapwing.experiments.glm07.paper import PAIRS, Paper
from lapwing.experiments.glm07.run import RunResult, run_everything
from lapwing.experiments.glm07.settings import THRESHOLDS
from lapwing.experiments.glm07.tables import Runs, compared_run, parameters, tables
from lapwing.experiments.shown import check_matplotlib
from lapwing.training import Progress, run_date


@dataclass(frozen=True, eq=False, kw_only=True)
class Reproduction(shown.Reproduction):
    """Everything the experiments came to."""

    collection: Collection
    runs: Runs
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """results.json: per run and category what was fitted and what it did; the paper's figures beside."""
        collection = self.collection
        return {
            "experiment": "glm07",
            "corpus": collection.name,
            "date": run_date(),
            "seed": self.seed,
            "quick": collection.quick,
            "documents": {"train": collection.train.shape[0], "test": collection.test.shape[0]},
            "features": collection.train.shape[1],
            "categories": [
                {
                    "category": label,
                    "train": int(collection.positives[k]),
                    "test": int(collection.truth[:, k].sum()),
                }
                for k, label in enumerate(collection.categories)
            ],
            "categories_left_out": collection.left_out,
            "runs": {name: _run(done, collection) for name, done in self.runs.items()},
            "versus": _versus(self.runs),
            "paper": None if collection.paper is None else _paper(collection.paper),
            "deviations": list(self.text),
        }

    def page(self) -> str:
        return page(self.collection, self.runs, self)


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
    return Reproduction(
        collection=collection,
        runs=runs,
        tables=tables(runs, paper, collection.train.shape[1]),
        text=deviations(collection, runs),
        pictures=figures(collection, runs, seed),
        seed=seed,
    )


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
