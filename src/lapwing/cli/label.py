"""lapwing label"""

from __future__ import annotations

from typing import Any

import click

from lapwing.cli._common import SPLITS, ExistingPath, check_output, data_argument, reading_options
from lapwing.cli._output import echo
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.errors import InputError

STRATEGIES = ("uncertainty", "change", "diverse", "probable", "random")


@click.command("label")
@data_argument
@click.option("-o", "--output", required=True, help="The file of answers, JSON lines; an existing one is continued.")
@click.option("--model", type=ExistingPath("a model file", folder=False),
              help="Begin with this model, which answers then update.")  # fmt: skip
@click.option("--category", "categories", multiple=True, help="A category to label with; may be given several times.")
@click.option("--prior-words", type=ExistingPath("a file of words", folder=False), metavar="FILE",
              help="Words that speak for categories, to begin with: a line each of category, tab, words.")  # fmt: skip
@click.option("--sets/--exclusive", default=False, help="A document may be in any number of categories, or in one.")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="diverse", show_default=True,
              help="Which documents come first; probable is for rare categories, random is the control.")  # fmt: skip
@click.option("--every", type=click.IntRange(min=1), default=5, show_default=True,
              help="Answers after which a model is learned anew.")  # fmt: skip
@click.option("--split", type=SPLITS, default="all", show_default=True, help="Only this part of DATA.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="0 for any free one.")
@reading_options
def command(
    data: str, output: str, model: str | None, categories: tuple[str, ...], prior_words: str | None, port: int,
    reading: dict[str, Any], **options: Any,
) -> None:  # fmt: skip
    """Label the documents of DATA on a page at this machine, those first that teach most.

    Each answer is on disk before the next document is shown; a session that was stopped, in whatever way, goes on
    with the same command. The file of answers is what `lapwing train` and `lapwing update` read.
    """
    from lapwing.corpus import read
    from lapwing.formats import load
    from lapwing.labelling import Answers, Session
    from lapwing.serve import ServeSettings
    from lapwing.serve.logs import set_up
    from lapwing.serve.run import check_installed, listen, serve_labelling
    from lapwing.stats.prior_files import read_words
    from lapwing.training import TrainSettings

    check_installed()
    check_output(output, data)
    settings = ServeSettings(host="127.0.0.1", port=port, timeout=120.0)
    listener = listen(settings)
    loaded = None if model is None else load(model)
    prior = None if prior_words is None else read_words(prior_words, base=TrainSettings().prior, strict=False)
    if prior is not None:
        categories = tuple(dict.fromkeys([*categories, *(str(row.category) for row in prior.rows)]))
    with progress_bar() as progress:
        progress.begin("reading documents")
        pool = read(data, labels_required=False, **reading).part(options.pop("split"))
        progress.end(len(pool))
        if pool.kind != "text":
            raise InputError(f"{pool.name}: expected texts for people to read, got {pool.kind}")
        announce_compiling()
        session = Session(
            pool, Answers(output), categories, model=loaded, prior=prior, exclusive=not options.pop("sets"), **options
        )  # fmt: skip
    set_up("warning")
    echo(f"label at http://127.0.0.1:{listener.getsockname()[1]}/ ; Ctrl-C ends it, answers are in {output}", err=True)
    serve_labelling(session, settings, listener)
