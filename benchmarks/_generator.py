"""Files in the form of RCV1-v2 and of both OHSUMEDs, of any size: words and labels are drawn, and go together.

Words come by Zipf's law; every category has twenty of its own, which its documents have more often. So there is
something to learn, the vocabulary grows with the documents as it does in text, and categories are as unequal in size.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

WORDS = 200_000
OWN = 20  # words of a category,
SHARE = 0.15  # of which so many of a document's words are

RCV1 = {"train": 23_149, "test": 781_265}
OHSUMED = {"train": 83_944, "test": 149_501}  # of records with title, abstract and headings, as GLM07 counted
OHSUMED_FOLDERS = {"train": 6_286, "test": 7_643}


def documents(
    count: int, categories: int, length: int, labels: float, seed: int
) -> Iterator[tuple[list[str], list[int]]]:
    """Words and category numbers of every document; `labels` is the mean number of these, at least one."""
    rng = np.random.default_rng(seed)
    sizes = 1.0 / np.arange(1, categories + 1)
    sizes /= sizes.sum()
    own = np.random.default_rng(0).integers(200, 20_000, size=(categories, OWN))
    for first in range(0, count, 10_000):
        for _ in range(min(10_000, count - first)):
            chosen = np.unique(rng.choice(categories, 1 + rng.poisson(labels - 1.0), p=sizes))
            words = np.minimum(rng.zipf(1.2, max(5, int(rng.normal(length, length / 3)))), WORDS)
            speaking = rng.random(len(words)) < SHARE
            words[speaking] = own[rng.choice(chosen, speaking.sum()), rng.integers(OWN, size=speaking.sum())]
            yield [_word(int(w)) for w in words], chosen.tolist()


def _word(number: int) -> str:
    """Letters, so that tokens of letters alone keep it: a, b, … as digits of the number."""
    letters = ""
    while number:
        number, digit = divmod(number, 20)
        letters += "bcdfghjklmnpqrstvwxz"[digit]
    return f"{letters}o"


def write_rcv1(folder: Path, scale: float = 1.0) -> None:
    """lyrl2004_tokens_train.dat, four test files and rcv1-v2.topics.qrels; 103 topics."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 2286
    with open(folder / "rcv1-v2.topics.qrels", "w") as topics:
        parts = {"train": ["train"], "test": [f"test_pt{k}" for k in range(4)]}
        for split, files in parts.items():
            for k, name in enumerate(files):
                with open(folder / f"lyrl2004_tokens_{name}.dat", "w") as stream:
                    count = int(RCV1[split] * scale / len(files))
                    for words, chosen in documents(count, 103, 75, 3.2, seed=number + k):
                        stream.write(f".I {number}\n.W\n{' '.join(words)}\n\n")
                        topics.writelines(f"T{c:03} {number} 1\n" for c in chosen)
                        number += 1


def write_ohsumed_smart(folder: Path, scale: float = 1.0) -> None:
    """ohsumed.87 to ohsumed.91 with fields I U S M T P W A; 77 headings."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    for year, split, part in ((87, "train", 2), (88, "train", 2), (89, "test", 3), (90, "test", 3), (91, "test", 3)):
        with open(folder / f"ohsumed.{year}", "w") as stream:
            for words, chosen in documents(int(OHSUMED[split] * scale / part), 77, 110, 1.5, seed=year):
                headings = "; ".join(f"Heading {_word(c + 1)}/*" for c in chosen)
                title, text = " ".join(words[:12]), " ".join(words[12:])
                stream.write(f".I {number}\n.U\n{87000000 + number}\n.S\nJ {year}\n.M\n{headings}.\n")
                stream.write(f".T\n{title}.\n.P\nJOURNAL ARTICLE.\n.W\n{text}\n.A\nNobody A.\n")
                number += 1


def write_ohsumed_folders(folder: Path, scale: float = 1.0) -> None:
    """training/C01 … C23 and test/C01 …, a file per abstract; one in several categories stands in each."""
    number = 1
    for split, name in (("train", "training"), ("test", "test")):
        for words, chosen in documents(int(OHSUMED_FOLDERS[split] * scale), 23, 110, 1.2, seed=number):
            for c in chosen:
                place = folder / name / f"C{c + 1:02}"
                place.mkdir(parents=True, exist_ok=True)
                (place / f"{number:07}").write_text(" ".join(words))
            number += 1
