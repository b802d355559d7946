"""From the options of `lapwing train` to settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapwing.errors import SettingsError
from lapwing.params import CrossValidationParameters, NgramParameters, TextParameters, TrainParameters, flat_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapwing.training import TrainSettings

TABLES = (TextParameters, NgramParameters, TrainParameters, CrossValidationParameters)
DEFAULT_PRIOR = "elasticnet"
PRESETS: dict[str, dict[str, Any]] = {
    "glm07": {
        "stop_words": "smart", "stemmer": "porter", "min_df": 1, "prior": ("laplace",),
        "variance": "norm", "calibrate": False, "threshold_data": "train",
    },
    "many-labels": {"stop_words": "smart", "label_words": 10.0, "cv_variances": (10.0,), "ratio": 0.4, "tol": 1e-3},
}  # fmt: skip


def train_settings(options: dict[str, Any]) -> TrainSettings:
    """All that decides the model besides the documents."""
    from lapwing.training import TrainSettings

    _check_ngrams(options)
    values = dict(options)
    if options["ngrams"] is None:
        del values["max_length"]
    else:
        values["tokens"] = options["ngrams"]
        given_alone = ("stop_words", "stemmer", "tf", "idf", "cosine")
        values = {name: value for name, value in values.items() if name not in given_alone or given(name)}
        options = {**options, "prior": options["prior"] or ("laplace",)}
    if options["folds"] == "time":
        values["fold_by"] = values.pop("folds")
    elif not isinstance(options["folds"], int):
        raise SettingsError(f"--folds must be a whole number, or time, got {options['folds']!r}")
    values["prior"] = _prior(options["prior"], options["prior_words"], options["ratio"])
    return TrainSettings.of(values)


def settings_like(path: str, jobs: int) -> TrainSettings:
    """All settings of another model; only the number of threads is this command's."""
    from dataclasses import replace

    from lapwing.formats import load
    from lapwing.training.again import settings_of

    beside = {"preset", "ratio", "prior_words", "ngrams"}
    names = [name for table in TABLES for name in flat_names(table) if name != "n_jobs"]
    for parameter in click.get_current_context().command.params:
        name = str(parameter.name)
        if name in (*names, *beside) and given(name):
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


def given(name: str) -> bool:
    """Whether an option was given, and has not its default value."""
    return click.get_current_context().get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
