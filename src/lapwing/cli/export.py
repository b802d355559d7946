"""lapwing export"""

from __future__ import annotations

import click

from lapwing.cli._common import check_output, model_argument
from lapwing.cli._installed import Installed
from lapwing.cli._output import echo

SUFFIXES = {"js": ".mjs", "python": ".py"}  # of the others their names


@click.command("export")
@model_argument
@click.option("--to", type=Installed("exporters"), required=True,
              help="js: one module, from texts. python: one file, standard library only, from texts. onnx: a graph, "
              "from counts of words.")  # fmt: skip
@click.option("-o", "--output", help="The file to write; beside the model by default.")
def command(model: str, to: str, output: str | None) -> None:
    """Write MODEL for where there is no lapwing, with the same probabilities and decisions."""
    from pathlib import Path

    from lapwing.exporting import export
    from lapwing.formats import load

    output = output or str(Path(model).with_suffix(SUFFIXES.get(to, f".{to}")))
    check_output(output, model)
    export(load(model), output, to)
    size = Path(output).stat().st_size
    echo(f"wrote {output}, {size / 1e6:.1f} MB")
