"""Everything that decides a model besides the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from numbers import Real
from typing import Any

import numpy as np

from lapwing.errors import SettingsError
from lapwing.params import (
    NgramParameters,
    TextParameters,
    TrainParameters,
    checked,
    described,
    flat,
    parameter,
    taken,
    whole,
)  # fmt: skip
from lapwing.plugins import plugins
from lapwing.selection import RULES, Utility
from lapwing.selection.features import SHARES
from lapwing.selection.variance import CrossValidation
from lapwing.stats.links import as_link
from lapwing.stats.prior_table import PriorTable, Row
from lapwing.stats.priors import CONVEX, Gaussian, Laplace, Prior, as_prior, check_variance
from lapwing.text import TextSettings

VARIANCES = ("pooled", "norm", "cv", "auto")
NGRAM_SOLVERS = ("auto", "exact", "greedy")
STEP_GRID = (200, 400, 600, 800, 1000)  # IBW08 varied the number of steps between 200 and 1,000
ALPHAS = (1.0, 0.1, 0.05, 0.03, 0.02, 0.01, 1e-3, 1e-5, 1e-7, 0.0)  # AAGBD11 Table 6, and a few more


@described
@dataclass(frozen=True)
class NgramSettings(NgramParameters):
    """Features are n-grams of the text's tokens, 1 where the document has them."""

    def __post_init__(self) -> None:
        checked(self)
        if self.steps is None:  # as models of earlier releases say it
            object.__setattr__(self, "steps", "settled")
        if self.steps not in ("cv", "settled"):
            whole(self, "steps", 1)


@described
@dataclass(frozen=True)
class TrainSettings(TrainParameters):
    """All that decides a model besides the corpus."""

    text: TextSettings = parameter(TextSettings, python="what is done to texts")
    cv: CrossValidation = parameter(CrossValidation, python="folds, runs, grid and rule of cross-validation")
    ngrams: NgramSettings | None = parameter(None, python="features are n-grams, of which the solver finds some")

    def __post_init__(self) -> None:
        checked(self)
        prior = as_prior(self.prior)
        if isinstance(prior, PriorTable) and prior.has_intercept() and self.intercept_variance is not None:
            raise SettingsError("the prior has a row for the intercept; leave intercept_variance at None")
        if self.intercept_variance is not None:
            check_variance(self.intercept_variance, "intercept_variance", allow_infinite=True)
        self._check_label_words(prior)
        self._check_link()
        if isinstance(self.variance, str):
            if self.variance not in VARIANCES:
                raise SettingsError(
                    f"variance must be one of {', '.join(VARIANCES)}, a number or one per category, "
                    f"got {self.variance!r}"
                )
        else:
            for value in np.ravel(np.asarray(self.variance)):
                check_variance(value.item() if hasattr(value, "item") else value)
            if np.ndim(self.variance):  # several compare with a name as one value does
                object.__setattr__(self, "variance", tuple(np.ravel(np.asarray(self.variance, dtype=float)).tolist()))
        if not isinstance(self.tol, Real) or not 0.0 < self.tol < 1.0:
            raise SettingsError(f"tol must be between 0 and 1, got {self.tol!r}")
        object.__setattr__(self, "tol", float(self.tol))
        if isinstance(self.select_features, float) and self.feature_score in SHARES:
            if not 0.5 < self.select_features <= 1.0:
                raise SettingsError(f"a share to select by must be over 0.5, 1 at most, got {self.select_features!r}")
        else:
            whole(self, "select_features", 1, optional=True)
        if self.max_features is not None and not prior.shape.strengths(np.ones(1))[0].any():
            raise SettingsError(f"max_features needs a prior that leaves features out, got {self.prior!r}")
        given = self.class_weight
        if not (given is None or given == "balanced" or isinstance(given, Mapping)):
            raise SettingsError(f'class_weight must be None, "balanced" or a mapping, got {self.class_weight!r}')
        solvers = ("auto", *plugins("solvers")) if self.ngrams is None else NGRAM_SOLVERS
        if self.solver not in solvers:
            raise SettingsError(f"solver must be one of {', '.join(solvers)}, got {self.solver!r}")
        self._check_threshold()
        self._check_method()
        self._check_multi_class()
        self._check_ngrams()
        prior = as_prior(self.prior)
        if not prior.shape.convex:
            if prior.shape is not prior:
                raise SettingsError(f"prior knowledge goes with {CONVEX}, not with {prior.shape.name}")
            if self.variance not in ("norm", "pooled"):
                raise SettingsError(f"prior='jeffreys' has no variance to choose, got variance={self.variance!r}")
            if self.solver not in ("auto", "em"):
                raise SettingsError(f"prior='jeffreys' is fitted by EM; use solver='em' or 'auto', not {self.solver!r}")

    def _check_link(self) -> None:
        """Links without kernels are fitted by the default solver alone."""
        if as_link(self.link).code is not None:
            return
        for name, only in (("solver", "auto"), ("method", "map")):
            if getattr(self, name) != only:
                raise SettingsError(f"link={self.link!r} goes with {name}={only!r} only, got {getattr(self, name)!r}")
        if not as_prior(self.prior).shape.convex:
            raise SettingsError(f"link={self.link!r} goes with {CONVEX}, not with {as_prior(self.prior).shape.name}")

    def _check_label_words(self, prior: Prior) -> None:
        if not 0.0 <= self.label_words < float("inf"):
            raise SettingsError(f"label_words must be a mode of 0 or more, got {self.label_words!r}")
        if self.label_words and (isinstance(prior, PriorTable) or not prior.convex or self.ngrams is not None):
            raise SettingsError(
                f"label_words goes with one prior ({CONVEX}) over words, not with a table of priors, "
                "jeffreys or n-grams; give the words of categories in the table"
            )

    def to_dict(self) -> dict[str, Any]:
        """All of them, as JSON has it, but for the number of threads, on which nothing depends."""
        record: dict[str, Any] = _plain(self)
        del record["n_jobs"]
        return {**record, "text": self.text.to_dict()}

    @classmethod
    def of(cls, values: Mapping[str, Any], **given: Any) -> TrainSettings:
        """Settings from parameters by the names that options and estimators have for them; n-grams where those of their
        length are among them."""
        own, text = taken(TrainParameters, values) | given, taken(TextParameters, values)
        cv = CrossValidation(**taken(CrossValidation, values))
        if "max_length" not in values:
            return cls(text=TextSettings(**text), cv=cv, **own)
        ngrams = NgramSettings(**taken(NgramSettings, values))
        return cls(**{"prior": "laplace", **own}, text=TextSettings.for_ngrams(**text), cv=cv, ngrams=ngrams)

    def flat(self) -> dict[str, Any]:
        """All parameters by these names; those of n-grams where there are any."""
        ngrams = {} if self.ngrams is None else flat(self.ngrams)
        return flat(self.text) | ngrams | flat(self.cv) | flat(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> TrainSettings:
        """What `to_dict` gave."""
        try:
            values = dict(record)
            values["text"] = TextSettings.from_dict(values["text"])
            values["prior"] = _prior(values["prior"])
            grid = values["cv"]["variances"]
            values["cv"] = CrossValidation(**{**values["cv"], "variances": None if grid is None else tuple(grid)})
            values["ngrams"] = None if values["ngrams"] is None else NgramSettings(**values["ngrams"])
            values["intercept_variance"] = _number(values["intercept_variance"])
            if isinstance(values["threshold"], dict):
                values["threshold"] = Utility(**values["threshold"])
            if isinstance(values["class_weight"], list):
                values["class_weight"] = dict(values["class_weight"])
            return cls(**values)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise SettingsError(f"these are not the settings of a training: {error}") from error

    @property
    def tunes(self) -> bool:
        """Whether thresholds are tuned on held-out documents."""
        return self.fixed_threshold is None and self.threshold_data == "cv" and not self.joint

    @property
    def pools(self) -> bool:
        """Whether all categories choose one variance together."""
        chosen = self.variance == "pooled" and as_prior(self.prior).convex
        return chosen and self.solver != "greedy" and self.max_features is None

    @property
    def chooses_alone(self) -> bool:
        """Whether a category chooses something for itself, by folds of its own."""
        steps = self.ngrams is not None and self.ngrams.steps == "cv"
        return self.variance in ("cv", "auto") or self.alpha == "cv" or self.max_features is not None or steps

    @property
    def holds_out(self) -> bool:
        """Whether documents are scored by fits that did not see them."""
        chosen = self.variance in ("pooled", "cv", "auto") and as_prior(self.prior).convex
        return self.tunes or (chosen and (self.calibrate or self.pools))

    @property
    def joint(self) -> bool:
        """Whether all classes are fitted at once."""
        return self.multi_class == "multinomial"

    def _check_multi_class(self) -> None:
        if not self.joint:
            if self.reference_class is not None:
                raise SettingsError(f'reference_class={self.reference_class!r} belongs to multi_class="multinomial"')
            return
        for name, only in (("link", "logit"), ("solver", "auto"), ("method", "map"), ("threshold", "default")):
            if getattr(self, name) != only:
                raise SettingsError(
                    f'multi_class="multinomial" goes with {name}={only!r} only, got {getattr(self, name)!r}'
                )
        if self.max_features is not None:
            raise SettingsError(
                'max_features belongs to multi_class="ovr": one prior over all classes cannot be as strong as each of '
                "them needs; use select_features"
            )
        if not as_prior(self.prior).shape.convex:
            raise SettingsError('multi_class="multinomial" goes with laplace, gaussian or elasticnet only')

    def _check_method(self) -> None:
        alpha = self.alpha
        if alpha is not None and alpha != "cv":
            if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0.0 <= alpha < np.inf:
                raise SettingsError(f'alpha must be a number >= 0, "cv", or None for the universal one, got {alpha!r}')
            object.__setattr__(self, "alpha", float(alpha))
        if self.method == "map":
            if alpha is not None or self.hessian != "diagonal":
                raise SettingsError('alpha and hessian belong to method="selected-ridge", and method is "map"')
        elif not isinstance(as_prior(self.prior), Gaussian) or self.solver != "auto":
            raise SettingsError(
                'method="selected-ridge" prunes a ridge solution: it needs prior="gaussian" and solver="auto", '
                f"got {self.prior!r} and {self.solver!r}"
            )

    def _check_ngrams(self) -> None:
        if self.ngrams is None:
            if self.text.max_gap:
                raise SettingsError(
                    f"max_gap={self.text.max_gap} belongs to n-grams that are searched for, and there are none"
                )
            return
        text = self.text
        if text.max_gap and (self.ngrams.max_length is None or self.ngrams.min_support < 2):
            raise SettingsError(
                f"max_gap={text.max_gap} needs a max_length and a min_support of 2 or more: n-grams with gaps are too "
                "many without them"
            )
        for name, wrong in (
            ("prior", not isinstance(as_prior(self.prior), Laplace)),
            ("method", self.method != "map"),
            ("multi_class", self.multi_class != "ovr"),
            ("link", self.link != "logit" and (self.solver == "greedy" or as_link(self.link).code is None)),
            ("solver", self.ngrams.loss != "likelihood" and self.solver == "greedy"),
            ("link", self.ngrams.loss != "likelihood" and self.link != "logit"),
            ("select_features", self.select_features is not None),
            ("max_features", self.max_features is not None),
            ("standardize", self.standardize),
            ("text", (text.tf, text.idf, text.cosine, text.min_df) != ("binary", False, False, 1)),
        ):
            if wrong:
                raise SettingsError(
                    f"n-grams are present or not, under a Laplace prior; leave {name} at its default for them"
                    + (" (tf='binary', idf=False, cosine=False, min_df=1)" if name == "text" else "")
                )

    def _check_threshold(self) -> None:
        rules = ("default", "expected_f1", *RULES)
        if isinstance(self.threshold, Utility) or self.threshold in rules:
            return
        if not isinstance(self.threshold, Real) or not 0.0 < self.threshold < 1.0:
            raise SettingsError(
                f"threshold must be one of {', '.join(rules)}, a Utility, or a probability between 0 and 1, "
                f"got {self.threshold!r}"
            )

    @property
    def fixed_threshold(self) -> float | None:
        """The threshold on the scale of linear scores where it does not depend on the data."""
        if isinstance(self.threshold, str):
            return self.half if self.threshold in ("default", "expected_f1") else None
        if isinstance(self.threshold, Utility):
            return None
        return float(as_link(self.link).quantile(np.asarray(self.threshold, dtype=float)))

    @property
    def half(self) -> float:
        """The score whose probability is ½."""
        return float(as_link(self.link).quantile(np.asarray(0.5)))


def _plain(value: Any) -> Any:
    """As JSON has it: what is infinite by name, mappings as pairs, values with settings of their own as objects."""
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, Prior):
        return {"name": value.name, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}
    if is_dataclass(value):  # where a row of a prior was read is nobody's business
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name != "where"}
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(one)] for key, one in value.items()]
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return repr(value)
    return value


def _number(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf") else value


def _prior(record: Any) -> str | Prior:
    """What `_plain` made of a prior."""
    if isinstance(record, str):
        return record
    name, rest = record["name"], {key: value for key, value in record.items() if key != "name"}
    if name == PriorTable.name:
        rows = [Row(**{key: _number(value) for key, value in row.items()}) for row in rest["rows"]]
        return PriorTable(rows, base=_prior(rest["base"]), strict=rest["strict"])
    return type(as_prior(name))(**{key: _number(value) for key, value in rest.items()})
