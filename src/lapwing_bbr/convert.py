"""lapwing convert"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lapwing.cli._common import ExistingPath, check_output, rows_named
from lapwing.cli._output import echo
from lapwing.errors import InputError, SettingsError

if TYPE_CHECKING:
    from lapwing.model import LinearModel


@click.command("convert")
@click.argument("source", type=ExistingPath("a model file", folder=False))
@click.argument("output")
@click.option(
    "--to",
    type=click.Choice(["lapwing", "bbr", "bmr"]),
    help="Format to write; by default BBR, or BMR for a multinomial model, and lapwing for a file of BBR or BMR.",
)
@click.option("--category", help="Which category to write, where there are several: a BBR file holds one.")
@click.option(
    "--features",
    help="Replace names of features (for BMR also of classes) by numbers, and list the numbers in this file.",
)
@click.option("--modelname", default="", help="Model name to store in a BBR or BMR file.")
def command(
    source: str, output: str, to: str | None, category: str | None, features: str | None, modelname: str
) -> None:
    """Convert a model file of BBR, BMR or lapwing into one of the others.

    BBR and BMR files hold weights of numbered features and nothing of how texts become numbers: documents for
    them must be weighted as the model's own were.
    """
    from lapwing.formats import save
    from lapwing_bbr import files as bbr

    check_output(output, source, name="OUTPUT")
    if features is not None:
        check_output(features, source, name="--features")
    kind = bbr.kind_of(source) or "lapwing"
    model = _load(source, kind)
    to = to or ("lapwing" if kind != "lapwing" else "bmr" if model.link == "softmax" else "bbr")
    numbered = features is not None
    if to == "lapwing":
        save(model, output)
    elif to == "bmr":
        bbr.write_bmr_model(bbr.bmr_from_linear(model, name=modelname, numbered=numbered), output)
    else:
        rows = rows_named(model, [category] if category is not None else [])
        if len(rows) > 1:
            raise SettingsError(f"a BBR file holds one category, and the model has {len(rows)}; choose with --category")
        bbr.write_bbr_model(bbr.from_linear(model, rows[0], name=modelname, numbered=numbered), output)
        if model.exclusive and len(model.classes) > 2:
            echo(f"classes share their probabilities, and a BBR file holds one: {output} gives that of "
                 f"{model.categories[rows[0]]} by itself (category_proba) and does not know which is the largest",
                 err=True)  # fmt: skip
    if features is not None:
        _write_numbers(model, features, to)
    echo(f"wrote {output}: {to} model from {kind}")


def _load(source: str, kind: str) -> LinearModel:
    from lapwing.formats import load
    from lapwing_bbr import files as bbr

    if kind == "lapwing":
        return load(source)
    model, cosine = bbr.load(source)
    if cosine:
        raise InputError(
            f"{source}: the model divides documents by their norms (cosineNormalize 1), which a model of vectors "
            "does not; `lapwing bbr classify` does"
        )
    return model


def _write_numbers(model: LinearModel, path: str, to: str) -> None:
    """Lines of number and name; classes, where they have numbers too, after the word class."""
    from lapwing.files import write_beside
    from lapwing_bbr import files as bbr

    lines = [f"{i}\t{name}\n" for i, name in zip(bbr.feature_ids(model, True), model.feature_names, strict=True)]
    if to == "bmr":
        pairs = zip(bbr.class_ids(model, True), model.classes, strict=True)
        lines += [f"class\t{i}\t{label}\n" for i, label in pairs]
    write_beside(path, "".join(lines).encode())
