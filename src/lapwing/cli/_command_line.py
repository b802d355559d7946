"""The command that makes a model again, from the settings it carries."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from lapwing.cli._options import option_of
from lapwing.cli._train_settings import TABLES
from lapwing.params import about

if TYPE_CHECKING:
    from lapwing.training import TrainSettings

# Of settings that --ngrams makes: it has its own tokens, and features that are present or not.
NOT_OF_NGRAMS = ("tokens", "tf", "idf", "cosine", "min_df", "word_ngrams", "char_ngrams")


def train_flags(settings: TrainSettings) -> list[str] | None:
    """What `lapwing train` is to be given besides the data; None where flags cannot say it."""
    from lapwing.stats.prior_table import PriorTable
    from lapwing.stats.priors import ElasticNet, as_prior
    from lapwing.text import TextSettings
    from lapwing.training import NgramSettings, TrainSettings

    prior, ngrams = as_prior(settings.prior), settings.ngrams is not None
    awkward = (settings.class_weight, settings.threshold, settings.variance, settings.text.stop_words)
    if any(not isinstance(one, str | int | float | None) for one in awkward) or settings.random_state is None:
        return None
    if settings.text.tokens not in (("word", "char", "ready") if ngrams else ("word", "char")):
        return None
    if isinstance(prior, PriorTable) or settings.text.table != TextSettings().table:
        return None
    usual = TrainSettings(prior="gaussian" if settings.method == "selected-ridge" else TrainSettings().prior)
    flags: list[str] = []
    if ngrams:
        text = TextSettings.for_ngrams(tokens=settings.text.tokens)
        usual = TrainSettings(text=text, prior="laplace", ngrams=NgramSettings())
        flags = ["--ngrams", settings.text.tokens]
    if prior != as_prior(TrainSettings().prior if ngrams else usual.prior):
        flags += ["--prior", prior.name]
        if isinstance(prior, ElasticNet):
            flags += ["--ratio", repr(prior.ratio)]
        elif prior != as_prior(prior.name):  # it has a start of its own
            return None
    values, others = replace(settings, prior=usual.prior).flat(), usual.flat()
    if settings.fold_by != "chance":
        values["folds"] = settings.fold_by
    for one in (one for table in TABLES for one in fields(table) if about(one).group):
        name = about(one).name or one.name
        if name in values and values[name] != others[name] and not (ngrams and name in NOT_OF_NGRAMS):
            flags += _words(option_of(one), values[name])
    return flags


def _words(option: Any, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [option.opts[0] if value else option.secondary_opts[0]]
    if isinstance(value, tuple) and option.nargs == 1:
        return [option.opts[0], ",".join(map(repr, value))]
    return [option.opts[0], *map(_word, value if isinstance(value, tuple) else [value])]


def _word(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
