"""The paper's figures, as they are printed."""

from __future__ import annotations

import pytest

from lapwing.experiments.glm07.paper import METHODS, MODAPTE, OHSUMED, RCV1, Paper, paper_for


def test_table_4_modapte() -> None:
    printed = {
        ("lasso", "default"): 48.64,
        ("lasso", "tuned"): 52.03,
        ("ridge", "default"): 37.63,
        ("ridge", "tuned"): 39.71,
        ("svm", "default"): 38.52,
        ("svm", "tuned"): 53.75,
    }
    assert printed == MODAPTE.f1


def test_table_5() -> None:
    table = MODAPTE.variance
    assert table["lasso", "norm", None] == 50.77
    assert table["ridge", "norm", None] == 38.94
    assert [table["ridge", "norm", size] for size in (500, 50, 5)] == [38.82, 45.80, 46.20]
    assert [table["ridge", "cv", size] for size in (500, 50, 5)] == [39.97, 45.73, 46.67]


def test_table_1_and_the_counts_of_features() -> None:
    rows = {pair: (row.won, row.lost, row.tied) for pair, row in MODAPTE.versus.items()}
    assert rows == {("lasso", "ridge"): (39, 20, 31), ("lasso", "svm"): (36, 22, 32), ("ridge", "svm"): (12, 31, 47)}
    assert (MODAPTE.kept.smallest, MODAPTE.kept.largest) == (2, 892)
    assert (MODAPTE.kept.mean, MODAPTE.kept.sd) == (93.8, 167.9)
    assert (MODAPTE.documents, MODAPTE.terms) == ((9_603, 3_299), 18_978)


@pytest.mark.parametrize("paper", [MODAPTE, RCV1, OHSUMED])
def test_its_tables_agree_with_each_other(paper: Paper) -> None:
    for row in paper.versus.values():
        assert row.won + row.lost + row.tied == paper.categories
    for method in METHODS[:2]:
        assert paper.f1[method, "default"] == paper.variance[method, "cv", None]


def test_which_corpus_is_the_papers() -> None:
    assert paper_for("reuters") is MODAPTE
    assert paper_for("reuters", "modlewis") is None
    assert paper_for("rcv1") is RCV1
    assert paper_for("smart") is OHSUMED
    assert paper_for("jsonl") is None
