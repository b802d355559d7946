"""What is said of Reuters and how often it is so: the picture of docs/trust.md, and whether what remains is time.

    LAPWING_CORPORA=… .venv/bin/python benchmarks/reliability.py [--picture docs/reliability.png]

ModApte's test stories are later than its training stories. The same model is trained and judged on a random split of
all of them, too, with as many documents on either side: where its bins are right and ModApte's are not, the fault is
that the world moved on, and not the calibration. Bins are of all categories that training and test stories have, 100
documents or more each.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _corpora import path
from honest import members, parts

import lapwing
from lapwing.corpus import Corpus, read
from lapwing.evaluate.calibration import Bin, Calibration, calibration

LEAST = 100  # documents in a bin that is shown
WAYS: dict[str, dict[str, Any]] = {
    "GLM07's rule for the variance": {
        "prior": "laplace",
        "variance": "norm",
        "stop_words": "smart",
        "calibrate": False,
    },
    "the defaults": {},
}


def judged(train: Corpus, test: Corpus, settings: dict[str, Any]) -> Calibration:
    model = lapwing.TextClassifier(**settings).fit(train.documents, [list(row) for row in train.labels])
    classes = list(model.classes_)
    truth, proba = members(test, classes), model.predict_proba(test.documents)
    occurs = truth.any(axis=0)
    return calibration(truth[:, occurs], proba[:, occurs])[0]


def large(result: Calibration) -> list[Bin]:
    return [one for one in result.reliability() if one.documents >= LEAST]


def show(title: str, result: Calibration) -> None:
    print(f"\n{title}: log loss {result.relative_log_loss:.3f} of that of the base rates\n")
    print("| said | times | so (95 % band) | so / said | not so / said not |\n|---|---|---|---|---|")
    for one in large(result):
        low, high = (f"{100 * end:.2f}" for end in one.band)
        ratios = one.share / one.probability, (1.0 - one.share) / max(1.0 - one.probability, 1e-12)
        print(f"| {100 * one.probability:.3f} % | {one.documents} | {100 * one.share:.3f} % ({low} to {high}) "
              f"| {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)  # fmt: skip


def draw(ways: dict[str, Calibration], file: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    titles = ("GLM07's rule: the norm-based variance", "the defaults: pooled and calibrated")
    ends, ticks = (5e-5, 1 - 5e-5), (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
    figure, axes = pyplot.subplots(1, len(ways), figsize=(10, 4.8), sharey=True)
    for ax, title, result in zip(axes, titles, ways.values(), strict=True):
        said, so, low, high = np.array([(one.probability, one.share, *one.band) for one in large(result)]).T
        ax.plot(ends, ends, color="0.7", linewidth=1)
        ax.vlines(said, np.clip(low, *ends), np.clip(high, *ends), color="#1f77b4", alpha=0.35, linewidth=6)
        ax.plot(said, so, marker="o", color="#1f77b4")
        ax.text(0.03, 0.93, f"log loss {result.relative_log_loss:.3f} of base rates", transform=ax.transAxes)
        ax.set(title=title, xlabel="what the model says", xscale="logit", yscale="logit", xlim=ends, ylim=ends)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(matplotlib.ticker.FixedLocator(ticks))
            axis.set_minor_locator(matplotlib.ticker.NullLocator())
            axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda p, _: f"{100 * p:g} %"))
        ax.tick_params(axis="x", rotation=45, labelsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("how often it is so")
    figure.tight_layout()
    figure.savefig(file, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--picture", help="where to draw it")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    train, test = parts(whole := read(path("reuters21578.tar.xz")))
    entries = {name: judged(train, test, settings) for name, settings in WAYS.items()}
    for name, one in entries.items():
        show(f"ModApte, {name}", one)
    if asked.picture:
        draw(entries, asked.picture)
    rows = np.flatnonzero([split in ("train", "test") for split in whole.split])
    mixed = np.random.default_rng(0).permutation(rows)
    either = whole.select(mixed[: len(train)]), whole.select(mixed[len(train) :])
    show("a random split of the same stories, the defaults", judged(*either, WAYS["the defaults"]))


if __name__ == "__main__":
    main()
