"""From texts and labels to a model, in one object."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lapwing.corpus import Corpus
from lapwing.engine.collections import client_of, gathered
from lapwing.errors import SettingsError
from lapwing.estimators._base import LinearModelClassifier
from lapwing.estimators._checks import document_weights
from lapwing.estimators.vectorizer import check_texts
from lapwing.model import Explanation
from lapwing.selection import Utility
from lapwing.stats.priors import Prior
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


class TextClassifier(TextsClassifier):
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

    def __init__(
        self,
        *,
        text_column: str = "text",
        numeric: Sequence[str] = (),
        categorical: Sequence[str] = (),
        tokens: str | Callable[[str], Iterable[str]] = "word",
        digits: bool = True,
        strip_html: bool = False,
        stop_words: str | Sequence[str] = "none",
        stemmer: str = "porter",
        tf: str = "log",
        idf: bool = True,
        cosine: bool = True,
        min_df: int = 1,
        word_ngrams: tuple[int, int] = (1, 1),
        char_ngrams: tuple[int, int] | None = None,
        prior: str | Prior = "elasticnet",
        link: str = "logit",
        multi_class: str = "ovr",
        reference_class: Hashable | None = None,
        variance: str | float | Sequence[float] = "pooled",
        folds: int = 5,
        fold_by: str = "chance",
        calibrate: bool = True,
        cv_variances: Sequence[float] | None = None,
        cv_folds: int = 10,
        cv_runs: int = 2,
        one_se: bool = False,
        solver: str = "auto",
        threshold: str | float | Utility = "default",
        threshold_data: str = "cv",
        class_weight: str | Mapping[Hashable, float] | None = None,
        select_features: int | float | None = None,
        feature_score: str = "bns",
        max_features: int | None = None,
        intercept_variance: float | None = None,
        standardize: bool = False,
        tol: float = 1e-4,
        max_iter: int = 500,
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.text_column = text_column
        self.numeric = numeric
        self.categorical = categorical
        self.tokens = tokens
        self.digits = digits
        self.strip_html = strip_html
        self.stop_words = stop_words
        self.stemmer = stemmer
        self.tf = tf
        self.idf = idf
        self.cosine = cosine
        self.min_df = min_df
        self.word_ngrams = word_ngrams
        self.char_ngrams = char_ngrams
        self.prior = prior
        self.link = link
        self.multi_class = multi_class
        self.reference_class = reference_class
        self.variance = variance
        self.folds = folds
        self.fold_by = fold_by
        self.calibrate = calibrate
        self.cv_variances = cv_variances
        self.cv_folds = cv_folds
        self.cv_runs = cv_runs
        self.one_se = one_se
        self.solver = solver
        self.threshold = threshold
        self.threshold_data = threshold_data
        self.class_weight = class_weight
        self.select_features = select_features
        self.feature_score = feature_score
        self.max_features = max_features
        self.intercept_variance = intercept_variance
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

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
