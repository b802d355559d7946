"""Whether categories should choose their variance all together, each by itself, or something between.

    LAPWING_CORPORA=… .venv/bin/python benchmarks/pooling.py [docstrings reuters newsgroups]

Along one path of variances, all categories in five folds, l_k(v) is what category k loses on held-out documents,
relative to its base rate, and l(v) the same of all of them together (training/out_of_fold.py). Category k takes the v
of the least

    (1 − w_k) l(v) + w_k l_k(v),   w_k = n_k / (n_k + m)

n_k being its positive documents: m = ∞ is the pooled choice, m = 0 everyone's own, and between the two lies the
hierarchical form, in which a category's own curve weighs more the more documents it has. All are calibrated in the same
way and judged on the same test documents. (Exclusive classes choose by the probability of the right class by default,
which is no sum over classes; here they choose as others do.)
"""

from __future__ import annotations

import argparse
import math
import time
import warnings

import numpy as np
from honest import CORPORA, members, parts
from treatments import measured, show

from lapwing import training
from lapwing.corpus import Corpus
from lapwing.engine import Threads
from lapwing.selection.calibration import common_line
from lapwing.training.assemble import assemble
from lapwing.training.decisions import decide
from lapwing.training.judge import Judge
from lapwing.training.out_of_fold import OutOfFold
from lapwing.training.paths import HeldOutFits

WEIGHTS = (math.inf, 1000.0, 300.0, 100.0, 30.0, 0.0)
STEPS = 6  # variances to each side of nothing: from 10 / mean square up, by √10


class Choosing:
    """One corpus: out-of-fold scores of all categories along the path, and fits on demand."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus, self.settings = corpus, training.TrainSettings()
        self.task = training._task(corpus, self.settings, None, 0)
        self.strategy, _, keys = training._strategy(corpus, self.task, None, Threads(1), None)
        self.strategy.prepare()
        folds = training.shared_folds(self.task, corpus, keys)
        assert folds is not None
        self.folds, self.rows = folds, np.arange(len(self.task))
        self.judge = Judge(self.task, self.rows.tolist(), folds)
        held_out = HeldOutFits(self.strategy, folds, self.rows, Threads(1))
        first = 10.0 / self.strategy.mean_square
        self.variances = [first * 10 ** (k / 2) for k in range(STEPS)]
        self.scores = [held_out.scores(np.full(len(self.rows), v), "") for v in self.variances]
        self.losses = np.array([self._losses(scores) for scores in self.scores])  # (variances, categories)
        self.fits: dict[tuple[int, int], training.CategoryFit] = {}

    def _losses(self, scores: np.ndarray) -> np.ndarray:
        judge = self.judge
        line, _ = common_line(judge._columns(scores, judge.seen), judge.link)
        s, y, weight = scores[judge.seen], judge.y[judge.seen], judge.weight[judge.seen]
        return np.asarray((weight * judge.link.loss(y * (line.slope * s + line.offset), y)).sum(axis=0))

    def choose(self, m: float) -> np.ndarray:
        """(categories,) places on the path."""
        positives = np.diff(self.task.targets.member.indptr)[list(self.task.targets.fitted)]
        n = self.judge.weight.sum(axis=0)
        share = positives / n
        base = -n * (share * np.log(share) + (1 - share) * np.log1p(-share))
        pooled = self.losses.sum(axis=1) / base.sum()
        own = self.losses / base
        w = np.zeros(len(positives)) if math.isinf(m) else positives / (positives + m)
        return np.argmin((1 - w) * pooled[:, None] + w * own, axis=0)

    def model(self, places: np.ndarray) -> training.LinearModel:
        for row, at in enumerate(places.tolist()):
            if (row, at) not in self.fits:
                self.fits[row, at] = self.strategy.fit([row], self.variances[at])[0]
        fits = [self.fits[row, at] for row, at in enumerate(places.tolist())]
        scores = np.column_stack([self.scores[at][:, row] for row, at in enumerate(places.tolist())])
        decisions = decide(self.judge, OutOfFold(self.folds, self.rows, scores), None)
        features, fits = self.strategy.design(fits)
        return assemble(self.corpus, self.task, features, fits, decisions, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("corpora", nargs="*", default=["docstrings"])
    warnings.simplefilter("ignore")
    show("corpus", "m", "log loss, of base rates", "macro F1", "micro F1", "kept", "variances")
    print("|---|---|---|---|---|---|---|")
    for name in parser.parse_args().corpora:
        train, test = parts(CORPORA[name]())
        began = time.process_time()
        choosing = Choosing(train)
        for m in WEIGHTS:
            places = choosing.choose(m)
            model = choosing.model(places)
            classes = list(model.classes)
            truth, scores = members(test, classes), model.scores(test.documents)
            rates = measured(truth, model.class_proba(scores), model.decide(scores), train.exclusive)
            spread = np.bincount(places, minlength=STEPS).tolist()
            show(name, m, *rates, f"{model.n_kept.mean():.0f}", spread)
        print(f"{name}: {time.process_time() - began:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
