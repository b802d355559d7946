"""lapwing convert"""

from __future__ import annotations

from pathlib import Path

import click

from lapwing.cli._common import ExistingPath, check_output, rows_named
from lapwing.errors import SettingsError

KINDS = ("lapwing", "bbr", "bmr")


@click.command("convert")
@click.argument("source", type=ExistingPath("a model file", folder=False))
@click.argument("output")
@click.option("--to", "to", type=click.Choice(KINDS), help="What to write; a lapwing model becomes a BBR model, "
              "every other one a lapwing model, unless told.")  # fmt: skip
@click.option("--category", help="Of a model with several categories, the one for a BBR file.")
@click.option("--features", help="Give features that are words numbers, and write those to this file.")
@click.option("--modelname", default="", help="A name to keep in a BBR or BMR file.")
def command(
    source: str, output: str, to: str | None, category: str | None, features: str | None, modelname: str
) -> None:
    """Convert a model file of BBR, BMR or lapwing into one of the others.

    BBR and BMR files hold weights of numbered features and nothing of how texts become numbers: documents for
    them must be weighted as the model's own were.
    """
    from lapwing.model import load, save
    from lapwing.model.bbr import feature_ids, from_linear, kind_of, read_bbr_model, to_linear, write_bbr_model

    check_output(output, source)
    kind = kind_of(source) or "lapwing"
    to = to or ("bbr" if kind == "lapwing" else "lapwing")
    if kind == "bbr":
        model = to_linear(read_bbr_model(source), Path(source).name)
    else:
        model = load(source)
    if to == "lapwing":
        save(model, output)
    else:
        rows = rows_named(model, [category] if category is not None else [])
        if len(rows) > 1:
            raise SettingsError(f"a BBR file holds one category, and the model has {len(rows)}; choose with --category")
        ids = feature_ids(model, numbered=features is not None)
        write_bbr_model(from_linear(model, rows[0], name=modelname, numbered=features is not None), output)
        if features is not None:
            from lapwing.model.file import write_beside

            lines = "".join(f"{i}\t{name}\n" for i, name in zip(ids, model.feature_names, strict=True))
            write_beside(Path(features), lines.encode())
    click.echo(f"wrote {output}: {to} model from {kind}")
