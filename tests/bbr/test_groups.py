"""BBR's groups (-g, --gvar): the optimum of the original's log posterior, its files, and variances chosen together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.run import Command
from scipy.optimize import minimize
from scipy.special import log_expit

from lapwing.priors import by_group
from lapwing.selection.variance import CrossValidation
from lapwing.training import choose_prior
from lapwing_bbr.files import BbrModel, read_bbr_model, write_bbr_model

GROUPS = 2


def data(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Feature 1 speaks for the category in the first group and against it in the second; some are in both or none."""
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(n, d)).round(3), rng.random((n, GROUPS)) < 0.6
    score = X[:, 0] * (2.0 * groups[:, 0] - 1.0 * groups[:, 1]) + X[:, 1] + 0.5 * rng.normal(size=n)
    return X, groups, np.where(score > 0, 1.0, -1.0)


def write(path: Path, X: np.ndarray, groups: np.ndarray, y: np.ndarray) -> Path:
    lines = ["# a comment\n"]
    for x, of, label in zip(X, groups, y, strict=True):
        cells = " ".join(f"{j + 1}:{value:.3f}" for j, value in enumerate(x))
        lines.append(f"{int(label)} {' '.join(str(int(g)) for g in of)} {cells}\n")
    path.write_text("".join(lines))
    return path


def log_posterior(
    w: np.ndarray, X: np.ndarray, groups: np.ndarray, y: np.ndarray, V: float, gvar: float, *, laplace: bool
) -> float:
    """As BBR 4.03 prints it: w (d+1, G), the constant last; of μ the best, a shrunken mean or median."""
    Z = np.column_stack([X, np.ones(len(y))])
    score = np.sum((Z @ w) * groups, axis=1)
    total = float(np.sum(log_expit(y * score)))
    for own in w:
        if laplace:
            one, two = np.sqrt(2 / V), np.sqrt(2 / gvar)

            def at(mu: float, own: np.ndarray = own, one: float = one, two: float = two) -> float:
                return np.log(one / 2) - one * abs(mu) + np.sum(np.log(two / 2) - two * np.abs(own - mu))

            total += max(map(at, (0.0, *own)))
        else:
            mu = own.sum() / (gvar / V + len(own))
            total += -0.5 * np.log(2 * np.pi * V) - mu**2 / (2 * V)
            total += np.sum(-0.5 * np.log(2 * np.pi * gvar) - (own - mu) ** 2 / (2 * gvar))
    return float(total)


def weights(model: BbrModel, d: int) -> np.ndarray:
    return np.array([[of.get(j, 0.0) for of in model.by_group] for j in (*range(1, d + 1), 0)])


@pytest.mark.parametrize("laplace", [False, True])
def test_the_optimum_of_the_originals_log_posterior(run: Command, tmp_path: Path, laplace: bool) -> None:
    X, groups, y = data()
    path = write(tmp_path / "train.dat", X, groups, y)
    kind = "1" if laplace else "2"
    ended = run("bbr", "train", "-p", kind, "-V", "2", "-g", "2", "--gvar", "0.5", "--accurate", path, tmp_path / "m")
    assert ended.code == 0, ended.err
    model = read_bbr_model(tmp_path / "m")
    w = weights(model, 4)
    here = log_posterior(w, X, groups, y, 2.0, 0.5, laplace=laplace)
    rng = np.random.default_rng(1)
    for _ in range(200):
        assert log_posterior(w + 1e-3 * rng.normal(size=w.shape), X, groups, y, 2.0, 0.5, laplace=laplace) <= here
    if not laplace:  # smooth, so that another program finds it

        def turned(flat: np.ndarray) -> float:
            return -log_posterior(flat.reshape(w.shape), X, groups, y, 2.0, 0.5, laplace=False)

        theirs = minimize(turned, np.zeros(w.size), method="BFGS", options={"gtol": 1e-6})
        assert here == pytest.approx(-theirs.fun, abs=1e-7)
        np.testing.assert_allclose(w.ravel(), theirs.x, atol=1e-4)
    assert w[0, 0] > 0.5 > 0.0 > w[0, 1]  # the groups disagree on feature 1


def test_results_and_classification(run: Command, tmp_path: Path) -> None:
    X, groups, y = data()
    path, model, results = write(tmp_path / "train.dat", X, groups, y), tmp_path / "m", tmp_path / "r"
    assert run("bbr", "train", "-g", "2", "--gvar", "0.5", "-V", "1", "-r", results, path, model).code == 0
    assert run("bbr", "classify", "-r", tmp_path / "again", path, model).code == 0
    np.testing.assert_allclose(np.loadtxt(tmp_path / "again"), np.loadtxt(results), atol=1e-10)  # files have 13 digits
    w = weights(read_bbr_model(model), 4)
    score = np.sum((np.column_stack([X, np.ones(len(y))]) @ w) * groups, axis=1)
    result = np.loadtxt(results)
    np.testing.assert_allclose(result[:, 0], 1 / (1 + np.exp(-score)), atol=1e-9)
    write_bbr_model(read_bbr_model(model), tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == model.read_text()
    plain = tmp_path / "plain"  # without --gvar the columns are passed over, as in BBR
    assert run("bbr", "train", "-g", "2", "-V", "1", path, plain).code == 0
    assert not read_bbr_model(plain).by_group


def test_both_variances_are_chosen_together(run: Command, tmp_path: Path) -> None:
    X, groups, y = data(200)
    path = write(tmp_path / "train.dat", X, groups, y)
    command = ("bbr", "train", "-l", "1", "-g", "2", "-C", "5,5")
    for gvar in ("1e-6,1", "1"):
        assert run(*command, "-V", "0.1,10", "--gvar", gvar, path, tmp_path / gvar).code == 0
    assert (tmp_path / "1e-6,1").read_text() == (tmp_path / "1").read_text()  # groups differ: they may


@pytest.mark.parametrize("flag", ["-s", "--pos", "--autosearch"])
def test_what_does_not_go_with_groups(run: Command, tmp_path: Path, flag: str) -> None:
    path = write(tmp_path / "train.dat", *data())
    ended = run("bbr", "train", flag, "-g", "2", "--gvar", "1", path, tmp_path / "m")
    assert (ended.code, "does not go with groups" in ended.err) == (2, True)


def test_variances_of_groups_of_features_chosen_together() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 20))
    y = np.where(X[:, :3] @ [2.0, -2.0, 1.0] + 0.3 * rng.normal(size=150) > 0, 1.0, -1.0)
    names = [f"title{j}" if j < 3 else f"body{j}" for j in range(20)]
    groups = {name: name.rstrip("0123456789") for name in names}
    priors = [by_group(groups, {"title": a, "body": b}) for a in (0.01, 10.0) for b in (0.01, 10.0)]
    import scipy.sparse as sp

    at, curve = choose_prior(names, sp.csr_matrix(X), y, priors, CrossValidation((1.0,), 5, 5))
    assert at == 2  # those of titles large, those of bodies small
    assert curve.chosen == 1.0
