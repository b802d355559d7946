"""lapwing reproduce ibw08, from a small corpus to its files."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from cli.run import Command

from lapwing.ngrams.solver import exact
from lapwing.ngrams.space import ngram_space
from lapwing.stats.objective import certify
from lapwing.stats.priors import Laplace
from lapwing.text import TextSettings
from lapwing_papers.ibw08 import METHODS, l1_weights, write_out

WORDS = TextSettings.for_ngrams()


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes that differ in the order of words only."""
    draw = random.Random(5)
    lines = []
    for k in range(60):
        label = ("blame", "praise")[k % 2]
        pair = ["not bad", "quite good"] if label == "praise" else ["not good", "quite bad"]
        text = " ".join([*draw.choices("film plot cast scene it was the".split(), k=6), draw.choice(pair)])
        lines.append(json.dumps({"text": text, "label": label, "split": "test" if k % 3 == 2 else "train"}))
    path = tmp_path_factory.mktemp("sentences") / "sentences.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_from_a_corpus_to_its_files(run: Command, sentences: Path, tmp_path: Path) -> None:
    ran = run("reproduce", "ibw08", "--data", sentences, "-o", tmp_path / "out", "--quick", "--jobs", "2")
    assert ran.code == 0, ran.err
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert results["splits"] == [{"train": 40, "test": 20}]
    cells = {(c["method"], c["tokens"], c["length"]): c for c in results["cells"]}
    expected = {(m, t, n) for m in METHODS for t in ("word", "char") for n in (1, 2, None)}
    assert set(cells) == expected - {(m, t, None) for m in ("l1", "svm") for t in ("word", "char")}
    for method in METHODS:
        assert cells[method, "word", 2]["macro_f1"][0] > cells[method, "word", 1]["macro_f1"][0]
    assert cells["exact", "word", None]["gap"][0] <= 1e-4
    assert cells["greedy", "word", None]["gap"][0] is None
    assert {name for name, _ in results["strongest"]["exact/word"]["praise"]} & {"not bad", "quite good"}
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    sources = re.findall(r'\b(?:src|href)\s*=\s*"?([^"\s>]+)', page)
    assert len(sources) == 4
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    for name in ("f1-word", "time-word", "f1-char", "time-char"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    for said in ("order of magnitude", "Strongest n-grams of characters", "40 to train on, 20 to test on"):
        assert said in page


def test_folds_and_many_classes(run: Command, tmp_path: Path) -> None:
    path = tmp_path / "three.jsonl"
    lines = [{"text": f"{word} {word}s {'xyz'[k % 3]}", "label": word} for k in range(7) for word in ("a", "b", "c")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ran = run("reproduce", "ibw08", "--data", path, "-o", tmp_path / "o", "--quick", "--tokens", "word",
              "--explicit", "1", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.json["classes"] == ["a", "b", "c"]
    assert sum(len(output) > 0 for output in ran.json["strongest"]["greedy/word"].values()) == 3
    assert {c["length"] for c in ran.json["cells"] if c["method"] == "svm"} == {1}


def test_the_explicit_route_solves_the_same_problem() -> None:
    """Its n-grams are those of the space, and its L1 logistic regression has the same optimum."""
    draw = random.Random(1)
    texts = [" ".join(draw.choices("a b c d".split(), k=8)) for _ in range(40)]
    y = np.where([text.count("a b") > 0 for text in texts], 1.0, -1.0)
    result = write_out(texts, texts, WORDS, 3)
    space = ngram_space(texts, WORDS, max_length=3)
    assert result.train.shape[1] == space.n_ngrams
    fit = exact(space, y, np.ones(40), variance=4.0, tol=1e-8)
    theirs = certify(result.train, y, Laplace().compile(4.0, space.n_ngrams), l1_weights(result.train, y, 4.0, 0))
    assert theirs.objective == pytest.approx(fit.result.objective, rel=1e-3)


def test_what_it_cannot_use(run: Command, corpus: Path, tmp_path: Path) -> None:
    ran = run("reproduce", "ibw08", "--data", corpus, "-o", tmp_path / "o", "--quick")
    assert ran.code == 2
    assert "exactly one class each" in ran.complaint
