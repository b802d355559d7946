"""lapwing curve"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from lapwing.cli._common import ExistingPath, data_argument, read_documents, reading_options, split_part
from lapwing.cli._output import echo, json_option, print_json
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.errors import SettingsError

WIDTH = 40  # characters of a bar that stands for 100 %


@click.command("curve")
@data_argument
@click.option("--like", type=ExistingPath("a model file", folder=False), metavar="MODEL",
              help="Train with the settings of this model; those of `lapwing train` by default.")  # fmt: skip
@click.option("--shares", default="0.0625,0.125,0.25,0.5,1", show_default=True,
              help="Shares of the documents to train on, with commas between them.")  # fmt: skip
@reading_options
@json_option
def command(data: str, like: str | None, shares: str, reading: dict[str, Any], as_json: bool) -> None:
    """Show how good a model becomes with more labelled documents, and what twice as many would bring.

    Models of growing shares of the training part of DATA are judged by its test part, or by a fifth kept apart.
    """
    from lapwing.formats import load
    from lapwing.training import TrainSettings
    from lapwing.training.again import settings_of
    from lapwing.training.learning_curve import learning_curve

    try:
        wanted = [float(part) for part in shares.split(",")]
    except ValueError:
        raise SettingsError(f"--shares must be numbers with commas between them, got {shares!r}") from None
    settings = TrainSettings() if like is None else settings_of(load(like))
    with progress_bar(quiet=as_json) as progress:
        documents = read_documents(data, reading, progress)
        test = documents.part("test") if "test" in documents.split else None
        announce_compiling()
        curve = learning_curve(
            split_part(documents, None, "train"), replace(settings, n_jobs=-1), test=test, shares=wanted,
            progress=progress,
        )  # fmt: skip
    if as_json:
        print_json(curve.to_dict())
        return
    echo(f"{'documents':>9}  macro F1  micro F1  log loss  judged by {curve.judged_by:,} documents")
    for point in curve.points:
        echo(_line(point))
    if curve.twice is not None:
        echo(f"{_line(curve.twice)}  (expected)")


def _line(point: Any) -> str:
    bar = "█" * round(WIDTH * point.macro_f1)
    return (
        f"{point.documents:9,}  {100 * point.macro_f1:8.1f}  {100 * point.micro_f1:8.1f}  {point.log_loss:8.3f}  {bar}"
    )
