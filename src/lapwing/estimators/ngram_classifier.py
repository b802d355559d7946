"""Texts to a model of n-grams of any length."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from lapwing.corpus import Corpus
from lapwing.estimators._signatures import NgramClassifierParameters
from lapwing.estimators.text_classifier import TextsClassifier
from lapwing.training import CategoryFit


class NgramClassifier(NgramClassifierParameters, TextsClassifier):
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

    def _train(
        self, corpus: Corpus, classes: Sequence[Hashable] | None, validation: Corpus | None = None, client: Any = None
    ) -> list[CategoryFit]:
        fits = super()._train(corpus, classes, validation, client)
        self.step_curves_ = [one.steps for one in fits]
        return fits
