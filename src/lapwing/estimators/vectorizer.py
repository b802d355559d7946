"""Texts to log TF × IDF vectors, for pipelines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lapwing.errors import InputError
from lapwing.estimators._frames import as_list
from lapwing.estimators._signatures import LogTfidfVectorizerParameters
from lapwing.text import TextSettings, design


def check_texts(texts: Any) -> list[str]:
    """A list of strings; one string alone is a mistake, not a list of letters."""
    if isinstance(texts, str):
        raise InputError("expected an iterable of texts, got one string; put it in a list")
    texts = as_list(texts, "texts")
    if not isinstance(texts, Iterable):
        raise InputError(f"expected an iterable of texts, got {type(texts).__name__}")
    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text {i} must be a string, got {type(text).__name__}")
    return texts


class LogTfidfVectorizer(LogTfidfVectorizerParameters, TransformerMixin, BaseEstimator):
    """GLM07's text representation: word counts as (1 + ln tf) × ln((|D|+1)/(df+1)), divided by their norm.

    The norm is over all terms of a document, those never seen in training included. Parameters are those of
    `lapwing.text.TextSettings`.

    >>> vectorizer = LogTfidfVectorizer(stemmer="none").fit(["Wheat, and corn!", "the corn"])
    >>> vectorizer.get_feature_names_out().tolist()
    ['and', 'corn', 'the', 'wheat']
    """

    def fit(self, texts: Iterable[str], y: Any = None) -> LogTfidfVectorizer:
        self.fit_transform(texts)
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> sp.csr_matrix:
        fitted = design(check_texts(texts), TextSettings(**self.get_params()))
        self.weighting_ = fitted.weighting
        self.vocabulary_ = {name: j for j, name in enumerate(fitted.feature_names)}
        return fitted.matrix

    def transform(self, texts: Iterable[str]) -> sp.csr_matrix:
        check_is_fitted(self, "weighting_")
        assert self.weighting_ is not None
        return self.weighting_.vectors(check_texts(texts))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self, "weighting_")
        return np.array(list(self.vocabulary_), dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
