"""The figures that AAGBD11 printed: Tables 1 to 6."""

from __future__ import annotations

from dataclasses import dataclass

from lapwing.corpus import Corpus


@dataclass(frozen=True)
class ResultRow:
    """A line of Tables 2 to 6."""

    micro: float
    macro: float
    sparsity: float
    training: float
    prediction: float


@dataclass(frozen=True)
class Paper:
    """One collection: its line of Table 1 and its table of results."""

    name: str
    table: int
    documents: tuple[int, int]
    features: int
    categories: int
    rows: dict[str, ResultRow]


REUTERS = Paper(
    "Reuters-21578", 2, (7_770, 3_019), 6_760, 90,
    {
        "lasso": ResultRow(0.8711, 0.5167, 0.9957, 164.07, 0.44),
        "ridge": ResultRow(0.8690, 0.5099, 0.0, 257.96, 13.20),
        "Selected Ridge": ResultRow(0.8645, 0.4563, 0.9447, 180.24, 1.55),
    },
)  # fmt: skip

OHSUMED = Paper(
    "Ohsumed", 3, (6_286, 7_643), 20_520, 23,
    {
        "lasso": ResultRow(0.6533, 0.6053, 0.9800, 81.16, 1.83),
        "ridge": ResultRow(0.6387, 0.5897, 0.0, 144.06, 31.20),
        "Selected Ridge": ResultRow(0.6409, 0.5802, 0.8827, 107.08, 5.32),
    },
)  # fmt: skip

NEWSGROUPS = Paper(
    "20-NewsGroups", 4, (12_492, 6_246), 51_666, 20,
    {
        "lasso": ResultRow(0.8663, 0.8644, 0.9861, 384.16, 1.72),
        "ridge": ResultRow(0.9038, 0.9018, 0.0, 157.96, 71.25),
        "Selected Ridge": ResultRow(0.8966, 0.8939, 0.9050, 136.01, 7.51),
    },
)  # fmt: skip

# Table 6: DMOZ, by α. The universal penalty of its 133,348 features is 0.0133.
SWEEP = {
    1.0: ResultRow(0.1188, 0.0353, 0.9999, 11103.9, 8.33),
    0.1: ResultRow(0.2604, 0.1209, 0.9999, 11065.8, 32.81),
    0.05: ResultRow(0.2835, 0.1343, 0.9998, 11325.1, 39.82),
    0.03: ResultRow(0.2953, 0.1436, 0.9997, 11013.4, 39.34),
    0.02: ResultRow(0.3040, 0.1524, 0.9996, 11164.6, 49.07),
    0.0133: ResultRow(0.3124, 0.1586, 0.9993, 10996.8, 42.52),
    0.01: ResultRow(0.3156, 0.1604, 0.9992, 10965.5, 52.97),
    1e-7: ResultRow(0.3434, 0.1949, 0.5423, 11090.2, 8858.31),
    0.0: ResultRow(0.3434, 0.2020, 0.0, 13299.40, 31084.90),
}


def paper_for(corpus: Corpus) -> Paper | None:
    """The paper's collection that this is; None for one that it did not use."""
    labels = set(corpus.categories())
    if corpus.source.get("format") == "reuters":
        return REUTERS
    if {"alt.atheism", "talk.religion.misc"} <= labels and len(labels) == NEWSGROUPS.categories:
        return NEWSGROUPS
    if {"C01", "C23"} <= labels and len(labels) == OHSUMED.categories:
        return OHSUMED
    return None
