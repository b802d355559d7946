"""lapwing drift"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import SPLITS, check_output, columns_of, data_argument, model_argument, reading_options
from lapwing.cli._output import give, json_option, table
from lapwing.cli._progress import progress_bar

if TYPE_CHECKING:
    from rich.table import Table

    from lapwing.corpus import Corpus
    from lapwing.evaluate.drift import Drift

WORDS = 12  # that went up, and as many that went down
CATEGORIES = 15


@click.command("drift")
@model_argument
@data_argument
@click.option("-o", "--output", help="Write a page with pictures, too: one HTML file.")
@click.option("--rate", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True,
              help="Chance of any false alarm, over all categories and over all words.")  # fmt: skip
@click.option("--split", type=SPLITS, default="all", show_default=True, help="Only this part of DATA.")
@reading_options
@json_option
def command(
    model: str, data: str, output: str | None, rate: float, split: str, reading: dict[str, Any], as_json: bool
) -> None:
    """Show what moved between the training of MODEL and the documents of DATA, which need no labels.

    Which words became rarer or more frequent, in which categories scores are distributed differently, how many words
    are unknown, and how frequent every category seems to be now. With labels in DATA, also what the model is worth on
    them.
    """
    from lapwing import drift
    from lapwing.files import write_beside
    from lapwing.formats import load
    from lapwing.reporting.drift import drift_page

    if output is not None:
        check_output(output, data)
    loaded = load(model)
    with progress_bar(quiet=as_json) as progress:
        progress.begin("reading documents")
        corpus = _read(data, columns_of(loaded, reading)).part(split)
        progress.end(len(corpus))
        moved = drift(loaded, corpus, rate=rate)
    if output is not None:
        name = Path(model).name.removesuffix(".lapwing")
        write_beside(output, drift_page(moved, name, corpus.name).encode())
    give(moved.to_dict(), lambda: _shown(moved), output, as_json=as_json)


def _read(data: str, reading: dict[str, Any]) -> Corpus:
    from lapwing.corpus import read

    return read(data, labels_required=False, **reading)


def _shown(moved: Drift) -> list[Table | str]:
    tested = [one for one in moved.categories if one.p_value is not None]
    if not tested:
        lines: list[Table | str] = [f"! {moved.remark}"]
    else:
        count = len(moved.alarms) or "none"
        lines = [f"scores moved in {count} of {len(tested)} categories (chance of a false alarm: {moved.rate:g})"]
        lines += [moved.remark] if moved.remark else []
    if moved.unknown is not None and moved.expected_unknown is not None:
        lines.append(
            f"{100 * moved.unknown:.1f} % of the words of a document are unknown; of documents like those of training "
            f"{100 * moved.expected_unknown:.1f} % would be"
        )
    if moved.words is not None:
        lines.append(f"{len(moved.words)} of {moved.words_tested} words stand in another share of documents")
        for up, what in ((True, "more"), (False, "less")):
            some = [one for one in moved.words if (one.now > one.then) is up][:WORDS]
            if some:
                listed = (f"{one.word} {100 * one.then:.2g} → {100 * one.now:.2g} %" for one in some)
                lines.append(f"  {what}: {', '.join(listed)}")
    grid = table("category", "scores", "p-value", "share then", "now", "interval", left=(0, 1))
    ranked = sorted(moved.categories, key=lambda one: -one.prevalence_then)
    ranked.sort(key=lambda one: 1.0 if one.p_value is None else one.p_value)
    for one in ranked[:CATEGORIES]:
        grid.add_row(
            str(one.category), "moved" if one.moved else "", "" if one.p_value is None else f"{one.p_value:.2g}",
            f"{100 * one.prevalence_then:.2f} %", *one.share_now,
        )  # fmt: skip
    lines += ["", grid]
    if len(ranked) > CATEGORIES:
        lines.append(f"and {len(ranked) - CATEGORIES} more; all of them with --json or -o")
    if moved.measured is not None:
        now, then = moved.measured["now"], moved.measured["then"]
        was = "" if then["macro_f1"] is None else f" (in cross-validation: {_worth(then)})"
        lines += ["", f"by the labels: {_worth(now)}{was}"]
    return lines


def _worth(measured: dict[str, float | None]) -> str:
    from lapwing.evaluate.measures import beside_base_rates

    macro, micro, loss = measured["macro_f1"], measured["micro_f1"], measured["relative_log_loss"]
    parts = [f"macro F1 {100 * macro:.1f}" if macro is not None else "", f"micro F1 {100 * micro:.1f}" if micro else ""]
    parts.append(beside_base_rates(loss) if loss is not None else "")
    return ", ".join(filter(None, parts))
