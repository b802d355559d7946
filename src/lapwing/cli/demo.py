"""lapwing demo"""

from __future__ import annotations

from pathlib import Path

import click

from lapwing.cli._common import announce_compiling, console, json_option, print_json, progress_bar


@click.command("demo")
@click.option("-o", "--output", default="demo.lapwing", show_default=True, type=click.Path(dir_okay=False),
              help="The model file to write.")  # fmt: skip
@json_option
def command(output: str, as_json: bool) -> None:
    """Train on the docstrings of Python's standard library, by package, and evaluate on those held out.

    Nothing is downloaded: the corpus is on every machine that has Python.
    """
    from lapwing.cli._documents import blocks_of
    from lapwing.cli.evaluate import print_evaluation
    from lapwing.corpus import stdlib_docstrings
    from lapwing.evaluate import evaluate
    from lapwing.model import save

    if not Path(output).absolute().parent.is_dir():
        raise click.BadParameter(f"the folder of {output} does not exist", param_hint="-o")
    with progress_bar(quiet=as_json) as progress:
        corpus = stdlib_docstrings()
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
    out = console()
    out.print()
    out.print(
        f"macro F1 {100 * result.averages()['macro']['f1']:.1f} on {len(test)} docstrings the model had not seen, "
        f"after training on {len(training)}"
    )
    out.print(f"model file: {output}")
    out.print()
    out.print("next, try:")
    out.print(f"  lapwing inspect {output}")
    out.print(f"  lapwing explain {output} 'Return a datetime object in the given time zone'")
    out.print(f"  echo 'Open a socket and wait for a connection' | lapwing classify {output} --top 3")
    out.print("  lapwing train YOUR-DATA -o your.lapwing")
