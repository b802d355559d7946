"""The command that makes a model again, from the settings it carries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.training import TrainSettings

Value = Callable[["TrainSettings"], Any]

_VALUES: dict[str, Value] = {
    "--method": lambda s: s.method,
    "--multi-class": lambda s: s.multi_class,
    "--reference-class": lambda s: s.reference_class,
    "--link": lambda s: s.link,
    "--alpha": lambda s: s.alpha,
    "--hessian": lambda s: s.hessian,
    "--label-words": lambda s: s.label_words,
    "--variance": lambda s: s.variance,
    "--cv-variances": lambda s: None if s.cv.variances is None else ",".join(map(repr, s.cv.variances)),
    "--cv-folds": lambda s: s.cv.folds,
    "--cv-runs": lambda s: s.cv.runs,
    "--folds": lambda s: s.folds if s.fold_by == "chance" else s.fold_by,
    "--solver": lambda s: s.solver,
    "--intercept-variance": lambda s: s.intercept_variance,
    "--class-weight": lambda s: s.class_weight,
    "--threshold": lambda s: s.threshold,
    "--threshold-data": lambda s: s.threshold_data,
    "--select-features": lambda s: s.select_features,
    "--feature-score": lambda s: s.feature_score,
    "--max-features": lambda s: s.max_features,
    "--seed": lambda s: s.random_state,
    "--tol": lambda s: s.tol,
    "--max-iter": lambda s: s.max_iter,
}
_SWITCHES: dict[str, Value] = {
    "--one-se": lambda s: s.cv.one_se,
    "--standardize": lambda s: s.standardize,
    "--no-calibrate": lambda s: not s.calibrate,
}
_TEXT: dict[str, Value] = {
    "--tokens": lambda s: s.text.tokens,
    "--stemmer": lambda s: s.text.stemmer,
    "--tf": lambda s: s.text.tf,
    "--min-df": lambda s: s.text.min_df,
    "--word-ngrams": lambda s: s.text.word_ngrams,
    "--char-ngrams": lambda s: s.text.char_ngrams,
}
_TEXT_SWITCHES: dict[str, Value] = {
    "--no-digits": lambda s: not s.text.digits,
    "--strip-html": lambda s: s.text.strip_html,
    "--no-idf": lambda s: not s.text.idf,
    "--no-cosine": lambda s: not s.text.cosine,
}


def train_flags(settings: TrainSettings) -> list[str] | None:
    """What `lapwing train` is to be given besides the data; None where flags cannot say it."""
    from lapwing.stats.prior_table import PriorTable
    from lapwing.stats.priors import ElasticNet, Prior, as_prior
    from lapwing.text import TextSettings
    from lapwing.training import NgramSettings, TrainSettings

    prior = as_prior(settings.prior)
    awkward = (settings.class_weight, settings.threshold, settings.variance)
    if any(not isinstance(one, str | int | float | None) for one in awkward) or settings.random_state is None:
        return None
    if not isinstance(settings.text.stop_words, str) or settings.text.tokens not in (
        ("word", "char") if settings.ngrams is None else ("word", "char", "ready")
    ):
        return None
    if isinstance(prior, PriorTable) or settings.text.table != TextSettings().table:
        return None
    flags: list[str] = []
    default: Prior = as_prior(TrainSettings().prior)
    if settings.method == "selected-ridge":
        default = as_prior("gaussian")
    if prior != default:
        flags += ["--prior", prior.name]
        if isinstance(prior, ElasticNet):
            flags += ["--ratio", repr(prior.ratio)]
            prior = as_prior("elasticnet")
        if prior != as_prior(prior.name):  # it has a start of its own
            return None
    values, switches = dict(_VALUES), dict(_SWITCHES)
    usual = TrainSettings()
    if settings.ngrams is not None:
        usual = TrainSettings(text=TextSettings.for_ngrams(tokens=settings.text.tokens), prior="laplace")
        flags = ["--ngrams", settings.text.tokens]
        for name in ("max_length", "min_support", "loss", "steps"):
            value = getattr(settings.ngrams, name)
            if value != getattr(NgramSettings(), name):
                flags += [f"--{name.replace('_', '-')}", str(value)]
        if settings.text.max_gap:
            flags += ["--max-gap", str(settings.text.max_gap)]
        for flag in ("--stemmer",):
            values[flag] = _TEXT[flag]
    else:
        values |= _TEXT
        switches |= {name: _TEXT_SWITCHES[name] for name in ("--no-idf", "--no-cosine")}
    switches |= {name: _TEXT_SWITCHES[name] for name in ("--no-digits", "--strip-html")}
    if settings.text.stop_words != usual.text.stop_words:
        flags += ["--stop-words", settings.text.stop_words]
    for flag, value_of in values.items():
        value = value_of(settings)
        if value != value_of(usual):
            flags += [flag, *([str(one) for one in value] if isinstance(value, tuple) else [_word(value)])]
    return flags + [flag for flag, value_of in switches.items() if value_of(settings) and not value_of(usual)]


def _word(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
