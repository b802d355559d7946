"""The proof of an update: for every prior, every form of memory, and however little the new documents know."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.solvers import sequential
from lapwing.stats import certify
from lapwing.stats.objective import PriorArrays
from lapwing.stats.past import Past
from lapwing.stats.priors import ElasticNet, Gaussian, Laplace
from lapwing.training.memory import leave_behind

D = 40
OLD = 25  # fewer documents than words: the curvature between all words is singular


def documents(n: int, seed: int, positives: float = 0.4) -> tuple[sp.csr_matrix, np.ndarray]:
    """Sparse, one of seven empty, and two words that always come together."""
    generator = np.random.default_rng(seed)
    X = sp.random(n, D, density=0.15, random_state=seed, format="lil")
    X[:, 7] = X[:, 3]
    X[::7] = 0.0
    y = np.where(generator.random(n) < positives, 1.0, -1.0)
    return sp.csr_matrix(X), y


def mixed() -> PriorArrays:
    """A table of priors: words with bounds, of infinite variance, and around other modes."""
    arrays = PriorArrays(*(np.array(part) for part in Laplace().compile(5.0, D)))
    kind = np.arange(D + 1) % 8
    arrays.lower[kind == 1] = 0.0
    arrays.upper[kind == 2] = 0.5
    arrays.mode[kind == 3] = 0.3
    arrays.l1[kind == 4], arrays.l2[kind == 4] = 0.0, 0.2
    arrays.l1[kind == 5], arrays.lower[kind == 5], arrays.upper[kind == 5] = 0.0, -1.0, 1.0  # no penalty within bounds
    arrays.l1[6], arrays.lower[6] = 0.0, 0.0  # nor where it has one bound
    arrays.l1[10] = 0.0  # nor where it has none
    return arrays


PRIORS = {
    "laplace": Laplace().compile(5.0, D),
    "weak laplace": Laplace().compile(3000.0, D),
    "laplace, free intercept": Laplace().compile(5.0, D, np.inf),
    "elastic net": ElasticNet().compile(5.0, D),
    "gaussian": Gaussian().compile(5.0, D),
    "gaussian, free intercept": Gaussian().compile(5.0, D, np.inf),
    "table": mixed(),
}


def fitted(X: sp.csr_matrix, y: np.ndarray, prior: PriorArrays, past: Past, tol: float = 1e-4) -> np.ndarray:
    start = np.clip(prior.mode, prior.lower, prior.upper)
    start[past.index] = past.centre
    result = sequential.fit(X, y, np.ones(len(y)), prior, past, start, variance=5.0, tol=tol)
    proof = certify(X, y, prior, result.weights, result.dual, None, "logit", past)
    assert result.converged == (proof.relative_gap <= tol)
    return result.weights


@pytest.mark.parametrize("n", [1, 5, 50])
@pytest.mark.parametrize("rank", [0, 3, 1000])
@pytest.mark.parametrize("name", PRIORS)
def test_every_update_is_proved(name: str, rank: int, n: int) -> None:
    """Ten times one after the other, at times without a new positive."""
    prior, one = PRIORS[name], np.ones(OLD)
    X, y = documents(OLD, 0)
    beta = sequential.fit(X, y, one, prior, Past.none(), np.clip(prior.mode, prior.lower, prior.upper), variance=5.0,
                          tol=1e-4).weights  # fmt: skip
    past = leave_behind(X, y, one, prior, beta, "logit", Past.none(), rank=rank)
    for step in range(1, 6):
        X, y = documents(n, step, positives=0.3 * (step % 3))
        beta = fitted(X, y, prior, past)
        proof = certify(X, y, prior, beta, None, None, "logit", past)
        if set(np.flatnonzero(prior.flat)) - set(past.index):  # then, as documented, there is no gap
            assert np.isnan(proof.gap)
            return
        assert proof.gap <= 1e-4 * proof.objective
        best = fitted(X, y, prior, past, tol=1e-11)  # the bound is one
        lowest = certify(X, y, prior, best, None, None, "logit", past).objective
        assert proof.dual_objective <= lowest + 1e-9 * abs(lowest) <= proof.objective + 2e-9 * abs(lowest)
        for other in beta + 0.1 * np.random.default_rng(step).standard_normal((5, len(beta))):
            anywhere = certify(X, y, prior, np.clip(other, prior.lower, prior.upper), None, None, "logit", past)
            assert not anywhere.dual_objective > lowest + 1e-9 * abs(lowest)
        past = leave_behind(X, y, np.ones(n), prior, beta, "logit", past, rank=rank)
