"""Texts to weighted vectors: MB/s, ours on one thread and on two against scikit-learn's vectorizers, by turns.

    python benchmarks/text.py [--corpus 20news-bydate.tar.xz] [--repeat 5] [--only words stems bigrams inside across]

Rows: words (maximal runs of letters and digits, lower-cased); Porter stems, for which the peer gets a cached PyStemmer
call per token as its analyzer; single words and pairs; 3 to 5 characters inside words, and across them. Both have the
same terms and the run stops if they differ. Where only what is counted differs (characters), the peer is given texts
that are lower-cased and cleaned already, which is not timed. HashingVectorizer, which keeps no terms, and vtext, where
it is installed, have rows of their own. Characters are counted in every `--every`-th document: the peer takes minutes
for all of them. Without the corpus the standard library's docstrings are used. Medians. Last, the peak memory of a
process that reads the corpus, and of one that also makes the vectors.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import multiprocessing
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import Stemmer
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

import lapwing.corpus
from lapwing.text import TextSettings, design

PATTERN = r"[^\W_]+"
Run = Callable[[list[str]], Any]


def documents(name: str) -> list[str]:
    folder = os.environ.get("LAPWING_CORPORA")
    if folder is None or not (Path(folder) / name).exists():
        print("LAPWING_CORPORA has no", name, "- using the standard library's docstrings")
        return list(lapwing.corpus.stdlib_docstrings().documents)
    return list(lapwing.corpus.read(Path(folder) / name).part("train").documents)


def ours(n_jobs: int = 1, **options: Any) -> Run:
    settings = TextSettings(**{"stop_words": "none", "stemmer": "none", **options})
    return lambda texts: design(texts, settings, n_jobs=n_jobs).feature_names


def peer(**options: Any) -> Run:
    def run(texts: list[str]) -> Sequence[str]:
        vectorizer = TfidfVectorizer(sublinear_tf=True, **options)
        vectorizer.fit_transform(texts)
        return vectorizer.get_feature_names_out()

    return run


def stemming_peer(texts: list[str]) -> Sequence[str]:
    stem = lru_cache(maxsize=None)(Stemmer.Stemmer("porter").stemWord)
    find = re.compile(PATTERN).findall
    return peer(analyzer=lambda text: [stem(t) for t in find(text.lower())])(texts)


def spaced(texts: list[str]) -> list[str]:
    """Lower-cased words with blanks between them."""
    return [" ".join(re.findall(PATTERN, text.lower())) for text in texts]


def in_one_line(texts: list[str]) -> list[str]:
    return [re.sub(r"\s+", " ", text.lower()) for text in texts]


def same(texts: list[str]) -> list[str]:
    return texts


ROWS: dict[str, tuple[dict[str, Any], Run, Callable[[list[str]], list[str]]]] = {
    "words": ({}, peer(token_pattern=PATTERN), same),
    "stems": ({"stemmer": "porter"}, stemming_peer, same),
    "bigrams": ({"word_ngrams": (1, 2)}, peer(token_pattern=PATTERN, ngram_range=(1, 2)), same),
    "inside": ({"char_ngrams": (3, 5)}, peer(analyzer="char_wb", ngram_range=(3, 5), lowercase=False), spaced),
    "across": (
        {"char_ngrams": (3, 5), "tokens": "char"},
        peer(analyzer="char", ngram_range=(3, 5), lowercase=False),
        in_one_line,
    ),
}


def others() -> dict[str, Run]:
    """Which keep no terms, or weigh nothing."""
    runs: dict[str, Run] = {"HashingVectorizer": HashingVectorizer(token_pattern=PATTERN).transform}
    try:
        from vtext.vectorize import CountVectorizer
    except ImportError:
        print("vtext is not installed, and left out")
    else:
        runs["vtext"] = lambda texts: CountVectorizer().fit_transform(texts)
    return runs


def by_turns(runs: dict[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """Median seconds of each."""
    spent: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeat):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            spent[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in spent.items()}


def peak(corpus: str, row: str | None) -> int:
    """MB at most, in a process of its own; what getrusage tells began with the process it came from."""
    texts = documents(corpus)
    if row is not None:
        ours(**ROWS[row][0])(texts)
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*([0-9]+)", status)[1]) // 1024  # type: ignore[index]


def compare(name: str, texts: list[str], repeat: int) -> None:
    options, theirs, clean = ROWS[name]
    cleaned = clean(texts)
    terms = set(theirs(cleaned)) - {""}  # some stems come out empty; we drop them
    for n_jobs in (1, 2):
        if set(ours(n_jobs, **options)(texts)) != terms:
            raise SystemExit(f"{name}: the two do not produce the same terms")
    runs = {
        "one": lambda: ours(1, **options)(texts),
        "two": lambda: ours(2, **options)(texts),
        "peer": lambda: theirs(cleaned),
    }
    seconds = by_turns(runs, repeat)
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    one, two, other = (size / seconds[who] for who in ("one", "two", "peer"))
    print(f"{name:<20}{one:>9.1f}{two:>9.1f}{other:>14.1f}{one / other:>8.1f}x{two / one:>11.2f}x{len(terms):>12,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="20news-bydate.tar.xz")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--every", type=int, default=8)
    parser.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    options = parser.parse_args()
    texts = documents(options.corpus)
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    print(f"{len(texts)} documents, {size:.1f} MB; Python {platform.python_version()}, "
          f"scikit-learn {importlib.metadata.version('scikit-learn')}, {platform.machine()}")  # fmt: skip
    print(f"{'MB/s':<20}{'lapwing':>9}{'2 threads':>9}{'scikit-learn':>14}{'ratio':>9}{'2 threads':>12}{'terms':>12}")
    for name in options.only:
        compare(name, texts[:: options.every] if name in ("inside", "across") else texts, options.repeat)
    for name, seconds in by_turns({k: (lambda run=run: run(texts)) for k, run in others().items()}, 3).items():
        print(f"{name:<20}{size / seconds:>32.1f}")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for row in (None, *options.only):
            print(f"peak memory, {row or 'documents alone'}: {pool.apply(peak, (options.corpus, row))} MB")


if __name__ == "__main__":
    main()
