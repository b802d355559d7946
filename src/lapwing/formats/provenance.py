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
    "scores?": {"documents": count, "rows": [count], "edges": [[number]], "counts": [[count]], "inside": [number]},
    "accuracy?": number, "relative_log_loss": maybe(number), "expected_calibration_error": maybe(number),
}  # fmt: skip


def check_held_out(record: Any, rows: int) -> None:
    """The same for how a model of so many rows fared with unseen documents; it may say nothing."""
    if record == {}:
        return
    check(record, HELD_OUT, "held_out")
    if "scores" in record:
        _check_scores(record["scores"], rows)


def _check_scores(scores: Any, rows: int) -> None:
    """Bins of some rows: edges that rise, and as many counts and one more."""
    edges, counts, of = scores["edges"], scores["counts"], scores["rows"]
    same = len(of) == len(edges) == len(counts) == len(scores["inside"])
    if not same or len(set(of)) < len(of) or any(row >= rows for row in of) or not scores["documents"]:
        raise ValueError("held_out.scores are not those of some categories")
    bins = {len(one) for one in edges} | {len(one) - 1 for one in counts}
    if len(bins) > 1 or any(one != sorted(one) for one in edges) or any(sum(one) < 1 for one in counts):
        raise ValueError("held_out.scores are not counted between edges that rise")


def check_provenance(record: Any) -> None:
    """Raise ValueError for what would surprise those who show it."""
    check(record, SHAPE, "provenance")
    for curve in record.get("variance_curves", {}).values():
        size = len(curve["variances"])
        if len(curve["log_likelihood"]) != size:
            raise ValueError("provenance.variance_curves: variances and likelihoods differ in number")
