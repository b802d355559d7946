"""More entries than 32 bits count: shards of 2³¹ entries and some, made without texts, and a fit to them.

    .venv/bin/python benchmarks/many_entries.py --folder /somewhere/with/40GB [--entries 2.15e9] [--memory 2GB]

A document has one word of each of `SLOTS` slots, words of a slot with falling frequencies, and every word the weight
1/√SLOTS. Which word it is comes from a hash of document and slot, so that rows and columns are written one after the
other and nothing is sorted but the documents of one slot. The label depends on words of some slots, with noise. Values
are all the same, and those by rows and by columns one file under two names. The fit's certificate is then computed once
more in NumPy and SciPy, a block of the matrix at a time, from what the kernels left: weights and dual point.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from beyond_memory import size

from lapwing.shards.folder import WorkFolder
from lapwing.shards.matrix import Part, StoredMatrix, write_lines
from lapwing.shards.sums import column_sums, row_products
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_link
from lapwing.stats.objective import dual_scale, penalty, penalty_conjugate
from lapwing.stats.priors import as_prior
from lapwing.stats.result import FitResult

SLOTS, WORDS = 512, 200  # of each slot
TELLING, EFFECT, NOISE = 40, 1.5, 1.0  # slots whose words matter; how much; standard deviation
DOCUMENTS = 1 << 11  # written at a time
VALUE = 1.0 / np.sqrt(SLOTS)


def word(document: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """Of a document in a slot: a hash to [0, 1), and its cube to the words, so that the first are frequent."""
    mixed = (document * np.uint64(SLOTS) + slot) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    share = (mixed >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    return (share * share * share * np.float32(WORDS)).astype(np.uint8)


def by_rows(n: int) -> Iterator[Part]:
    slots = np.arange(SLOTS, dtype=np.uint64)
    first_word = (slots * np.uint64(WORDS)).astype(np.int32)
    for first in range(0, n, DOCUMENTS):
        documents = np.arange(first, min(first + DOCUMENTS, n), dtype=np.uint64)
        indices = word(documents[:, None], slots) + first_word
        yield np.full(len(documents), SLOTS), indices.ravel(), np.full(indices.size, VALUE)


def by_columns(n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Lengths and documents of the words of one slot after the other."""
    documents = np.arange(n, dtype=np.uint64)
    for slot in range(SLOTS):
        words = word(documents, np.uint64(slot))
        yield np.bincount(words, minlength=WORDS), np.argsort(words, kind="stable").astype(np.int32)


def labels(n: int) -> np.ndarray:
    rng, documents = np.random.default_rng(0), np.arange(n, dtype=np.uint64)
    score = rng.normal(0.0, NOISE, n)
    for slot in range(TELLING):
        effect = rng.normal(0.0, EFFECT, WORDS) / np.sqrt(TELLING)
        score += effect[word(documents, np.uint64(slot))]
    return np.where(score > 1.0, 1.0, -1.0)


def generated(folder: WorkFolder, n: int) -> StoredMatrix:
    """The shards, unless they are there."""
    names = [f"matrix.{way}.{part}" for way in ("rows", "columns") for part in ("indptr", "indices", "data")]
    if not all(name in folder for name in names):
        with folder.write(*names[:3]) as writers:
            write_lines(writers, by_rows(n))
        with folder.write(*names[3:5]) as (pointers, indices):
            pointers.append(np.zeros(1, np.int64))
            before = 0
            for lengths, rows in by_columns(n):
                ends = before + np.cumsum(lengths, dtype=np.int64)
                pointers.append(ends)
                indices.append(rows)
                before = int(ends[-1])
        os.link(folder.path / names[2], folder.path / names[5])
        folder.files[names[5]] = folder.files[names[2]]
        folder.put_record("documents", n)
    return StoredMatrix.at(folder, "matrix", (n, SLOTS * WORDS))


def certificate(X: StoredMatrix, y: np.ndarray, fit: FitResult) -> tuple[float, float]:
    """(objective at the weights, gap to the dual point) of a fit, without kernels."""
    form, prior = as_link("logit"), as_prior("laplace").compile(fit.variance, X.shape[1])
    margin = y * (row_products(X, fit.weights[:-1]) + fit.weights[-1])
    objective = float(np.sum(form.loss(margin, y))) + penalty(prior, fit.weights)
    pull = y * fit.dual
    prices = np.append(column_sums(X.tocsc(), pull), pull.sum())
    scale = dual_scale(prior, prices)  # 1 but for rounding, if the point is what it is said to be
    dual = -np.sum(form.conjugate(scale * fit.dual, y)) - np.sum(penalty_conjugate(prior, scale * prices))
    return objective, objective - float(dual)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--entries", type=float, default=2.15e9)
    parser.add_argument("--memory", default="2GB", help="a limit that the system enforces (RLIMIT_DATA)")
    parser.add_argument("--variance", type=float, default=1e-4)
    parser.add_argument("--tol", type=float, default=1e-6)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (size(given.memory), size(given.memory)))
    n, last = int(given.entries) // SLOTS, [time.perf_counter()]

    def lap(what: str) -> None:
        now = time.perf_counter()
        print(f"{what} ({now - last[0]:.0f} s)", flush=True)
        last[0] = now

    folder = WorkFolder(given.folder, f"{n}", size(given.memory)).open()
    X, y = generated(folder, n), labels(n)
    on_disk = sum(one["size"] for name, one in folder.files.items() if name != "matrix.columns.data")
    lap(
        f"{n:,} documents, {X.shape[1]:,} words, {X.nnz:,} entries ({X.nnz / 2**31:.4f} × 2³¹), {on_disk / 1e9:.1f} GB"
        f" on disk, pointers {X.indptr.dtype}, {np.count_nonzero(y > 0):,} positive"
    )
    problem = Problem(X)
    lap(f"problem: {len(problem.members) - 1:,} different columns")
    arrays = as_prior("laplace").compile(given.variance, X.shape[1])
    fit = newton.fit(problem, y, np.ones(n), arrays, variance=given.variance, tol=given.tol)
    kept = np.flatnonzero(fit.weights[:-1])
    lap(f"fit: objective {fit.objective:.6f}, relative gap {fit.relative_gap:.1e}, {fit.rounds} rounds")
    print(f"{len(kept)} words kept, {np.count_nonzero(kept < TELLING * WORDS)} of them from slots that tell")
    objective, gap = certificate(X, y, fit)
    lap(f"without kernels: objective {objective:.6f}, relative gap {gap / objective:.1e}")
    folder.clear()


if __name__ == "__main__":
    main()
