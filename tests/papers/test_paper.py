"""GLM07's printed figures: its tables agree with each other, and belong to its collections."""

from __future__ import annotations

import pytest

from lapwing_papers.glm07.paper import METHODS, MODAPTE, OHSUMED, RCV1, Paper, paper_for


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
