"""lapwing report"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import (
    SPLITS,
    ExistingPath,
    check_output,
    read_documents,
    reading_options,
    rows_named,
    split_part,
)
from lapwing.cli._output import json_option, print_json
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.errors import InputError

if TYPE_CHECKING:
    from lapwing.cli._progress import Progress
    from lapwing.corpus import Corpus
    from lapwing.model import LinearModel
    from lapwing.reporting import Contents


@click.command("report")
@click.argument(
    "models", metavar="MODEL... [DATA]", nargs=-1, required=True, type=ExistingPath("a model file or documents")
)
@click.option("-o", "--output", required=True, help="The HTML file to write.")
@click.option("--split", type=SPLITS, help="Evaluate on this part of DATA; the test part by default.")
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="CATEGORY",
    help="Fit the coefficient path of this category on the training part of DATA, or on all of it where it has no "
    "parts; may be given several times.  [default: one category, where DATA has a training part]",
)
@click.option("--no-path", is_flag=True, help="Fit no coefficient path.")
@reading_options
@json_option
def command(
    models: tuple[str, ...],
    output: str,
    reading: dict[str, Any],
    split: str | None,
    paths: tuple[str, ...],
    no_path: bool,
    as_json: bool,
) -> None:
    """Write a report about MODEL: one HTML file that opens offline, with a box to try texts in.

    With labelled documents in DATA it shows how good the model is on them, its worst mistakes, and labels that look
    wrong; without, what `lapwing evaluate --store` kept beside the model. Several models are compared on DATA: the
    first is the one reported on.
    """
    from lapwing.formats import is_model_file, load

    check_output(output)
    data = None if is_model_file(models[-1]) else models[-1]
    files = models if data is None else models[:-1]
    if not files:
        raise InputError(f"expected a model file, and {models[0]!r} is none; make one with `lapwing train`")
    if Path(output).exists() and any(Path(output).samefile(path) for path in models):
        raise InputError(f"-o must not be a file that is read, got {output!r}")
    loaded = [load(path) for path in files]
    with progress_bar(quiet=as_json) as progress:
        if data is None:
            made = _without_data(files, loaded)
        else:
            made = _with_data(files, loaded, data, reading, split, None if no_path else paths, progress)
        _write(made, output)
    size = Path(output).stat().st_size
    from lapwing.reporting import refusal

    reason = refusal(loaded[0])
    if as_json:
        print_json({"report": output, "bytes": size, "categories": len(loaded[0].categories), "live": reason is None,
                    "refusal": reason, "evaluated": made.assessment is not None})  # fmt: skip
        return
    if reason is not None:
        click.echo(f"lapwing: the box to try texts in is left out: {reason}", err=True)
    click.echo(f"wrote {output}, {size / 1e6:.1f} MB; open it in a browser")


def _write(made: Contents, output: str) -> None:
    from lapwing.formats.files import write_beside
    from lapwing.reporting import page

    write_beside(Path(output), page(made.to_dict()).encode())


def _title(path: str) -> str:
    return Path(path).name.removesuffix(".lapwing")


def _without_data(files: tuple[str, ...], loaded: list[LinearModel]) -> Contents:
    from lapwing.evaluate import stored_assessment
    from lapwing.reporting import Contents

    if len(files) > 1:
        raise InputError("models are compared on documents; give DATA after them")
    return Contents(_title(files[0]), loaded[0], stored_assessment(files[0], loaded[0]))


def _with_data(
    files: tuple[str, ...],
    loaded: list[LinearModel],
    data: str,
    reading: dict[str, Any],
    split: str | None,
    paths: tuple[str, ...] | None,
    progress: Progress,
) -> Contents:
    from lapwing.cli._documents import check_kind, check_labels, in_columns
    from lapwing.evaluate import assess
    from lapwing.reporting import Contents, Rival
    from lapwing.reporting import read_documents as documents_to_read

    corpus = read_documents(data, reading, progress)
    for model in loaded:
        check_kind(corpus.kind, model)
    chosen = split_part(corpus, split, "test")
    check_labels(chosen, loaded[0])
    assessed = []
    matrix: Any = None
    for model in reversed(loaded):  # the first last, its vectors are needed again
        matrix = model.vectors(in_columns(chosen, model))
        assessed.append(assess(model, [(matrix, chosen.labels)], corpus.name)[1])
        progress("evaluating models", 1, len(loaded))
    model = loaded[0]
    *rivals, mine = assessed
    return Contents(
        _title(files[0]),
        model,
        mine,
        documents_to_read(model, chosen.documents, matrix, chosen.ids, chosen.labels),
        _paths(model, corpus, paths, progress),
        [
            Rival(_title(path), other, one)
            for path, other, one in zip(files[1:], loaded[1:], reversed(rivals), strict=True)
        ],
    )


def _paths(
    model: LinearModel, corpus: Corpus, names: tuple[str, ...] | None, progress: Progress
) -> dict[int, dict[str, Any]]:
    from lapwing.cli._documents import in_columns
    from lapwing.evaluate import membership
    from lapwing.reporting.path import category_to_follow, coefficient_path

    ngrams = model.weighting is not None and model.weighting.settings.ngrams
    follow = bool(names) or (names is not None and "train" in corpus.split and model.link != "softmax" and not ngrams)
    if not follow:
        return {}
    rows = rows_named(model, names) if names else [category_to_follow(model)]
    training = corpus.part("train") if corpus.has_splits else corpus
    announce_compiling()
    progress.begin("fitting paths", len(rows))
    matrix = model.vectors(in_columns(training, model))
    truth = membership(training.labels, model.categories)
    found = {row: coefficient_path(model, row, matrix, truth[:, row]) for row in rows}
    progress.end()
    return found
