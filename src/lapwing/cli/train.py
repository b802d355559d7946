"""lapwing train"""

from __future__ import annotations

from contextlib import closing
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
    NumberOrShare,
    Size,
    check_output,
    data_argument,
    read_documents,
    reading_options,
    split_part,
)
from lapwing.cli._help import Grouped
from lapwing.cli._installed import Installed
from lapwing.cli._output import echo, json_option, print_json
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.cli._train_settings import PRESETS, given, settings_like, train_settings
from lapwing.cli._trained import print_summary, summary_of

if TYPE_CHECKING:
    from lapwing.corpus import Corpus, Overview
    from lapwing.shards.folder import WorkFolder


def _jobs(context: click.Context, parameter: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 threads do no work; give a number, or -1 for every core", context, parameter)
    return value


# Headings of --help, and the options below each; the rest stands under the last.
GROUPS = {
    "Most used": ("output", "dry_run", "text_column", "label_column", "label_separator", "holdout"),
    "Data": ("format_", "encoding", "split", "validation", "time_column", "group_column", "numeric_columns",
             "categorical_columns", "folder_level", "label_from",
             "no_header", "qrels", "reuters_split", "smart_require", "max_document", "max_expansion", "skip_bad"),
    "Text": ("tokens", "stemmer", "stop_words", "word_ngrams", "char_ngrams", "min_df", "digits", "strip_html", "tf",
             "idf", "cosine", "ngrams", "max_length", "min_support", "max_gap", "loss", "steps"),
    "Model": ("prior", "ratio", "prior_words", "label_words", "link", "multi_class", "reference_class", "method",
              "alpha", "hessian", "class_weight", "intercept_variance", "standardize", "preset", "like"),
    "Choosing": ("variance", "folds", "calibrate", "threshold", "threshold_data", "max_features", "select_features",
                 "feature_score", "cv_variances", "cv_folds", "cv_runs", "one_se"),
    "Solver and output": (),
}  # fmt: skip


@click.command("train", cls=Grouped, groups=GROUPS)
@data_argument
@click.option("-o", "--output", help="The model file to write; not needed with --dry-run.")
@click.option("--dry-run", is_flag=True, help="Say what was understood of DATA, and stop.")
@click.option("--split", type=SPLITS, help="Train on this part; the training part by default.")
@click.option("--preset", type=click.Choice(list(PRESETS)),
              help="glm07: as in Genkin, Lewis and Madigan (2007). many-labels: for subject headings by the thousand. "
                   "Other options override it.")  # fmt: skip
@click.option("--like", type=ExistingPath("a model file", folder=False), help="Train with the settings of this model.")
@click.option(
    "--method",
    type=click.Choice(["map", "selected-ridge"]),
    default="map",
    show_default=True,
    help="map: the most probable weights; selected-ridge: those of ridge regression, pruned.",
)
@click.option(
    "--prior",
    multiple=True,
    help="laplace, gaussian, elasticnet or jeffreys; or a file of what you know of features, a line each: feature, "
    "mode, variance, sign, category. Give the option twice for both.  [default: elasticnet]",
)
@click.option(
    "--ratio", type=click.FloatRange(0, 1), help="elasticnet: the share of the Laplace penalty.  [default: 0.3]"
)
@click.option("--prior-words", help="A file of words that speak for categories, a line each: category, tab, words.")
@click.option("--label-words", type=click.FloatRange(min=0), default=0.0, metavar="MODE",
              help="Draw the weights of the words of a category's own name to this, such as 10.")  # fmt: skip
@click.option("--multi-class", type=click.Choice(["ovr", "multinomial"]), default="ovr", show_default=True,
              help="ovr: a model for each category; multinomial: one over all exclusive classes.")  # fmt: skip
@click.option("--reference-class", help="multinomial: the class whose coefficients are all 0.")
@click.option("--link", default="logit", show_default=True, metavar="NAME",
              help="logit (logistic regression), probit, cloglog (complementary log-log), or robit:4 (Student's "
              "distribution of 4 degrees of freedom, 1 to 30: wrong labels pull less; not convex).")  # fmt: skip
@click.option("--alpha", help="selected-ridge: its penalty, a number or cv  [default: the universal penalty]")
@click.option(
    "--hessian",
    type=click.Choice(["diagonal", "full"]),
    default="diagonal",
    show_default=True,
    help="selected-ridge: prune features one by one (diagonal), or all together (full).",
)
@click.option(
    "--variance",
    default="pooled",
    show_default=True,
    help="Prior variance: pooled (one for all categories, chosen on documents left out of the fits), norm (from the "
    "number of features and the norms of documents), cv (each category by itself, over a grid), auto (the same without "
    "a grid), a number, or from:MODEL, the one that a model for a similar problem has.",
)
@click.option("--folds", default="5", show_default=True,
              help="Leave out so many portions of the documents in turn, to choose and calibrate by; or time: "
              "score each portion by fits to earlier ones.")  # fmt: skip
@click.option("--calibrate/--no-calibrate", default=True, show_default=True,
              help="Learn from the documents left out what probability a score means.")  # fmt: skip
@click.option("--holdout", type=click.FloatRange(min=0.01, max=0.9),
              help="Keep this share of the documents out of training, and evaluate on them: drawn by chance, groups "
              "together, or with --folds time the latest ones.")  # fmt: skip
@click.option("--curvature", type=Curvature("diagonal", "none"), default="diagonal", show_default=True,
              help="What the model remembers of its documents' loss for `lapwing update`: diagonal nothing between "
              "the weights of a category, a RANK as much as a matrix of it holds. 20 brings ten updates of Reuters to "
              "a macro F1 of 51.4, diagonal to 45.2, training anew 52.3; its memory is some 15 times as "
              "large.")  # fmt: skip
@click.option("--cv-variances", help="Variances that pooled and cv compare, with commas between them.")
@click.option(
    "--cv-folds",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    help="cv and auto: cut the documents into so many portions.",
)
@click.option("--cv-runs", type=click.IntRange(min=1), default=2, show_default=True,
              help="cv and auto: leave out so many of these portions in turn.")  # fmt: skip
@click.option(
    "--validation",
    is_flag=True,
    help="Choose variances on the validation part of DATA instead of on portions left out.",
)
@click.option("--one-se", is_flag=True, help="cv: take the strongest prior within one standard error of the best.")
@click.option(
    "--solver",
    type=Installed("solvers", "auto", "exact", "greedy"),
    default="auto",
    show_default=True,
    help="auto: certified Newton; clg, em: the algorithms of 2007 and 2003. With --ngrams: exact (as auto), greedy.",
)
@click.option(
    "--intercept-variance", type=float, help="A variance of its own for the intercept; inf for no prior on it."
)
@click.option(
    "--class-weight",
    type=click.Choice(["balanced"]),
    help="Exclusive classes: give each the same total weight. Label sets: give each category's positives and negatives "
    "the same total weight.",
)
@click.option(
    "--threshold",
    default="default",
    help="Say yes above this probability; or tune it for error, f1, ber, t11u or t13u; or expected_f1, which decides "
    "on all documents together.  [default: 0.5]",
)
@click.option(
    "--threshold-data",
    type=click.Choice(["cv", "train"]),
    default="cv",
    show_default=True,
    help="Tune thresholds on documents left out of the fits (cv), or on those trained on.",
)
@click.option(
    "--select-features",
    type=NumberOrShare(),
    help="Keep only this many features of each category, the best ones, or, by stability or bolasso, those that a "
    "share such as 0.9 of the samples keeps.",
)
@click.option(
    "--feature-score",
    type=click.Choice(["bns", "chi2", "pearson", "yule", "stability", "bolasso"]),
    default="bns",
    show_default=True,
    help="What --select-features ranks by.",
)
@click.option(
    "--max-features",
    type=click.IntRange(min=1),
    help="Let each category have at most so many features, by a prior as strong as that takes.",
)
@click.option("--standardize", is_flag=True, help="Scale every feature to mean 0 and standard deviation 1.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed for dealing documents into portions.",
)
@click.option(
    "--tol",
    type=float,
    default=1e-4,
    show_default=True,
    help="Stop a fit when its duality gap is below this share of its objective.",
)
@click.option(
    "--max-iter",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Stop a fit after so many rounds, with a warning.",
)
@click.option("--ngrams", type=click.Choice(["word", "char", "ready"]),
              help="Features are n-grams of words, of characters, or of what is between blanks (ready).")  # fmt: skip
@click.option("--max-gap", type=click.IntRange(min=0), default=0,
              help="n-grams: up to so many tokens between one and the next, as in harvest * wheat.")  # fmt: skip
@click.option("--loss", type=click.Choice(["likelihood", "squared_hinge"]), default="likelihood", show_default=True,
              help="n-grams: what a fit minimises besides the prior's penalty.")  # fmt: skip
@click.option("--max-length", type=click.IntRange(min=1), help="n-grams: longest, in tokens.  [default: any length]")
@click.option(
    "--min-support",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="n-grams: leave out those in fewer documents.",
)
@click.option("--steps", help="n-grams, greedy: a number of steps, cv (as many as held-out documents prefer), or "
              "settled (until the scores are).  [default: cv]")  # fmt: skip
@click.option("--tokens", type=click.Choice(["word", "char", "ready", "jieba"]), default="word", show_default=True,
              help="Cut texts into words, characters, what is between blanks (ready), or Chinese words.")  # fmt: skip
@click.option("--digits/--no-digits", default=True, show_default=True, help="Count digits as letters of words.")
@click.option("--strip-html", is_flag=True, help="Remove HTML markup first.")
@click.option(
    "--stop-words",
    default="none",
    show_default=True,
    help="Leave out these words: smart (the SMART list), none, or a file of words.",
)
@click.option("--stemmer", default="porter", show_default=True, help="A Snowball stemmer, such as german; or none.")
@click.option("--tf", type=click.Choice(["log", "raw", "binary"]), default="log", show_default=True,
              help="How the count of a word in a document enters.")  # fmt: skip
@click.option("--idf/--no-idf", default=True, show_default=True, help="Weigh rare words more.")
@click.option("--cosine/--no-cosine", default=True, show_default=True, help="Scale every document to norm 1.")
@click.option(
    "--min-df",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Leave out words in fewer documents.",
)
@click.option(
    "--word-ngrams",
    type=int,
    nargs=2,
    default=(1, 1),
    show_default=True,
    metavar="FROM TO",
    help="Count so many words in a row as a feature: 1 2 for single words and pairs; 3 at most.",
)
@click.option(
    "--char-ngrams",
    type=int,
    nargs=2,
    metavar="FROM TO",
    help="Count characters in a row instead, such as 3 5, inside words; with --tokens char across them.",
)
@click.option(
    "--jobs",
    type=int,
    callback=_jobs,
    default=-1,
    help="Number of threads; -1, the default, for every core. Results do not depend on it.",
)
@cluster_options("Count words and fit categories")
@click.option("--memory", type=Size(), metavar="SIZE",
              help="Keep to so much memory: texts and matrix go to disk where they would take more.  [default: half of "
              "what there is]")  # fmt: skip
@click.option(
    "--work-dir",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Folder for them; removed at the end, and used again when a run that was stopped is started anew.  [default: "
    "beside the output]",
)
@reading_options
@json_option
def command(
    data: str,
    output: str | None,
    dry_run: bool,
    reading: dict[str, Any],
    split: str | None,
    validation: bool,
    holdout: float | None,
    curvature: str,
    preset: str | None,
    like: str | None,
    as_json: bool,
    **options: Any,
) -> None:
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
    if preset is not None:
        ours = {name: value for name, value in PRESETS[preset].items() if not given(name)}
        options |= {name: value for name, value in ours.items() if name != "ratio" or not given("prior")}
    settings = train_settings(options) if like is None else settings_like(like, options["jobs"])
    work = _work_folder(data, output, reading, options["memory"], options["work_dir"])
    with closing(work), progress_bar(quiet=as_json) as progress:
        documents = read_documents(data, reading, progress, work)
        corpus = split_part(documents, split, "train")
        understood = _overview(corpus, documents)
        if not as_json:
            _say(understood, err=True)
        apart = documents.part("validation") if validation else None
        kept_apart = None
        if holdout is not None:
            from lapwing.training.apart import divided

            parts = divided(corpus, holdout, settings)
            corpus, kept_apart = parts.part("train"), parts.part("test")
        announce_compiling()
        from lapwing.formats import save
        from lapwing.training import train

        checkpoint = Path(f"{output}.checkpoint")
        with cluster_client(options["cluster"], options["workers"]) as client:
            model = train(
                corpus, settings, progress=progress, validation=apart, checkpoint=checkpoint, client=client,
                curvature=curvature,
            )  # fmt: skip
        model.provenance["reading"] = _reading_flags(split, holdout)
        apart_result = None
        if kept_apart is not None:
            from lapwing.evaluate import conformalize, evaluate
            from lapwing.evaluate.documents import blocks_of

            apart_result = evaluate(model, blocks_of(kept_apart, model))
            model = conformalize(model, kept_apart.documents, kept_apart.labels)
        save(model, output)
        checkpoint.unlink(missing_ok=True)
        work.clear()
    summary = summary_of(output, corpus, model)
    summary["data"] = understood.to_dict()
    summary["holdout"] = None if apart_result is None else apart_result.to_dict()
    if as_json:
        print_json(summary)
    else:
        print_summary(summary)
        if apart_result is not None:
            from lapwing.cli.evaluate import print_evaluation

            click.echo(f"on the {apart_result.documents} held-out documents:\n")
            print_evaluation(apart_result)


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
