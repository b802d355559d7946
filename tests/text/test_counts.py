"""Tokens, counted: ready-made ones are taken as they are, words are cut alike by kernel and plain Python."""

from __future__ import annotations

from lapwing.text import TextSettings, count_terms


def test_a_leading_nul_is_part_of_a_ready_made_token() -> None:
    settings = TextSettings(tokens="ready", stop_words="none", stemmer="none")
    for method in ("plain", "kernel"):
        counts = count_terms(["\0a a", "a"], settings, method=method)
        assert counts.terms == ["\0a", "a"]
        assert counts.matrix.toarray().tolist() == [[1, 1], [0, 1]]


def test_words_of_any_length_end_as_they_do_letter_by_letter() -> None:
    """Eight letters are read at a time, where nothing but ASCII follows them; and not beyond the end of a document."""
    ends = ["", " ", "\n\n", "_", "'s", "é", "\u0301", "\u00ad", "中", "\x00", "..", "Ⅷ"]
    words = ["aB3" * 7, "ZzQ" * 7, "0189" * 5, "@[`{/:" + "x" * 15]
    texts = [word[:size] + end + tail for word in words for size in range(1, 21) for end in ends for tail in ("", "it")]
    for settings in (TextSettings(stop_words="none", stemmer="none"),
                     TextSettings(stop_words="none", stemmer="none", digits=False)):  # fmt: skip
        fast, slow = (count_terms(texts, settings, method=method) for method in ("kernel", "plain"))
        assert fast.terms == slow.terms
        assert (fast.matrix != slow.matrix).nnz == 0
