"""lapwing reproduce glm07, from a small corpus to its files."""

from __future__ import annotations

import json
import re
import struct
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from cli.run import Command
from cli.test_start import loaded_by

from lapwing.corpus import read
from lapwing.errors import InputError
from lapwing.evaluate import Tables
from lapwing_papers import svm
from lapwing_papers.glm07 import collect, f1_table, features_table, run_everything, tables
from lapwing_papers.glm07.figures import FIGURES
from lapwing_papers.glm07.paper import MODAPTE, RCV1
from lapwing_papers.glm07.runs import EVERY_RUN
from papers.conftest import Done

TITLES = ("Errors", "F1", "Variance", "Features", "Section 6.3")


def test_every_file_is_there(done: Done) -> None:
    expected = {"results.json", "index.html", *(f"{name}.png" for name in FIGURES)}
    assert {path.name for path in done.folder.iterdir()} == expected


def test_pictures_are_pictures(done: Done) -> None:
    for name in FIGURES:
        content = (done.folder / f"{name}.png").read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", content[16:24])
        assert min(width, height) > 400
        assert len(content) > 5_000


def test_the_page_needs_nothing_beside_it(done: Done) -> None:
    page = (done.folder / "index.html").read_text(encoding="utf-8")
    sources = re.findall(r'\b(?:src|href)\s*=\s*"?([^"\s>]+)', page)
    assert len(sources) == len(FIGURES)
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert not re.search(r"https?://|@import|url\(|<script|<link", page)
    for title in TITLES:
        assert f"<h2>{title}: " in page
    assert str(done.folder.parent) not in page


def test_results_hold_every_run_and_category(done: Done) -> None:
    results = done.results
    assert set(results["runs"]) == {run.name for run in EVERY_RUN}
    assert [row["category"] for row in results["categories"]] == ["energy", "grain", "money"]
    assert results["categories_left_out"] == 1  # `rare` has no test document
    assert results["documents"] == {"train": 60, "test": 30}
    assert results["paper"] is None
    for run in results["runs"].values():
        assert len(run["categories"]) == 3
        for threshold in ("default", "tuned"):
            mean = np.mean([row[threshold]["f1"] for row in run["categories"]])
            assert run["macro_f1"][threshold] == pytest.approx(100 * mean)
        if run["features"] is not None:
            assert all(row["features"] <= run["features"] for row in run["categories"])
    assert len(results["versus"]) == 6
    assert all(row["won"] + row["lost"] + row["tied"] == 3 for row in results["versus"])


def test_what_is_told_apart_easily_is_told_apart(done: Done) -> None:
    for name in ("lasso/norm/all", "ridge/norm/all", "svm/all"):
        assert done.results["runs"][name]["macro_f1"]["default"] > 80


def test_tables_are_printed(done: Done) -> None:
    for title in TITLES:
        assert f"{title}: " in done.ran.out
    assert "paper" not in done.ran.out.split("\n\n")[1]  # a corpus that the paper did not have
    assert "index.html" in done.ran.lines[-1]


def test_json_and_any_number_of_threads(run: Command, corpus: Path, tmp_path: Path, done: Done) -> None:
    ended = run("reproduce", "glm07", "--data", corpus, "-o", tmp_path / "again", "--jobs", "1", "--json")
    assert ended.code == 0, ended.err
    output = ended.json
    for results in (output, done.results):
        for one in results["runs"].values():
            one.pop("seconds")
    assert output == json.loads(json.dumps(done.results))
    for name in FIGURES:
        assert (tmp_path / "again" / f"{name}.png").read_bytes() == (done.folder / f"{name}.png").read_bytes()


def test_the_papers_figures_stand_beside_ours(corpus: Path) -> None:
    collection = collect(read(corpus), MODAPTE)
    runs = run_everything(collection)
    first = tables(runs, MODAPTE, collection.train.shape[1])[0]
    assert first.title.startswith("Table 1")
    assert ("lasso – ridge", "paper", "39", "20", "31", "0.005") in first.rows
    row = f1_table(runs, MODAPTE).rows[0]
    assert row[:3] == ("lasso", "default", "48.64")
    ours, difference = float(row[3]), float(row[4].replace("−", "-"))
    assert ours - 48.64 == pytest.approx(difference, abs=0.011)
    assert features_table(runs, MODAPTE).rows[0] == ("paper, norm-based", "2", "892", "93.8", "167.9")


def test_counts_are_those_of_the_decisions(corpus: Path) -> None:
    collection = collect(read(corpus))
    runs = run_everything(collection)
    done = runs["lasso/norm/all"]
    weights = np.array([one.weights for one in done.results])
    scores = collection.test @ weights[:, :-1].T + weights[:, -1]
    expected = Tables.of(collection.truth, scores > 0)
    for name in ("tp", "fp", "fn", "tn"):
        np.testing.assert_array_equal(getattr(done.tables("default"), name), getattr(expected, name))
    on_training = collection.train @ weights[:, :-1].T + weights[:, -1]
    for k, one in enumerate(done.results):
        y = collection.targets.signs(k) > 0
        assert np.sum((on_training[:, k] > one.threshold) != y) <= np.sum((on_training[:, k] > 0) != y)


def test_quick_takes_every_tenth_category(corpus: Path) -> None:
    collection = collect(read(corpus), quick=True)
    assert collection.categories == ("energy",)


def test_categories_and_test_documents_can_be_named(run: Command, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "categories").write_text("money\nenergy\n", encoding="utf-8")
    (tmp_path / "ids").write_text("\n".join(f"d{i}" for i in range(0, 60, 3)), encoding="utf-8")
    ended = run("reproduce", "glm07", "--data", corpus, "-o", tmp_path / "out", "--json",
                "--categories", tmp_path / "categories", "--test-ids", tmp_path / "ids")  # fmt: skip
    assert ended.code == 0, ended.err
    assert [row["category"] for row in ended.json["categories"]] == ["energy", "money"]
    assert ended.json["documents"]["test"] == 20


def test_a_category_without_training_documents_is_never_assigned(corpus: Path) -> None:
    whole = read(corpus)
    split = ["test" if "rare" in labels else part for labels, part in zip(whole.labels, whole.split, strict=True)]
    collection = collect(replace(whole, split=split), categories=["energy", "rare"])
    for done in run_everything(collection).values():
        assert done.results[1].default == done.results[1].tuned == (0, 0, 1)


def test_rcv1_has_all_categories_and_a_test_part_drawn_by_seed(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lapwing_papers.glm07.runs.RCV1_TEST_DOCUMENTS", 10)
    first, again, other = (collect(read(corpus), RCV1, seed=seed) for seed in (1, 1, 2))
    assert first.categories == ("energy", "grain", "money", "rare")
    assert first.test.shape[0] == other.test.shape[0] == 10
    assert (first.test != again.test).nnz == 0
    assert (first.test != other.test).nnz > 0


def test_rcv1_and_ohsumed_each_in_a_folder(run: Command, tmp_path: Path) -> None:
    """Token files and SMART records, by one command; the paper's figures of both stand beside ours."""
    draw = np.random.default_rng(0)
    for name in ("rcv1", "ohsumed"):
        (tmp_path / name).mkdir()
    topics = []
    for k in range(60):
        topic = k % 2
        words = " ".join(
            [*draw.choice(["profit share firm", "vote war law"][topic].split(), 4), draw.choice(["b", "c"])]
        )
        topics.append(f"{'CG'[topic]}CAT {k + 1} 1\n")
        with open(tmp_path / "rcv1" / f"lyrl2004_tokens_{'train' if k < 40 else 'test_pt0'}.dat", "a") as stream:
            stream.write(f".I {k + 1}\n.W\n{words}\n\n")
        with open(tmp_path / "ohsumed" / f"ohsumed.{87 if k < 40 else 89}", "a") as stream:
            stream.write(f".I {k}\n.U\n{k}\n.S\nJ\n.M\n{['Firms', 'Laws'][topic]}/*.\n.T\nOf {words}.\n.W\n{words}\n")
    (tmp_path / "rcv1" / "rcv1-v2.topics.qrels").write_text("".join(topics))
    out = tmp_path / "out"
    ended = run(
        "reproduce", "glm07", "--rcv1", tmp_path / "rcv1", "--ohsumed", tmp_path / "ohsumed", "-o", out, "--quick",
        "--jobs", "1",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    for name in ("rcv1", "ohsumed"):
        results = json.loads((out / name / "results.json").read_text(encoding="utf-8"))
        assert (results["documents"]["train"], results["documents"]["test"]) == (40, 20)
        assert results["paper"] is not None
        assert len(results["categories"]) == 1


def test_wrong_lists_are_named(corpus: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        collect(read(corpus), categories=["nowhere"])
    with pytest.raises(InputError, match="--test-ids"):
        collect(read(corpus), test_ids=["nobody"])


def test_a_corpus_needs_two_parts(run: Command, tmp_path: Path) -> None:
    path = tmp_path / "flat.jsonl"
    path.write_text('{"text": "a b", "label": "x"}\n{"text": "c d", "label": "y"}\n', encoding="utf-8")
    ended = run("reproduce", "glm07", "--data", path, "-o", tmp_path / "out")
    assert ended.code == 2
    assert "train" in ended.complaint
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_it_says_how_to_get_it(
    run: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ended = run("reproduce", "glm07", "--data", corpus, "-o", tmp_path / "out")
    assert ended.code == 2
    assert 'pip install "lapwing[experiments]"' in ended.complaint


def test_output_must_be_a_folder(run: Command, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert "is a file" in run("reproduce", "glm07", "--data", corpus, "-o", tmp_path / "file").complaint


def test_help(run: Command) -> None:
    assert "glm07" in run("reproduce").out
    assert "--json" in run("reproduce", "glm07", "--help").out
    assert loaded_by("reproduce", "glm07", "--help") == set()


def test_documents_without_features_count_as_often_as_they_are() -> None:
    """The SVM of a matrix with many empty rows is that of the matrix with them drawn together."""
    rng = np.random.default_rng(0)
    dense = rng.random((30, 3)) * (rng.random((30, 3)) < 0.6)
    dense[10:] = 0.0
    y = np.where(np.arange(30) % 3 == 0, 1.0, -1.0)
    beta, C, _ = svm.fit(sp.csr_matrix(dense), y, np.ones(30), seed=0)

    def objective(b: np.ndarray) -> float:
        return float(0.5 * b @ b + C * np.maximum(0.0, 1.0 - y * (dense @ b[:-1] + b[-1])).sum())

    best = objective(beta)
    assert best <= objective(np.zeros(4))
    for _ in range(200):
        assert objective(beta + 0.05 * rng.standard_normal(4)) >= best * (1 - 1e-3)
    assert pytest.approx(30 / (dense**2).sum()) == C
