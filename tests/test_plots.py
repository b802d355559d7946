"""Pictures show what the numbers say; notebooks get HTML in which a text is text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cli.build import SCRIPTS, documents
from reporting.build import ATTACKS
from reporting.build import model as by_hand

import lapwing
from lapwing import plots
from lapwing.errors import InputError
from lapwing.evaluate import evaluate

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def fitted() -> Any:
    docs = documents(60)
    texts, labels = [one.text for one in docs], [one.label for one in docs]
    plain = lapwing.TextClassifier(stop_words="smart", prior="laplace", variance="cv", calibrate=False)
    return plain.fit(texts, labels), texts, labels


def test_words(fitted: Any) -> None:
    model, _, _ = fitted
    ax = plots.words(model, "grain", top=4)
    wanted = dict(model.model_.row_features(1, 4))
    assert [bar.get_width() for bar in ax.patches] == sorted(wanted.values())
    assert {label.get_text() for label in ax.get_yticklabels()} == set(wanted)
    assert ax.get_xlabel() == "weight"
    with pytest.raises(InputError, match="category must be one of"):
        plots.words(model)


def test_explanation(fitted: Any) -> None:
    explained = fitted[0].explain("wheat and corn and oil")
    ax = plots.explanation(explained)
    parts = explained.categories[0].contributions
    assert [bar.get_width() for bar in ax.patches] == sorted(part.contribution for part in parts)


def test_features_kept_and_given_axes(fitted: Any) -> None:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert plots.features_kept(fitted[0], ax=ax) is ax
    points = ax.collections[0].get_offsets()
    assert points[:, 0].tolist() == fitted[0].model_.fits.positives.tolist()
    assert points[:, 1].tolist() == fitted[0].model_.n_kept.tolist()
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_reliability_and_precision_recall() -> None:
    truth = np.array([1, 1, 0, 1, 0, 0])
    proba = np.array([0.95, 0.85, 0.82, 0.4, 0.3, 0.05])
    line = plots.reliability(truth, proba).lines[-1]
    np.testing.assert_allclose(line.get_xdata(), [0.05, 0.35, 0.835, 0.95])
    least = 0.001 / 3  # where the axis ends
    np.testing.assert_allclose(line.get_ydata(), [least, 0.5, 0.5, 1 - least])
    ax = plots.precision_recall(truth, proba, 0.5)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [1 / 3, 2 / 3, 1])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1, 1, 3 / 4])
    assert (ax.lines[1].get_xdata()[0], ax.lines[1].get_ydata()[0]) == (2 / 3, 2 / 3)
    with pytest.raises(InputError, match="from 0 to 1"):
        plots.reliability(truth, proba * 3)


def test_variance_curve_and_path(fitted: Any) -> None:
    model, texts, labels = fitted
    ax = plots.variance_curve(model, "grain")
    curve = model.variance_curves_[1]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), curve.variances)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), curve.total, rtol=1e-6)
    path = plots.coefficient_path(model, texts, labels, "grain")
    weights = dict(model.model_.row_features(1))
    lines = {line.get_label(): line for line in path.lines[2:]}
    assert set(lines) <= set(weights)
    for word, line in lines.items():  # the fit at the model's own variance is among them
        x = np.log(np.asarray(line.get_xdata(), dtype=float))
        value = np.interp(np.log(model.variance_[1]), x, line.get_ydata())
        assert value == pytest.approx(weights[word], rel=0.1)


def test_errors(fitted: Any) -> None:
    model, texts, labels = fitted
    result = evaluate(model.model_, [(texts, [(label,) for label in labels])])
    ax = plots.errors({"one": result, "two": result})
    assert len(ax.lines) == 3
    np.testing.assert_allclose([line.get_ydata()[0] for line in ax.lines], np.log1p(result.tables.errors))
    with pytest.raises(InputError, match="two or more"):
        plots.errors({"one": result})


def test_notebooks_show_html(fitted: Any) -> None:
    model, texts, labels = fitted
    shown = model._repr_html_()
    assert "strongest words" in shown
    assert "grain" in shown
    assert model._repr_mimebundle_()["text/html"] == shown
    assert "strongest words" not in lapwing.TextClassifier()._repr_mimebundle_()["text/html"]
    explained = model.explain("wheat <b>oil</b>")._repr_html_()
    assert "&lt;b&gt;" in explained
    both = by_hand().explain(" ".join(SCRIPTS))._repr_html_()
    assert "underline solid" in both
    assert "underline dashed" in both
    result = evaluate(model.model_, [(texts, [(label,) for label in labels])])._repr_html_()
    assert "micro" in result


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_text_made_to_attack_is_text(fitted: Any, attack: str) -> None:
    html = fitted[0].explain(attack + " oil")._repr_html_()
    for tag in ("<script", "<img", "<b>", "<!--"):
        assert tag not in html.lower()
    assert "\0" not in html
    assert "\u202e" not in html
