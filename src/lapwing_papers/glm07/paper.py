"""The figures that GLM07 printed, for its three collections. F1 is macro-averaged, times 100."""

from __future__ import annotations

from dataclasses import dataclass

# (method, threshold) of Table 4; (method, variance, features) of Tables 5 to 7, None for all features.
Cell4 = tuple[str, str]
Cell5 = tuple[str, str, int | None]


@dataclass(frozen=True)
class Versus:
    """A row of Tables 1 to 3: categories with fewer, more and equally many errors, and the p-value."""

    won: int
    lost: int
    tied: int
    p_value: float


@dataclass(frozen=True)
class Kept:
    """Features per category of the norm-based lasso (section 6.3)."""

    smallest: int
    largest: int
    mean: float
    sd: float


@dataclass(frozen=True)
class Paper:
    """One collection.

    terms     distinct terms of the training part
    versus    Tables 1, 2, 3 by (left, right); errors_table is its number
    f1        the collection's column of Table 4
    variance  Tables 5, 6, 7; variance_table is its number
    """

    name: str
    documents: tuple[int, int]
    categories: int
    terms: int
    errors_table: int
    versus: dict[tuple[str, str], Versus]
    f1: dict[Cell4, float]
    variance_table: int
    variance: dict[Cell5, float]
    kept: Kept


PAIRS = (("lasso", "ridge"), ("lasso", "svm"), ("ridge", "svm"))
METHODS = ("lasso", "ridge", "svm")
SIZES = (500, 50, 5)
RCV1_TEST_DOCUMENTS = 77_993


def _versus(*rows: tuple[int, int, int, float]) -> dict[tuple[str, str], Versus]:
    return {pair: Versus(*row) for pair, row in zip(PAIRS, rows, strict=True)}


def _f1(default: tuple[float, float, float], tuned: tuple[float, float, float]) -> dict[Cell4, float]:
    """Both thresholds, each in the order of METHODS."""
    columns = {"default": default, "tuned": tuned}
    return {(method, name): column[k] for name, column in columns.items() for k, method in enumerate(METHODS)}


def _variance(cv: tuple[float, ...], norm: tuple[float, ...]) -> dict[Cell5, float]:
    """Both columns from top to bottom: lasso, ridge, then ridge with 500, 50 and 5 features."""
    rows: tuple[tuple[str, int | None], ...] = (("lasso", None), ("ridge", None), *(("ridge", k) for k in SIZES))
    columns = {"cv": cv, "norm": norm}
    return {
        (method, name, size): column[k] for name, column in columns.items() for k, (method, size) in enumerate(rows)
    }


MODAPTE = Paper(
    name="ModApte",
    documents=(9_603, 3_299),
    categories=90,
    terms=18_978,
    errors_table=1,
    versus=_versus((39, 20, 31, 0.005), (36, 22, 32, 0.044), (12, 31, 47, 0.005)),
    f1=_f1((48.64, 37.63, 38.52), (52.03, 39.71, 53.75)),
    variance_table=5,
    variance=_variance((48.64, 37.63, 39.97, 45.73, 46.67), (50.77, 38.94, 38.82, 45.80, 46.20)),
    kept=Kept(2, 892, 93.8, 167.9),
)

RCV1 = Paper(
    name="RCV1-v2",
    documents=(23_149, RCV1_TEST_DOCUMENTS),
    categories=103,
    terms=47_152,
    errors_table=2,
    versus=_versus((48, 48, 7, 0.321), (32, 66, 5, 0.0), (22, 69, 12, 0.0)),
    f1=_f1((53.69, 46.79, 46.43), (56.54, 51.40, 57.23)),
    variance_table=6,
    variance=_variance((53.69, 46.79, 48.54, 43.43, 30.33), (52.94, 48.12, 46.27, 41.69, 28.54)),
    kept=Kept(0, 3750, 625.9, 726.9),
)

# Table 7 heads its column with 122,076 terms, which counts those of the test part too.
OHSUMED = Paper(
    name="OHSUMED",
    documents=(83_944, 149_501),
    categories=77,
    terms=73_269,
    errors_table=3,
    versus=_versus((45, 26, 6, 0.004), (37, 34, 6, 0.705), (25, 40, 12, 0.002)),
    f1=_f1((47.23, 36.09, 34.32), (51.30, 42.99, 50.58)),
    variance_table=7,
    variance=_variance((47.23, 36.09, 39.02, 42.88, 43.57), (47.16, 40.47, 36.93, 42.59, 41.33)),
    kept=Kept(0, 2636, 241.3, 393.3),
)


def paper_for(format: str, reuters_split: str = "modapte") -> Paper | None:
    """The paper's collection in this format of ours; None for a corpus that it did not use."""
    if format == "reuters" and reuters_split != "modapte":
        return None
    return {"reuters": MODAPTE, "rcv1": RCV1, "smart": OHSUMED}.get(format)
