"""The table of parameters: what is made from it is current, and every way around it leads back."""

from __future__ import annotations

import importlib.util
import inspect
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

import lapwing
from lapwing.cli._command_line import train_flags
from lapwing.cli._train_settings import TABLES, train_settings
from lapwing.cli.train import command
from lapwing.errors import SettingsError
from lapwing.params import ReadParameters, about, flat_names
from lapwing.selection import SCORES
from lapwing.solvers.selected_ridge import HESSIANS
from lapwing.text import TextSettings
from lapwing.training import NgramSettings, TrainSettings

ROOT = Path(__file__).resolve().parents[2]
ESTIMATORS = [
    lapwing.LogTfidfVectorizer, lapwing.TextClassifier, lapwing.MAPClassifier, lapwing.SelectedRidgeClassifier,
    lapwing.NgramClassifier,
]  # fmt: skip


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("signatures", ROOT / "scripts" / "signatures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_signatures_of_the_estimators_are_current() -> None:
    made = script()
    assert made.TARGET.read_text(encoding="utf-8") == made.text(), "run python scripts/signatures.py"


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_estimator_has_the_defaults_of_a_training(kind: type[Any]) -> None:
    """But for threads, which settings have one of, and what n-grams have of their own."""
    usual = TrainSettings(
        ngrams=NgramSettings(), text=TextSettings.for_ngrams(), prior="laplace", solver="exact"
    ).flat()
    usual = usual if kind is lapwing.NgramClassifier else TrainSettings().flat()
    for name, one in inspect.signature(kind).parameters.items():
        if name not in ("n_jobs", "text_column", "numeric", "categorical"):
            assert one.default == usual[name], name


def test_names_of_options_are_unique_and_every_parameter_of_a_training_has_one() -> None:
    names = [name for table in (*TABLES, ReadParameters) for name in flat_names(table)]
    assert len(names) == len(set(names))
    options = {one.name for one in command.params}
    assert set(names) - options == {"fold_by", "header", "reuters_labels", "reuters_text"}


def test_choices_are_those_that_there_are() -> None:
    known = {about(one).name or one.name: about(one).choices for table in TABLES for one in fields(table)}
    assert set(known["feature_score"]) == set(SCORES)
    assert set(known["hessian"]) == set(HESSIANS)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--prior gaussian --variance 2.5 --no-calibrate --stemmer none --no-digits --no-idf --word-ngrams 1 2",
        "--prior elasticnet --ratio 0.7 --cv-variances 0.1,10 --variance cv --cv-folds 4 --cv-runs 3 --one-se",
        "--multi-class multinomial --reference-class b --variance norm --tol 1e-06 --max-iter 77 --seed 3",
        "--method selected-ridge --alpha cv --hessian full --folds time --class-weight balanced",
        "--method selected-ridge --alpha 0.5 --intercept-variance inf --standardize --folds 7",
        "--char-ngrams 2 4 --strip-html --stop-words smart --min-df 3 --tf binary --no-cosine --threshold 0.3",
        "--ngrams char --max-length 4 --min-support 2 --max-gap 1 --steps 30 --solver greedy --no-digits",
        "--ngrams word --steps settled --loss squared_hinge --solver exact --stemmer porter --stop-words smart",
        "--label-words 2 --link robit:4 --select-features 0.9 --feature-score stability --max-features 5",
        "--threshold f1 --threshold-data train --select-features 12",
    ],
)
def test_from_flags_to_settings_to_flags_to_a_model_file_and_back(line: str) -> None:
    settings = settings_of(line.split())
    flags = train_flags(settings)
    assert flags is not None
    assert settings_of(flags) == settings
    assert TrainSettings.from_dict(settings.to_dict()) == settings
    assert len(flags) <= len(line.split()) + 2


def settings_of(flags: list[str]) -> TrainSettings:
    with click.Context(command) as context:
        command.parse_args(context, [str(ROOT / "README.md"), "--jobs", "1", *flags])
        if context.params["method"] == "selected-ridge":
            context.params["prior"] = ("gaussian",)
        return train_settings(context.params)


@pytest.mark.parametrize(
    ("kind", "name", "value", "said"),
    [
        (TrainSettings, "multi_class", "all", "multi_class must be one of ovr, multinomial, got 'all'"),
        (TrainSettings, "folds", 1, "folds must be a whole number of 2 or more, got 1"),
        (TrainSettings, "max_iter", True, "max_iter must be a whole number of 1 or more, got True"),
        (TrainSettings, "random_state", 2**40, "random_state must be less than 2^31, got a number of 13 digits"),
        (TextSettings, "tf", "cube", "tf must be one of log, raw, binary"),
        (TextSettings, "max_gap", -1, "max_gap must be a whole number of 0 or more, got -1"),
        (NgramSettings, "loss", "hinge", "loss must be one of likelihood, squared_hinge, got 'hinge'"),
        (
            lapwing.corpus.ReadOptions,
            "reuters_split",
            "mod",
            "reuters_split must be one of modapte, modlewis, modhayes",
        ),
    ],
)
def test_a_value_that_a_parameter_cannot_have(kind: type[Any], name: str, value: Any, said: str) -> None:
    with pytest.raises(SettingsError) as error:
        kind(**{name: value})
    assert said in str(error.value)


def test_what_a_parameter_means_stands_in_the_docstring_of_its_settings() -> None:
    for kind in (TextSettings, NgramSettings, TrainSettings):
        text = inspect.getdoc(kind)
        assert text is not None
        for one in fields(kind):
            assert any(
                line.startswith(f"{one.name}  ") and len(line) > len(one.name) + 10 for line in text.splitlines()
            )
