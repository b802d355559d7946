"""lapwing evaluate"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import console, json_option, percent, print_json, reading_options, split_part

if TYPE_CHECKING:
    from lapwing.evaluate import Evaluation


@click.command("evaluate")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.argument("data", type=click.Path(exists=True))
@click.option("--split", help="Evaluate on this part (train, validation, test, all); the test part by default.")
@click.option("--undefined-f1", type=click.Choice(["0", "1"]), default="1", show_default=True,
              help="F1 where there is nothing to find and nothing was found.")  # fmt: skip
@reading_options
@json_option
def command(
    model: str, data: str, reading: dict[str, Any], split: str | None, undefined_f1: str, as_json: bool
) -> None:
    """Compare the decisions of MODEL with the labels of DATA, category by category.

    Averages run over the categories that occur in the data evaluated.
    """
    from lapwing.cli._documents import blocks_of
    from lapwing.corpus import read
    from lapwing.evaluate import evaluate
    from lapwing.model import load

    loaded = load(model)
    corpus = split_part(read(data, **reading), split, "test")
    result = evaluate(loaded, blocks_of(corpus, loaded), undefined=float(undefined_f1))
    if as_json:
        print_json(result.to_dict())
    else:
        print_evaluation(result)


def print_evaluation(result: Evaluation) -> None:
    from rich.table import Table

    tables = result.tables
    columns = ("category", "features", "TP", "FP", "FN", "errors", "precision", "recall", "F1", "AUC")
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    precision, recall, f1 = (getattr(tables, m)(result.undefined) for m in ("precision", "recall", "f1"))
    for k, label in enumerate(result.categories):
        counts = (result.n_kept, tables.tp, tables.fp, tables.fn, tables.errors)
        shares = (precision, recall, f1, result.auc)
        style = None if result.occurs[k] else "dim"
        table.add_row(str(label), *(str(c[k]) for c in counts), *(percent(s[k]) for s in shares), style=style)
    out = console()
    out.print(table)
    out.print()
    averages = Table("", "precision", "recall", "F1", box=None, pad_edge=False, header_style="bold")
    for column in averages.columns[1:]:
        column.justify = "right"
    for kind, values in result.averages().items():
        averages.add_row(kind, *(f"{100 * values[m]:.2f}" for m in ("precision", "recall", "f1")))
    out.print(averages)
    kept = result.n_kept[result.occurs]
    out.print()
    out.print(
        f"{result.documents} documents; averages over the {int(result.occurs.sum())} categories that occur in them"
        + (f", {result.left_out} left out (shown without an average)" if result.left_out else "")
    )
    if len(kept):
        out.print(f"features per category averaged: {kept.min()} to {kept.max()}, mean {kept.mean():.1f}")
    if result.exclusive:
        out.print(f"accuracy {percent(result.accuracy())} %")
    if result.unknown:
        shown = ", ".join(map(str, result.unknown[:8])) + (" …" if len(result.unknown) > 8 else "")
        out.print(f"{len(result.unknown)} labels of the data are not in the model: {shown}")
