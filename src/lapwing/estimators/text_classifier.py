"""From texts and labels to a model, in one object."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lapwing.corpus import Corpus
from lapwing.estimators._base import LinearModelClassifier
from lapwing.estimators.vectorizer import check_texts
from lapwing.model import Explanation
from lapwing.model.priors import Prior
from lapwing.text import TextSettings
from lapwing.training import TrainSettings


class TextClassifier(LinearModelClassifier):
    """`LogTfidfVectorizer` and `MAPClassifier` in one: fit(texts, labels).

    Labels are one per text, or a list of labels per text, or a 0/1 indicator matrix. Parameters are those of
    the two.

    >>> texts = ["good film", "fine film", "bad film", "dull film"]
    >>> model = TextClassifier(variance=100.0).fit(texts, [1, 1, 0, 0])
    >>> model.predict(["a good one"]).tolist()
    [1]
    >>> model.explain("a good one").categories[0].contributions[0].feature
    'good'
    """

    _takes_label_lists = True

    def __init__(
        self,
        *,
        tokens: str = "word",
        digits: bool = True,
        strip_html: bool = False,
        stop_words: str | Sequence[str] = "smart",
        stemmer: str = "porter",
        tf: str = "log",
        idf: bool = True,
        cosine: bool = True,
        min_df: int = 1,
        prior: str | Prior = "laplace",
        variance: str | float | Sequence[float] = "norm",
        threshold: str | float = "default",
        class_weight: str | Mapping[Hashable, float] | None = None,
        intercept_variance: float | None = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        n_jobs: int | None = None,
    ) -> None:
        self.tokens = tokens
        self.digits = digits
        self.strip_html = strip_html
        self.stop_words = stop_words
        self.stemmer = stemmer
        self.tf = tf
        self.idf = idf
        self.cosine = cosine
        self.min_df = min_df
        self.prior = prior
        self.variance = variance
        self.threshold = threshold
        self.class_weight = class_weight
        self.intercept_variance = intercept_variance
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, texts: Sequence[str], y: Any, sample_weight: Any = None) -> TextClassifier:
        """Fit one classifier per category to texts and their labels `y`."""
        texts = check_texts(texts)
        sets, exclusive, classes = self._read_labels(y, len(texts))
        corpus = Corpus(
            name="texts",
            kind="text",
            documents=texts,
            labels=sets,  # type: ignore[arg-type]
            ids=range(len(texts)),  # type: ignore[arg-type]
            exclusive=exclusive,
            split=[],
            weights=np.ones(len(texts)) if sample_weight is None else np.asarray(sample_weight, dtype=float),
        )
        params = self.get_params(deep=False)
        text = {f.name: params.pop(f.name) for f in fields(TextSettings) if f.name in params}
        self._train(corpus, TrainSettings(text=TextSettings(**text), **params), classes)
        return self

    def _inputs(self, X: Any) -> list[str]:
        return check_texts(X)

    def explain(self, text: str, categories: Sequence[Hashable] | None = None) -> Explanation:
        """The words of `text` that spoke for and against each category, or those named."""
        check_is_fitted(self)
        return self.model_.explain(text, categories)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags
