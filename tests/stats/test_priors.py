from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.errors import SettingsError
from lapwing.priors import INTERCEPT, ElasticNet, Gaussian, Laplace, Prior, PriorTable, norm_variance
from lapwing.stats.priors import Columns, as_prior


def test_variances_are_those_of_the_densities() -> None:
    """Gaussian: l2 = 1/v. Laplace: l1 = √(2/v), the density whose variance is 2/l1² = v."""
    gaussian, laplace = Gaussian().compile(4.0, 2), Laplace().compile(4.0, 2)
    assert gaussian.l2.tolist() == [0.25] * 3
    assert gaussian.l1.tolist() == [0.0] * 3
    assert laplace.l1 == pytest.approx(np.sqrt(0.5))
    assert 2.0 / laplace.l1**2 == pytest.approx(4.0)
    assert laplace.l2.tolist() == [0.0] * 3
    for arrays in (gaussian, laplace):
        assert arrays.mode.tolist() == [0.0] * 3
        assert np.all(arrays.lower == -np.inf)
        assert np.all(arrays.upper == np.inf)
        assert not arrays.flat.any()


@pytest.mark.parametrize("prior", [Gaussian(), Laplace(), ElasticNet(0.3)])
def test_an_intercept_of_its_own(prior: Prior) -> None:
    same, own, free = (prior.compile(2.0, 3, v) for v in (None, 8.0, np.inf))
    for part in ("l1", "l2"):
        assert len(set(getattr(same, part))) == 1
        assert np.array_equal(getattr(own, part)[:-1], getattr(same, part)[:-1])
        assert getattr(free, part)[-1] == 0.0
    assert own.l1[-1] == pytest.approx(same.l1[-1] / 2)
    assert own.l2[-1] == pytest.approx(same.l2[-1] / 4)
    assert free.flat.tolist() == [False, False, False, True]


def test_the_ends_of_the_elastic_net() -> None:
    for ratio, end in ((1.0, Laplace()), (0.0, Gaussian())):
        for mixed, pure in zip(ElasticNet(ratio).compile(0.7, 4), end.compile(0.7, 4), strict=True):
            assert np.array_equal(mixed, pure)
    middle = ElasticNet(0.5).compile(2.0, 0)
    assert (middle.l1[0], middle.l2[0]) == (0.5, 0.25)


class Uniform(Prior):
    """All that is needed for another shape of penalty: none between -√(3v) and √(3v), the density of variance v."""

    def strengths(self, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(len(variance)), np.zeros(len(variance))

    def reach(self, variance: np.ndarray) -> np.ndarray:
        return np.sqrt(3.0 * variance)


def test_a_prior_with_bounds_keeps_them_under_a_table() -> None:
    plain = Uniform().compile(3.0, 2, 12.0)
    assert plain.upper.tolist() == [3.0, 3.0, 6.0]
    assert not plain.flat.any()
    columns = Columns(["a", "b"], sp.csr_matrix((4, 2)))
    same = PriorTable((), base=Uniform()).bind(columns, "x").compile(3.0, 2, 12.0)
    for part, other in zip(same, plain, strict=True):
        assert np.array_equal(part, other)
    table = PriorTable({"a": {"mode": 1.0, "sign": "+"}, INTERCEPT: {"variance": "4x"}}, base=Uniform())
    arrays = table.bind(columns, "x").compile(3.0, 2)
    assert arrays.lower.tolist() == [0.0, -3.0, -6.0]
    assert arrays.upper.tolist() == [4.0, 3.0, 6.0]


@pytest.mark.parametrize("variance", [0.0, -1.0, np.inf, np.nan, "wide", None, True])
def test_bad_variances(variance: object) -> None:
    with pytest.raises(SettingsError, match=r"^variance must be > 0"):
        Laplace().compile(variance, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan, -np.inf])
def test_bad_intercept_variances(variance: float) -> None:
    with pytest.raises(SettingsError, match="intercept_variance"):
        Laplace().compile(1.0, 1, variance)


@pytest.mark.parametrize("ratio", [-0.1, 1.1, np.nan])
def test_bad_ratios(ratio: float) -> None:
    with pytest.raises(SettingsError, match="ratio"):
        ElasticNet(ratio)


def test_priors_by_name() -> None:
    assert as_prior("laplace") == Laplace()
    assert as_prior("gaussian") == Gaussian()
    assert as_prior("elasticnet") == ElasticNet(0.3)
    assert as_prior(ElasticNet(0.2)).ratio == 0.2
    with pytest.raises(SettingsError, match="laplace, gaussian, elasticnet"):
        as_prior("horseshoe")
    with pytest.raises(SettingsError, match="no density"):
        Prior().compile(1.0, 1)


def test_norm_based_variance_by_hand() -> None:
    """GLM07 Eq. 29: squared norms 1, 4 and 4, mean 3; two features and the constant: v = 3/3."""
    X = sp.csr_matrix([[1.0, 0.0], [0.0, 2.0], [np.sqrt(2.0), np.sqrt(2.0)]])
    assert norm_variance(X) == pytest.approx(1.0)
    assert norm_variance(X[:1]) == 3.0
    assert norm_variance(sp.csr_matrix((4, 5))) == 1.0


def test_weights_are_repetition() -> None:
    X = sp.random_array((6, 4), density=0.6, rng=np.random.default_rng(0)).tocsr()
    counts = np.array([1, 0, 3, 2, 0, 1])
    repeated = X[np.repeat(np.arange(6), counts)]
    assert norm_variance(X, counts) == pytest.approx(norm_variance(repeated), rel=1e-14)
