"""lapwing inside Annif, through Annif's own command."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("annif", reason="Annif is not installed")

from annif.corpus import Document, DocumentList, SubjectSet
from annif.exception import NotSupportedException
from annif.vocab.subject_index import SubjectIndexFile
from annif.vocab.types import Subject as AnnifSubject

import lapwing
from lapwing.integrations.annif import LapwingBackend
from lapwing_formats.annif import write_folder, write_lines
from lapwing_formats.vocabulary import Subject, Vocabulary, write_vocabulary

WORDS = {
    "light": "lens mirror prism ray colour",
    "grain": "wheat corn harvest barley field",
    "energy": "oil gas pipeline power reactor",
}
URIS = {name: f"http://example.org/{k}" for k, name in enumerate(WORDS)}
PROJECTS = """
[words]
name=Words
language=en
backend=lapwing
vocab=words
limit=2
variance=10
allow_learn=1

[wrong]
name=A variance that is none
language=en
backend=lapwing
vocab=words
variance=much
"""


def titles(count: int, seed: int) -> tuple[list[str], list[tuple[str, ...]]]:
    draw = random.Random(seed)
    texts, labels = [], []
    for _ in range(count):
        chosen = draw.sample(sorted(WORDS), draw.choice([1, 1, 2]))
        texts.append(" ".join(draw.choice(WORDS[name].split()) for name in chosen for _ in range(3)))
        labels.append(tuple(chosen))
    return texts, labels


def run(folder: Path, *arguments: str, stdin: str = "", code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "lapwing.integrations.annif", *arguments],
        cwd=folder, input=stdin, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout if not code else done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("annif")
    (root / "projects.cfg").write_text(PROJECTS)
    subjects = tuple(Subject(uri, name) for name, uri in URIS.items())
    write_vocabulary(root / "words.tsv", Vocabulary((*subjects, Subject("http://example.org/never", "never"))))
    write_lines(root / "train.tsv.gz", *titles(120, 1), URIS)
    write_folder(root / "test", *titles(20, 2), URIS)
    run(root, "load-vocab", "words", "words.tsv", "--language", "en")
    return root


def test_train_suggest_and_evaluate(folder: Path) -> None:
    run(folder, "train", "words", "train.tsv.gz")
    text = "the harvest of wheat and a pipeline for oil"
    rows = [line.split("\t") for line in run(folder, "suggest", "words", stdin=text).splitlines()]
    assert {row[0] for row in rows} == {f"<{URIS['grain']}>", f"<{URIS['energy']}>"}  # the limit is 2
    assert {row[1] for row in rows} == {"grain", "energy"}
    model = lapwing.load(folder / "data" / "projects" / "words" / "model.lapwing")
    proba = dict(zip(model.classes, model.predict_proba([text])[0], strict=True))
    for uri, _, score in rows:
        assert float(score) == pytest.approx(proba[uri[1:-1]], abs=1e-4)
    assert run(folder, "suggest", "words", "--limit", "1", stdin=text).count("\n") == 1
    output = run(folder, "eval", "words", "test")
    ndcg = next(float(line.split()[-1]) for line in output.splitlines() if line.startswith("NDCG:"))
    assert ndcg > 0.95

    before = model.provenance["documents"]
    write_lines(folder / "more.tsv", *titles(30, 3), URIS)
    run(folder, "learn", "words", "more.tsv")
    learned = lapwing.load(folder / "data" / "projects" / "words" / "model.lapwing")
    assert learned.provenance["updates"][0]["documents"] == 30
    assert before == 120
    assert not np.array_equal(learned.intercepts, model.intercepts)


def test_what_cannot_be(folder: Path) -> None:
    assert "not trained" in run(folder, "suggest", "wrong", stdin="oil", code=1)
    assert "variance must be" in run(folder, "train", "wrong", "train.tsv.gz", code=1)


class Analyzer:
    """Annif's own need data that are fetched from elsewhere."""

    def tokenize_words(self, text: str) -> list[str]:
        return [word[:4] for word in text.split()]


@pytest.mark.parametrize("analyzer", ["four letters", None])
def test_the_analyzer_of_the_project(tmp_path: Path, analyzer: str | None) -> None:
    texts, labels = titles(60, 4)
    number = {name: k for k, name in enumerate(URIS)}
    subjects = SubjectIndexFile()
    for name, uri in URIS.items():
        subjects.append(AnnifSubject(uri=uri, labels={"en": name}, notation=None))
    project = SimpleNamespace(datadir=str(tmp_path), subjects=subjects, analyzer_spec=analyzer, analyzer=Analyzer(),
                              language="en", project_id="p")  # fmt: skip
    documents = [Document(text, SubjectSet(number[one] for one in row))
                 for text, row in zip(texts, labels, strict=True)]  # fmt: skip
    backend = LapwingBackend("lapwing", {"limit": "1", "variance": "10"}, project)
    backend.train(DocumentList(documents))
    model = lapwing.load(tmp_path / "model.lapwing")
    assert ("pipe" if analyzer else "pipelin") in model.feature_names
    again = LapwingBackend("lapwing", {"limit": "1"}, project)
    (result,) = again.suggest([Document("pipelines pipeline")])
    assert [one.subject_id for one in result] == [number["energy"]]
    assert len(next(iter(again.suggest([Document("oil")], {"limit": 0})))) == 0
    with pytest.raises(NotSupportedException, match="without documents that have subjects"):
        backend.train(DocumentList([Document("oil")]))
