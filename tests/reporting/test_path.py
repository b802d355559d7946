"""The coefficient path: at the model's own variance it is the model, whatever that was trained with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cli import build

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.priors import ElasticNet, PriorTable
from lapwing.reporting import report
from lapwing.reporting.path import POINTS, category_to_follow, coefficient_path
from lapwing.reporting.report import HALVES
from lapwing.stats.prior_table import row
from lapwing.training import TrainSettings, train

TIGHT: dict[str, Any] = {"tol": 1e-10, "max_iter": 2000, "calibrate": False, "prior": "laplace"}


def corpus(exclusive: bool) -> Corpus:
    documents = build.documents()
    return Corpus(
        name="news", kind="text", documents=[one.text for one in documents],
        labels=[(one.label,) for one in documents], ids=[str(i) for i in range(len(documents))], exclusive=exclusive,
        split=[], weights=np.linspace(0.5, 1.5, len(documents)),
    )  # fmt: skip


CASES: dict[str, dict[str, Any]] = {
    "lasso": {},
    "ridge": {"prior": "gaussian"},
    "probit": {"link": "probit"},
    "balanced": {"class_weight": "balanced"},
    "weighted": {"class_weight": {"energy": 3.0, "grain": 0.5}},
    "free constant": {"intercept_variance": np.inf},
    "standardised": {"standardize": True},
    "elastic net": {"prior": ElasticNet(ratio=0.7)},
    "prior knowledge": {"prior": PriorTable((row("oil", 2.0), row("wheat", 0.0, "4x", category="grain")), "laplace")},
    "selected": {"select_features": 9},
    "calibrated": {"variance": "pooled", "calibrate": True},
}


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_path_goes_through_the_model(case: str, exclusive: bool) -> None:
    data = corpus(exclusive)
    model = train(data, TrainSettings(**(TIGHT | {"variance": 3.0} | CASES[case])))
    assert (model.calibration is not None) == (case == "calibrated")
    followed = category_to_follow(model)
    path = coefficient_path(model, followed, model.vectors(data.documents), data.labels, data.weights)
    assert len(path["variances"]) == len(path["coefficients"]) == POINTS
    here = path["variances"].index(path["chosen"])
    weights = dict(model.row_features(followed))
    assert path["features"]
    for feature, weight in zip(path["features"], path["coefficients"][here], strict=True):
        assert weight == pytest.approx(weights.get(feature, 0.0), rel=1e-3, abs=1e-5)


def test_a_weaker_prior_keeps_more_and_a_strong_one_nothing() -> None:
    data = corpus(False)
    model = train(data, TrainSettings(prior="laplace", variance=1.0, calibrate=False))
    path = coefficient_path(model, 0, model.vectors(data.documents), data.labels)
    kept = np.count_nonzero(path["coefficients"], axis=1)
    assert kept[0] == 0
    assert kept[-1] >= kept[POINTS // 2] > 0


def test_what_has_no_path_is_refused() -> None:
    data = corpus(True)
    joint = train(data, TrainSettings(multi_class="multinomial", variance=1.0))
    jeffreys = train(data, TrainSettings(prior="jeffreys"))
    for model, message in ((joint, "all classes together"), (jeffreys, "no variance to follow")):
        with pytest.raises(InputError, match=message):
            coefficient_path(model, 0, model.vectors(data.documents), data.labels)
    model = train(data, TrainSettings(prior="laplace", variance=1.0, calibrate=False))
    with pytest.raises(InputError, match="no document of the data"):
        coefficient_path(model, 0, model.vectors(data.documents), [("other",)] * len(data))


@pytest.mark.parametrize("prior", ["elasticnet", "gaussian"])
def test_a_followed_category_says_how_sure_its_words_are(prior: str) -> None:
    """By the documents trained on; documents of another training say nothing of it."""
    data = replace(corpus(False), weights=np.ones(60), split=[""] * 60)
    model = train(data, TrainSettings(prior=prior, variance=3.0))
    page = report(model, data, follow=["grain"])
    (row,) = page.contents.certainty
    words = page.contents.certainty[row]["words"]
    weights = dict(model.top_features(row))
    assert words.keys() == weights.keys()
    if prior == "gaussian":
        assert all(low < weights[word] < high for word, (low, high) in words.items())
    else:
        assert page.contents.certainty[row]["halves"] == HALVES
        assert all(0.0 <= share <= 1.0 for share in words.values())
    other = data.select(np.arange(0, 60, 2))
    assert report(model, other, follow=["grain"]).contents.certainty == {}
