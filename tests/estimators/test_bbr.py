"""Agreement with BBR 4.03, a program we did not write, on a small data set (tests/data/bbr)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from lapwing import MAPClassifier, corpus, priors
from lapwing.priors import norm_variance
from lapwing.stats.objective import log_prior_constant
from lapwing.stats.priors import Columns

FOLDER = Path(__file__).resolve().parents[1] / "data" / "bbr"


class Run(NamedTuple):
    prior: priors.Prior
    variance: str | float
    log_posterior: float
    options: Mapping[str, Any] = MappingProxyType({})


RUNS = {
    "laplace_v1": Run(priors.Laplace(), 1.0, -198.402097144),
    "gauss_v05": Run(priors.Gaussian(), 0.5, -202.50905288),
    "laplace_norm": Run(priors.Laplace(), "norm", -201.631421351),
    "laplace_t_f1": Run(priors.Laplace(), 1.0, -198.402097144, {"threshold": "f1", "threshold_data": "train"}),
    "laplace_ind": Run(priors.read_bbr(FOLDER / "priors.txt"), 1.0, -194.358594439),
    # The posterior of the problem solved; BBR prints that of the coefficients carried back.
    "laplace_std": Run(priors.Laplace(), 1.0, -196.539950, {"standardize": True}),
}


@pytest.fixture(scope="module")
def problem() -> tuple[corpus.Corpus, Any]:
    """Training documents, and the test matrix in the same columns."""
    train = corpus.read(FOLDER / "train.dat", format="svmlight")
    test = corpus.read(FOLDER / "test.dat", format="svmlight")
    assert train.feature_names is not None
    assert test.feature_names is not None
    column = {name: j for j, name in enumerate(train.feature_names)}
    theirs = test.documents.toarray()  # type: ignore[union-attr]
    ours = np.zeros((len(test), len(column)))
    for j, name in enumerate(test.feature_names):
        ours[:, column[name]] = theirs[:, j]
    return train, ours


@pytest.mark.parametrize("name", RUNS)
def test_posterior_and_probabilities(problem: tuple[corpus.Corpus, Any], name: str) -> None:
    train, test = problem
    run = RUNS[name]
    y = [int(labels[0]) for labels in train.labels]
    names = train.feature_names
    fitted = MAPClassifier(run.prior, variance=run.variance, tol=1e-12, **run.options)
    fitted.fit(train.documents, y, feature_names=names)
    assert fitted.classes_.tolist() == [-1, 1]
    assert names is not None
    prior = run.prior.bind(Columns(names, train.documents), 1)  # type: ignore[arg-type]
    arrays = prior.compile(float(fitted.variance_[0]), len(names))
    log_posterior = -fitted.objective_[0] + log_prior_constant(arrays)
    assert log_posterior == pytest.approx(run.log_posterior, rel=1e-6)
    lines = np.loadtxt(FOLDER / f"{name}.results")
    np.testing.assert_allclose(fitted.category_proba(test)[:, 0], lines[:, 0], atol=1e-5)
    np.testing.assert_array_equal(fitted.predict(test), lines[:, 1].astype(int))


def test_the_norm_based_variance(problem: tuple[corpus.Corpus, Any]) -> None:
    train, _ = problem
    assert norm_variance(train.documents) == pytest.approx(1.14991, abs=5e-6)  # type: ignore[arg-type]
