"""lapwing demo"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from shlex import quote

import click

from lapwing.cli._common import check_output
from lapwing.cli._output import echo, json_option, print_json
from lapwing.cli._progress import announce_compiling, progress_bar


@click.command("demo")
@click.option("-o", "--output", default="demo.lapwing", show_default=True, help="The model file to write.")
@json_option
def command(output: str, as_json: bool) -> None:
    """Train on the docstrings of Python's standard library, by package, and evaluate on those held out.

    Nothing is downloaded: the corpus is on every machine that has Python.
    """
    from lapwing.cli.evaluate import print_evaluation
    from lapwing.corpus import stdlib_docstrings
    from lapwing.evaluate import evaluate
    from lapwing.evaluate.documents import blocks_of
    from lapwing.formats import save

    check_output(output)
    with progress_bar(quiet=as_json) as progress:
        progress.begin("reading docstrings")
        corpus = stdlib_docstrings()
        progress.end(len(corpus))
        announce_compiling()
        from lapwing.training import TrainSettings, train

        training, test = corpus.part("train"), corpus.part("test")
        model = train(training, TrainSettings(n_jobs=-1), progress=progress)
        save(model, output)
    result = evaluate(model, blocks_of(test, model))
    if as_json:
        print_json({"model": output, **result.to_dict()})
        return
    print_evaluation(result)
    macro = 100 * result.averages()["macro"]["f1"]
    echo()
    echo(f"macro F1 {macro:.1f} on {len(test)} docstrings not seen before, after training on {len(training)}")
    echo(f"model file: {output}")
    echo()
    echo("next, try:")
    # After `make demo` the command is in .venv/bin only.
    program = "lapwing" if shutil.which("lapwing") or not Path(sys.argv[0]).is_file() else quote(sys.argv[0])
    echo(f"  {program} inspect {quote(output)}")
    echo(f"  {program} explain {quote(output)} 'Add a handler to this logger'")
    echo(f"  echo 'Open a socket and wait for a connection' | {program} classify {quote(output)} --top 3")
    echo(f"  {program} train YOUR-DATA -o your.lapwing")
