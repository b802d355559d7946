"""`lapwing reproduce aagbd11`, on a small corpus from start to end, and what the paper printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli.run import Command, new_process

from lapwing.corpus import Corpus, read
from lapwing.solvers.selected_ridge import universal_penalty
from lapwing_papers.aagbd11 import NEWSGROUPS, OHSUMED, REUTERS, SWEEP, collect, paper_for

from .conftest import Done


@pytest.fixture(scope="module")
def reproduced(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("out") / "aagbd11"
    ran = new_process("reproduce", "aagbd11", "--data", corpus, "-o", folder, "--jobs", "2")
    assert ran.code == 0, ran.err
    return Done(ran, folder, json.loads((folder / "results.json").read_text(encoding="utf-8")))


def test_files_and_tables(reproduced: Done) -> None:
    assert sorted(path.name for path in reproduced.folder.iterdir()) == ["index.html", "results.json", "sweep.png"]
    assert "Table 6" in reproduced.ran.out
    assert (reproduced.folder / "sweep.png").read_bytes().startswith(b"\x89PNG")
    assert "http" not in (reproduced.folder / "index.html").read_text(encoding="utf-8").replace("http-equiv", "")


def test_every_run_is_certified_and_the_best_of_its_grid(reproduced: Done) -> None:
    for name, run in reproduced.results["runs"].items():
        assert run["largest_relative_gap"] <= 1e-4
        curve = {one["variance"]: one["log_likelihood"] for one in reproduced.results["cross_validation"][name]}
        assert curve[run["variance"]] == max(curve.values())
    alpha = universal_penalty(reproduced.results["features"])
    assert reproduced.results["runs"]["Selected Ridge"]["alpha"] == alpha
    assert reproduced.results["runs"]["ridge"]["sparsity"] == 0.0


def test_the_sweep_runs_from_strong_to_none(reproduced: Done) -> None:
    alphas = [one["alpha"] for one in reproduced.results["sweep"]]
    assert alphas == sorted(alphas, reverse=True)
    assert alphas[-1] == 0.0
    sparsity = [one["sparsity"] for one in reproduced.results["sweep"]]
    assert sparsity == sorted(sparsity, reverse=True)
    assert len(alphas) == len(SWEEP)


def test_the_same_whatever_the_threads(corpus: Path, reproduced: Done, tmp_path: Path) -> None:
    again = new_process("reproduce", "aagbd11", "--data", corpus, "-o", tmp_path / "one", "--jobs", "1", "--json")
    assert again.code == 0
    for name, run in reproduced.results["runs"].items():
        for figure in ("variance", "alpha", "micro_f1", "macro_f1", "sparsity", "objective"):
            assert again.json["runs"][name][figure] == run[figure]


def labelled(labels: list[str], source: str = "folder", split: str = "") -> Corpus:
    n = len(labels)
    return Corpus(
        name="c", kind="text", documents=[f"{label} word{i}" for i, label in enumerate(labels)], ids=[str(i) for i in
        range(n)], labels=[(label,) for label in labels], exclusive=True, split=[split] * n, weights=np.ones(n),
        source={"format": source},
    )  # fmt: skip


def test_which_collection_it_is() -> None:
    assert paper_for(labelled(["earn"], "reuters")) is REUTERS
    groups = ["alt.atheism", "talk.religion.misc", *(f"g{k}" for k in range(18))]
    assert paper_for(labelled(groups)) is NEWSGROUPS
    assert paper_for(labelled([f"C{k:02d}" for k in range(1, 24)])) is OHSUMED
    assert paper_for(labelled(["C01", "C23"])) is None


def test_two_thirds_and_one_third_at_random() -> None:
    corpus = labelled(["a", "b", "c"] * 40)
    one, other = (collect(corpus, None, seed=seed) for seed in (0, 1))
    assert (len(one.train), len(one.test)) == (80, 40)
    assert set(one.train.ids) | set(one.test.ids) == set(corpus.ids)
    assert one.train.ids != other.train.ids
    assert one.train.ids == collect(corpus, None, seed=0).train.ids


def test_the_papers_reuters(real: Callable[[str], Path]) -> None:
    """Table 1: 7,770 and 3,019 documents, 90 categories, 6,760 features."""
    corpus = collect(read(real("reuters21578.tar.xz")), REUTERS)
    assert (len(corpus.train), len(corpus.test)) == REUTERS.documents
    assert len(corpus.categories) == REUTERS.categories
    assert corpus.X.shape[1] == pytest.approx(REUTERS.features, rel=0.02)


@pytest.mark.parametrize("paper", [REUTERS, OHSUMED, NEWSGROUPS])
def test_the_papers_figures(paper: object) -> None:
    rows = paper.rows  # type: ignore[attr-defined]
    assert rows["ridge"].sparsity == 0.0
    assert rows["lasso"].sparsity > rows["Selected Ridge"].sparsity > 0.85
    # Sections 4.1 to 4.3: prediction 8 to 9 times faster than ridge's, or nearly.
    assert 5.0 < rows["ridge"].prediction / rows["Selected Ridge"].prediction < 10.0


def test_ohsumed_in_folders(run: Command, tmp_path: Path) -> None:
    """The collection in a folder per category is told by its categories, and the paper's figures stand beside ours."""
    for split, count in (("training", 4), ("test", 2)):
        for c in range(1, 24):
            place = tmp_path / "ohsumed" / split / f"C{c:02}"
            place.mkdir(parents=True)
            for k in range(count):
                (place / f"{k}").write_text(f"word{'abcdefghijklmnopqrstuvwx'[c]} and more of the same {'xyz'[k % 3]}")
    ended = run(
        "reproduce", "aagbd11", "--ohsumed", tmp_path / "ohsumed", "-o", tmp_path / "out", "--quick", "--jobs", "1"
    )
    assert ended.code == 0, ended.err
    assert "Table 3" in ended.out
    assert json.loads((tmp_path / "out" / "results.json").read_text())["documents"]["train"] == 4 * 8
    assert "give --data or --ohsumed" in run("reproduce", "aagbd11", "-o", tmp_path / "none").complaint
