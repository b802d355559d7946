"""lapwing inspect"""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._command_line import train_flags
from lapwing.cli._common import (
    ExistingPath,
    columns_of,
    model_argument,
    read_documents,
    readable,
    reading_options,
    rows_named,
)
from lapwing.cli._output import echo, json_option, largest_of, print_json, show, table, width
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.errors import InputError, some

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from lapwing.model import LinearModel

Record = dict[str, Any]


@click.command("inspect")
@model_argument
@click.option("--category", "categories", multiple=True, help="Only this category; may be given several times.")
@click.option("--find", metavar="TEXT", help="Only categories with this in their names, in either case.")
@click.option("--all", "everything", is_flag=True, help="All categories, also where there are hundreds.")
@click.option("--top", type=click.IntRange(min=1), help="Words per category  [default: 6; all with --category]")
@click.option(
    "--data",
    type=ExistingPath("the documents MODEL was trained on"),
    help="The documents MODEL was trained on: says how sure it is of the words of --category.",
)
@click.option(
    "--halves",
    type=click.IntRange(min=2),
    default=100,
    show_default=True,
    help="With --data, of a sparse model: in how many of so many halves of the data a word stays.",
)
@click.option("--command", "as_command", is_flag=True, help="Only the command that trains it again.")
@reading_options
@json_option
def command(
    model: str,
    categories: tuple[str, ...],
    find: str | None,
    everything: bool,
    top: int | None,
    data: str | None,
    halves: int,
    as_command: bool,
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Show what is inside MODEL: how it was made, and the strongest words of every category.

    With --data and --category, how sure it is of each word: under a Gaussian prior between which values a weight lies
    with a probability of 95 %, under a sparse one in how many halves of the data the word stays.
    """
    from lapwing.formats import load

    loaded = load(model)
    if as_command:
        echo(_command(loaded, model))
        return
    rows = rows_named(loaded, categories)
    if find is not None:
        rows = [row for row in rows if find.lower() in str(loaded.categories[row]).lower()]
        if not rows:
            raise InputError(f"no category has {find!r} in its name; the model has {some(loaded.categories)}")
    left_out = 0
    if not (everything or as_json or categories):
        shown = [rows[k] for k in largest_of(loaded.fits.positives[rows].tolist())]
        left_out, rows = len(rows) - len(shown), shown
    limit = top or (None if categories or as_json else 6)
    if data is not None and not categories:
        raise InputError("--data needs --category NAME: how sure a word is, is worked out for one category at a time")
    records = [_record(loaded, row, limit) for row in rows]
    if data is not None:
        _add_certainty(loaded, records, data, reading, top or 20, halves, quiet=as_json)
    if as_json:
        print_json({"model": _head(loaded), "categories": records})
    elif categories:
        show(*_about(loaded), *(part for record in records for part in ("", *_in_full(record, loaded))))
    else:
        more = f"and {left_out:,} more, with fewer documents; --find TEXT looks for names, --all shows all"
        show(*_about(loaded), "", _overview(loaded, records), *([more] if left_out else []))


def _add_certainty(
    model: LinearModel, records: list[Record], data: str, reading: dict[str, Any], top: int, halves: int, *, quiet: bool
) -> None:
    """Leaves the words that it was worked out for in each record, with the interval or share of each."""
    from lapwing import summary
    from lapwing.evaluate.documents import check_labels, in_columns

    with progress_bar(quiet=quiet) as progress:
        corpus = read_documents(data, columns_of(model, reading), progress)
        corpus = corpus.part("train") if corpus.has_splits else corpus
        check_labels(corpus, model)
        documents = in_columns(corpus, model)
        announce_compiling()
        progress.begin("asking for certainty", len(records))
        for record in records:
            certainty = summary(model, record["category"], documents, corpus.labels, top=top, halves=halves)
            record |= {"level": certainty.level, "halves": certainty.halves, "kept_per_half": certainty.kept}
            record["expected_false"] = certainty.expected_false
            record["weights"] = [
                {
                    **item,
                    "documents": word.documents,
                    "interval": word.interval,
                    "share": word.share,
                    "stand_ins": list(word.stand_ins),
                }
                for item, word in zip(record["weights"], certainty.words, strict=False)
            ]
        progress.end()


def _command(model: LinearModel, path: str) -> str:
    """What makes the same model of the same documents."""
    from lapwing.training.again import settings_of

    flags = train_flags(settings_of(model))
    data = str(model.provenance.get("source", {}).get("path") or "DATA")
    given = ["--like", path] if flags is None else flags
    return shlex.join(["lapwing", "train", data, "-o", path, *model.provenance.get("reading", []), *given])


def _head(model: LinearModel) -> Record:
    return {
        "link": model.link,
        "classes": list(model.classes),
        "exclusive": model.exclusive,
        "features": len(model.feature_names),
        "text": None if model.weighting is None else model.weighting.settings.to_dict(),
        "terms": None if model.weighting is None else len(model.weighting.terms),
        "provenance": model.provenance,
        "held_out": {name: value for name, value in model.held_out.items() if name != "scores"} or None,
    }


def _record(model: LinearModel, row: int, limit: int | None) -> Record:
    fits, unknown = model.fits, model.converted_from is not None
    return {
        "category": model.categories[row],
        "positives": None if unknown else int(fits.positives[row]),
        "features": int(model.n_kept[row]),
        "intercept": float(model.intercepts[row]),
        "threshold": float(model.threshold_probabilities[row]) if model.has_thresholds else None,
        "variance": float(fits.variance[row]),
        "objective": float(fits.objective[row]),
        "gap": float(fits.gap[row]),
        "kkt": float(fits.kkt[row]),
        "converged": None if unknown else bool(fits.converged[row]),
        "weights": [
            {"feature": name, "weight": weight, **_alike(model, name)}
            for name, weight in model.row_features(row, limit)
        ],
    }


def _alike(model: LinearModel, name: str) -> Record:
    """Of an n-gram: how many there are in the same training documents, and the longest of them."""
    from lapwing.text.matching import NgramWeighting

    if not isinstance(model.weighting, NgramWeighting):
        return {}
    at = model.weighting.index[name]
    return {"members": int(model.weighting.members[at]), "longest": model.weighting.longest[at]}


def _about(model: LinearModel) -> list[RenderableType]:
    from lapwing.evaluate.measures import on_unseen

    provenance = model.provenance
    if not model.exclusive:
        kind = f"{len(model.classes)} categories, any number per document"
    elif len(model.categories) == 1:
        kind = f"two exclusive classes, {model.classes[0]} and {model.classes[1]}; weights speak for the second"
    else:
        kind = f"{len(model.classes)} exclusive classes"
    pruned, space = provenance.get("selected_ridge"), provenance.get("ngrams")
    made = [model.origin, provenance.get("date"), provenance.get("lapwing") and f"by lapwing {provenance['lapwing']}"]
    prior = ""
    if provenance.get("prior"):
        prior = f"{provenance['prior']} prior, variance {provenance.get('variance')}{_common_value(model)}"
    if space and provenance.get("prior") == "none":
        prior = "no prior: n-grams one by one, the steepest first, ended early"
    lines = [
        f"{kind}; {len(model.feature_names)} features; link {model.link}{_convexity(model)}",
        ", ".join(map(str, filter(None, made))),
        prior
        + (f"; pruned by Selected Ridge, sparsity {model.sparsity:.4f}; gaps are of the ridge fits" if pruned else ""),
        *_history(model),
        *([on_unseen(model.held_out)] if "macro_f1" in model.held_out else []),
        *([f"of {space['ngrams']:,} n-grams in {space['columns']:,} different sets of documents"] if space else []),
    ]
    return [line for line in lines if line]


def _convexity(model: LinearModel) -> str:
    from lapwing.stats.links import as_link

    convex = model.link == "softmax" or as_link(model.link).convex
    return "" if convex else ", which is not convex: each fit is a stationary point, and nothing proves more"


def _history(model: LinearModel) -> list[str]:
    """A line per update."""
    return [
        f"updated {one['date']} with {one['documents']} documents of {one['corpus']}"
        + f", {one['new_features']} new features"
        + (f", {len(one['new_categories'])} new categories" if one["new_categories"] else "")
        + f"; the past counts for {one['counts_for']:,.0f} documents"
        for one in model.provenance.get("updates", [])
    ]


def _common_value(model: LinearModel) -> str:
    values = model.fits.variance
    return f" ({values[0]:.4g})" if len(values) and (values == values[0]).all() else ""


def _relative_gap(record: Record) -> str:
    return "" if math.isnan(record["gap"]) else f"{record['gap'] / (record['objective'] or 1.0):.1e}"


def _overview(model: LinearModel, records: list[Record]) -> Table:
    """A line per category. A column that says the same of all is left out: the head has it."""
    columns = {
        "positives": [str(r["positives"]) for r in records],
        "features": [str(r["features"]) for r in records],
        "variance": [f"{r['variance']:.4g}" for r in records],
        "rel. gap": [_relative_gap(r) for r in records],
        "threshold": ["" if r["threshold"] is None else f"{r['threshold']:.3f}" for r in records],
    }
    if model.converted_from:
        columns = {name: columns[name] for name in ("features", "threshold")}
    elif _common_value(model):
        del columns["variance"]
    if set(columns["threshold"]) in ({""}, {"0.500"}):
        del columns["threshold"]
    grid = table("category", *columns, "strongest words", left=(0, len(columns) + 1))
    grid.columns[-1].no_wrap = True
    taken = sum(2 + max(map(len, (name, *cells))) for name, cells in columns.items())
    room = width() - taken - max(len("category"), *(len(str(r["category"])) for r in records)) - 2
    for i, record in enumerate(records):
        grid.add_row(str(record["category"]), *(cells[i] for cells in columns.values()), _words(record, room, model))
    return grid


def _words(record: Record, room: int, model: LinearModel) -> Text:
    """As many as there is room for."""
    from rich.text import Text

    words = Text()
    for item in record["weights"]:
        word = f"{'  ' if words else ''}{readable(item['feature'], model)} {item['weight']:+.2f}"
        if words and len(words) + len(word) > room:
            break
        words.append(word, "green" if item["weight"] > 0 else "red")
    return words


def _in_full(record: Record, model: LinearModel) -> list[RenderableType]:
    """One category: its facts, and a line per word."""
    from rich.text import Text

    head = Text(str(record["category"]), "bold")
    gap = _relative_gap(record)
    certificate = f"relative gap {gap}" if gap else f"largest violation {record['kkt']:.1e}"
    facts = [f"{record['features']} features"]
    if not model.converted_from:
        facts = [f"{record['positives']} positives", *facts, f"variance {record['variance']:.4g}", certificate]
    facts += [] if record["threshold"] is None else [f"threshold {record['threshold']:.3f}"]
    head.append("  " + ", ".join(facts), "not bold")
    lines: list[RenderableType] = [head, Text(f"  {record['intercept']:+10.3f}  (intercept)", "dim")]
    for item in record["weights"]:
        line = Text(f"  {item['weight']:+10.3f}  ", "green" if item["weight"] > 0 else "red")
        line.append(readable(item["feature"], model))
        if item.get("interval"):
            line.append(f"  {item['interval'][0]:+.3f} to {item['interval'][1]:+.3f}", "dim")
        if item.get("share") is not None:
            line.append(f"  in {round(item['share'] * record['halves'])} of {record['halves']} halves", "dim")
        if item.get("documents") is not None:
            line.append(f"  {item['documents']} document{'s' * (item['documents'] != 1)}", "dim")
        if item.get("stand_ins"):
            line.append(f"  could stand in for it: {', '.join(readable(w, model) for w in item['stand_ins'])}", "dim")
        if item.get("members", 1) > 1:
            line.append(f"  ({item['members']} alike, to “{readable(item['longest'], model)}”)", "dim")
        lines.append(line)
    if record.get("expected_false") is not None:
        lines.append(
            f"  halves keep {record['kept_per_half']:.1f} words on average; of those in 90 % or more of them, at most "
            f"{record['expected_false']:.2g} are there by chance"
        )
    return lines
