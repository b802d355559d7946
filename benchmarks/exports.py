"""Exports beside lapwing's own probabilities: JavaScript by Node, one Python file alone, ONNX by onnxruntime.

Of every corpus in LAPWING_CORPORA a model of its first documents, calibrated, coupled or with tuned thresholds, is
exported three ways, and 1,000 documents are classified by each. Prints the largest difference of a probability, and
how many decisions differ.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import lapwing
from lapwing.exporting import export, onnx_inputs
from lapwing.selection.folds import text_keys
from lapwing.training import TrainSettings

CORPORA: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("reuters21578.tar.xz", {}, {"threshold": "f1"}),
    ("20news-bydate.tar.xz", {}, {}),
    ("movie_reviews.zip", {}, {"link": "probit"}),
    ("movie_reviews.zip", {}, {"link": "robit:4"}),
    ("sogou-3000.tar.xz", {"encoding": "gb18030"}, {}),
    ("yso-finna-en.jsonl.xz", {}, {"threshold": "f1"}),
]
TRAINED, SHOWN, MOST_LABELS = 3000, 1000, 300
PYTHON = """
import json, sys
sys.path.insert(0, sys.argv[1])
from exported import MODEL
for text in json.load(open(sys.argv[1] + "/texts.json", encoding="utf-8")):
    scores = MODEL.scores(text)
    print(json.dumps([MODEL.probabilities(scores), MODEL.chosen(scores)]))
"""
NODE = """
import { readFileSync } from "node:fs";
const { classify } = await import(process.argv[2] + "/exported.mjs");
for (const text of JSON.parse(readFileSync(process.argv[2] + "/texts.json", "utf-8"))) {
  const found = await classify(text);
  console.log(JSON.stringify([found.map((one) => one.probability), found.map((one) => one.chosen)]));
}
"""


def sample(corpus: lapwing.corpus.Corpus, count: int) -> lapwing.corpus.Corpus:
    """Documents drawn by what they hold, with the labels that most of them have."""
    keys = text_keys(corpus.documents, np.random.SeedSequence(0))
    part = corpus.select(np.argsort(keys, kind="stable")[:count])
    names, sizes = np.unique([label for labels in part.labels for label in labels], return_counts=True)
    kept = set(names[np.argsort(-sizes, kind="stable")[:MOST_LABELS]].tolist())
    if len(kept) == len(names):
        return part
    from dataclasses import replace

    return replace(part, labels=[tuple(label for label in labels if label in kept) for labels in part.labels])


def lines(*command: str) -> tuple[np.ndarray, np.ndarray]:
    done = subprocess.run(command, capture_output=True, check=True)
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def answers(
    model: lapwing.model.LinearModel, texts: list[str], folder: Path
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    (folder / "texts.json").write_text(json.dumps(texts))
    (folder / "run.mjs").write_text(NODE)
    export(model, folder / "exported.py", "python")
    rows = {"python": lines(sys.executable, "-I", "-S", "-c", PYTHON, str(folder))}
    if shutil.which("node"):
        export(model, folder / "exported.mjs", "js")
        rows["js"] = lines("node", str(folder / "run.mjs"), str(folder))
    try:
        import onnxruntime

        export(model, folder / "m.onnx", "onnx")
        session = onnxruntime.InferenceSession(folder / "m.onnx")
        parts = [session.run(["probabilities", "chosen"], onnx_inputs(model, texts[k : k + 100]))
                 for k in range(0, len(texts), 100)]  # fmt: skip
        rows["onnx"] = tuple(np.vstack(column) for column in zip(*parts, strict=True))
    except (ImportError, lapwing.errors.LapwingError) as error:
        print(f"    onnx left out: {error}")
    return rows


def main() -> None:
    folder = Path(os.environ["LAPWING_CORPORA"])
    for name, reading, settings in CORPORA:
        if not (folder / name).exists():
            print(f"{name}: not there")
            continue
        drawn = sample(lapwing.corpus.read(folder / name, **reading), TRAINED)
        model = lapwing.train(drawn, TrainSettings(**settings))
        texts = list(drawn.documents[:SHOWN])
        scores = model.scores(texts)
        proba, chosen = model.class_proba(scores), model.decide(scores)
        coupling = "calibrated" if model.calibration is not None else "as fitted"
        print(
            f"{name}: {len(model.classes)} classes, exclusive {model.exclusive}, {model.link}, {coupling}, {settings}"
        )
        with tempfile.TemporaryDirectory() as result:
            for to, (theirs, decided) in answers(model, texts, Path(result)).items():
                print(f"    {to:7} largest difference {np.abs(theirs - proba).max():.1e}; "
                      f"{int((decided != chosen).sum())} of {chosen.size:,} decisions differ")  # fmt: skip


if __name__ == "__main__":
    main()
