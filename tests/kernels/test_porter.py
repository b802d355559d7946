"""kernels/porter.py stems as PyStemmer does, letter for letter."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import Stemmer

from lapwing.kernels.porter import stems

PIECES = (
    "y a e i o u b x w l ll tt bb s ss sses ies ed eed ing at bl iz tional ational enci anci abli entli eli izer"
    " ization ation ator alli alism aliti fulness ousli ousness iveness iviti biliti alize icate iciti ical ative"
    " ful ness al ance ence er ic able ible ant ement ment ent ou ism ate iti ous ive ize ion é 日 ё 1"
).split()


def stems_of(words: list[str], longest: int = 1000) -> list[str]:
    encoded = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, encoded)])
    spelling, past = stems(
        np.frombuffer(b"".join(encoded), np.uint8), ends, np.zeros(len(words), np.bool_), np.int64(longest)
    )
    whole = spelling.tobytes()
    return [whole[a:b].decode() for a, b in pairwise(past)]


def test_words_of_all_endings():
    draw = random.Random(0)
    words = ["".join(draw.choices(PIECES, k=draw.randint(1, 5))) for _ in range(5000)]
    assert stems_of(words) == Stemmer.Stemmer("porter", 0).stemWords(words)


def test_long_words_and_words_left_out_stay_and_go():
    assert stems_of(["running", "runnings", "日日running"], longest=7) == ["run", "runnings", "日日running"]
    spelling, past = stems(
        np.frombuffer(b"runningwalks", np.uint8), np.array([0, 7, 12]), np.array([True, False]), np.int64(99)
    )
    assert (spelling.tobytes(), past.tolist()) == (b"walk", [0, 0, 4])
