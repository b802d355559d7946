"""lapwing reproduce lpr17: its pieces against what is known of them, and the command from start to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli.run import Command

from lapwing_papers import lpr17 as paper
from lapwing_papers import lpr17 as simulation


def test_the_paper_in_numbers() -> None:
    assert len(paper.MSE) == 10
    assert sum(row["lasso"] < row["ridge"] for row in paper.MSE.values()) == 9
    assert [cell for cell, row in paper.MSE.items() if row["ml"] is None] == [(200, d) for d in (400, 600, 800, 1000)]


def test_coefficients() -> None:
    beta = simulation.coefficients(500, np.random.default_rng(0))
    assert np.count_nonzero(beta) == 300
    assert np.abs(beta).max() <= 1.0
    assert beta[beta != 0].std() == pytest.approx(np.sqrt(1 / 3), rel=0.1)


def test_maximum_likelihood_where_it_exists() -> None:
    """At the optimum the gradient Xᵀ(y - p) is zero."""
    X, y = simulation.simulate(400, np.array([1.0, -0.5, 0.0]), np.random.default_rng(1))
    beta, steps, converged = simulation.maximum_likelihood(X, y)
    p = 1.0 / (1.0 + np.exp(-(X @ beta[1:] + beta[0])))
    np.testing.assert_allclose(np.column_stack([np.ones(400), X]).T @ ((y > 0) - p), 0.0, atol=1e-6)
    assert converged
    assert steps < 10


def test_maximum_likelihood_of_separable_data_is_cut_off() -> None:
    rng = np.random.default_rng(2)
    truth = simulation.coefficients(40, rng)
    X, y = simulation.simulate(40, truth, rng)
    beta, steps, _ = simulation.maximum_likelihood(X, y)
    assert steps == simulation.STEPS
    assert np.isnan(beta).sum() == 1  # 41 coefficients, 40 observations
    assert np.nanmax(np.abs(beta)) > 10.0


def test_f1_of_signs() -> None:
    truth = np.array([1.0, -1.0, 0.0, 0.5])
    assert simulation.signs_f1(truth, truth) == 1.0
    assert simulation.signs_f1(np.array([2.0, 1.0, 0.0, 0.0]), truth) == pytest.approx(2 * 1 / 5)
    assert simulation.signs_f1(np.zeros(4), truth) == 0.0


def test_a_draw_does_not_depend_on_the_others() -> None:
    one, again = (simulation.draw((60, 20), 3, 0) for _ in range(2))
    assert {name: fit.mse for name, fit in one.fits.items()} == {name: fit.mse for name, fit in again.fits.items()}
    fitted = {f"{method}/{rule}" for method in ("ridge", "lasso") for rule in simulation.RULES}
    assert set(one.fits) == fitted | {"ml", "svm"}
    assert all(fit.converged for name, fit in one.fits.items() if name != "ml")
    assert "ml" not in simulation.draw((20, 30), 0, 0).fits


def test_no_rule_is_better_than_the_best() -> None:
    fits = simulation.draw((100, 40), 0, 0).fits
    for method in ("ridge", "lasso"):
        assert fits[f"{method}/best"].variance in simulation.VARIANCES
        for rule in ("norm", "cv", "fixed"):
            assert fits[f"{method}/best"].mse < 1.02 * fits[f"{method}/{rule}"].mse  # the grid's steps are wide


def test_command(run: Command, tmp_path: Path) -> None:
    ran = run("reproduce", "lpr17", "--quick", "--draws", "1", "--diagnose", "-o", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert "Table 2" in ran.out
    assert "Could a lasso have found the truth?" in ran.out
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert {(cell["observations"], cell["covariates"]) for cell in results["cells"]} == {
        (n, d) for n in (200, 1000) for d in (200, 400)
    }
    for cell in results["cells"]:
        mse = {name: one["mean"] for name, one in cell["mse"].items()}
        assert 0.0 < mse["lasso/norm"] < 0.25
        assert mse.get("ml", 1e9) > 3.0 * max(value for name, value in mse.items() if "/" in name)
        assert cell["observations"] == 200 or mse["lasso/fixed"] < mse["ridge/fixed"]
        assert set(cell["lasso_less_ridge"]) == set(simulation.RULES)
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert page.count("<img") == 3
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "results.json", "index.html", "figure2.png", "figure3.png", "rules.png",
    }  # fmt: skip
