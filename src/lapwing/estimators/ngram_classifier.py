"""Texts to a model of n-grams of any length."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from lapwing.corpus import Corpus
from lapwing.estimators.text_classifier import TextsClassifier
from lapwing.selection import Utility
from lapwing.training import CategoryFit


class NgramClassifier(TextsClassifier):
    """Logistic regression over *all* n-grams of words or characters: fit(texts, labels).

    A feature is 1 where the document has the n-gram, its tokens in their order with nothing between. n-grams in
    the same training documents are one feature, named by the shortest.

    Parameters
    ----------
    tokens : "word", "char", or "ready" (what stands between blanks: events of a log, say)
    max_length : tokens of the longest n-gram; None for any length
    min_support : fewest documents an n-gram must be in
    max_gap : how many tokens, whichever, may stand between one of an n-gram and the next, each written * in its name
        and counted in its length: "harvest * wheat"; takes a max_length, and a min_support of 2 or more
    solver : "exact", the MAP under a Laplace prior with a certificate that covers every n-gram; or "greedy", SLR
        (Ifrim, Bakır and Weikum 2008), coordinate ascent along the steepest n-gram, ended early
    steps : of "greedy": "cv" (as many as held-out documents prefer) or a number, each shortened; or "settled", the
        paper's own way (whole ones, until the scores are)
    loss : "likelihood" (logistic regression), or "squared_hinge", (1 - margin)² for margins below 1, with "exact": its
        scores are margins, which calibration makes probabilities of (`calibrate`, where a variance is chosen)
    variance : "pooled", "norm" (from the single tokens, GLM07 Eq. 29), "cv", "auto", a number, or one per category; for
        "greedy" that of the intercept only
    stop_words, stemmer : none unless asked for; no n-gram spans a stop word

    The others, and the attributes after fit(), are those of `MAPClassifier`. With "greedy" the gap is NaN, and
    kkt_ is the steepest derivative left; step_curves_ are the held-out log-likelihoods where steps="cv".

    Examples
    --------
    >>> texts = ["not bad, quite good", "not good, quite bad"] * 4
    >>> model = NgramClassifier(variance=10.0).fit(texts, [1, 0] * 4)
    >>> model.predict(texts[:2]).tolist()
    [1, 0]
    """

    def __init__(
        self,
        *,
        tokens: str = "word",
        max_length: int | None = None,
        min_support: int = 1,
        max_gap: int = 0,
        solver: str = "exact",
        steps: int | str = "cv",
        loss: str = "likelihood",
        digits: bool = True,
        strip_html: bool = False,
        stop_words: str | Sequence[str] = "none",
        stemmer: str = "none",
        variance: str | float | Sequence[float] = "pooled",
        folds: int = 5,
        fold_by: str = "chance",
        calibrate: bool = True,
        cv_variances: Sequence[float] | None = None,
        cv_folds: int = 10,
        cv_runs: int = 2,
        one_se: bool = False,
        threshold: str | float | Utility = "default",
        threshold_data: str = "cv",
        class_weight: str | Mapping[Hashable, float] | None = None,
        intercept_variance: float | None = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.tokens = tokens
        self.max_length = max_length
        self.min_support = min_support
        self.max_gap = max_gap
        self.solver = solver
        self.steps = steps
        self.loss = loss
        self.digits = digits
        self.strip_html = strip_html
        self.stop_words = stop_words
        self.stemmer = stemmer
        self.variance = variance
        self.folds = folds
        self.fold_by = fold_by
        self.calibrate = calibrate
        self.cv_variances = cv_variances
        self.cv_folds = cv_folds
        self.cv_runs = cv_runs
        self.one_se = one_se
        self.threshold = threshold
        self.threshold_data = threshold_data
        self.class_weight = class_weight
        self.intercept_variance = intercept_variance
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _train(
        self, corpus: Corpus, classes: Sequence[Hashable] | None, validation: Corpus | None = None, client: Any = None
    ) -> list[CategoryFit]:
        fits = super()._train(corpus, classes, validation, client)
        self.step_curves_ = [one.steps for one in fits]
        return fits
