"""lapwing as a backend of Annif, the National Library of Finland's tool for subject indexing.

    [yso-lapwing]
    name=YSO by lapwing
    language=en
    backend=lapwing
    vocab=yso
    limit=100

Annif knows its backends by a table of its own and takes none from outside. Importing this module adds lapwing to that
table and changes nothing else. So that its own command does, run it as

    python -m lapwing.integrations.annif train yso-lapwing titles.tsv.gz

with whatever `annif` takes; its web application is then `lapwing.integrations.annif:create_cx_app()`.

Settings of a project, all optional: those of `SETTINGS` below, as `lapwing train` has them. Where a project names an
analyzer, texts are cut and stemmed by it; otherwise as lapwing does, with the stemmer of the project's language.
Categories are the URIs of subjects, scores the probabilities of lapwing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.errors import InputError, MissingExtraError
from lapwing.formats import load, save
from lapwing.model import LinearModel
from lapwing.text import TextSettings
from lapwing.training import TrainSettings, train
from lapwing.training.update import update

try:
    import annif.backend
    from annif import create_cx_app
    from annif.backend.backend import AnnifLearningBackend
    from annif.exception import ConfigurationException, NotInitializedException, NotSupportedException
    from annif.suggestion import SuggestionBatch
except ImportError as missing:
    raise MissingExtraError(
        "lapwing.integrations.annif is a part of Annif, which is not installed here; pip install annif"
    ) from missing


def _number_or_word(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def _flag(value: Any) -> bool:
    return str(value).lower() in ("1", "true", "yes", "on")


Values = dict[str, Callable[[Any], Any]]
SETTINGS: Values = {
    "prior": str,
    "variance": _number_or_word,
    "link": str,
    "calibrate": _flag,
    "class_weight": str,
    "max_features": int,
    "tol": float,
    "random_state": int,
}
TEXT: Values = {"stemmer": str, "stop_words": str, "min_df": int, "digits": _flag, "strip_html": _flag}
STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "porter", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali",
    "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


class LapwingBackend(AnnifLearningBackend):
    """Suggestions by one sparse, certified classifier per subject."""

    name = "lapwing"
    MODEL_FILE = "model.lapwing"
    _model: LinearModel | None = None
    _subject_ids: np.ndarray | None = None

    @property
    def _path(self) -> str:
        return os.path.join(self.datadir, self.MODEL_FILE)

    def initialize(self, parallel: bool = False) -> None:
        if self._model is None:
            if not os.path.exists(self._path):
                raise NotInitializedException(f"model {self._path} not found", backend_id=self.backend_id)
            self._use(load(self._path))

    def _use(self, model: LinearModel) -> None:
        """Subjects that the vocabulary no longer has are -1, and never suggested."""
        ids = (self.project.subjects.by_uri(uri, warnings=False) for uri in model.classes)
        self._subject_ids = np.array([-1 if one is None else one for one in ids], dtype=np.int64)
        self._model = model

    def _train(self, corpus: Any, params: dict[str, Any], jobs: int = 0) -> None:
        if corpus == "cached":
            raise NotSupportedException("lapwing keeps no documents; give them again to train with other settings")
        texts, labels = self._read(corpus)
        if not any(labels):
            raise NotSupportedException("cannot train a lapwing project without documents that have subjects")
        empty = [""] * len(texts)
        documents = Corpus(self.project.project_id, "text", texts, labels, [str(i) for i in range(len(texts))], False,
                           empty, np.ones(len(texts)))  # fmt: skip
        self.info(f"training on {len(texts)} documents of {len(documents.categories())} subjects")
        try:
            model = train(documents, self._settings(params, jobs))
        except InputError as error:
            raise ConfigurationException(str(error), backend_id=self.backend_id) from error
        self._keep(model)

    def _learn(self, corpus: Any, params: dict[str, Any]) -> None:
        """lapwing.update: the model after these documents, too, without those before."""
        self.initialize()
        assert self._model is not None
        try:
            model = update(self._model, *self._read(corpus))
        except InputError as error:
            raise NotSupportedException(str(error)) from error
        self._keep(model)

    def _keep(self, model: LinearModel) -> None:
        save(model, self._path)
        self._use(model)

    def _suggest_batch(self, documents: Sequence[Any], params: dict[str, Any]) -> Any:
        assert self._model is not None
        assert self._subject_ids is not None
        limit = min(int(params["limit"]), len(self._model.classes))
        shape = (len(documents), len(self.project.subjects))
        if limit < 1:
            return SuggestionBatch(sp.csr_array(shape, dtype=np.float32))
        places, scores = self._model.most_probable([self._text(one.text) for one in documents], limit)
        subjects = self._subject_ids[places]
        rows = np.repeat(np.arange(len(documents)), limit).reshape(subjects.shape)
        known = subjects >= 0
        values = (scores[known].astype(np.float32), (rows[known], subjects[known]))
        return SuggestionBatch(sp.csr_array(values, shape=shape))

    def _read(self, corpus: Any) -> tuple[list[str], list[tuple[str, ...]]]:
        texts, labels = [], []
        for one in corpus.documents:
            texts.append(self._text(one.text))
            labels.append(tuple(sorted(self._uris(one.subject_set))))
        return texts, labels

    def _uris(self, subject_ids: Iterable[int]) -> set[str]:
        return {self.project.subjects[one].uri for one in subject_ids}

    def _text(self, text: str) -> str:
        """By the project's analyzer, where it has one, as tokens between blanks."""
        return " ".join(self.project.analyzer.tokenize_words(text)) if self.project.analyzer_spec else text

    def _settings(self, params: dict[str, Any], jobs: int) -> TrainSettings:
        own = {name: read(params[name]) for name, read in SETTINGS.items() if name in params}
        text = {name: read(params[name]) for name, read in TEXT.items() if name in params}
        if self.project.analyzer_spec:
            text |= {"tokens": "ready", "stemmer": "none", "stop_words": "none"}
        else:
            text.setdefault("stemmer", STEMMERS.get(self.project.language, "none"))
        return TrainSettings(text=TextSettings(**text), n_jobs=jobs or -1, **own)


__all__ = ["LapwingBackend", "create_cx_app"]

annif.backend._backend_fns["lapwing"] = lambda: LapwingBackend

if __name__ == "__main__":
    from annif.cli import cli

    cli(prog_name="annif")
