"""Models for where there is no lapwing: one JavaScript module, one Python file, or ONNX.

    export(model, "model.mjs", to="js")

All of them give the probabilities and decisions of the model, calibration, coupling and thresholds included:
JavaScript and Python from texts, ONNX from counts of terms on, since no operator of ONNX cuts and stems words as
lapwing does (`onnx_inputs` makes the counts).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from lapwing.errors import InputError, SettingsError
from lapwing.files import write_beside
from lapwing.model import LinearModel
from lapwing.model.linear import as_model
from lapwing.text.beside import WithColumns
from lapwing_exports.javascript import javascript
from lapwing_exports.onnx import onnx_bytes, onnx_inputs
from lapwing_exports.python import python

__all__ = ["EXPORTS", "export", "onnx_inputs"]

EXPORTS: dict[str, Callable[[LinearModel], bytes]] = {
    "js": lambda model: javascript(model).encode(),
    "python": lambda model: python(model).encode(),
    "onnx": onnx_bytes,
}


def export(model: Any, path: str | os.PathLike[str], to: str) -> None:
    """Write a model, or a fitted estimator, as `to`: "js", "python" or "onnx"."""
    if to not in EXPORTS:
        raise SettingsError(f"to must be one of {', '.join(EXPORTS)}, got {to!r}")
    model = as_model(model)
    if isinstance(model.weighting, WithColumns):
        raise InputError(
            f"an export reads texts alone, and this model {', '.join(model.weighting.beside.columns)} beside them; "
            "`lapwing serve` and `lapwing.load` read both"
        )
    content = EXPORTS[to](model)
    write_beside(path, content)
