"""The words of a category's name as prior knowledge."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.corpus import Corpus
from lapwing.errors import SettingsError
from lapwing.stats.objective import certify
from lapwing.stats.prior_table import PriorTable
from lapwing.training import TrainSettings, learn, rare
from lapwing.training.again import prior_of, settings_of

WORDS = ["wheat", "corn", "oil", "gas", "ship", "port", "gold", "mine", "rate", "bank"]


def corpus(n: int = 300) -> Corpus:
    rng = np.random.default_rng(1)
    texts, labels = [], []
    for _ in range(n):
        words = rng.choice(WORDS, 4)
        texts.append(" ".join(words))
        labels.append(tuple(f"{word} (trade)" for word in sorted(set(words)) if rng.random() < 0.08))
    return Corpus("made", "text", texts, labels, [str(i) for i in range(n)], False, [""] * n, np.ones(n))


SETTINGS = TrainSettings(label_words=5.0, variance=3.0, calibrate=False, tol=1e-9)


@pytest.mark.parametrize("limit", ["", "LEAST", "PAIRS"])
def test_names_draw_the_weights_of_their_words(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """By either kernel the optimum under the prior that the model tells of."""
    if limit:
        monkeypatch.setattr(rare, limit, 100)
    data = corpus()
    trained = learn(data, SETTINGS, most_duals=10**6)
    model = trained.model
    assert model.provenance["settings"]["label_words"] == 5.0
    settings = settings_of(model)
    X = model.vectors(data.documents)
    for row, fit in enumerate(trained.fits):
        prior = prior_of(model, row, settings)
        assert isinstance(prior, PriorTable)
        (named,) = prior.rows  # "trade" is no word of the documents
        assert named.mode == 5.0
        label = model.categories[row]
        assert str(label).startswith(named.feature)
        y = np.where([label in row for row in data.labels], 1.0, -1.0)
        weights = np.zeros(X.shape[1] + 1)
        weights[fit.features], weights[-1] = fit.weights, fit.intercept
        from lapwing.stats.priors import Columns

        arrays = prior.bind(Columns(model.feature_names, X), label).compile(3.0, X.shape[1])
        proof = certify(X, y, arrays, weights, fit.dual)
        assert proof.relative_gap <= 1e-9 * (1 + 1e-6)
        assert proof.objective == pytest.approx(fit.objective, rel=1e-10)


def test_what_it_does_not_go_with() -> None:
    with pytest.raises(SettingsError, match="0 or more"):
        TrainSettings(label_words=-1.0)
    with pytest.raises(SettingsError, match="table"):
        TrainSettings(label_words=1.0, prior=PriorTable({"wheat": 1.0}))
    with pytest.raises(SettingsError, match="jeffreys"):
        TrainSettings(label_words=1.0, prior="jeffreys", variance="norm")
