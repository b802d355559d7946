"""Columns beside the text in a model file."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from lapwing.errors import ModelFileError
from lapwing.text.beside import Beside


def beside_to_json(beside: Beside) -> dict[str, Any]:
    return {
        "text": beside.text,
        "numeric": [[name, mean, scale] for name, (mean, scale) in beside.numeric.items()],
        "categorical": [[name, list(levels)] for name, levels in beside.categorical.items()],
    }


def beside_from_json(stated: Any) -> Beside:
    """Checked, as everything that a file states."""
    try:
        numeric = {name: (mean, scale) for name, mean, scale in stated["numeric"]}
        categorical = {name: tuple(levels) for name, levels in stated["categorical"]}
        names = [stated["text"], *(one[0] for key in ("numeric", "categorical") for one in stated[key])]
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError("the file is inconsistent: the columns beside the text are not written as such") from error
    right = (
        set(stated) == {"text", "numeric", "categorical"}
        and all(isinstance(name, str) for name in names)
        and len(set(names[1:])) == len(names) - 1
        and all(isinstance(x, float) and math.isfinite(x) for pair in numeric.values() for x in pair)
        and all(scale > 0.0 for _, scale in numeric.values())
        and all(isinstance(level, str) for levels in categorical.values() for level in levels)
        and all(a < b for levels in categorical.values() for a, b in pairwise(levels))
    )
    if not right:
        raise ModelFileError("the file is inconsistent: the columns beside the text have wrong names, scales or levels")
    return Beside(numeric, categorical, stated["text"])
