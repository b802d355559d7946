"""Model files of every schema there ever was stay readable, and answer as they did."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from model.build import assert_same

from lapwing.formats import load
from lapwing.formats.model_file import SCHEMA

DATA = Path(__file__).parents[1] / "data"
GOLDEN = sorted(DATA.glob("golden-schema*.lapwing"))


def test_every_schema_has_its_file() -> None:
    assert {f"golden-schema{n}.lapwing" for n in range(1, SCHEMA + 1)} <= {path.name for path in GOLDEN}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
@pytest.mark.parametrize("method", ["plain", "kernel"])
def test_answers_stay_the_same(path: Path, method: str) -> None:
    model = load(path)
    record = json.loads(path.with_suffix(".json").read_text(encoding="ascii"))
    np.testing.assert_allclose(
        model.category_proba(record["texts"], method=method), record["probabilities"], rtol=1e-12
    )
    assert [list(result) for result in model.predict(record["texts"])] == record["chosen"]
    assert list(model.feature_names) == record["features"]
    assert model.provenance == record["provenance"]


def test_what_schema_1_holds() -> None:
    model = load(DATA / "golden-schema1.lapwing")
    assert model.classes == ("grain", "crude oil", "été 中", 7)
    assert not model.exclusive
    assert model.thresholds.tolist() == [0.0, 0.625, -np.inf, np.inf]
    assert model.intercepts.tolist() == [-0.25, 0.5, 0.0, -3.0]
    assert model.fits.converged.tolist() == [True, True, False, True]
    assert np.isnan(model.fits.gap[2])
    assert model.n_kept[-1] == 0
    assert model.n_kept[0] > 0
    assert model.weighting is not None
    assert model.weighting.n_documents == 6
    assert dict(zip(model.weighting.terms, model.weighting.document_frequency, strict=True))["wheat"] == 3


def test_what_schema_2_adds() -> None:
    model = load(DATA / "golden-schema2.lapwing")
    assert model.weighting is not None
    assert model.weighting.settings.word_ngrams == (1, 2)
    assert "corn price" in model.feature_names


def test_what_unseen_documents_decide_is_kept() -> None:
    path = DATA / "golden-schema2-calibrated.lapwing"
    model, record = load(path), json.loads(path.with_suffix(".json").read_text(encoding="ascii"))
    assert model.calibration is not None
    assert model.calibration.slope.tolist() == [0.75, 1.25, 1.0, 0.5]
    assert model.calibration.offset.tolist() == [-0.5, 0.25, 0.0, 0.125]
    assert model.coupling == (0.25, 0.5)
    assert model.held_out["macro_f1"] == 0.75
    assert len(model.sketch) == 6
    np.testing.assert_allclose(model.predict_proba(record["texts"]), record["together"], rtol=1e-12)
    assert [list(one) for one in model.predict_set(record["texts"], coverage=0.8)] == record["sets"]
    assert any(record["sets"])


def test_the_script_still_makes_the_file_of_this_schema() -> None:
    script = runpy.run_path(str(DATA / "make_golden.py"))
    assert_same(script["golden"](), load(DATA / f"golden-schema{SCHEMA}.lapwing"))
    assert_same(script["calibrated"](), load(DATA / f"golden-schema{SCHEMA}-calibrated.lapwing"))
