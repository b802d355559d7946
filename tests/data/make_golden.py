"""Write the golden model file of the current schema, and what it answers: `python tests/data/make_golden.py`.

A golden file, once released, never changes. Run this for a new schema only; the numbers are fixed by hand and
nothing is fitted, so it gives the same bytes on every machine.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from lapwing.formats.model_file import SCHEMA, to_bytes
from lapwing.model import FitSummary, LinearModel
from lapwing.model.calibration import Calibration, Coupling
from lapwing.model.conformal import Conformal
from lapwing.text import TextSettings, design

TRAINING = [
    "Wheat and corn prices rose; the farmers' corn harvest fell.",
    "Crude oil futures fell 3.5 dollars a barrel",
    "<p>Corn &amp; wheat exports</p> to Japan: 小麦 輸出",
    "ราคาน้ำมัน oil prices",
    "गेहूं की कीमत wheat price",
    "École d'été: the harvest",
]
TEXTS = [
    *TRAINING,
    "",
    "nothing that was seen",
    "CORN corn co\u00adrn",
    "<script>oil()</script> harvests 輸出入",
    "de l'été, e\u0301te\u0301",
]


def golden() -> LinearModel:
    weighting = design(
        TRAINING, TextSettings(strip_html=True, min_df=1, stop_words="smart", word_ngrams=(1, 2), table=1)
    ).weighting
    assert weighting is not None
    width = len(weighting.columns)
    weights = np.round(np.cos(np.arange(4 * width) ** 2 * 0.7), 3).reshape(4, width) * [
        [2.0],
        [1.5],
        [-1.0],
        [0.0],
    ]
    weights[np.abs(weights) < 0.5] = 0.0
    return LinearModel(
        link="logit",
        classes=("grain", "crude oil", "été 中", 7),
        exclusive=False,
        weights=sp.csr_matrix(weights),
        intercepts=np.array([-0.25, 0.5, 0.0, -3.0]),
        thresholds=np.array([0.0, 0.625, -np.inf, np.inf]),
        feature_names=weighting.feature_names,
        weighting=weighting,
        fits=FitSummary(
            variance=np.array([1.5, 1.5, 1.5, 0.25]),
            objective=np.array([3.5, 2.25, 4.0, 0.125]),
            gap=np.array([1e-5, 0.0, np.nan, 2e-7]),
            kkt=np.array([1e-4, 0.0, 1e-3, 1e-6]),
            rounds=np.array([4, 5, 500, 1]),
            converged=np.array([True, True, False, True]),
            positives=np.array([3, 2, 1, 0]),
        ),
        provenance={"lapwing": "0.1.0", "corpus": "golden", "date": "2000-01-01", "documents": len(TRAINING)},
    )


def calibrated() -> LinearModel:
    """With what unseen documents decide: lines, coupling, promises, how it fared; and the sketch of its documents."""
    plain = golden()
    lines = Calibration(
        np.array([0.75, 1.25, 1.0, 0.5]), np.array([-0.5, 0.25, 0.0, 0.125]), plain.weights, plain.intercepts
    )
    weights, intercepts = lines.predicting
    truth = np.eye(4, dtype=bool)[[0, 1, 2, 3, 0, 1]]
    proba = np.where(truth, 0.625, 0.125)
    proba[-1] = [0.5, 0.25, 0.125, 0.125]
    held_out = {
        "folds": 5, "documents": 6, "categories": 4, "macro_f1": 0.75, "micro_f1": 0.8125, "accuracy": 0.8125,
        "relative_log_loss": 0.5, "expected_calibration_error": 0.0625,
    }  # fmt: skip
    return replace(
        plain, exclusive=True, weights=weights, intercepts=intercepts, thresholds=np.zeros(4), calibration=lines,
        coupling=Coupling(0.25, 0.5), held_out=held_out, sketch=np.arange(1, 7, dtype=np.uint64) << np.uint64(40),
        conformal=Conformal.of(proba, truth, True, "folds"),
    )  # fmt: skip


def answers(model: LinearModel) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "texts": TEXTS,
        "probabilities": model.category_proba(TEXTS).tolist(),
        "chosen": [list(result) for result in model.predict(TEXTS)],
        "features": list(model.feature_names),
        "provenance": model.provenance,
    }


def main() -> None:
    for kind, model in (("", golden()), ("-calibrated", calibrated())):
        path = Path(__file__).parent / f"golden-schema{SCHEMA}{kind}"
        path.with_suffix(".lapwing").write_bytes(to_bytes(model))
        record = answers(model)
        if kind:
            record["together"] = model.predict_proba(TEXTS).tolist()
            record["sets"] = [list(one) for one in model.predict_set(TEXTS, coverage=0.8)]
        path.with_suffix(".json").write_text(json.dumps(record, indent=1, ensure_ascii=True) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
