"""lapwing suspects"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import click

from lapwing.cli._common import SPLITS, ExistingPath, check_output, data_argument, read_documents, reading_options
from lapwing.cli._output import echo, print_json
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.errors import InputError
from lapwing.files import write_beside

SHOWN = 400  # characters of a text


@click.command("suspects")
@data_argument
@click.option("--top", type=click.IntRange(min=1), help="At most so many, the surest first.")
@click.option("--like", type=ExistingPath("a model file", folder=False), metavar="MODEL",
              help="Train with the settings of this model; those of `lapwing train` by default.")  # fmt: skip
@click.option("--with", "other", type=ExistingPath("documents (a file, folder or archive)"), metavar="OTHER",
              help="Instead, texts that are in DATA and OTHER with different labels.")  # fmt: skip
@click.option("-o", "--output", metavar="MERGED",
              help="With --with: write both corpora here, each text once, but for those printed.")  # fmt: skip
@click.option("--split", type=SPLITS, default="all", show_default=True, help="Only this part of DATA.")
@reading_options
def command(
    data: str, top: int | None, like: str | None, other: str | None, output: str | None, split: str,
    reading: dict[str, Any],
) -> None:  # fmt: skip
    """Print documents of DATA that look mislabelled, as JSON lines, the surest first.

    Every document is judged by fits that have not seen it. "labelled" says whether the document has the label in
    question; where it has, it does not look like the others that have. With --with, texts that two people labelled
    differently.
    """
    from lapwing.formats import load
    from lapwing.training import TrainSettings
    from lapwing.training.again import settings_of
    from lapwing.training.suspects import agreed, disagreements, suspects

    if output is not None:
        if other is None:
            raise InputError("-o writes two corpora merged; name the second one (--with OTHER)")
        check_output(output, data)
        check_output(output, other)
    settings = TrainSettings() if like is None else settings_of(load(like))
    with progress_bar() as progress:
        corpus = read_documents(data, reading, progress).part(split)
        if other is not None:
            both = corpus, read_documents(other, reading, progress).part(split)
            records = disagreements(*both)
        else:
            announce_compiling()
            judged = suspects(corpus, replace(settings, n_jobs=-1), progress=progress)
            records = [one.to_dict() | _text(corpus.documents, corpus.kind, one.document) for one in judged]
    for record in records[:top]:
        print_json(record)
    what = "texts labelled differently" if other is not None else "labels look wrong"
    echo(f"{len(records)} {what}, in {len(corpus)} documents", err=True)
    if output is not None:
        merged = agreed(*both)
        write_beside(output, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in merged).encode())
        echo(f"wrote {len(merged)} texts to {output}", err=True)


def _text(documents: Any, kind: str, i: int) -> dict[str, Any]:
    return {} if kind == "vectors" else {"text": documents[i][:SHOWN]}
