"""A model of the defaults, calibrated and coupled, says the same in Python, by command, server, export and file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lapwing
from lapwing.corpus import stdlib_docstrings
from lapwing.exporting import export
from lapwing.model.calibration import Coupling
from serve.start import Server


@pytest.fixture(scope="module", params=["exclusive", "sets"])
def trained(request: pytest.FixtureRequest) -> tuple[lapwing.TextClassifier, list[str]]:
    whole = stdlib_docstrings()
    some = [i for i, (label,) in enumerate(whole.labels) if label in ("logging", "multiprocessing", "unittest", "http")]
    texts, labels = [whole.documents[i] for i in some], [whole.labels[i][0] for i in some]
    given = labels if request.param == "exclusive" else [(one,) if "the" in text else (one, "short")
                                                         for one, text in zip(labels, texts, strict=True)]  # fmt: skip
    return lapwing.TextClassifier().fit(texts, given), texts[::40]


def test_every_way(trained: tuple[lapwing.TextClassifier, list[str]], tmp_path: Path) -> None:
    estimator, texts = trained
    model, said = estimator.model_, np.asarray(estimator.predict_proba(texts))
    assert model.calibration is not None
    assert model.exclusive == (model.coupling != Coupling())
    path = tmp_path / "m.lapwing"
    estimator.save(path)
    names = [str(label) for label in model.classes]

    data = tmp_path / "texts.jsonl"
    data.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    command = [sys.executable, "-m", "lapwing", "classify", str(path), str(data), "--json"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    by_command = [json.loads(line)["probabilities"] for line in lines]
    with Server(path) as server:
        asked = server.client.post("/v1/classify", json={"texts": texts}).json()["results"]
    by_server = [one["probabilities"] for one in asked]
    export(model, tmp_path / "alone.py", to="python")
    script = (
        f"import json, sys; sys.path.insert(0, {str(tmp_path)!r}); import alone\n"
        "print(json.dumps([alone.classify(json.loads(line)['text']) for line in sys.stdin]))"
    )
    alone = subprocess.run([sys.executable, "-c", script], input=data.read_text("utf-8"), capture_output=True,
                           text=True, check=True)  # fmt: skip
    for answers in (by_command, by_server, json.loads(alone.stdout)):
        values = np.array([[one[name] for name in names] for one in answers])
        np.testing.assert_allclose(values, said, rtol=0.0, atol=1e-9)
