"""What is exported gives the model's probabilities and decisions: JavaScript by Node, Python alone, ONNX."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.build import SCRIPTS
from reporting.build import EXTREME, MARKUP, model, texts

import lapwing
from lapwing.errors import InputError
from lapwing.exporting import export, onnx_inputs
from lapwing.model import LinearModel
from lapwing.model.calibration import Coupling
from lapwing.text import TextSettings

KINDS: dict[str, dict[str, Any]] = {
    "label sets": {},
    "two classes": {"classes": ("no", "yes"), "exclusive": True},
    "three classes, coupled": {"exclusive": True, "coupling": Coupling(0.4, 0.7)},
    "never assigned": {"thresholds": np.array([np.inf, 0.0, -1.0])},
    "probit": {"link": "probit"},
    "cloglog": {"link": "cloglog"},
    "cloglog, coupled": {"link": "cloglog", "exclusive": True, "coupling": Coupling(0.4, 0.7)},
    "robit": {"link": "robit:4"},
    "robit, coupled": {"link": "robit:2.5", "exclusive": True, "coupling": Coupling(0.4, 0.7)},
    "softmax": {"link": "softmax", "exclusive": True},
    "characters": {"settings": TextSettings(tokens="char")},
    "ready-made": {"settings": TextSettings(tokens="ready", stop_words="none", stemmer="none")},
    "markup": {"settings": TextSettings(strip_html=True)},
    "no digits": {"settings": TextSettings(digits=False, stop_words=("oil", "don't"), stemmer="none")},
    "raw": {"settings": TextSettings(tf="raw", idf=False, cosine=False, stemmer="russian")},
    "binary": {"settings": TextSettings(tf="binary", min_df=2, stemmer="turkish")},
    "bigrams": {"settings": TextSettings(word_ngrams=(1, 2), stop_words="smart")},
    "characters inside words": {"settings": TextSettings(char_ngrams=(3, 5), strip_html=True)},
    "word n-grams": {"settings": TextSettings.for_ngrams(ngrams=True)},
    "character n-grams": {"settings": TextSettings.for_ngrams(tokens="char", ngrams=True, strip_html=True)},
}
TEXTS = [*SCRIPTS, *EXTREME, *MARKUP, *texts(30)]
NO_LONE = [text for text in TEXTS if text.isprintable() or "\ud800" not in text]


def answers(result: LinearModel, given: list[str]) -> tuple[np.ndarray, np.ndarray]:
    scores = result.scores(given)
    return result.class_proba(scores), np.vstack([result.decide(row[None]) for row in scores])


def check(answer: list[dict[str, Any]], result: LinearModel, given: list[str]) -> None:
    proba, chosen = answers(result, given)
    assert np.abs(np.array([one["probabilities"] for one in answer]) - proba).max() <= 1e-12
    assert np.array_equal(np.array([one["chosen"] for one in answer]), chosen)


PYTHON = """
import importlib.util, json, sys
for path, texts in json.load(open(sys.argv[1], encoding="utf-8")):
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.MODEL
    scores = [model.scores(text) for text in texts]
    print(json.dumps([{"probabilities": model.probabilities(one), "chosen": model.chosen(one)} for one in scores]))
"""
NODE = """
import { readFileSync } from "node:fs";
for (const [path, texts] of JSON.parse(readFileSync(process.argv[2], "utf-8"))) {
  const { classify } = await import(path);
  const found = [];
  for (const text of texts) {
    const all = await classify(text);
    found.push({ probabilities: all.map((one) => one.probability), chosen: all.map((one) => one.chosen) });
  }
  console.log(JSON.stringify(found));
}
"""


def check_all(tmp_path: Path, to: str, given: list[str], *command: str) -> None:
    """Every kind of model, in one process of the other language."""
    classifier = {kind: model(**KINDS[kind]) for kind in KINDS}
    paths = [str(tmp_path / f"m{k}{'.py' if to == 'python' else '.mjs'}") for k in range(len(classifier))]
    for path, one in zip(paths, classifier.values(), strict=True):
        export(one, path, to)
    (tmp_path / "texts.json").write_text(json.dumps([[path, given] for path in paths]))
    done = subprocess.run([*command, str(tmp_path / "texts.json")], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    for one, line in zip(classifier.values(), done.stdout.decode().splitlines(), strict=True):
        check(json.loads(line), one, given)


def test_plain_python(tmp_path: Path) -> None:
    check_all(tmp_path, "python", TEXTS, sys.executable, "-I", "-S", "-c", PYTHON)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_javascript(tmp_path: Path) -> None:
    (tmp_path / "run.mjs").write_text(NODE)
    check_all(tmp_path, "js", NO_LONE, "node", str(tmp_path / "run.mjs"))


EXPLAIN = """
const { classes, explain } = await import(process.argv[2]);
for (const text of JSON.parse(process.argv[3])) {
  console.log(JSON.stringify(await Promise.all(classes.map((name) => explain(text, name)))));
}
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.parametrize("kind", ["two classes", "three classes, coupled", "label sets"])
def test_javascript_explains_every_class(kind: str, tmp_path: Path) -> None:
    classifier, given = model(**KINDS[kind]), ["oil wheat bank harvest", *texts(5)]
    export(classifier, tmp_path / "m.mjs", "js")
    (tmp_path / "run.mjs").write_text(EXPLAIN)
    line = ["node", str(tmp_path / "run.mjs"), str(tmp_path / "m.mjs"), json.dumps(given)]
    done = subprocess.run(line, capture_output=True, check=True)
    for text, answer in zip(given, done.stdout.decode().splitlines(), strict=True):
        for label, found in zip(classifier.classes, json.loads(answer), strict=True):
            (wanted,) = classifier.explain(text, [label]).categories
            assert [found[name] for name in ("score", "intercept", "probability")] == pytest.approx(
                [wanted.score, wanted.intercept, wanted.probability], abs=1e-9
            )
            assert {part["feature"]: part["contribution"] for part in found["contributions"]} == pytest.approx(
                {part.feature: part.contribution for part in wanted.contributions}, abs=1e-9
            )


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("robit")])
def test_onnx(kind: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    classifier = model(**KINDS[kind])
    export(classifier, tmp_path / "m.onnx", "onnx")
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    result = session.run(["probabilities", "chosen"], onnx_inputs(classifier, TEXTS))
    proba, chosen = answers(classifier, TEXTS)
    assert np.abs(result[0] - proba).max() <= (1e-6 if classifier.link == "probit" else 1e-12)
    assert np.array_equal(result[1], chosen)
    said = session.get_modelmeta().custom_metadata_map
    assert json.loads(said["classes"]) == [str(label) for label in classifier.classes]


def test_vectors_go_to_onnx_and_nowhere_else(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    X = np.random.default_rng(0).normal(size=(30, 4))
    fitted = lapwing.MAPClassifier(variance=1.0, calibrate=False).fit(X, [0, 1, 2] * 10)
    export(fitted, tmp_path / "m.onnx", "onnx")
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    assert np.allclose(session.run(["probabilities"], onnx_inputs(fitted, X))[0], fitted.predict_proba(X), atol=1e-12)
    for to in ("js", "python"):
        with pytest.raises(InputError, match="trained on vectors"):
            export(fitted, tmp_path / "m", to)


def test_what_a_graph_cannot_do_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="batch together"):
        export(model(decision="expected_f1"), tmp_path / "m.onnx", "onnx")
    with pytest.raises(InputError, match="Student's distribution"):
        export(model(link="robit:4"), tmp_path / "m.onnx", "onnx")
    with pytest.raises(InputError, match="tail of the normal"):
        export(model(link="probit", exclusive=True), tmp_path / "m.onnx", "onnx")


def test_a_model_of_the_command(tmp_path: Path) -> None:
    """Trained with all defaults: calibrated, coupled; from the command line to the command line."""
    from cli.build import documents

    from lapwing.cli import main

    docs = documents(60)
    fitted = lapwing.TextClassifier().fit([one.text for one in docs], [one.label for one in docs])
    fitted.save(tmp_path / "m.lapwing")
    with pytest.raises(SystemExit) as ended:
        main(["export", str(tmp_path / "m.lapwing"), "--to", "python"])
    assert ended.value.code == 0
    lines = "".join(f"{one.text}\n" for one in docs[:5]).encode()
    done = subprocess.run([sys.executable, "-I", tmp_path / "m.py"], input=lines, capture_output=True, check=True)
    output = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["chosen"] for one in output] == [[label] for label in fitted.predict([one.text for one in docs[:5]])]
    mine = [list(one["probabilities"].values()) for one in output]
    assert np.allclose(mine, fitted.predict_proba([one.text for one in docs[:5]]), rtol=0, atol=1e-12)
