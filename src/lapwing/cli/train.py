"""lapwing train"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lapwing.cli._common import announce_compiling, json_option, print_json, progress_bar, reading_options, split_part
from lapwing.errors import SettingsError


def _variance(value: str) -> str | float:
    try:
        return float(value)
    except ValueError:
        return value


def _stop_words(value: str) -> str | tuple[str, ...]:
    if value in ("smart", "none"):
        return value
    try:
        return tuple(Path(value).read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--stop-words must be smart, none or a file of words; {value}: {error}") from error


@click.command("train")
@click.argument("data", type=click.Path(exists=True))
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="The model file to write.")
@click.option("--split", help="Train on this part (train, validation, test, all); the training part by default.")
@click.option("--prior", type=click.Choice(["laplace", "gaussian", "elasticnet"]), default="laplace", show_default=True)
@click.option("--variance", default="norm", show_default=True, help="Prior variance: norm, or a number.")
@click.option("--intercept-variance", type=float, help="Another variance for the intercept; inf for none.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="Give both sides of each decision equal weight.")
@click.option("--threshold", type=float, help="Probability above which a document is in a category  [default: 0.5]")
@click.option("--tol", type=float, default=1e-4, show_default=True, help="Bound on the relative duality gap.")
@click.option("--tokens", type=click.Choice(["word", "char"]), default="word", show_default=True)
@click.option("--digits/--no-digits", default=True, show_default=True, help="Whether digits are part of words.")
@click.option("--strip-html", is_flag=True, help="Remove markup first.")
@click.option("--stop-words", default="smart", show_default=True, help="smart, none, or a file of words.")
@click.option("--stemmer", default="porter", show_default=True, help="A Snowball stemmer by name, or none.")
@click.option("--tf", type=click.Choice(["log", "raw", "binary"]), default="log", show_default=True)
@click.option("--idf/--no-idf", default=True, show_default=True)
@click.option("--cosine/--no-cosine", default=True, show_default=True)
@click.option("--min-df", type=int, default=1, show_default=True, help="Fewest documents a word must be in.")
@click.option("--jobs", type=int, default=-1, help="Threads; -1 for every core. Results do not depend on it.")
@reading_options
@json_option
def command(data: str, output: str, reading: dict[str, Any], split: str | None, as_json: bool, **options: Any) -> None:
    """Train a model on the labelled documents of DATA and write it to a file.

    DATA is a file, folder or archive: JSON lines, CSV, TSV, a folder per class, Reuters-21578, RCV1 token files,
    SMART records or svmlight vectors.
    """
    from lapwing.corpus import read

    settings = _settings(options)
    if not Path(output).absolute().parent.is_dir():
        raise click.BadParameter(f"the folder of {output} does not exist", param_hint="-o")
    with progress_bar(quiet=as_json) as progress:
        corpus = split_part(read(data, **reading), split, "train")
        announce_compiling()
        from lapwing.model import save
        from lapwing.training import train

        model = train(corpus, settings, progress=progress)
        save(model, output)
    kept = model.n_kept
    summary = {
        "model": output,
        "corpus": corpus.name,
        "documents": len(corpus),
        "skipped": corpus.skipped,
        "categories": len(model.categories),
        "features": len(model.feature_names),
        "features_per_category": {"min": int(kept.min()), "max": int(kept.max()), "mean": float(kept.mean())},
        "largest_relative_gap": float((model.fits.gap / model.fits.objective).max()),
        "converged": bool(model.fits.converged.all()),
    }
    if as_json:
        print_json(summary)
        return
    skipped = f", {corpus.skipped} broken records skipped" if corpus.skipped else ""
    click.echo(f"trained on {len(corpus)} documents of {corpus.name}{skipped}")
    click.echo(
        f"{len(model.categories)} categories, {kept.min()} to {kept.max()} features each (mean {kept.mean():.1f}) "
        f"of {len(model.feature_names)}; largest relative gap {summary['largest_relative_gap']:.1e}"
    )
    click.echo(f"wrote {output}; try: lapwing inspect {output}")


def _settings(options: dict[str, Any]) -> Any:
    from lapwing.text import TextSettings
    from lapwing.training import TrainSettings

    text = TextSettings(
        tokens=options["tokens"], digits=options["digits"], strip_html=options["strip_html"],
        stop_words=_stop_words(options["stop_words"]), stemmer=options["stemmer"], tf=options["tf"],
        idf=options["idf"], cosine=options["cosine"], min_df=options["min_df"],
    )  # fmt: skip
    return TrainSettings(
        text=text, prior=options["prior"], variance=_variance(options["variance"]),
        intercept_variance=options["intercept_variance"], class_weight=options["class_weight"],
        threshold="default" if options["threshold"] is None else options["threshold"],
        tol=options["tol"], n_jobs=options["jobs"],
    )  # fmt: skip
