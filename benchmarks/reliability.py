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


def large(found: Calibration) -> list[Bin]:
    return [one for one in found.reliability() if one.documents >= LEAST]


def show(title: str, found: Calibration) -> None:
    print(f"\n{title}: log loss {found.relative_log_loss:.3f} of that of the base rates\n")
    print("| said | times | so (95 % band) | so / said | not so / said not |\n|---|---|---|---|---|")
    for one in large(found):
        low, high = (f"{100 * end:.2f}" for end in one.band)
        ratios = one.share / one.probability, (1.0 - one.share) / max(1.0 - one.probability, 1e-12)
        print(f"| {100 * one.probability:.3f} % | {one.documents} | {100 * one.share:.3f} % ({low} to {high}) "
              f"| {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)  # fmt: skip


def draw(ways: dict[str, Calibration], file: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(ways), figsize=(9, 4.2), sharey=True)
    for ax, (title, found) in zip(axes, ways.items(), strict=True):
        bins = large(found)
        said, so = (np.array([getattr(one, name) for one in bins]) for name in ("probability", "share"))
        low, high = np.array([one.band for one in bins]).T
        floor = 1e-4
        ax.plot([floor, 1 - floor], [floor, 1 - floor], color="0.6", linewidth=1)
        span = [so - low, high - so]
        ax.errorbar(said, np.clip(so, floor, 1 - floor), np.maximum(span, 0), fmt="o", color="#0b6e99", capsize=3)
        ax.set(
            xscale="logit", yscale="logit", title=title, xlabel="said", xlim=(floor, 1 - floor), ylim=(floor, 1 - floor)
        )
        ticks = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999]
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(matplotlib.ticker.FixedLocator(ticks))
            axis.set_minor_locator(matplotlib.ticker.NullLocator())
            axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda p, _: f"{100 * p:g} %"))
        ax.tick_params(labelsize=8)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    axes[0].set_ylabel("was so, with 95 % band")
    figure.tight_layout()
    figure.savefig(file, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--picture", help="where to draw it")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    train, test = parts(whole := read(path("reuters21578.tar.xz")))
    found = {name: judged(train, test, settings) for name, settings in WAYS.items()}
    for name, one in found.items():
        show(f"ModApte, {name}", one)
    if asked.picture:
        draw(found, asked.picture)
    rows = np.flatnonzero([split in ("train", "test") for split in whole.split])
    mixed = np.random.default_rng(0).permutation(rows)
    either = whole.select(mixed[: len(train)]), whole.select(mixed[len(train) :])
    show("a random split of the same stories, the defaults", judged(*either, WAYS["the defaults"]))


if __name__ == "__main__":
    main()
