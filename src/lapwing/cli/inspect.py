"""lapwing inspect"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import console, json_option, print_json

if TYPE_CHECKING:
    from lapwing.model import LinearModel


@click.command("inspect")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.option("--category", "categories", multiple=True, help="Only this category; may be given several times.")
@click.option("--top", type=click.IntRange(min=1), help="Words per category  [default: 6; all with --category]")
@json_option
def command(model: str, categories: tuple[str, ...], top: int | None, as_json: bool) -> None:
    """Show what is inside MODEL: how it was made, and the strongest words of every category."""
    from lapwing.errors import InputError
    from lapwing.model import load

    loaded = load(model)
    names = [str(label) for label in loaded.categories]
    if unknown := [name for name in categories if name not in names]:
        raise InputError(f"the model has no category {unknown[0]!r}; it has {', '.join(names[:8])}, …")
    rows = [names.index(name) for name in categories] or list(range(len(names)))
    limit = top or (None if categories else 6)
    records = [_record(loaded, row, None if as_json and top is None else limit) for row in rows]
    if as_json:
        print_json({"model": _head(loaded), "categories": records})
    else:
        _print(loaded, records)


def _head(model: LinearModel) -> dict[str, Any]:
    return {
        "link": model.link,
        "classes": list(model.classes),
        "exclusive": model.exclusive,
        "features": len(model.feature_names),
        "text": None if model.weighting is None else model.weighting.settings.to_dict(),
        "terms": None if model.weighting is None else len(model.weighting.terms),
        "provenance": model.provenance,
    }


def _record(model: LinearModel, row: int, limit: int | None) -> dict[str, Any]:
    fits, threshold = model.fits, float(model.thresholds[row])
    return {
        "category": model.categories[row],
        "positives": int(fits.positives[row]),
        "features": int(model.n_kept[row]),
        "intercept": float(model.intercepts[row]),
        "threshold": 1.0 if math.isinf(threshold) else 1.0 / (1.0 + math.exp(-threshold)),
        "variance": float(fits.variance[row]),
        "objective": float(fits.objective[row]),
        "gap": float(fits.gap[row]),
        "kkt": float(fits.kkt[row]),
        "converged": bool(fits.converged[row]),
        "weights": [{"feature": name, "weight": weight} for name, weight in model.top_features(row, limit)],
    }


def _print(model: LinearModel, records: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    made = model.provenance
    kind = "exclusive classes" if model.exclusive else "categories, any number per document"
    out.print(f"{len(model.classes)} {kind}; {len(model.feature_names)} features; link {model.link}")
    out.print(
        f"trained on {made.get('documents', '?')} documents of {made.get('corpus', '?')} on {made.get('date', '?')} "
        f"by lapwing {made.get('lapwing', '?')}; {made.get('prior', '?')} prior, variance {made.get('variance', '?')}"
    )
    out.print()
    columns = ("category", "positives", "features", "variance", "rel. gap", "threshold", "strongest words")
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:6]:
        column.justify = "right"
    for record in records:
        words = Text()
        for item in record["weights"]:
            words.append(f"{item['feature']} {item['weight']:+.2f}  ", "green" if item["weight"] > 0 else "red")
        gap = record["gap"] / record["objective"] if record["objective"] else 0.0
        table.add_row(
            str(record["category"]), str(record["positives"]), str(record["features"]), f"{record['variance']:.4g}",
            f"{gap:.1e}", f"{record['threshold']:.3f}", words,
        )  # fmt: skip
    out.print(table)
