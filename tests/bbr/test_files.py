"""Model files of BBR and BMR: the reference ones to the byte, and what is wrong with damaged ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from model.build import model as linear_model
from model.build import text_model

from lapwing import MAPClassifier
from lapwing.errors import InputError, ModelFileError
from lapwing_bbr import files as bbr

FOLDER = Path(__file__).resolve().parents[1] / "data" / "bbr"
MODELS = sorted(path.stem for path in FOLDER.glob("*.model"))


@pytest.mark.parametrize("name", MODELS)
def test_reference_files_are_read_and_written_to_the_byte(name: str, tmp_path: Path) -> None:
    model = bbr.read_bbr_model(FOLDER / f"{name}.model")
    assert len(model.features) == 60
    assert model.standardized == (name == "laplace_std")
    assert model.tuned == (3 if name == "laplace_t_f1" else 0)
    bbr.write_bbr_model(model, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (FOLDER / f"{name}.model").read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_through_our_own_model_and_back(name: str, tmp_path: Path) -> None:
    model = bbr.read_bbr_model(FOLDER / f"{name}.model")
    ours = bbr.to_linear(model, "reference")
    X = sp.random(50, 60, density=0.2, random_state=np.random.default_rng(3), format="csr")
    beta = np.array([model.weights.get(int(i), 0.0) for i in ours.feature_names])
    np.testing.assert_allclose(ours.scores(X)[:, 0], X @ beta + model.intercept, rtol=1e-13)
    again = bbr.from_linear(ours)
    assert (again.weights, again.intercept, again.features) == (model.weights, model.intercept, model.features)
    assert f"{again.threshold:.12e}" == f"{model.threshold:.12e}"


def test_the_threshold_is_reached() -> None:
    """BBR says yes from the threshold on, ours above it: both to the same documents."""
    model = bbr.BbrModel((1,), {1: 1.0}, 0.0, threshold=0.5)
    X = sp.csr_matrix(np.array([[0.5], [np.nextafter(0.5, 0)], [1.0]]))
    ours = bbr.to_linear(model, "m")
    assert ours.predict(X) == ["1", "-1", "1"]
    everything = bbr.BbrModel((1,), {}, 0.0, threshold=bbr.EVERYTHING)
    assert bbr.to_linear(everything, "m").members(np.array([[-1e300]])).all()
    assert bbr.from_linear(bbr.to_linear(everything, "m")).threshold == bbr.EVERYTHING


def test_calibrated_probabilities_survive_the_export(tmp_path: Path) -> None:
    """A slope and an offset are weights and an intercept: what the file predicts is what the model says."""
    rng = np.random.default_rng(4)
    X = sp.random(300, 25, density=0.3, random_state=rng, format="csr")
    scores = X @ rng.normal(0.0, 2.0, (25, 3))
    ours = MAPClassifier().fit(X, (scores + rng.logistic(size=scores.shape) > 0.5).astype(int)).model_
    assert ours.calibration is not None
    assert not np.allclose(ours.calibration.slope, 1.0)
    for row in range(3):
        bbr.write_bbr_model(bbr.from_linear(ours, row, numbered=True), tmp_path / "m")
        again = bbr.to_linear(bbr.read_bbr_model(tmp_path / "m"), "m")
        columns = [int(name) - 1 for name in again.feature_names]
        np.testing.assert_allclose(
            again.probability(again.scores(X[:, columns]))[:, 0], ours.category_proba(X)[:, row], rtol=0, atol=1e-9
        )


def test_line_ends_are_blanks(tmp_path: Path) -> None:
    title, _, rest = (FOLDER / "laplace_v1.model").read_text().partition("\n")
    (tmp_path / "m").write_text(title + "\n" + "\n".join(rest.split()))
    assert bbr.read_bbr_model(tmp_path / "m") == bbr.read_bbr_model(FOLDER / "laplace_v1.model")


WHOLE = """Bayesian Binary Regression ver 2
endofheader
topic t
modelType 1 1 0 0
topicFeats 1 2
beta 1 2 3
endoftopic
"""
DAMAGED = [
    ("", "expected a model file of BBR"),
    ("Bayesian Binary Regression ver 2\n", "truncated"),
    (WHOLE.replace("endoftopic", ""), "truncated"),
    (WHOLE.replace("endofheader", "nonsense"), "expected a keyword, got 'nonsense'"),
    (WHOLE.replace("beta 1 2 3", "beta 1 2"), "expected 3 betas"),
    (WHOLE.replace("beta 1 2 3", "beta 1 two 3"), "expected a number, got 'two'"),
    (WHOLE.replace("beta 1 2 3", "beta 1 nan 3"), "expected finite numbers"),
    (WHOLE.replace("topicFeats 1 2", "topicFeats 1 1"), "expected 3 betas"),
    (WHOLE.replace("topicFeats 1 2", "topicFeats 1 -2"), "features of 0 or more"),
    (WHOLE.replace("topicFeats 1 2\nbeta 1 2 3", ""), "expected topicFeats"),
    (WHOLE.replace("modelType 1", "modelType 7"), "expected a link"),
    (WHOLE.replace("endofheader", "tfMethod 1\nendofheader"), "tfMethod"),
    (WHOLE.replace("endofheader", "ngroups x\nendofheader"), "expected a number, got 'x'"),
    (WHOLE.replace("endofheader", "ngroups 1\nendofheader").replace("beta 1 2 3", "betaHierSparse 5 0:1"), "a place"),
    (WHOLE.replace("endoftopic", "threshold 1 2\nendoftopic"), "one threshold"),
]


@pytest.mark.parametrize(("text", "message"), DAMAGED)
def test_damaged_files(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m").write_text(text)
    with pytest.raises(ModelFileError, match=message):
        bbr.read_bbr_model(tmp_path / "m")


BMR = """Bayesian Polytomous Regression model file ver 2.5
classes 1 2 3
tfMethod 0
idfMethod 0
cosineNormalize 0
{restrict}1 2 3
modelname M
nDesignParams 4
modelType 1 1 0 0 0 
design 0
topicFeats 1 2 3
endofheader
betaClassSparse 1 1:1.500000000000e+00 0:-2.500000000000e-01
betaClassSparse 2 3:-1.000000000000e+00
betaClassSparse 3
"""  # noqa: W291


@pytest.mark.parametrize("restrict", ["featRestrict ", "", " "])
def test_bmr_with_and_without_its_missing_word(restrict: str, tmp_path: Path) -> None:
    (tmp_path / "m").write_text(BMR.format(restrict=restrict))
    assert bbr.kind_of(tmp_path / "m") == "bmr"
    model = bbr.read_bmr_model(tmp_path / "m")
    assert (model.classes, model.features, model.name) == (("1", "2", "3"), (1, 2, 3), "M")
    assert model.weights == ({1: 1.5}, {3: -1.0}, {})
    assert model.intercepts == (-0.25, 0.0, 0.0)
    odds = np.exp([1.25, -2.0, 0.0])
    proba = bbr.bmr_to_linear(model, "m").category_proba(sp.csr_matrix([[1.0, 0.0, 2.0]]))
    np.testing.assert_allclose(proba, [odds / odds.sum()])
    bbr.write_bmr_model(model, tmp_path / "again")
    assert (tmp_path / "again").read_text() == BMR.format(restrict="featRestrict ")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("endofheader", "end", "truncated"),
        ("betaClassSparse 2", "betaClassSparse 9", "coefficients of those only"),
        ("3:-1", "3;-1", "expected a number"),
        ("betaClassSparse 3", "something else", "betaClassSparse"),
        ("classes 1 2 3", "classes 1", "two or more classes"),
    ],
)
def test_damaged_bmr(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m").write_text(BMR.format(restrict="featRestrict ").replace(old, new))
    with pytest.raises(ModelFileError, match=message):
        bbr.read_bmr_model(tmp_path / "m")


def test_what_has_no_place_in_such_a_file() -> None:
    with pytest.raises(InputError, match="--features FILE"):
        bbr.from_linear(text_model())
    numbered = bbr.from_linear(text_model(), 1, numbered=True)
    assert numbered.features == tuple(range(1, len(text_model().feature_names) + 1))
    never = linear_model([[1.0]], [0.0], classes=("a",), thresholds=[np.inf])
    assert bbr.from_linear(never, numbered=True).threshold == -bbr.EVERYTHING
    with pytest.raises(InputError, match="between 0 and 1"):
        bbr.score_of(1.5)


@pytest.mark.parametrize("cosine", [False, True])
def test_whether_documents_are_to_be_normalised_is_said(cosine: bool, tmp_path: Path) -> None:
    bbr.write_bbr_model(bbr.BbrModel((1, 2), {1: 1.0}, 0.0, cosine=cosine), tmp_path / "m")
    model, said = bbr.load(tmp_path / "m")
    assert said == cosine
    X = bbr.normalized(sp.csr_matrix([[3.0, 4.0], [0.0, 0.0]]), said)
    np.testing.assert_allclose(model.scores(X)[:, 0], [0.6 if cosine else 3.0, 0.0])


def test_two_classes_are_a_softmax_too(tmp_path: Path) -> None:
    ours = bbr.to_linear(bbr.read_bbr_model(FOLDER / "laplace_v1.model"), "reference")
    classifier = bbr.bmr_from_linear(ours, name="M")
    bbr.write_bmr_model(classifier, tmp_path / "m")
    again = bbr.read_bmr_model(tmp_path / "m")
    assert again == classifier
    X = sp.random(50, 60, density=0.2, random_state=np.random.default_rng(3), format="csr")
    proba = bbr.bmr_to_linear(again, "m").category_proba(X)
    np.testing.assert_allclose(proba[:, [1]], ours.category_proba(X), atol=1e-10)
    with pytest.raises(InputError, match="a classifier per category"):
        bbr.bmr_from_linear(text_model(), numbered=True)
