"""What a model file may say of its making. Whatever is not named here may be anything, and is shown to nobody."""

from __future__ import annotations

from typing import Any

from lapwing.formats.shapes import check, count, label, maybe, named, number, text


def _short(value: Any) -> bool:
    """A string, a number, true, false or null."""
    return value is None or label(value)


_CURVE = {"variances": [number], "log_likelihood": [number], "chosen": number}
_UPDATE = {
    "date": text, "corpus": text, "documents": count, "forget": number, "counts_for": number, "curvature": text,
    "new_categories": [label], "new_features": count, "learned_anew": count,
}  # fmt: skip
SHAPE = {
    **{f"{name}?": _short for name in (
        "lapwing", "corpus", "prior", "multi_class", "variance", "intercept_variance", "class_weight", "threshold",
        "threshold_data", "solver", "select_features", "max_features", "random_state", "tol", "date", "modelname",
        "stemmer",
    )},
    **{f"{name}?": count for name in ("documents", "documents_with_labels", "features", "skipped")},
    "source?": named(_short),
    "ngrams?": {"ngrams": count, "columns": count},
    "selected_ridge?": {"alpha": [number], "objective": [number]},
    "squeezed?": [maybe(text)],
    "prior_rows?": [text],
    "variance_curves?": named(_CURVE),
    "pooled?": {"variances": [number], "loss": [number], "chosen": number},
    "reading?": [text],
    "updates?": [_UPDATE],
}  # fmt: skip
HELD_OUT = {
    "folds": count, "documents": count, "categories": count, "macro_f1": number, "micro_f1": number,
    "scores?": {
        "documents": count, "rows": [count], "edges": [[number]], "counts": [[count]], "positives?": [[count]],
        "inside": [number], "weights?": [number], "columns?": [count], "pointer?": [count], "intercepts?": [number],
    },
    "accuracy?": number, "relative_log_loss": maybe(number), "expected_calibration_error": maybe(number),
}  # fmt: skip


def check_held_out(record: Any, rows: int, columns: int) -> None:
    """The same for how a model of so many rows and columns fared with unseen documents; it may say nothing."""
    if record == {}:
        return
    check(record, HELD_OUT, "held_out")
    if "scores" in record:
        _check_scores(record["scores"], rows, columns)


def _check_scores(scores: Any, rows: int, columns: int) -> None:
    """Bins of some rows: edges that rise, and as many counts and one more; and sparse weights by which they came."""
    edges, counts, of = scores["edges"], scores["counts"], scores["rows"]
    own = scores.get("positives", [[0] * len(one) for one in counts])
    same = len(of) == len(edges) == len(counts) == len(own) == len(scores["inside"])
    if not same or len(set(of)) < len(of) or any(row >= rows for row in of) or not scores["documents"]:
        raise ValueError("held_out.scores are not those of some categories")
    sizes = all(len(a) + 1 == len(b) == len(c) for a, b, c in zip(edges, counts, own, strict=True))
    if not sizes or any(one != sorted(one) for one in edges) or any(sum(one) < 1 for one in counts):
        raise ValueError("held_out.scores are not counted between edges that rise")
    if any(a > b for inside, all_ in zip(own, counts, strict=True) for a, b in zip(inside, all_, strict=True)):
        raise ValueError("held_out.scores count more documents of a category than of all")
    if parts := {name: scores[name] for name in ("weights", "columns", "pointer", "intercepts") if name in scores}:
        ends, at = parts.get("pointer", []), parts.get("columns", [])
        fit = len(parts) == 4 and len(ends) == len(of) + 1 and len(parts["intercepts"]) == len(of) and ends[0] == 0
        if not fit or ends != sorted(ends) or ends[-1] != len(at) or len(at) != len(parts["weights"]):
            raise ValueError("held_out.scores come from weights that do not fit their categories")
        if max(at, default=-1) >= columns:
            raise ValueError("held_out.scores come from weights of features that there are not")


def check_provenance(record: Any) -> None:
    """Raise ValueError for what would surprise those who show it."""
    check(record, SHAPE, "provenance")
    for curve in record.get("variance_curves", {}).values():
        size = len(curve["variances"])
        if len(curve["log_likelihood"]) != size:
            raise ValueError("provenance.variance_curves: variances and likelihoods differ in number")
