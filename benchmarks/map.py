"""A map of the field: ours and its peers over shapes of data, priors and strengths, to two suboptimalities.

    LAPWING_CORPORA=… python benchmarks/map.py [--quick | --table] [--only PART] [--ours] [--picture map.svg]

Everyone minimises Σ_i loss + λ Σ|β| or l2 Σβ²/2 or half of each, the constant penalised as a column of ones, with one
thread. Everyone runs at ever smaller tolerances, by turns, until within 1e-8 of the least objective known, relative to
it, or until the budget of CPU seconds for a cell is spent; objectives are recomputed in plain NumPy. What counts is the
shortest of the runs that came within 1e-4 and within 1e-8; less than 5 ms counts as 5. Ours is the whole of
`MAPClassifier.fit`, checks and certificate; a cell where its fit says that it did not converge, or whose certificate
`lapwing.certify` does not confirm, is red, and so is one whose gap, computed anew below from weights and dual point
alone, is wider than its tolerance. Cells of all categories run them one after the other with peers.
--quick takes the small cells only; --table the shapes and strengths that the engine was once slow at, 20 newsgroups for
OHSUMED; --only those whose name holds PART; --ours leaves the peers out: the certificates alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import _corpora as corpora
import numpy as np
import scipy.sparse as sp
import sklearn
from scipy.optimize import brentq
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression

import lapwing
import lapwing.corpus
from lapwing.stats.priors import ElasticNet, Gaussian, Laplace, Prior
from lapwing.text import design
from lapwing_papers.settings import text as glm07_text

FLOOR = 0.005  # seconds that a shorter fit counts as
BEHIND = 1.5  # times the best peer from which a cell is named
LEFT, RIGHT = 0.1, 100.0  # ends of the picture
TARGETS = (1e-4, 1e-8)
warnings.simplefilter("ignore")


@dataclass(frozen=True)
class Data:
    X: Any  # (n, d) dense or CSR, as everyone is given it
    Y: np.ndarray  # (K, n) ±1


@dataclass
class Cell:
    data: str
    kind: str  # lasso, ridge or net
    strength: float  # λ of lasso, l2 of ridge, both of the net
    every: bool = False  # all categories, or the first
    runs: dict[str, list[tuple[float, float]]] = field(default_factory=dict)  # (seconds, suboptimality)
    sound: bool = True
    certificates: list[float] = field(default_factory=list)  # gap, as a share of what was asked for

    @property
    def name(self) -> str:
        return f"{self.data}, {self.kind} {self.strength:g}" + (", all" if self.every else "")

    def seconds(self, who: str, target: float) -> float:
        """The shortest run that came near enough; infinite where none did."""
        return min((max(s, FLOOR) for s, gap in self.runs.get(who, ()) if gap <= target), default=np.inf)

    def best_peer(self, target: float) -> tuple[str, float]:
        peers = {who: self.seconds(who, target) for who in self.runs if who != "lapwing"}
        who = min(peers, key=peers.__getitem__, default="none")
        return who, peers.get(who, np.inf)

    def ratio(self, target: float) -> float:
        """The best peer's time over ours: above 1 ours is faster. NaN where neither came near."""
        mine, other = self.seconds("lapwing", target), self.best_peer(target)[1]
        return float("nan") if np.isinf(mine) and np.isinf(other) else other / mine


# Data


@cache
def data(name: str) -> Data:
    return DATA[name](np.random.default_rng(0))


def labels(rng: np.random.Generator, scores: np.ndarray, share: float = 0.5) -> np.ndarray:
    noisy = scores / (scores.std() or 1.0) * 2 + rng.logistic(size=len(scores))
    return np.where(noisy > np.quantile(noisy, 1 - share), 1.0, -1.0)


def breast(rng: np.random.Generator, *, scaled: bool = False) -> Data:
    X, y = load_breast_cancer(return_X_y=True)
    return Data((X - X.mean(axis=0)) / X.std(axis=0) if scaled else X, np.where(y, 1.0, -1.0)[None])


def digits(rng: np.random.Generator) -> Data:
    X, y = load_digits(return_X_y=True)
    return Data(X, np.where(y == np.roll(np.arange(10), 2)[:, None], 1.0, -1.0))  # eights first


def correlated(rng: np.random.Generator, n: int, d: int, share: float = 0.5) -> Data:
    X = rng.normal(size=(n, 10)) @ rng.normal(size=(10, d)) + rng.normal(size=(n, d))
    return Data(X, labels(rng, X[:, :20] @ rng.normal(size=20), share)[None])


def mixed(rng: np.random.Generator) -> Data:
    X = rng.normal(size=(2000, 40)) * 10.0 ** rng.uniform(-3, 3, 40)
    return Data(X, labels(rng, (X / X.std(axis=0)) @ rng.normal(size=40))[None])


def genres(rng: np.random.Generator) -> Data:
    """Binary columns as of film genres and keywords: two to eight each."""
    n, d = 120_919, 1001
    many = rng.integers(2, 9, n)
    cut = np.cumsum(1 / np.arange(1, d + 1))
    columns = np.searchsorted(cut / cut[-1], rng.random(many.sum()))
    X = sp.csr_matrix((np.ones(len(columns)), (np.repeat(np.arange(n), many), columns)), shape=(n, d))
    X.sum_duplicates()
    X.data[:] = 1.0
    return Data(X, labels(rng, X @ rng.normal(size=d), 0.2)[None])


def sparse(rng: np.random.Generator, n: int, d: int, words: int, share: float) -> Data:
    """Words by Zipf's law, log tf-idf, unit length."""
    cut = np.cumsum(1 / np.arange(1, d + 1))
    columns = np.searchsorted(cut / cut[-1], rng.random(n * words))
    X = sp.csr_matrix((np.ones(n * words), (np.repeat(np.arange(n), words), columns)), shape=(n, d))
    X.sum_duplicates()
    X.data = 1.0 + np.log(X.data)
    X = X @ sp.diags_array(np.log((n + 1) / (1 + np.bincount(X.indices, minlength=d))))
    X = sp.csr_matrix(sp.diags_array(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X)
    return Data(X, labels(rng, X @ rng.normal(size=d), share)[None])


def corpus(rng: np.random.Generator, file: str, most: int) -> Data:
    """The training part, its categories by falling number of documents."""
    whole = lapwing.corpus.read(corpora.path(file))
    part = whole.part("train") if "train" in set(whole.split) else whole
    X = design(part.documents, glm07_text()).matrix  # type: ignore[arg-type]
    X.eliminate_zeros()
    counts: dict[Any, int] = {}
    for row in part.labels:
        for label in row:
            counts[label] = counts.get(label, 0) + 1
    named = sorted(counts, key=lambda label: (-counts[label], str(label)))[:most]
    return Data(X, np.array([[1.0 if label in row else -1.0 for row in part.labels] for label in named]))


DATA: dict[str, Callable[[np.random.Generator], Data]] = {
    "breast cancer": breast,
    "breast cancer, scaled": lambda rng: breast(rng, scaled=True),
    "digits": digits,
    "mixed scales 2000x40": mixed,
    "dense 20000x50": lambda rng: correlated(rng, 20_000, 50),
    "dense 3000x400": lambda rng: correlated(rng, 3000, 400),
    "dense 200x5000": lambda rng: correlated(rng, 200, 5000),
    "dense 3000x100, 1% yes": lambda rng: correlated(rng, 3000, 100, 0.01),
    "genres 120919x1001": genres,
    "words 1000x3000": lambda rng: sparse(rng, 1000, 3000, 60, 0.3),
    "words 6000x20000": lambda rng: sparse(rng, 6000, 20_000, 100, 0.2),
    "words 6000x20000, 0.5% yes": lambda rng: sparse(rng, 6000, 20_000, 100, 0.005),
    "20 newsgroups": lambda rng: corpus(rng, "20news-bydate.tar.xz", 20),
    "movie reviews": lambda rng: corpus(rng, "movie_reviews.zip", 1),
    "Reuters": lambda rng: corpus(rng, "reuters21578.tar.xz", 30),
}
GRID: list[tuple[str, str, tuple[float, ...], bool]] = [
    ("breast cancer", "ridge", (1.0, 0.01, 0.001), False),
    ("breast cancer", "lasso", (10.0, 0.1), False),
    ("breast cancer", "net", (0.01,), False),
    ("breast cancer, scaled", "ridge", (10.0, 0.1), False),
    ("breast cancer, scaled", "lasso", (5.0, 0.1), False),
    ("digits", "ridge", (1.0, 0.001), False),
    ("digits", "lasso", (1.0, 0.05), False),
    ("digits", "ridge", (0.1,), True),
    ("digits", "lasso", (0.5,), True),
    ("mixed scales 2000x40", "ridge", (1.0, 1e-4), False),
    ("mixed scales 2000x40", "lasso", (1.0, 0.01), False),
    ("dense 3000x100, 1% yes", "ridge", (1.0, 0.01), False),
    ("dense 3000x100, 1% yes", "lasso", (1.0, 0.1), False),
    ("dense 200x5000", "ridge", (100.0, 1.0), False),
    ("dense 200x5000", "lasso", (20.0, 5.0, 0.5), False),
    ("words 1000x3000", "ridge", (1.0, 0.01), False),
    ("words 1000x3000", "lasso", (2.0, 0.2), False),
    ("dense 3000x400", "ridge", (1.0, 0.01), False),
    ("dense 3000x400", "lasso", (20.0, 1.0), False),
    ("dense 3000x400", "net", (1.0,), False),
    ("dense 20000x50", "ridge", (1.0,), False),
    ("dense 20000x50", "lasso", (50.0, 1.0), False),
    ("genres 120919x1001", "ridge", (10.0, 1.0, 0.01), False),
    ("genres 120919x1001", "lasso", (30.0, 3.0, 0.3), False),
    ("words 6000x20000", "ridge", (10.0, 1.0, 0.01), False),
    ("words 6000x20000", "lasso", (10.0, 1.0, 0.1), False),
    ("words 6000x20000, 0.5% yes", "ridge", (1.0,), False),
    ("words 6000x20000, 0.5% yes", "lasso", (1.0, 0.1), False),
    ("movie reviews", "ridge", (1.0, 0.01), False),
    ("movie reviews", "lasso", (2.0, 0.2), False),
    ("20 newsgroups", "ridge", (1.0, 0.01), False),
    ("20 newsgroups", "lasso", (10.0, 1.0, 0.1), False),
    ("20 newsgroups", "ridge", (1.0,), True),
    ("20 newsgroups", "lasso", (1.0, 0.1), True),
    ("Reuters", "ridge", (0.1,), True),
    ("Reuters", "lasso", (1.0, 0.1), True),
]
TABLE: list[tuple[str, str, tuple[float, ...], bool]] = [
    ("20 newsgroups", "lasso", (1.0, 0.1, 0.0096), True),
    ("20 newsgroups", "lasso", (0.1, 1.0, 10.0), False),
    ("20 newsgroups", "ridge", (1.0, 0.01), False),
    ("genres 120919x1001", "lasso", (3.0,), False),
    ("genres 120919x1001", "ridge", (1.0,), False),
    ("breast cancer", "ridge", (0.01, 0.001), False),
    ("breast cancer", "net", (0.01,), False),
    ("dense 200x5000", "ridge", (100.0, 1.0), False),
    ("dense 200x5000", "lasso", (5.0,), False),
]
QUICK = ("breast", "digits", "mixed", "1% yes", "200x5000", "words 1000")


# Solvers: (X with a column of ones, labels ±1, kind, strength, tolerance) to coefficients, the constant last


def split(kind: str, strength: float) -> tuple[float, float]:
    """(l1, l2)"""
    return {"lasso": (strength, 0.0), "ridge": (0.0, strength), "net": (strength, strength)}[kind]


def logistic(solver: str) -> Callable[..., np.ndarray]:
    def solve(X: Any, y: np.ndarray, kind: str, strength: float, tol: float) -> np.ndarray:
        model = LogisticRegression(
            C=1 / strength,
            l1_ratio=float(kind == "lasso"),
            solver=solver,
            tol=tol,
            max_iter=20_000,
            fit_intercept=False,
        )
        return model.fit(X, y).coef_[0]

    return solve


def skglm(X: Any, y: np.ndarray, kind: str, strength: float, tol: float) -> np.ndarray:
    from skglm import SparseLogisticRegression

    X = X.tocsc() if sp.issparse(X) else np.asfortranarray(X)
    model = SparseLogisticRegression(alpha=strength / len(y), tol=tol, fit_intercept=False, max_iter=200)
    return model.fit(X, y).coef_[0]


def glum(X: Any, y: np.ndarray, kind: str, strength: float, tol: float) -> np.ndarray:
    from glum import GeneralizedLinearRegressor

    l1, l2 = split(kind, strength)
    model = GeneralizedLinearRegressor(
        family="binomial", alpha=(l1 + l2) / len(y), l1_ratio=l1 / (l1 + l2), fit_intercept=False, gradient_tol=tol,
        max_iter=2000, force_all_finite=False,
    )  # fmt: skip
    return model.fit(X, (y > 0).astype(float)).coef_


PEERS: dict[str, tuple[Callable[..., np.ndarray], tuple[str, ...], tuple[float, ...]]] = {
    "liblinear": (logistic("liblinear"), ("lasso", "ridge"), (1e-2, 1e-4, 1e-6, 1e-8)),
    "lbfgs": (logistic("lbfgs"), ("ridge",), (1e-3, 1e-5, 1e-7, 1e-9)),
    "newton-cholesky": (logistic("newton-cholesky"), ("ridge",), (1e-3, 1e-6)),
    "skglm": (skglm, ("lasso",), (1e-3, 1e-5, 1e-7)),
    "glum": (glum, ("lasso", "ridge", "net"), (1e-3, 1e-5, 1e-7)),
}
FEATURES = {"newton-cholesky": 3000, "glum": 1500}  # most that they make a dense Hessian of in reasonable time


def installed() -> list[str]:
    result = ["liblinear", "lbfgs", "newton-cholesky"]
    for name in ("skglm", "glum"):
        try:
            __import__(name)
            result.append(name)
        except ImportError:
            print(f"{name} is not installed and left out")
    return result


def prior_of(cell: Cell) -> tuple[Prior, float]:
    """Ours, and its variance."""
    if cell.kind == "lasso":
        return Laplace(), 2.0 / cell.strength**2
    if cell.kind == "ridge":
        return Gaussian(), 1.0 / cell.strength
    s = cell.strength  # l1 = ratio √(2/v) and l2 = (1 - ratio)/v
    v = 1.0 / brentq(lambda q: (1.0 - s / q) * np.sqrt(2.0 * q) - s, s, 1e6 * max(s, 1.0), xtol=1e-15, rtol=1e-14)
    return ElasticNet(1.0 - s * v), v


def objective(X: Any, y: np.ndarray, cell: Cell, beta: np.ndarray) -> float:
    l1, l2 = split(cell.kind, cell.strength)
    return float(np.logaddexp(0.0, -y * (X @ beta)).sum() + l1 * np.abs(beta).sum() + 0.5 * l2 * (beta @ beta))


def relative_gap(X: Any, y: np.ndarray, cell: Cell, beta: np.ndarray, theta: np.ndarray) -> float:
    """Of the objective at β and the dual one at θ: Σ_i H(θ_i) - Σ_j max(|z_j| - l1, 0)²/(2 l2), z = Xᵀ(y∘θ)."""
    l1, l2 = split(cell.kind, cell.strength)
    beyond = np.maximum(np.abs(X.T @ (y * theta)) - l1, 0.0)
    inside = theta[(theta > 0.0) & (theta < 1.0)]
    dual = -float(np.sum(inside * np.log(inside) + (1.0 - inside) * np.log1p(-inside)))
    if l2 > 0.0:
        dual -= float(beyond @ beyond) / (2.0 * l2)
    elif beyond.max() > 1e-9 * l1 or theta.min() < 0.0 or theta.max() > 1.0:
        return float("inf")
    primal = objective(X, y, cell, beta)
    return (primal - dual) / primal


# Runs


def ours(X: Any, Y: np.ndarray, cell: Cell, tol: float) -> tuple[float, np.ndarray]:
    prior, variance = prior_of(cell)
    arrays = prior.compile(variance, X.shape[1])
    labels = (Y > 0).T.astype(int) if len(Y) > 1 else (Y[0] > 0).astype(int)
    begun = time.process_time()
    model = lapwing.MAPClassifier(prior, variance=variance, tol=tol, max_iter=5000).fit(X, labels)
    seconds = time.process_time() - begun
    betas = np.column_stack([model.coef_.toarray(), model.intercept_])
    cell.sound &= bool(model.converged_.all())
    Z = with_ones(X)
    for y, beta, dual in zip(Y, betas, model.dual_, strict=True):
        cell.certificates.append(relative_gap(Z, y, cell, beta, dual) / tol)
        cell.sound &= cell.certificates[-1] <= 1.0 + 1e-6 + 1e-13 / tol
        proof = lapwing.certify(sp.csr_matrix(X), y, arrays, beta, dual)
        cell.sound &= proof.relative_gap <= tol * (1 + 1e-6) + 1e-13
    return seconds, betas


def with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def theirs(name: str, X: Any, Y: np.ndarray, cell: Cell, tol: float) -> tuple[float, np.ndarray]:
    solve = PEERS[name][0]
    begun = time.process_time()
    betas = np.array([solve(X, y, cell.kind, cell.strength, tol) for y in Y])
    return time.process_time() - begun, betas


WARM: set[tuple[str, str, str]] = set()


def warm(given: Data, Y: np.ndarray, Z: Any, cell: Cell, names: list[str]) -> None:
    """Whatever is compiled or imported at first use, before the clock runs: one category, to a coarse tolerance."""
    for name in names:
        key = (name, cell.data, cell.kind)
        if key in WARM or name in ("liblinear", "lbfgs", "newton-cholesky"):
            continue
        WARM.add(key)
        if name == "lapwing":
            ours(given.X, Y[:1], replace(cell), 1e-2)
        else:
            theirs(name, Z[:200], Y[:1, :200], cell, 1e-1)


def measure(cell: Cell, peers: list[str], budget: float, repeats: int) -> None:
    """By turns: everyone at its first tolerance, then at its second, and so on."""
    given = data(cell.data)
    Y = given.Y if cell.every else given.Y[:1]
    Z = with_ones(given.X)
    ladders: dict[str, tuple[float, ...]] = {"lapwing": TARGETS}
    for name in peers:
        _, kinds, tols = PEERS[name]
        if cell.kind in kinds and Z.shape[1] <= FEATURES.get(name, 10**9):
            ladders[name] = tols
    warm(given, Y, Z, cell, list(ladders))
    raw: dict[str, list[tuple[float, float]]] = {name: [] for name in ladders}
    spent = dict.fromkeys(ladders, 0.0)
    budget *= 3.0 if cell.every else 1.0
    for turn in range(max(map(len, ladders.values()))):
        for _ in range(repeats):
            for name, tols in ladders.items():
                if turn >= len(tols) or spent[name] > budget:
                    continue
                try:
                    seconds, betas = (
                        ours(given.X, Y, cell, tols[turn])
                        if name == "lapwing"
                        else theirs(name, Z, Y, cell, tols[turn])
                    )
                except (ValueError, np.linalg.LinAlgError, FloatingPointError):
                    spent[name] = np.inf
                    continue
                spent[name] += seconds
                total = sum(objective(Z, y, cell, beta) for y, beta in zip(Y, betas, strict=True))
                raw[name].append((seconds, total))
    least = min((total for runs in raw.values() for _, total in runs if np.isfinite(total)), default=np.nan)
    cell.runs = {
        name: [(seconds, (total - least) / least if np.isfinite(total) else np.inf) for seconds, total in runs]
        for name, runs in raw.items()
    }


def cells(only: str, quick: bool, grid: list[tuple[str, str, tuple[float, ...], bool]] = GRID) -> Iterator[Cell]:
    for name, kind, strengths, every in grid:
        if quick and not any(part in name for part in QUICK):
            continue
        for strength in strengths:
            cell = Cell(name, kind, strength, every)
            if only in cell.name:
                yield cell


# Results


def show(cell: Cell) -> None:
    parts = [f"{cell.name:44}"]
    for target in TARGETS:
        who, seconds = cell.best_peer(target)
        mine = cell.seconds("lapwing", target)
        parts.append(f"{mine:9.3f} {seconds:9.3f} {who:>15} {cell.ratio(target):7.2f}")
    print(" |".join(parts) + ("" if cell.sound else "  NOT CONVERGED"), flush=True)


def geometric(values: list[float]) -> float:
    finite = [v for v in values if 0.0 < v < np.inf]
    return float(np.exp(np.mean(np.log(finite)))) if finite else float("nan")


def summary(result: list[Cell]) -> None:
    for target in TARGETS:
        if all(len(c.runs) == 1 for c in result):
            break  # nobody to compare with
        single = geometric([c.ratio(target) for c in result if not c.every])
        every = geometric([c.ratio(target) for c in result if c.every])
        behind = [c for c in result if c.ratio(target) * BEHIND < 1.0]
        print(f"\nwithin {target:g}: single fits {single:.2f} times as fast as the best peer of each cell, ", end="")
        print(f"all categories {every:.2f} times; slower than {BEHIND} times the best peer: {len(behind)}")
        for c in behind:
            print(f"  {c.name}: {1 / max(c.ratio(target), 1e-9):.1f} times as slow as {c.best_peer(target)[0]}")
    unsound = [c.name for c in result if not c.sound]
    proofs = [share for c in result for share in c.certificates]
    print(f"{len(proofs)} gaps computed anew: the widest is {max(proofs, default=np.nan):.2f} of its tolerance")
    print(f"{len(result)} cells; not converged or not confirmed: {', '.join(unsound) or 'none'}")


def picture(result: list[Cell], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 0.17 * len(result) + 1.4))
    axes.axvspan(LEFT, 1.0 / BEHIND, color="0.93", zorder=0)
    axes.axvline(1.0, color="grey", linewidth=0.8)
    colours = ["tab:red" if not c.sound else "tab:blue" if c.every else "black" for c in result]
    for target, marker in zip(TARGETS, "o|", strict=True):
        ratios = np.clip([c.ratio(target) for c in result], LEFT, RIGHT)
        axes.scatter(ratios, range(len(result)), s=22, marker=marker, c=colours, zorder=3)
    for row in range(1, len(result)):
        if result[row].data != result[row - 1].data:
            axes.axhline(row - 0.5, color="0.8", linewidth=0.5)
    marks = [(m, c, f"within {t:g}, {w}") for t, m in zip(TARGETS, "o|", strict=True)
             for c, w in (("black", "one category"), ("tab:blue", "all categories at once"))]  # fmt: skip
    handles = [axes.scatter([], [], s=22, marker=m, c=c, label=text) for m, c, text in marks]
    figure.legend(handles=handles, loc="upper center", ncol=2, fontsize=7, frameon=False)
    ticks = (0.1, 0.3, 1, 3, 10, 30, 100)
    axes.set(xscale="log", xlim=(LEFT / 1.1, RIGHT * 1.15), ylim=(len(result) - 0.5, -0.5), yticks=range(len(result)))
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks[:-1]] + ["≥ 100"])
    axes.minorticks_off()
    axes.set_xlabel(
        "time of the best peer / ours: right of 1 ours is faster; grey, more than 1.5 times as slow", fontsize=8
    )
    axes.set_yticklabels([c.name for c in result], fontsize=6.5)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.45 / figure.get_figheight()))
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--picture")
    parser.add_argument("--budget", type=float, default=2.0)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, scikit-learn {sklearn.__version__}, CPU seconds")
    peers: list[str] = [] if options.ours else installed()
    rows: list[Cell] = []
    chosen = list(cells(options.only, options.quick, TABLE if options.table else GRID))
    head = f"{'lapwing':>9} {'best peer':>9} {'':>15} {'ratio':>7}"
    print(f"{'':44} |" + " |".join(f"{f'within {target:g}':^43}" for target in TARGETS))
    print(f"{'':44} |" + " |".join([head] * len(TARGETS)))
    for cell in chosen:
        measure(cell, peers, options.budget, options.repeats)
        show(cell)
        rows.append(cell)
    summary(rows)
    if options.picture:
        picture(rows, options.picture)


if __name__ == "__main__":
    main()
