"""Models for use without lapwing: one JavaScript module, one Python file, or ONNX.

    export(model, "model.mjs", to="js")

All of them give the probabilities and decisions of the model, calibration, coupling and thresholds included:
JavaScript and Python from texts, ONNX from counts of terms on, since no operator of ONNX cuts and stems words as
lapwing does (`onnx_inputs` makes the counts). Exporters are found by their entry points.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from lapwing.errors import InputError, SettingsError
from lapwing.files import write_beside
from lapwing.model.linear import as_model
from lapwing.plugins import plugin, plugins
from lapwing.text.beside import WithColumns
from lapwing.text.matching import NgramWeighting
from lapwing.text.plain import PlainTerms

__all__ = ["export", "onnx_inputs"]


def export(model: Any, path: str | os.PathLike[str], to: str) -> None:
    """Write a model, or a fitted estimator, as `to`: "js", "python" or "onnx"."""
    if to not in plugins("exporters"):
        raise SettingsError(f"to must be one of {', '.join(plugins('exporters'))}, got {to!r}")
    model = as_model(model)
    if isinstance(model.weighting, WithColumns):
        raise InputError(
            f"an export reads texts alone, and this model {', '.join(model.weighting.beside.columns)} beside them; "
            "`lapwing serve` and `lapwing.load` read both"
        )
    content = plugin("exporters", to)(model)
    write_beside(path, content.encode() if isinstance(content, str) else content)


def onnx_inputs(model: Any, documents: Sequence[str] | Any) -> dict[str, np.ndarray]:
    """What the graph of a model is to be given for documents, by the names of its inputs."""
    model = as_model(model)
    weighting = model.weighting
    if weighting is None or isinstance(weighting, NgramWeighting):
        name = "features" if weighting is None else "present"
        return {name: model.vectors(documents).toarray()}
    place = {term: j for j, term in enumerate(weighting.terms)}
    counts = np.zeros((len(documents), len(place)))
    others: list[list[int]] = []
    terms = PlainTerms(weighting.settings)
    for i, text in enumerate(documents):
        unknown: dict[str, int] = {}
        for term in terms(weighting.settings.prepared(text)):
            if term in place:
                counts[i, place[term]] += 1.0
            else:
                unknown[term] = unknown.get(term, 0) + 1
        others.append(list(unknown.values()))
    if not weighting.settings.cosine:
        return {"counts": counts}
    rest = np.zeros((len(documents), max(map(len, others), default=0) or 1))
    for row, values in zip(rest, others, strict=True):
        row[: len(values)] = values
    return {"counts": counts, "unknown": rest}
