"""The models being served: loaded once, and again when their files change."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lapwing.corpus.fields import sound
from lapwing.errors import InputError
from lapwing.evaluate import Assessment, stored_assessment
from lapwing.evaluate.stored import evaluation_path
from lapwing.formats import load
from lapwing.model import FeatureIndex, LinearModel

log = logging.getLogger("lapwing.serve")
RETRY = 10.0  # seconds until a file that could not be loaded is tried again, changed or not


@dataclass(frozen=True, eq=False)
class Served:
    """One model as it was when loaded; a request keeps the one it began with."""

    name: str
    model: LinearModel
    assessment: Assessment | None = None

    @cached_property
    def columns(self) -> FeatureIndex:
        return FeatureIndex(self.model.feature_names)

    @cached_property
    def labels(self) -> list[str]:
        return [str(label) for label in self.model.classes]

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of every class by its name; of two with one name the first."""
        return {label: k for k, label in reversed(list(enumerate(self.labels)))}

    @property
    def reads_text(self) -> bool:
        return self.model.weighting is not None

    @property
    def beside(self) -> list[str]:
        """Columns that it reads beside the text."""
        return list(getattr(getattr(self.model.weighting, "beside", None), "columns", ()))

    def matrix(
        self,
        texts: list[str] | None,
        vectors: list[dict[str, float]] | None,
        columns: list[dict[str, Any]] | None = None,
    ) -> Any:
        """What `LinearModel.scores` takes, of whichever was given; texts with their columns where it reads such."""
        if texts is not None:
            beside = getattr(self.model.weighting, "beside", None)
            if beside is None:
                return texts
            columns = columns or [{} for _ in texts]
            return beside.records([{**one, beside.text: text} for text, one in zip(texts, columns, strict=True)])
        return self.columns.of_rows([(list(one), list(one.values())) for one in vectors or []])

    def classify(self, documents: Any) -> tuple[np.ndarray, np.ndarray]:
        """(n, classes) probabilities and decisions."""
        scores = self.model.scores(documents, method="plain")  # Numba is not loaded for a long text
        return self.model.class_proba(scores), self.model.decide(scores)

    def classify_each(self, documents: Any, size: int) -> list[tuple[np.ndarray, np.ndarray] | Exception]:
        """Probabilities and decisions, document by document; one that cannot be read does not take others with it."""
        try:
            return list(zip(*self.classify(documents), strict=True))
        except Exception as error:
            log.exception("a document cannot be classified", extra={"model": self.name, "error": type(error).__name__})
        answers: list[Any] = [self._problem(documents[i : i + 1]) for i in range(size)]
        good = [i for i, problem in enumerate(answers) if problem is None]
        rows = zip(*self.classify(_rows(documents, good)), strict=True) if good else ()
        for i, row in zip(good, rows, strict=True):
            answers[i] = row
        return answers

    def _problem(self, document: Any) -> Exception | None:
        try:
            self.model.scores(document, method="plain")
        except Exception as error:
            return error
        return None


def _rows(documents: Any, numbers: list[int]) -> Any:
    return [documents[i] for i in numbers] if isinstance(documents, list) else documents[numbers]


class Store:
    """Models by name, in the order given; the first answers where none is named."""

    def __init__(self, paths: list[str]) -> None:
        self.paths: dict[str, str] = {}
        for path in paths:
            name = sound(Path(path).name.removesuffix(".lapwing")) or "model"
            if name in self.paths:
                raise InputError(f"two models would be called {name!r}; rename one of the files")
            self.paths[name] = path
        self.state = {name: _state(path) for name, path in self.paths.items()}
        self.models = {name: self._load(name) for name in self.paths}
        self.loads = dict.fromkeys(self.paths, 1)
        self.failed: dict[str, tuple[float, str]] = {}  # when a reload last failed, and why

    def _load(self, name: str) -> Served:
        path = self.paths[name]
        model = load(path)
        served = Served(name, model, stored_assessment(path, model))
        served.classify(served.matrix(["a"], None) if served.reads_text else served.matrix(None, [{}]))  # warm
        return served

    @property
    def first(self) -> Served:
        return next(iter(self.models.values()))

    def get(self, name: str | None) -> Served | None:
        return self.first if name is None else self.models.get(name)

    def changed(self) -> list[str]:
        """Models whose file, or stored evaluation, is another than when last looked at, or could not be loaded."""
        names = []
        for name, path in self.paths.items():
            state = _state(path)
            tried = self.failed.get(name)
            if state != self.state[name] or (tried is not None and time.monotonic() - tried[0] > RETRY):
                self.state[name] = state
                names.append(name)
        return names

    def reload(self, name: str) -> bool:
        """Put the new model in place of the old; whatever goes wrong leaves the old one serving."""
        try:
            fresh = self._load(name)
        except Exception as error:  # also what nobody thought of: the watcher must outlive it
            said = f"{type(error).__name__}: {error}"
            if self.failed.get(name, (0.0, ""))[1] != said:
                log.error("reload failed, the old model goes on", extra={"model": name, "error": said})
            self.failed[name] = (time.monotonic(), said)
            return False
        self.failed.pop(name, None)
        self.models[name] = fresh
        self.loads[name] += 1
        log.info("model reloaded", extra={"model": name})
        return True


def _state(path: str) -> tuple[Any, ...]:
    """What changes when a file is replaced or rewritten."""
    seen: list[Any] = []
    for one in (path, evaluation_path(path)):
        try:
            stat = os.stat(one)
            seen.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except OSError:
            seen.append(None)
    return tuple(seen)
