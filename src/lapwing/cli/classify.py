"""lapwing classify"""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from lapwing.cli._common import json_option, print_json, reading_options


@click.command("classify")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.argument("data", default="-")
@click.option("--split", help="Only this part of DATA (train, validation, test).")
@click.option("--top", type=click.IntRange(min=1), help="The N most probable categories instead of those decided on.")
@reading_options
@json_option
def command(model: str, data: str, reading: dict[str, Any], split: str | None, top: int | None, as_json: bool) -> None:
    """Put the documents of DATA into the categories of MODEL.

    DATA is anything `lapwing train` reads, labels not needed; "-", the default, reads one text per line from
    standard input. Prints a line `document, category, probability` for every category a document is put in, and
    `document, , ` for a document in none. With --json one object per document, with the probabilities of all
    categories, or of the --top N.
    """
    from lapwing.cli._documents import streamed
    from lapwing.model import load

    loaded = load(model)
    for ids, documents, _ in streamed(data, reading, loaded, split):
        scores = loaded.scores(documents)
        proba = loaded.sigmoid_by_class(scores)
        chosen = loaded.decide(scores)
        for i, document in enumerate(ids):
            order = np.argsort(-proba[i], kind="stable")
            if as_json:
                shown = order[:top] if top else range(len(loaded.classes))
                print_json(
                    {
                        "id": document,
                        "predicted": [loaded.classes[k] for k in order if chosen[i, k]],
                        "probabilities": {str(loaded.classes[k]): float(proba[i, k]) for k in shown},
                    }
                )
                continue
            lines = order[:top] if top else [k for k in order if chosen[i, k]]
            for k in lines:
                click.echo(f"{document}\t{loaded.classes[k]}\t{float(proba[i, k])!r}")
            if not len(lines):
                click.echo(f"{document}\t\t")
