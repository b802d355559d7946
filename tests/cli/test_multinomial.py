"""lapwing train --multi-class multinomial, and what the other commands make of its model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.run import Command


def test_from_training_to_classification(news: Path, tmp_path: Path, run: Command) -> None:
    model = str(tmp_path / "m.lapwing")
    trained = run("train", str(news), "-o", model, "--multi-class", "multinomial", "--variance", "10", "--json")
    assert trained.code == 0
    assert json.loads(trained.out)["converged"]
    assert "softmax" in run("inspect", model).out
    assert json.loads(run("evaluate", model, str(news), "--json").out)["accuracy"] > 0.8
    for line in run("classify", model, str(news), "--json").out.splitlines():
        assert sum(json.loads(line)["probabilities"].values()) == pytest.approx(1.0)
    assert "grain  yes" in run("explain", model, "wheat harvest farm").out


def test_reference_class(news: Path, tmp_path: Path, run: Command) -> None:
    model = str(tmp_path / "m.lapwing")
    options = ("--multi-class", "multinomial", "--reference-class", "money")
    assert run("train", str(news), "-o", model, *options).code == 0
    shown = json.loads(run("inspect", model, "--json").out)
    assert {one["category"]: one["features"] for one in shown["categories"]}["money"] == 0
    refused = run("train", str(news), "-o", model, "--reference-class", "money")
    assert refused.code == 2
    assert "multinomial" in refused.err
