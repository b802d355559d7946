"""What `lapwing train` says of the model it made."""

from __future__ import annotations

import math
from shlex import quote
from typing import TYPE_CHECKING, Any

from lapwing.cli._output import echo

if TYPE_CHECKING:
    from lapwing.corpus import Corpus
    from lapwing.model import LinearModel


def summary_of(output: str, corpus: Corpus, model: LinearModel) -> dict[str, Any]:
    from lapwing.stats.links import as_link

    kept, fits = model.n_kept, model.fits
    return {
        "model": output,
        "corpus": corpus.name,
        "documents": len(corpus),
        "skipped": corpus.skipped,
        "classes": len(model.classes),
        "categories": len(model.categories),
        "features": len(model.feature_names),
        "features_per_category": {"min": int(kept.min()), "max": int(kept.max()), "mean": float(kept.mean())},
        "sparsity": model.sparsity,
        "selected_ridge": _pruned(model),
        "ngrams": model.provenance.get("ngrams"),
        "largest_relative_gap": max(
            float(g) / (float(p) or 1.0) for g, p in zip(fits.gap, fits.objective, strict=True)
        ),
        "largest_violation": float(fits.kkt.max()),
        "converged": bool(fits.converged.all()),
        "held_out": {name: value for name, value in model.held_out.items() if name != "scores"} or None,
        **_squeezed(model),
        "stationary_only": model.provenance["prior"] == "jeffreys",
        "convex": model.link == "softmax" or as_link(model.link).convex,
    }


def _pruned(model: LinearModel) -> dict[str, Any] | None:
    """What Selected Ridge came to: objectives are sums over categories."""
    pruning = model.provenance.get("selected_ridge")
    if pruning is None:
        return None
    return {
        "alpha": {"min": min(pruning["alpha"]), "max": max(pruning["alpha"])},
        "ridge_objective": float(model.fits.objective.sum()),
        "objective": sum(pruning["objective"]),
    }


def _squeezed(model: LinearModel) -> dict[str, Any]:
    """Which categories have fewer features than allowed, and why."""
    reasons = model.provenance.get("squeezed")
    if reasons is None:
        return {}
    return {"squeezed": {str(c): why for c, why in zip(model.categories, reasons, strict=True) if why}}


def proof_of(summary: dict[str, Any]) -> str:
    if math.isnan(summary["largest_relative_gap"]):
        return f"largest violation {summary['largest_violation']:.1e}"
    return f"largest relative gap {summary['largest_relative_gap']:.1e}"


def print_summary(summary: dict[str, Any]) -> None:
    skipped = f", {summary['skipped']} broken records skipped" if summary["skipped"] else ""
    echo(f"trained on {summary['documents']} documents of {summary['corpus']}{skipped}")
    kept = summary["features_per_category"]
    if summary["categories"] == 1:
        size = (
            f"{summary['classes']} classes, {kept['max']}" if summary["classes"] > 1 else f"1 category, {kept['max']}"
        )
    else:
        size = f"{summary['categories']} categories, {kept['min']} to {kept['max']} (mean {kept['mean']:.1f})"
    proof = proof_of(summary)
    if summary["stationary_only"]:
        proof = (
            f"stationary with a positive-definite Hessian on these, largest slope {summary['largest_violation']:.1e}"
        )
    elif not summary["convex"]:
        proof = f"stationary points of a loss that is not convex, largest slope {summary['largest_violation']:.1e}"
    if space := summary["ngrams"]:
        of = f"n-grams kept, of {space['ngrams']:,} in {space['columns']:,} different sets of documents"
    else:
        of = f"of {summary['features']} features kept"
    echo(f"{size} {of}; {proof}")
    if pruned := summary["selected_ridge"]:
        echo(
            f"sparsity {summary['sparsity']:.4f}; sum of the objectives {pruned['ridge_objective']:.6g} at the ridge "
            f"solutions, {pruned['objective']:.6g} after pruning"
        )
    if unseen := summary["held_out"]:
        from lapwing.evaluate.measures import on_unseen

        echo(on_unseen(unseen))
    for category, reason in summary.get("squeezed", {}).items():
        echo(f"  {category}: {reason}")
    echo(f"wrote {summary['model']}; try: lapwing inspect {quote(summary['model'])}")
