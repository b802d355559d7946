"""Ready-made tokens are taken as they are."""

from __future__ import annotations

from lapwing.text import TextSettings, count_terms


def test_a_leading_nul_is_part_of_a_ready_made_token() -> None:
    settings = TextSettings(tokens="ready", stop_words="none", stemmer="none")
    for method in ("plain", "kernel"):
        counts = count_terms(["\0a a", "a"], settings, method=method)
        assert counts.terms == ["\0a", "a"]
        assert counts.matrix.toarray().tolist() == [[1, 1], [0, 1]]
