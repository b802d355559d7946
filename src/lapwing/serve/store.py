"""The models being served: loaded once, and again when their files change."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lapwing.errors import InputError, LapwingError
from lapwing.evaluate import Assessment, stored_assessment
from lapwing.evaluate.stored import evaluation_path
from lapwing.formats import load
from lapwing.model import Columns, LinearModel

log = logging.getLogger("lapwing.serve")


@dataclass(frozen=True, eq=False)
class Served:
    """One model as it was when loaded; a request keeps the one it began with."""

    name: str
    model: LinearModel
    assessment: Assessment | None = None

    @cached_property
    def columns(self) -> Columns:
        return Columns(self.model.feature_names)

    @cached_property
    def labels(self) -> list[str]:
        return [str(label) for label in self.model.classes]

    @property
    def reads_text(self) -> bool:
        return self.model.weighting is not None

    def matrix(self, texts: list[str] | None, vectors: list[dict[str, float]] | None) -> Any:
        """What `LinearModel.scores` takes, of whichever was given."""
        if texts is not None:
            return texts
        return self.columns.of_rows([(list(one), list(one.values())) for one in vectors or []])

    def classify(self, documents: Any) -> tuple[np.ndarray, np.ndarray]:
        """(n, classes) probabilities and decisions."""
        scores = self.model.scores(documents, method="plain")  # Numba is not loaded for a long text
        return self.model.own_proba(scores), self.model.decide(scores)


class Store:
    """Models by name, in the order given; the first answers where none is named."""

    def __init__(self, paths: list[str]) -> None:
        self.paths: dict[str, str] = {}
        for path in paths:
            name = Path(path).name.removesuffix(".lapwing") or "model"
            if name in self.paths:
                raise InputError(f"two models would be called {name!r}; rename one of the files")
            self.paths[name] = path
        self.state = {name: _state(path) for name, path in self.paths.items()}
        self.models = {name: self._load(name) for name in self.paths}
        self.loads = dict.fromkeys(self.paths, 1)

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
        """Models whose file, or stored evaluation, is another than when last looked at."""
        found = []
        for name, path in self.paths.items():
            state = _state(path)
            if state != self.state[name]:
                self.state[name] = state
                found.append(name)
        return found

    def reload(self, name: str) -> bool:
        """Put the new model in place of the old; a file that cannot be read leaves the old one serving."""
        try:
            fresh = self._load(name)
        except (LapwingError, OSError) as error:
            log.error("reload failed, the old model goes on", extra={"model": name, "error": str(error)})
            return False
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
