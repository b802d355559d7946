"""lapwing report"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lapwing.cli._common import (
    BROADER,
    SPLITS,
    ExistingPath,
    apart_in_training,
    as_in_training,
    broader_file,
    check_output,
    read_documents,
    read_hierarchy,
    reading_options,
)
from lapwing.cli._output import echo, json_option, print_json
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.corpus.fields import bare
from lapwing.errors import InputError
from lapwing.files import read_regular


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
@click.option("--titles", type=ExistingPath("a file of titles", folder=False),
              help="Readable names for coded categories: lines of a category, a tab, and its title.")  # fmt: skip
@click.option("--roll-up", metavar="SEPARATOR",
              help="Judge broader labels, too: what stands before this in names, as / in science/physics.")  # fmt: skip
@click.option("--broader", type=broader_file, help=BROADER + " Judges the broader ones, too, level by level.")
@click.option("--no-path", is_flag=True, help="Fit no coefficient path.")
@reading_options
@json_option
def command(
    models: tuple[str, ...],
    output: str,
    reading: dict[str, Any],
    split: str | None,
    paths: tuple[str, ...],
    titles: str | None,
    roll_up: str | None,
    broader: str | None,
    no_path: bool,
    as_json: bool,
) -> None:
    """Write a report about MODEL: one HTML file that opens offline, with a box to try texts in.

    With labelled documents in DATA it shows how good the model is on them, its worst mistakes, and labels that look
    wrong; without, what `lapwing evaluate --store` kept beside the model. Several models are compared on DATA: the
    first is the one reported on.
    """
    from lapwing.formats import is_model_file, load
    from lapwing.reporting import report

    check_output(output)
    named = None if titles is None else read_titles(titles)
    data = None if is_model_file(models[-1]) else models[-1]
    files = models if data is None else models[:-1]
    if not files:
        raise InputError(f"expected a model file, and {models[0]!r} is none; make one with `lapwing train`")
    if Path(output).exists() and any(Path(output).samefile(path) for path in models):
        raise InputError(f"-o must not be a file that is read, got {output!r}")
    if data is None and len(files) > 1:
        raise InputError("models are compared on documents; give DATA after them")
    first = load(files[0])
    hierarchy = None if broader is None and roll_up is None else read_hierarchy(broader, first, roll_up)
    with progress_bar(quiet=as_json) as progress:
        corpus = None
        if data is not None:
            corpus = read_documents(data, as_in_training(reading, first, data), progress)
            corpus = apart_in_training(corpus, first, data)
        if corpus is not None and not no_path:
            announce_compiling()
        page = report(
            files[0], corpus, output, rivals=files[1:], split=split, follow=() if no_path else paths or None,
            titles=named, roll_up=hierarchy, progress=progress,
        )  # fmt: skip
    size = Path(output).stat().st_size
    if as_json:
        print_json({"report": output, "bytes": size, "categories": len(page.contents.model.categories),
                    "live": page.refusal is None, "refusal": page.refusal, "evaluated": page.evaluated})  # fmt: skip
        return
    if page.memorised is not None:
        echo(f"lapwing: {page.memorised}; `train --holdout 0.2` keeps some apart", err=True)
    if page.refusal is not None:
        echo(f"lapwing: the box to try texts in is left out: {page.refusal}", err=True)
    echo(f"wrote {output}, {size / 1e6:.1f} MB; open it in a browser")


def read_titles(path: str) -> dict[str, str]:
    """Titles by category: lines of a category, a tab and its title."""
    titles = {}
    try:
        lines = read_regular(path).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--titles must be a text file in UTF-8; {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        label, tab, title = line.partition("\t")
        if line.strip() and not tab:
            raise InputError(f"{path}, line {number}: expected a category, a tab and its title, got {line[:40]!r}")
        if title.strip():
            titles[bare(label)] = title.strip()
    return titles
