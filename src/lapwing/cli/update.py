"""lapwing update"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import (
    SPLITS,
    Curvature,
    ExistingPath,
    check_output,
    columns_of,
    data_argument,
    model_argument,
    read_documents,
    reading_options,
    split_part,
)
from lapwing.cli._output import echo, json_option, print_json
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.cli._trained import proof_of
from lapwing.errors import InputError, some

if TYPE_CHECKING:
    from lapwing.model import LinearModel


@click.command("update")
@model_argument
@data_argument
@click.option("-o", "--output", required=True, help="The model file to write.")
@click.option("--forget", type=click.FloatRange(0, 1, min_open=True), default=1.0, show_default=True,
              help="What the past counts for from now on: 0.9 makes ten documents of it nine.")  # fmt: skip
@click.option("--curvature", type=Curvature("diagonal"),
              help="What the new model remembers for the next update.  [default: as MODEL does]")  # fmt: skip
@click.option("--with", "old", type=ExistingPath("the documents MODEL was trained on"), metavar="OLD",
              help="The documents before are at hand: the exact optimum over them and DATA, by training anew with the "
              "variances of MODEL.")  # fmt: skip
@click.option("--split", type=SPLITS, help="Update with this part of DATA; the training part by default.")
@reading_options
@json_option
def command(
    model: str, data: str, output: str, old: str | None, split: str | None, reading: dict[str, Any], as_json: bool,
    **how: Any,
) -> None:  # fmt: skip
    """Update MODEL with the labelled documents of DATA, without those it was trained on.

    New words and new categories may come. Each category's fit is certified; the model keeps the history of its updates,
    which `lapwing inspect` shows.
    """
    from lapwing import update
    from lapwing.formats import load, save
    from lapwing.training.update import retrain

    check_output(output, data)
    loaded = load(model)
    if old is not None and how != {"forget": 1.0, "curvature": None}:
        raise InputError("--with trains on all documents, and has neither --forget nor --curvature; leave them out")
    reading = columns_of(loaded, reading)
    with progress_bar(quiet=as_json) as progress:
        corpus = split_part(read_documents(data, reading, progress), split, "train")
        announce_compiling()
        if old is None:
            progress.begin("updating categories", len(loaded.categories))
            updated = update(loaded, corpus, **how, n_jobs=-1)
        else:
            before = split_part(read_documents(old, reading, progress), split, "train")
            updated = retrain(loaded, before, corpus, progress=progress)
    save(updated, output)
    if as_json:
        print_json(_summary(updated, loaded, output, len(corpus)))
        return
    for line in _said(updated, loaded, output, len(corpus)):
        echo(line)


def _summary(model: LinearModel, old: LinearModel, output: str, documents: int) -> dict[str, Any]:
    gaps = model.fits.gap / model.fits.objective
    return {
        "model": output,
        "documents": documents,
        "counts_for": None if model.memory is None else model.memory.documents,
        "new_features": len(model.feature_names) - len(old.feature_names),
        "new_categories": [label for label in model.classes if label not in old.classes],
        "largest_relative_gap": float(gaps.max()),
        "largest_violation": float(model.fits.kkt.max()),
        "converged": bool(model.fits.converged.all()),
        "updates": len(model.provenance.get("updates", [])),
    }


def _said(model: LinearModel, old: LinearModel, output: str, documents: int) -> list[str]:
    record = _summary(model, old, output, documents)
    past = "" if record["counts_for"] is None else f"; it now counts for {record['counts_for']:,.0f} documents"
    lines = [
        f"updated with {documents} documents, {record['new_features']} new features{past}",
        f"{len(model.categories)} categories, {model.n_kept.min()} to {model.n_kept.max()} (mean "
        f"{model.n_kept.mean():.1f}) features kept; {proof_of(record)}",
    ]
    if record["new_categories"]:
        lines.append(f"new categories: {some(record['new_categories'])}")
    return [*lines, f"wrote {output}; try: lapwing compare OLD {output}"]
