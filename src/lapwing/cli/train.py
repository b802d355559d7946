"""lapwing train"""

from __future__ import annotations

import math
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import (
    SPLITS,
    check_output,
    data_argument,
    read_documents,
    reading_options,
    split_part,
)
from lapwing.cli._output import echo, json_option, print_json
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.errors import SettingsError

PRIORS = ("laplace", "gaussian", "elasticnet", "jeffreys")

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapwing.corpus import Corpus
    from lapwing.model import LinearModel


def _number_or_name(value: str) -> str | float:
    try:
        return float(value)
    except ValueError:
        return value


def _numbers(value: str | None) -> tuple[float, ...] | None:
    try:
        return None if value is None else tuple(float(part) for part in value.split(","))
    except ValueError:
        raise SettingsError(f"--cv-variances must be numbers with commas between them, got {value!r}") from None


def _jobs(context: click.Context, parameter: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 threads do no work; give a number, or -1 for every core", context, parameter)
    return value


def _prior(chosen: Sequence[str], words: str | None) -> Any:
    """A prior by name, with what files say of features on top."""
    from lapwing.stats.prior_files import read, read_words

    names = [value for value in chosen if value in PRIORS]
    files = [value for value in chosen if value not in PRIORS]
    for value in files:
        if not Path(value).exists():
            wanted = ", ".join(map(repr, PRIORS))
            raise SettingsError(f"--prior must be one of {wanted}, or a prior file, got {value!r}; found no such file")
    if len(names) > 1 or len(files) > 1:
        raise SettingsError(f"--prior takes one name and one file at most, got {', '.join(chosen)}")
    base = names[0] if names else PRIORS[0]
    tables = [read(path, base) for path in files] + ([] if words is None else [read_words(words, base=base)])
    return sum(tables[1:], tables[0]) if tables else base


def _stop_words(value: str) -> str | tuple[str, ...]:
    if value in ("smart", "none"):
        return value
    try:
        return tuple(Path(value).read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--stop-words must be smart, none or a file of words; {value}: {error}") from error


@click.command("train")
@data_argument
@click.option("-o", "--output", required=True, help="The model file to write.")
@click.option("--split", type=SPLITS, help="Train on this part; the training part by default.")
@click.option(
    "--method",
    type=click.Choice(["map", "selected-ridge"]),
    default="map",
    show_default=True,
    help="The most probable weights, or those of ridge, pruned.",
)
@click.option(
    "--prior",
    multiple=True,
    help="laplace, gaussian, elasticnet or jeffreys, and a file of what is known of features (feature mode variance "
    "sign [category]): one, the other, or both by giving it twice.  [default: laplace]",
)
@click.option("--prior-words", help="A file of words that speak for categories: a category, a tab, words.")
@click.option("--multi-class", type=click.Choice(["ovr", "multinomial"]), default="ovr", show_default=True,
              help="A model for each category, or one over all exclusive classes.")  # fmt: skip
@click.option("--reference-class", help="multinomial: the class whose coefficients are all 0.")
@click.option("--link", type=click.Choice(["logit", "probit"]), default="logit", show_default=True)
@click.option("--alpha", help="selected-ridge: its penalty, a number or cv  [default: the universal penalty]")
@click.option(
    "--hessian",
    type=click.Choice(["diagonal", "full"]),
    default="diagonal",
    show_default=True,
    help="selected-ridge: features taken as independent, or not.",
)
@click.option(
    "--variance",
    default="norm",
    show_default=True,
    help="Prior variance: norm (from the data), cv (over a grid), auto (searched), or a number.",
)
@click.option("--cv-variances", help="The grid for --variance cv: numbers with commas between them.")
@click.option("--cv-folds", type=click.IntRange(min=2), default=10, show_default=True)
@click.option("--cv-runs", type=click.IntRange(min=1), default=2, show_default=True, help="Folds taking a turn.")
@click.option("--validation", is_flag=True, help="Compare on the validation part of DATA instead of on folds.")
@click.option("--one-se", is_flag=True, help="The strongest prior within one standard error of the best.")
@click.option(
    "--solver",
    type=click.Choice(["auto", "clg", "em", "exact", "greedy"]),
    default="auto",
    show_default=True,
    help="n-grams: exact (which auto is) or greedy; else auto, clg or em.",
)
@click.option("--intercept-variance", type=float, help="Another variance for the intercept; inf for none.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="Give both sides of each decision equal weight.")
@click.option(
    "--threshold",
    default="default",
    help="A probability, or tuned: error, f1, ber, t11u, t13u, expected_f1  [default: 0.5]",
)
@click.option(
    "--threshold-data",
    type=click.Choice(["train", "cv"]),
    default="train",
    show_default=True,
    help="Tune on training scores or on held-out ones.",
)
@click.option("--select-features", type=click.IntRange(min=1), help="Keep so many features per category.")
@click.option(
    "--feature-score",
    type=click.Choice(["bns", "chi2", "pearson", "yule"]),
    default="bns",
    show_default=True,
    help="What --select-features ranks by.",
)
@click.option(
    "--max-features",
    type=click.IntRange(min=1),
    help="At most so many features per category, chosen by a prior as strong as that takes.",
)
@click.option("--standardize", is_flag=True, help="Centre and scale every feature.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the folds.")
@click.option("--tol", type=float, default=1e-4, show_default=True, help="Bound on the relative duality gap.")
@click.option("--max-iter", type=click.IntRange(min=1), default=500, show_default=True, help="Most rounds of a fit.")
@click.option("--ngrams", type=click.Choice(["word", "char"]), help="Features are n-grams of words or characters.")
@click.option("--max-length", type=click.IntRange(min=1), help="n-grams: most tokens  [default: any number]")
@click.option(
    "--min-support",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="n-grams: fewest documents one must be in.",
)
@click.option("--steps", help="n-grams, greedy: a number of steps, or cv  [default: until the scores settle]")
@click.option("--tokens", type=click.Choice(["word", "char", "ready", "jieba"]), default="word", show_default=True,
              help="Words, characters, what stands between blanks, or Chinese words by jieba.")  # fmt: skip
@click.option("--digits/--no-digits", default=True, show_default=True, help="Whether digits are part of words.")
@click.option("--strip-html", is_flag=True, help="Remove markup first.")
@click.option("--stop-words", default="smart", show_default=True, help="smart, none, or a file of words.")
@click.option("--stemmer", default="porter", show_default=True, help="A Snowball stemmer by name, or none.")
@click.option("--tf", type=click.Choice(["log", "raw", "binary"]), default="log", show_default=True)
@click.option("--idf/--no-idf", default=True, show_default=True)
@click.option("--cosine/--no-cosine", default=True, show_default=True)
@click.option(
    "--min-df",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Fewest documents a word must be in.",
)
@click.option(
    "--word-ngrams",
    type=int,
    nargs=2,
    default=(1, 1),
    show_default=True,
    metavar="FROM TO",
    help="Words in a row that are features: 1 2 for single words and pairs, up to 3.",
)
@click.option(
    "--char-ngrams",
    type=int,
    nargs=2,
    metavar="FROM TO",
    help="Features are characters in a row, as 3 5, inside words; with --tokens char across them.",
)
@click.option(
    "--jobs",
    type=int,
    callback=_jobs,
    default=-1,
    help="Threads; -1 for every core. Results do not depend on it.",
)
@reading_options
@json_option
def command(
    data: str,
    output: str,
    reading: dict[str, Any],
    split: str | None,
    validation: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a model on the labelled documents of DATA and write it to a file.

    DATA is a file, folder or archive: JSON lines, CSV, TSV, a folder per class, Reuters-21578, RCV1 token
    files, SMART records or svmlight vectors. A run that was stopped, started again with the same command,
    goes on from the categories it had finished, kept in a file beside the output.
    """
    check_output(output, data)
    if options["method"] == "selected-ridge" and not _given("prior"):
        options["prior"] = ("gaussian",)
    settings = _settings(options)
    with progress_bar(quiet=as_json) as progress:
        documents = read_documents(data, reading, progress)
        corpus = split_part(documents, split, "train")
        apart = documents.part("validation") if validation else None
        announce_compiling()
        from lapwing.formats import save
        from lapwing.training import train

        checkpoint = Path(f"{output}.checkpoint")
        model = train(corpus, settings, progress=progress, validation=apart, checkpoint=checkpoint)
        save(model, output)
        checkpoint.unlink(missing_ok=True)
    summary = _summary(output, corpus, model)
    if as_json:
        print_json(summary)
    else:
        _print(summary)


def _summary(output: str, corpus: Corpus, model: LinearModel) -> dict[str, Any]:
    kept, fits = model.n_kept, model.fits
    return {
        "model": output,
        "corpus": corpus.name,
        "documents": len(corpus),
        "skipped": corpus.skipped,
        "classes": len(model.classes),
        "categories": len(model.categories),
        "features": len(model.feature_names),
        "features_per_category": {"min": int(kept.min()), "max": int(kept.max()), "mean": float(kept.mean())},
        "sparsity": model.sparsity,
        "selected_ridge": _pruned(model),
        "ngrams": model.provenance.get("ngrams"),
        "largest_relative_gap": max(
            float(g) / (float(p) or 1.0) for g, p in zip(fits.gap, fits.objective, strict=True)
        ),
        "largest_violation": float(fits.kkt.max()),
        "converged": bool(fits.converged.all()),
        **_squeezed(model),
        "stationary_only": model.provenance["prior"] == "jeffreys",
    }


def _pruned(model: LinearModel) -> dict[str, Any] | None:
    """What Selected Ridge came to: objectives are sums over categories."""
    made = model.provenance.get("selected_ridge")
    if made is None:
        return None
    return {
        "alpha": {"min": min(made["alpha"]), "max": max(made["alpha"])},
        "ridge_objective": float(model.fits.objective.sum()),
        "objective": sum(made["objective"]),
    }


def _squeezed(model: LinearModel) -> dict[str, Any]:
    """Which categories have fewer features than allowed, and why."""
    reasons = model.provenance.get("squeezed")
    if reasons is None:
        return {}
    return {"squeezed": {str(c): why for c, why in zip(model.categories, reasons, strict=True) if why}}


def _print(summary: dict[str, Any]) -> None:
    skipped = f", {summary['skipped']} broken records skipped" if summary["skipped"] else ""
    echo(f"trained on {summary['documents']} documents of {summary['corpus']}{skipped}")
    kept, gap = summary["features_per_category"], summary["largest_relative_gap"]
    if summary["categories"] == 1:
        size = (
            f"{summary['classes']} classes, {kept['max']}" if summary["classes"] > 1 else f"1 category, {kept['max']}"
        )
    else:
        size = f"{summary['categories']} categories, {kept['min']} to {kept['max']} (mean {kept['mean']:.1f})"
    proof = (
        f"largest violation {summary['largest_violation']:.1e}"
        if math.isnan(gap)
        else f"largest relative gap {gap:.1e}"
    )
    if summary["stationary_only"]:
        proof = (
            f"stationary with a positive-definite Hessian on these, largest slope {summary['largest_violation']:.1e}"
        )
    if space := summary["ngrams"]:
        of = f"n-grams kept, of {space['ngrams']:,} in {space['columns']:,} different sets of documents"
    else:
        of = f"of {summary['features']} features kept"
    echo(f"{size} {of}; {proof}")
    if pruned := summary["selected_ridge"]:
        echo(
            f"sparsity {summary['sparsity']:.4f}; sum of the objectives {pruned['ridge_objective']:.6g} at the ridge "
            f"solutions, {pruned['objective']:.6g} after pruning"
        )
    for category, reason in summary.get("squeezed", {}).items():
        echo(f"  {category}: {reason}")
    echo(f"wrote {summary['model']}; try: lapwing inspect {quote(summary['model'])}")


def _settings(options: dict[str, Any]) -> Any:
    from lapwing.selection.variance import CrossValidation
    from lapwing.text import TextSettings
    from lapwing.training import NgramSettings, TrainSettings

    _check_ngrams(options)
    ngrams = None
    if options["ngrams"] is not None:
        steps = None if options["steps"] is None else _number_or_name(options["steps"])
        ngrams = NgramSettings(
            max_length=options["max_length"], min_support=options["min_support"],
            steps=int(steps) if isinstance(steps, float) and steps.is_integer() else steps,  # type: ignore[arg-type]
        )  # fmt: skip
        options = {**options, "tokens": options["ngrams"], "tf": "binary", "idf": False, "cosine": False}
        options |= {name: "none" for name in ("stop_words", "stemmer") if not _given(name)}
    text = TextSettings(
        tokens=options["tokens"], digits=options["digits"], strip_html=options["strip_html"],
        stop_words=_stop_words(options["stop_words"]), stemmer=options["stemmer"], tf=options["tf"],
        idf=options["idf"], cosine=options["cosine"], min_df=options["min_df"],
        word_ngrams=options["word_ngrams"], char_ngrams=options["char_ngrams"],
    )  # fmt: skip
    plan = CrossValidation(
        variances=_numbers(options["cv_variances"]), folds=options["cv_folds"], runs=options["cv_runs"],
        one_se=options["one_se"],
    )  # fmt: skip
    return TrainSettings(
        text=text, method=options["method"], hessian=options["hessian"],
        alpha=None if options["alpha"] is None else _number_or_name(options["alpha"]),
        multi_class=options["multi_class"], reference_class=options["reference_class"],
        prior=_prior(options["prior"], options["prior_words"]), link=options["link"],
        variance=_number_or_name(options["variance"]), cv=plan,
        intercept_variance=options["intercept_variance"], solver=options["solver"],
        class_weight=options["class_weight"], threshold=_number_or_name(options["threshold"]),
        threshold_data=options["threshold_data"], select_features=options["select_features"],
        feature_score=options["feature_score"], max_features=options["max_features"],
        standardize=options["standardize"], tol=options["tol"],
        max_iter=options["max_iter"], n_jobs=options["jobs"], random_state=options["seed"], ngrams=ngrams,
    )  # fmt: skip


def _given(name: str) -> bool:
    """Whether an option was given, and has not its default value."""
    return click.get_current_context().get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def _check_ngrams(options: dict[str, Any]) -> None:
    """Options that only n-grams have, and those that they have not."""
    if options["ngrams"] is None:
        for name in filter(_given, ("max_length", "min_support", "steps")):
            raise SettingsError(f"--{name.replace('_', '-')} belongs to --ngrams; add --ngrams word or --ngrams char")
        if options["solver"] in ("exact", "greedy"):
            raise SettingsError(f"--solver {options['solver']} belongs to --ngrams; add --ngrams word or --ngrams char")
        return
    for name in filter(_given, ("tokens", "tf", "idf", "cosine", "min_df", "word_ngrams", "char_ngrams")):
        instead = {"tokens": "give --ngrams its value", "min_df": "use --min-support"}.get(name, "leave it out")
        raise SettingsError(
            f"--{name.replace('_', '-')} has no place beside --ngrams, whose features are present or not; {instead}"
        )
