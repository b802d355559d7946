"""One page with the tables and pictures in it, needing nothing beside it."""

from __future__ import annotations

from lapwing.experiments.glm07.collection import Collection
from lapwing.experiments.glm07.tables import Runs, compared_run, parameters
from lapwing.experiments.shown import Reproduction, Table, document, table_html


def page(collection: Collection, runs: Runs, made: Reproduction) -> str:
    name = collection.paper.name if collection.paper else collection.name
    n, d = collection.train.shape
    left_out = f", {collection.left_out} others left out" if collection.left_out else ""
    parts = [
        f"<p>{n:,} training and {collection.test.shape[0]:,} test documents, {d:,} terms, "
        f"{len(collection.categories)} categories{left_out}.</p>",
        *map(table_html, made.tables),
        "<h2>Differences, and where they come from</h2>",
        *made.words(),
        "<h2>Figures</h2>",
        *made.drawn(),
        "<h2>Every category</h2>",
        f"<details><summary>{len(collection.categories)} categories</summary>",
        table_html(_categories(collection, runs), heading=False),
        "</details>",
    ]
    return document(f"GLM07 on {name}", parts)


def _categories(collection: Collection, runs: Runs) -> Table:
    names = [compared_run(method) for method in ("lasso", "ridge", "svm")]
    errors = [runs[name].errors("default") for name in names]
    f1 = [100.0 * runs[name].tables(threshold).f1() for name in names for threshold in ("default", "tuned")]
    kept = [parameters(runs[name]) for name in ("lasso/norm/all", "lasso/cv/all")]
    rows = tuple(
        (
            str(label), str(collection.positives[k]), str(int(collection.truth[:, k].sum())),
            *(str(e[k]) for e in errors), *(f"{value[k]:.1f}" for value in f1), *(str(c[k]) for c in kept),
        )
        for k, label in enumerate(collection.categories)
    )  # fmt: skip
    shown = ("lasso", "ridge", "SVM")
    return Table(
        "Every category",
        "Positive documents; test errors with default thresholds; F1 with default and tuned ones; non-zero "
        "parameters of the lasso, norm-based and by cross-validation.",
        (
            "category", "training", "test", *(f"errors, {m}" for m in shown),
            *(f"F1, {m}{t}" for m in shown for t in ("", ", tuned")), "norm", "CV",
        ),
        rows,
    )  # fmt: skip
