"""A model knows the documents it was trained on again, and evaluation says so."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing import MAPClassifier, TextClassifier
from lapwing.evaluate import evaluate
from lapwing.formats.model_file import from_bytes, to_bytes
from lapwing.model.trained_on import KEPT, TrainedOn, sketch


def texts(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{k}" for k in rng.integers(0, 500, 12)) for _ in range(count)]


def share(known: np.ndarray, documents: object) -> float:
    result = TrainedOn(known)
    result.add(documents)
    return result.share


@pytest.mark.parametrize("count", [50, 3000])
def test_the_share_seen_before_is_estimated(count: int) -> None:
    """Exact where all hashes are kept; else within five standard deviations of a sample of their number."""
    old, new = texts(count, 1), texts(count, 2)
    known = sketch(old)
    assert len(known) == min(count, KEPT)
    assert share(known, old) == 1.0
    assert share(known, new) == 0.0
    mixed = share(known, old[: count // 2] + new[: count // 2])
    assert mixed == 0.5 if count < KEPT else abs(mixed - 0.5) < 5 * 0.5 / np.sqrt(KEPT / 2)
    assert np.isnan(share(np.empty(0, np.uint64), old))


def test_rows_are_known_by_what_they_hold() -> None:
    X = sp.random(40, 30, 0.2, "csr", random_state=3)
    stored_zeros = X.copy()
    stored_zeros.data[:5] = 0.0
    assert share(sketch(X), X.toarray()) == 1.0
    assert share(sketch(stored_zeros.toarray()), stored_zeros) == 1.0
    assert share(sketch(X), 2.0 * X[X.getnnz(axis=1) > 0]) == 0.0


def test_evaluation_warns_and_the_file_remembers() -> None:
    documents = texts(120, 5)
    labels = ["ab"[len(text) % 2] for text in documents]
    truth = [(label,) for label in labels]
    fitted = TextClassifier(variance=1.0).fit(documents[:60], labels[:60])
    model = from_bytes(to_bytes(fitted.model_))
    again = evaluate(model, [(documents[:60], truth[:60])])
    assert again.trained_on == 1.0
    assert str(again.memorised).startswith("these documents were trained on")
    assert "trained on" in again._repr_html_()
    fresh = evaluate(model, [(documents[60:], truth[60:])])
    assert fresh.trained_on == 0.0
    assert fresh.memorised is None


def test_vectors_through_the_estimator() -> None:
    X = sp.random(60, 20, 0.3, "csr", random_state=1)
    y = np.arange(60) % 2
    model = MAPClassifier(variance=1.0).fit(X, y).model_
    assert evaluate(model, [(X, [(label,) for label in y])]).trained_on == 1.0
