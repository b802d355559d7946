"""From the options of `lapwing train` to settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import READING
from lapwing.errors import SettingsError
from lapwing.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapwing.training import TrainSettings

DEFAULT_PRIOR = "elasticnet"
PRESETS: dict[str, dict[str, Any]] = {
    "glm07": {
        "stop_words": "smart", "stemmer": "porter", "min_df": 1, "prior": ("laplace",),
        "variance": "norm", "calibrate": False, "threshold_data": "train",
    },
    "many-labels": {"stop_words": "smart", "label_words": 10.0, "cv_variances": "10", "ratio": 0.4, "tol": 1e-3},
}  # fmt: skip


def train_settings(options: dict[str, Any]) -> TrainSettings:
    """All that decides the model besides the documents; `jobs` is the number of threads."""
    from lapwing.selection.variance import CrossValidation
    from lapwing.text import TextSettings
    from lapwing.training import NgramSettings, TrainSettings

    _check_ngrams(options)
    ngrams = None
    if options["ngrams"] is not None:
        steps = _number_or_name(options["steps"] or "cv")
        ngrams = NgramSettings(
            max_length=options["max_length"], min_support=options["min_support"], loss=options["loss"],
            steps=int(steps) if isinstance(steps, float) and steps.is_integer() else steps,  # type: ignore[arg-type]
        )  # fmt: skip
        options = {**options, "tokens": options["ngrams"], "tf": "binary", "idf": False, "cosine": False}
        options |= {name: "none" for name in ("stop_words", "stemmer") if not given(name)}
        options["prior"] = options["prior"] or ("laplace",)
    text = TextSettings(
        tokens=options["tokens"], digits=options["digits"], strip_html=options["strip_html"],
        stop_words=_stop_words(options["stop_words"]), stemmer=options["stemmer"], tf=options["tf"],
        idf=options["idf"], cosine=options["cosine"], min_df=options["min_df"],
        word_ngrams=options["word_ngrams"], char_ngrams=options["char_ngrams"], max_gap=options["max_gap"],
    )  # fmt: skip
    plan = CrossValidation(
        variances=_numbers(options["cv_variances"]), folds=options["cv_folds"], runs=options["cv_runs"],
        one_se=options["one_se"],
    )  # fmt: skip
    return TrainSettings(
        text=text, method=options["method"], hessian=options["hessian"],
        alpha=None if options["alpha"] is None else _number_or_name(options["alpha"]),
        multi_class=options["multi_class"], reference_class=options["reference_class"],
        prior=_prior(options["prior"], options["prior_words"], options["ratio"]), label_words=options["label_words"],
        link=options["link"],
        variance=_variance(options["variance"]), cv=plan, calibrate=options["calibrate"], **_folds(options),
        intercept_variance=options["intercept_variance"], solver=options["solver"],
        class_weight=options["class_weight"], threshold=_number_or_name(options["threshold"]),
        threshold_data=options["threshold_data"], select_features=options["select_features"],
        feature_score=options["feature_score"], max_features=options["max_features"],
        standardize=options["standardize"], tol=options["tol"],
        max_iter=options["max_iter"], n_jobs=options["jobs"], random_state=options["seed"], ngrams=ngrams,
    )  # fmt: skip


def settings_like(path: str, jobs: int) -> TrainSettings:
    """All settings of another model; only the number of threads is this command's."""
    from dataclasses import replace

    from lapwing.formats import load
    from lapwing.training.again import settings_of

    skip = ("output", "dry_run", "data", "like", "jobs", "cluster", "workers", "split", "validation", "holdout",
            "curvature", "as_json", "progress")  # fmt: skip
    reading = {option.name for option in READING}
    for parameter in click.get_current_context().command.params:
        if parameter.name not in (*skip, *reading) and given(str(parameter.name)):
            raise SettingsError(f"--like takes all settings from {path}; leave {parameter.opts[0]} out")
    return replace(settings_of(load(path)), n_jobs=jobs)


def _check_ngrams(options: dict[str, Any]) -> None:
    """Options that only n-grams have, and those that they have not."""
    if options["ngrams"] is None:
        for name in filter(given, ("max_length", "min_support", "max_gap", "loss", "steps")):
            raise SettingsError(f"--{name.replace('_', '-')} belongs to --ngrams; add --ngrams word or --ngrams char")
        if options["solver"] in ("exact", "greedy"):
            raise SettingsError(f"--solver {options['solver']} belongs to --ngrams; add --ngrams word or --ngrams char")
        return
    for name in filter(given, ("tokens", "tf", "idf", "cosine", "min_df", "word_ngrams", "char_ngrams")):
        instead = {"tokens": "give --ngrams its value", "min_df": "use --min-support"}.get(name, "leave it out")
        raise SettingsError(
            f"--{name.replace('_', '-')} has no place beside --ngrams, whose features are present or not; {instead}"
        )


def _folds(options: dict[str, Any]) -> dict[str, Any]:
    """--folds: a number, or time."""
    value = _number_or_name(options["folds"])
    if value == "time":
        return {"fold_by": "time"}
    if not isinstance(value, float) or not value.is_integer():
        raise SettingsError(f"--folds must be a whole number, or time, got {options['folds']!r}")
    return {"folds": int(value)}


def _variance(value: str) -> str | float:
    """--variance: a name, a number, or that of another model."""
    name, _, path = value.partition(":")
    if name != "from":
        return _number_or_name(value)
    from lapwing.formats import load
    from lapwing.training.again import variance_of

    return variance_of(load(path))


def _prior(chosen: Sequence[str], words: str | None, ratio: float | None) -> Any:
    """A prior by name, with what files say of features on top."""
    from lapwing.stats.prior_files import read, read_words
    from lapwing.stats.priors import PRIORS, ElasticNet

    names = [value for value in chosen if value in PRIORS]
    files = [value for value in chosen if value not in PRIORS]
    for value in files:
        if not Path(value).exists():
            wanted = ", ".join(map(repr, PRIORS))
            raise SettingsError(f"--prior must be one of {wanted}, or a prior file, got {value!r}; found no such file")
    if len(names) > 1 or len(files) > 1:
        raise SettingsError(f"--prior takes one name and one file at most, got {', '.join(chosen)}")
    base: Any = names[0] if names else DEFAULT_PRIOR
    if ratio is not None:
        if base != ElasticNet.name:
            raise SettingsError(f"--ratio belongs to --prior elasticnet, and the prior is {base}")
        base = ElasticNet(ratio)
    tables = [read(path, base) for path in files] + ([] if words is None else [read_words(words, base=base)])
    return sum(tables[1:], tables[0]) if tables else base


def _stop_words(value: str) -> str | tuple[str, ...]:
    if value in ("smart", "none"):
        return value
    try:
        return tuple(read_regular(value).decode().split())
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--stop-words must be smart, none or a file of words; {value}: {error}") from error


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


def given(name: str) -> bool:
    """Whether an option was given, and has not its default value."""
    return click.get_current_context().get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
