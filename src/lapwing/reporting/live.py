"""The tables with which the page classifies a text by itself, or why it cannot."""

from __future__ import annotations

import base64
from html.entities import html5
from typing import Any

import numpy as np

from lapwing.model import LinearModel
from lapwing.reporting import snowball
from lapwing.text import Weighting
from lapwing.text.beside import WithColumns
from lapwing.text.matching import NgramWeighting
from lapwing.text.table import token_table

PAGE_LINKS = ("logit", "probit", "cloglog", "robit", "softmax")  # LINKS of static/model.js
KINDS: dict[type, str] = {Weighting: "terms", NgramWeighting: "ngrams"}  # KINDS there


def refusal(model: LinearModel) -> str | None:
    """What of this model the page's JavaScript has no counterpart of; None where it can classify."""
    weighting = model.weighting
    if weighting is None:
        return "the model was trained on vectors, and no text can be made into one"
    if isinstance(weighting, WithColumns):
        return f"the page has no place for {', '.join(weighting.beside.columns)} beside the text"
    if type(weighting) not in KINDS:
        return f"the page cannot make features of kind {type(weighting).__name__!r}"
    if weighting.settings.max_gap:
        return "the page has no n-grams with gaps"
    if weighting.settings.cut is not None:
        return f"the page cannot cut texts as {weighting.settings.cut.name} does"
    if model.link.partition(":")[0] not in PAGE_LINKS:
        return f"the page has no link {model.link!r}"
    return snowball.missing(weighting.settings.stemmer) if weighting.settings.stems else None


def base64_of(values: Any, dtype: str) -> str:
    """The numbers as little-endian bytes: exact, and shorter than their digits."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


def weight_tables(model: LinearModel, *, single: bool = False) -> dict[str, Any]:
    """Every weight by row, features numbered among those that have one, in the order of the model's columns.

    single   weights to seven digits, where they are looked at and nothing is computed from them
    """
    used, index = np.unique(model.weights.indices, return_inverse=True)
    return {
        "link": model.link,
        "classes": [str(label) for label in model.classes],
        "exclusive": model.exclusive,
        "decision": model.decision,
        "coupling": list(model.coupling),
        "names": [str(model.feature_names[j]) for j in used],
        "ptr": base64_of(model.weights.indptr, "<i4"),
        "index": base64_of(index, "<i4"),
        **({"single": True} if single else {}),
        "weights": base64_of(model.weights.data, "<f4" if single else "<f8"),
        "intercepts": base64_of(model.intercepts, "<f8"),
        "thresholds": base64_of(model.thresholds, "<f8"),
    }


def text_tables(model: LinearModel) -> dict[str, Any]:
    """How the page makes features of a text; only for a model without a `refusal`."""
    weighting = model.weighting
    assert weighting is not None
    settings = weighting.settings
    table = token_table(settings.table)
    kind = KINDS[type(weighting)]
    read = {
        "kind": kind,
        "settings": {
            **settings.to_dict(),
            "stop_words": None,
            "stems": settings.stems,
            "lengths": settings.lengths,
            "joint": settings.joint,
            "inside_words": settings.inside_words,
        },
        "stemmer": settings.stemmer if settings.stems else None,
        "table": {
            "runs": [number for run in table.runs for number in run],
            "lower": [number for pair in table.lower.items() for number in pair],
            "longest_stemmed": table.longest_stemmed,
        },
        "stop": sorted(settings.stop_set),
        "entities": _entities() if settings.strip_html else None,
    }
    if kind == "ngrams":
        return read  # what it looks for are the names of the weights
    return read | {
        "terms": list(weighting.terms),
        "document_frequency": base64_of(weighting.document_frequency, "<i4"),
        "documents": weighting.n_documents,
    }


def _entities() -> dict[str, Any]:
    """What html.unescape knows: names, numbers with a meaning of their own, numbers that vanish."""
    from html import _invalid_charrefs, _invalid_codepoints  # type: ignore[attr-defined]

    dropped: list[list[int]] = []
    for code in sorted(_invalid_codepoints):
        if dropped and code == dropped[-1][1] + 1:
            dropped[-1][1] = code
        else:
            dropped.append([code, code])
    return {"names": html5, "numbers": {str(k): v for k, v in _invalid_charrefs.items()}, "dropped": dropped}
