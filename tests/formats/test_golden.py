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
    assert [path.name for path in GOLDEN] == [f"golden-schema{n}.lapwing" for n in range(1, SCHEMA + 1)]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
@pytest.mark.parametrize("method", ["plain", "kernel"])
def test_answers_stay_the_same(path: Path, method: str) -> None:
    model = load(path)
    record = json.loads(path.with_suffix(".json").read_text(encoding="ascii"))
    np.testing.assert_allclose(
        model.category_proba(record["texts"], method=method), record["probabilities"], rtol=1e-12
    )
    assert [list(found) for found in model.predict(record["texts"])] == record["chosen"]
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


def test_the_script_still_makes_the_file_of_this_schema() -> None:
    made = runpy.run_path(str(DATA / "make_golden.py"))["golden"]()
    assert_same(made, load(DATA / f"golden-schema{SCHEMA}.lapwing"))
