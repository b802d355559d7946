"""Reuters-21578, from the archive to its figures, through the command with all defaults."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing


def command(*arguments: object) -> Any:
    line = [sys.executable, "-m", "lapwing", *map(str, arguments), "--json"]
    return json.loads(subprocess.run(line, check=True, capture_output=True).stdout)


@pytest.fixture(scope="session")
def evaluated(archive: Path, trained: tuple[dict[str, Any], Path]) -> dict[str, Any]:
    result: dict[str, Any] = command("evaluate", trained[1], archive)
    return result


def test_training(trained: tuple[dict[str, Any], Path]) -> None:
    said, _ = trained
    assert said["documents"] == 9_603
    assert said["converged"] is True
    assert 0.0 <= said["largest_relative_gap"] <= 1e-4


def test_evaluation(evaluated: dict[str, Any]) -> None:
    assert evaluated["documents"] == 3_299
    assert evaluated["categories_averaged"] == 90
    assert 0.52 <= evaluated["averages"]["macro"]["f1"] <= 0.56
    assert evaluated["calibration"]["relative_log_loss"] <= 0.235
    positives = {row["category"]: row["tp"] + row["fn"] for row in evaluated["categories"]}
    assert positives["earn"] == 1_087
    assert positives["acq"] == 719


def test_weights_are_sparse_and_certified(trained: tuple[dict[str, Any], Path]) -> None:
    model = lapwing.load(trained[1])
    assert np.all(model.fits.gap <= 1e-4 * model.fits.objective)
    assert model.fits.positives[model.classes.index("earn")] == 2_877
    assert model.fits.positives[model.classes.index("corn")] == 181
    assert model.n_kept.mean() <= 0.01 * len(model.feature_names)


def test_the_words_of_a_category_are_its_own(trained: tuple[dict[str, Any], Path]) -> None:
    model = lapwing.load(trained[1])
    for category in ("wheat", "zinc", "sugar", "trade"):
        assert model.row_features(model.classes.index(category), 1)[0][0] == category
