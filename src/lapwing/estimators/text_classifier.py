"""From texts and labels to a model, in one object."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lapwing.corpus import Corpus
from lapwing.engine.collections import client_of, gathered
from lapwing.errors import SettingsError
from lapwing.estimators._base import LinearModelClassifier
from lapwing.estimators._checks import document_weights
from lapwing.estimators._signatures import TextClassifierParameters
from lapwing.estimators.vectorizer import check_texts
from lapwing.model import Explanation
from lapwing.text.beside import Beside


class TextsClassifier(LinearModelClassifier):
    """What takes texts and labels: one per text, or a list of labels per text, or a 0/1 indicator matrix."""

    _takes_label_lists = True

    def fit(
        self, texts: Sequence[str], y: Any, sample_weight: Any = None, groups: Any = None, times: Any = None,
        client: Any = None,
    ) -> Self:  # fmt: skip
        """Fit one classifier per category to texts and their labels `y`.

        groups   of texts that are left out together where some are left out
        times    when each was written, in whatever sorts in that order, for fold_by="time"
        client   a `distributed.Client`, whose workers do the fitting; texts and labels may be Dask bags or series
        """
        client = client_of(client, texts, y)
        texts, y, sample_weight = (gathered(value, client) for value in (texts, y, sample_weight))
        texts = self._read(texts)
        sets, exclusive, classes = self._read_labels(y, len(texts))
        corpus = Corpus(
            name="texts",
            kind="text",
            documents=texts,
            labels=sets,  # type: ignore[arg-type]
            ids=range(len(texts)),  # type: ignore[arg-type]
            exclusive=exclusive,
            split=[],
            weights=document_weights(sample_weight, len(texts)),
            groups=groups,
            times=times,
            **self._columns,
        )
        self._train(corpus, classes, client=client)
        return self

    _columns: dict[str, Any] = {}  # noqa: RUF012 (what is read beside texts; nothing, where it cannot be)

    def _read(self, X: Any) -> list[str]:
        return check_texts(X)

    def _inputs(self, X: Any) -> list[str]:
        return self._read(X)

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


class TextClassifier(TextClassifierParameters, TextsClassifier):
    """`LogTfidfVectorizer` and `MAPClassifier` in one: fit(texts, labels).

    Labels are one per text, or a list of labels per text, or a 0/1 indicator matrix. Parameters are those of
    the two, and

    numeric, categorical : names of columns to learn from beside the text: numbers, which are centred and scaled, and
        what is one of several. Documents are then a frame of pandas or polars, or a list of mappings, with the text
        under text_column; the features are `[price]` and `[source=web]`, and one file holds all of it

    >>> texts = ["good film", "fine film", "bad film", "dull film"]
    >>> model = TextClassifier(variance=100.0).fit(texts, [1, 1, 0, 0])
    >>> model.predict(["a good one"]).tolist()
    [1]
    >>> model.explain("a good one").categories[0].contributions[0].feature
    'good'
    """

    @property
    def _columns(self) -> dict[str, Any]:  # type: ignore[override]
        names = {"numeric": self.numeric, "categorical": self.categorical}
        for kind, columns in names.items():
            if isinstance(columns, str):
                raise SettingsError(f"{kind} must be a list of names of columns, got {columns!r}; put it in a list")
        return {"text_column": self.text_column, **{kind: tuple(columns) for kind, columns in names.items()}}

    def _read(self, X: Any) -> list[str]:
        columns = self._columns
        if not (columns["numeric"] or columns["categorical"]):
            return check_texts(X)
        beside = Beside(dict.fromkeys(columns["numeric"], (0.0, 1.0)), dict.fromkeys(columns["categorical"], ()),
                        self.text_column)  # fmt: skip
        return list(beside.records(X))
