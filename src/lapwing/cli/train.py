"""lapwing train"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._cluster import check_workers, cluster_client, cluster_options
from lapwing.cli._common import (
    HOLDOUT,
    READING,
    SPLITS,
    Curvature,
    ExistingPath,
    check_output,
    data_argument,
    read_documents,
    reading_options,
    split_part,
)
from lapwing.cli._help import Grouped
from lapwing.cli._options import Option, Size, options_of
from lapwing.cli._output import echo, json_option, print_json
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.cli._train_settings import PRESETS, TABLES, given, settings_like, train_settings
from lapwing.cli._trained import print_summary, summary_of

if TYPE_CHECKING:
    from lapwing.corpus import Corpus, Overview
    from lapwing.shards.folder import WorkFolder


RATIO = Option(["--ratio"], type=click.FloatRange(0, 1), group="Model",
               help="elasticnet: the share of the Laplace penalty.  [default: 0.3]")  # fmt: skip
PRIOR_WORDS = Option(["--prior-words"], group="Model",
                     help="A file of words that speak for categories, a line each: category, tab, words.")  # fmt: skip
NGRAMS = Option(["--ngrams"], type=click.Choice(["word", "char", "ready"]), group="Text",
                help="Features are n-grams of words, of characters, or of what is between blanks (ready).")  # fmt: skip
SETTINGS = options_of(*TABLES, after={"prior": [RATIO, PRIOR_WORDS], "cosine": [NGRAMS]})
option = partial(click.option, cls=Option)


@click.command("train", cls=Grouped, params=SETTINGS)
@data_argument
@option("-o", "--output", group="Most used", help="The model file to write; not needed with --dry-run.")
@option("--dry-run", is_flag=True, group="Most used", help="Say what was understood of DATA, and stop.")
@option("--holdout", type=click.FloatRange(min=0.01, max=0.9), group="Most used",
        help="Keep this share of the documents out of training, and evaluate on them: drawn by chance, groups "
        "together, or with --folds time the latest ones.")  # fmt: skip
@option("--split", type=SPLITS, group="Data", help="Train on this part; the training part by default.")
@option("--validation", is_flag=True, group="Data", rare=True,
        help="Choose variances on the validation part of DATA instead of on portions left out.")  # fmt: skip
@option("--preset", type=click.Choice(list(PRESETS)), group="Model",
        help="glm07: as in Genkin, Lewis and Madigan (2007). many-labels: for subject headings by the thousand. "
             "Other options override it.")  # fmt: skip
@option("--like", type=ExistingPath("a model file", folder=False), group="Model",
        help="Train with the settings of this model.")  # fmt: skip
@option("--curvature", type=Curvature("diagonal", "none"), default="diagonal", show_default=True,
        help="What the model remembers of its documents' loss for `lapwing update`: diagonal nothing between "
        "the weights of a category, a RANK as much as a matrix of it holds. 20 brings ten updates of Reuters to "
        "a macro F1 of 51.4, diagonal to 45.2, training anew 52.3; its memory is some 15 times as "
        "large.")  # fmt: skip
@cluster_options("Count words and fit categories")
@option("--memory", type=Size(), metavar="SIZE",
        help="Keep to so much memory: texts and matrix go to disk where they would take more.  [default: half of "
        "what there is]")  # fmt: skip
@option("--work-dir", type=click.Path(file_okay=False), metavar="DIR", rare=True,
        help="Folder for them; removed at the end, and used again when a run that was stopped is started anew.  "
        "[default: beside the output]")  # fmt: skip
@reading_options
@json_option
def command(
    data: str, output: str | None, dry_run: bool, reading: dict[str, Any], split: str | None, as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Train a model on the labelled documents of DATA and write it to a file.

    DATA is a file, folder or archive: JSON lines, CSV, TSV, Parquet, Arrow, a folder per class, mail, lines of
    text, Reuters-21578, RCV1 token files, SMART records, svmlight vectors or a corpus of Annif. A run that was
    stopped, started again with the same command, goes on from the categories it had finished, kept in a file beside
    the output.
    """
    if dry_run:
        _dry_run(data, reading, split, as_json)
        return
    if output is None:
        raise click.MissingParameter(param_type="option", param_hint="'-o' / '--output'")
    check_output(output, data)
    check_workers(options["cluster"], options["workers"])
    if options["method"] == "selected-ridge" and not given("prior"):
        options["prior"] = ("gaussian",)
    preset, like, holdout = options["preset"], options["like"], options["holdout"]
    if preset is not None:
        ours = {name: value for name, value in PRESETS[preset].items() if not given(name)}
        options |= {name: value for name, value in ours.items() if name != "ratio" or not given("prior")}
    settings = train_settings(options) if like is None else settings_like(like, options["n_jobs"])
    work = _work_folder(data, output, reading, options["memory"], options["work_dir"])
    with closing(work), progress_bar(quiet=as_json) as progress:
        documents = read_documents(data, reading, progress, work)
        corpus = split_part(documents, split, "train")
        understood = _overview(corpus, documents)
        if not as_json:
            _say(understood, err=True)
        validated = documents.part("validation") if options["validation"] else None
        held_out = None
        if holdout is not None:
            from lapwing.training.holdout import divided

            parts = divided(corpus, holdout, settings)
            corpus, held_out = parts.part("train"), parts.part("test")
        announce_compiling()
        from lapwing.formats import save
        from lapwing.training import train

        checkpoint = Path(f"{output}.checkpoint")
        with cluster_client(options["cluster"], options["workers"]) as client:
            model = train(
                corpus, settings, progress=progress, validation=validated, checkpoint=checkpoint, client=client,
                curvature=options["curvature"],
            )  # fmt: skip
        model.provenance["reading"] = _reading_flags(split, holdout)
        on_held_out = None
        if held_out is not None:
            from lapwing.evaluate import conformalize, evaluate
            from lapwing.evaluate.documents import blocks_of

            on_held_out = evaluate(model, blocks_of(held_out, model))
            model = conformalize(model, held_out.documents, held_out.labels)
        save(model, output)
        checkpoint.unlink(missing_ok=True)
        work.clear()
    summary = summary_of(output, corpus, model)
    summary["data"] = understood.to_dict()
    summary["holdout"] = None if on_held_out is None else on_held_out.to_dict()
    if as_json:
        print_json(summary)
    else:
        print_summary(summary)
        if on_held_out is not None:
            from lapwing.cli.evaluate import print_evaluation

            click.echo(f"on the {on_held_out.documents} held-out documents:\n")
            print_evaluation(on_held_out)


def _work_folder(data: str, output: str, reading: dict[str, Any], memory: int | None, parent: str | None) -> WorkFolder:
    from lapwing.corpus.spill import work_folder
    from lapwing.engine.memory import memory as there

    target = Path(output)
    folder = (target.parent if parent is None else Path(parent)) / f"{target.name}.shards"
    return work_folder(str(folder), data, reading, memory or int(min(there() / 2, 2**62)))


def _dry_run(data: str, reading: dict[str, Any], split: str | None, as_json: bool) -> None:
    with progress_bar(quiet=True) as progress:
        documents = read_documents(data, reading, progress)
    understood = _overview(split_part(documents, split, "train"), documents)
    if as_json:
        print_json(understood.to_dict())
    else:
        _say(understood, err=False)


def _overview(corpus: Corpus, whole: Corpus) -> Overview:
    from lapwing.corpus import overview

    return overview(corpus, whole)


def _say(understood: Overview, *, err: bool) -> None:
    for line in understood.lines():
        echo(line, err=err)


def _reading_flags(split: str | None, holdout: float | None) -> list[str]:
    """The options that say which documents were trained on, to be given again."""
    flags = [] if split is None else ["--split", split]
    flags += [] if holdout is None else [HOLDOUT, repr(holdout)]
    values = click.get_current_context().params
    for option in READING:
        value = values.get(str(option.name))
        if given(str(option.name)) and value is not None:
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            flags += [option.opts[0]] if option.is_flag else [option.opts[0], text]
    return flags
