"""Tokens, counted: ready-made ones are taken as they are, words are cut alike by kernel and plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.text import TextSettings, count_terms, reading


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


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"stemmer": "porter"},
        {"word_ngrams": (1, 2)},
        {"char_ngrams": (2, 3)},
        {"tokens": "char", "char_ngrams": (2, 6)},
    ],
    ids=["words", "stems", "pairs", "inside", "across"],
)
def test_the_number_of_threads_changes_nothing(way: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread meets words of its own and words that others meet, too; long ones are alike for eight letters."""
    monkeypatch.setattr(reading, "BATCH_CHARACTERS", 200)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abé"), size)) for size in range(1, 12) for _ in range(8)]
    words += ["counterrevolution" + end for end in ("", "s", "ary", "aries", "z" * 40, "é")] + ["counterr", "中"]
    texts = [" ".join(rng.choice(words, 30)) for _ in range(60)] + [""]
    settings = TextSettings(**{"stop_words": "none", "stemmer": "none", **way})  # type: ignore[arg-type]
    plain, *kernel = (
        count_terms(texts, settings, method=method, n_jobs=n_jobs)
        for method, n_jobs in (("plain", 1), ("kernel", 1), ("kernel", 2), ("kernel", 5))
    )
    for one in kernel:
        assert one.terms == plain.terms
        for part in ("indptr", "indices", "data"):
            assert np.array_equal(getattr(one.matrix, part), getattr(plain.matrix, part))
