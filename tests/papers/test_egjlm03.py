"""lapwing reproduce egjlm03: small corpora to their files, and the finding on the real one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from cli.run import Command

from lapwing.corpus import read
from lapwing.errors import InputError
from lapwing.solvers import newton
from lapwing.stats import certify
from lapwing.stats.priors import Laplace
from lapwing_papers.egjlm03 import _misfit, collect
from lapwing_papers.egjlm03 import runs as paper
from lapwing_papers.egjlm03.runs import (
    COUNTED,
    MODAPTE_RUNS,
    RCV1_RUNS,
    _of_category,
    _Selected,
    _study_of,
    parse,
)


def test_the_papers_averages_are_those_of_its_columns() -> None:
    for row in (*paper.OTHERS.values(), *paper.F1.values()):
        assert row[10] == pytest.approx(np.mean(row[:10]), abs=0.11)
    for counts in paper.KEPT.values():
        assert len(counts) == len(paper.TOPICS)
    laplaces = [paper.KEPT[f"probit/laplace-{gamma:g}/log/300"] for gamma in paper.GAMMAS]
    assert np.all(np.diff(laplaces, axis=0) < 1)


def test_runs_have_the_names_of_the_papers() -> None:
    assert {run.name for run in MODAPTE_RUNS} >= set(paper.F1)
    assert {run.name for run in RCV1_RUNS} >= set(paper.RCV1)
    for name in (*paper.F1, *paper.RCV1):
        assert parse(name).name == name


def test_a_small_corpus_from_start_to_end(run: Command, corpus: Path, tmp_path: Path) -> None:
    ended = run("reproduce", "egjlm03", "--data", corpus, "-o", tmp_path / "out", "--jobs", "1")
    assert ended.code == 0, ended.err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"results.json", "index.html", "figure2.png"}
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert set(results["runs"]) == {one.name for one in MODAPTE_RUNS}
    assert set(results["categories"]) == {"energy", "grain", "money"}
    for name, result in results["runs"].items():
        for one in result["categories"]:
            assert 0.0 <= one["f1"] <= 100.0
            if "as-printed" not in name:
                assert one["converged"]
                assert one["proof"] <= 1e-4
            if "jeffreys" in name:
                assert one["curvature"] in ("inf", None) or one["curvature"] > 0.0
    for row in results["em_against_default"].values():
        assert all(abs(one["apart"]) <= 1e-6 for one in row)
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|<script|<link", page)
    assert "Table 2: raw and log TF" in page
    assert "paper</td>" not in page  # none of these topics is the paper's


def test_vectors_and_missing_parts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
    (tmp_path / "b.jsonl").write_text('{"text": "x", "labels": ["a"]}\n')
    for name in ("a.svm", "b.jsonl"):
        with pytest.raises(InputError, match=r"splits train and test|holds vectors"):
            collect(read(tmp_path / name))


@pytest.fixture(scope="module")
def modapte(archive: Path):
    return collect(read(archive), quick=True)


def test_modapte_has_the_papers_documents(modapte) -> None:
    n, m = modapte.documents
    assert abs(n - paper.DOCUMENTS[0]) <= 1
    assert m == paper.DOCUMENTS[1]
    assert modapte.categories == ("grain", "wheat", "corn")


def test_the_authors_ran_the_e_step_they_printed(modapte) -> None:
    """On three of its topics, Table 4: γ/|β| stopped early fits; neither exact optimum does, nor √γ/|β|."""
    rows = [_study_of(modapte, row) for row in range(3)]
    misfit = {key: _misfit(modapte, {g: tuple(one[key][g] for one in rows) for g in paper.GAMMAS}) for key in rows[0]}
    assert misfit["γ", 0.02, 1e-6] < 0.2
    assert misfit["√γ", 0.0, 0.0] > 0.4
    assert misfit["γ", 0.0, 0.0] > 0.4
    assert min(value for (rule, _, _), value in misfit.items() if rule == "√γ") > 1.5 * misfit["γ", 0.02, 1e-6]


def test_jeffreys_and_both_thresholds_on_a_topic(modapte) -> None:
    wheat = _of_category(modapte, 1)
    jeffreys = wheat["probit/jeffreys/log/300"]
    assert 2 <= jeffreys.kept <= 9  # the paper's: 3
    assert jeffreys.curvature > 0.0
    assert jeffreys.proof <= 1e-6
    for one in wheat.values():
        tp, fp, fn = one.counts
        assert 2 * tp / (2 * tp + fp + fn) > 0.75


def test_the_named_setting_is_lambda_gamma_and_a_loose_stop(modapte) -> None:
    data = _Selected(modapte, 1, "log", 300)
    prior = Laplace().compile(2.0 / 3.0**2, data.d)
    best = newton.fit(data.problem, data.y, data.c, prior, variance=2.0 / 3.0**2, link="probit", tol=1e-8)
    result = data.as_printed(3.0, [0.02, 1e-6])
    loose, tight = (certify(data.train, data.y, prior, result[s][0], link="probit").objective for s in (0.02, 1e-6))
    assert loose > best.objective * 1.001
    assert tight == pytest.approx(best.objective, rel=1e-3)
    assert np.sum(np.abs(result[0.02][0]) > COUNTED) > np.count_nonzero(best.weights)


def test_rcv1_token_files_get_tables_7_and_8(run: Command, tmp_path: Path) -> None:
    draw, topics = np.random.default_rng(0), {"CCAT": "profit share firm".split(), "GCAT": "vote war law".split()}
    tokens, labels = {"train": [], "test_pt0": []}, []
    for number in range(1, 61):
        topic = str(draw.choice(list(topics)))
        words = [*draw.choice(topics[topic], 4), *draw.choice(["week", "year", "day"], 3)]
        tokens["train" if number <= 40 else "test_pt0"].append(f".I {number}\n.W\n{' '.join(words)}\n\n")
        labels.append(f"{topic} {number} 1\n")
    for part, records in tokens.items():
        (tmp_path / f"lyrl2004_tokens_{part}.dat").write_text("".join(records))
    (tmp_path / "rcv1-v2.topics.qrels").write_text("".join(labels))
    ended = run("reproduce", "egjlm03", "--data", tmp_path, "-o", tmp_path / "out", "--jobs", "1")
    assert ended.code == 0, ended.err
    assert "Tables 7 and 8: RCV1-v2" in ended.out
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert results["documents"] == {"train": 40, "test": 20}
    assert set(results["runs"]) == {one.name for one in RCV1_RUNS}
    assert results["runs"]["logit/laplace-25/log/3000"]["macro_f1"] >= 0.0
