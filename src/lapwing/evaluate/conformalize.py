"""Promises from documents kept apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from lapwing.errors import InputError
from lapwing.evaluate.assessment import membership
from lapwing.model.conformal import Conformal
from lapwing.model.linear import LinearModel


def conformalize(model: LinearModel, documents: Any, labels: Sequence[tuple[Hashable, ...]]) -> LinearModel:
    """The model, with what labelled documents that it was not fitted to say of it.

    labels   a tuple of labels for every document
    """
    proba = model.predict_proba(documents)
    if len(labels) != len(proba):
        raise InputError(f"expected labels for {len(proba)} documents, got {len(labels)}")
    truth = membership(labels, model.classes)
    return replace(model, conformal=Conformal.of(proba, truth, model.exclusive, "held-out"))
