"""Small problems: numbers, texts, label sets."""

from __future__ import annotations

from typing import Any

import numpy as np

WORDS = {
    "energy": "oil gas barrel crude pipeline refinery".split(),
    "grain": "wheat corn harvest bushel farm crop".split(),
    "money": "bank rate currency dollar interest loan".split(),
}
COMMON = "prices said market year company report".split()


def matrix(n: int = 60, d: int = 8, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Sparse-ish rows whose first features tell the class, with noise."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, d)) * (draw.random((n, d)) < 0.6)
    y = np.arange(n) % classes
    X[np.arange(n), y] += 1.0
    return X, y


def indicator(n: int = 60, d: int = 8, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Three labels, any number of them on a row; the fourth is on none."""
    X, _ = matrix(n, d, seed=seed)
    Y = np.zeros((n, 4), dtype=int)
    Y[:, :3] = X[:, :3] + 0.5 * X[:, 3:6] > 0.4
    return X, Y


def texts(n: int = 60, seed: int = 3) -> tuple[list[str], list[str]]:
    draw = np.random.default_rng(seed)
    labels = [sorted(WORDS)[i % 3] for i in range(n)]
    return [" ".join([*draw.choice(WORDS[k], 4), *draw.choice(COMMON, 4)]) for k in labels], labels


def text_sets(n: int = 45) -> tuple[list[str], list[list[str]]]:
    """Texts with one label, with two, and with none."""
    ones, labels = texts(n)
    pairs = [(f"{ones[i]} {ones[i + 1]}", sorted({labels[i], labels[i + 1]})) for i in range(0, n - 1, 5)]
    sets = [[label] for label in labels] + [list(pair) for _, pair in pairs] + [[] for _ in range(5)]
    return ones + [text for text, _ in pairs] + [" ".join(COMMON)] * 5, sets


def as_indicator(sets: list[list[str]]) -> tuple[Any, list[str]]:
    names = sorted({label for row in sets for label in row})
    return np.array([[int(name in row) for name in names] for row in sets]), names
