"""Tokenise + weight: documents per second, ours against scikit-learn's TfidfVectorizer, one thread each.

    python benchmarks/text.py [--corpus 20news-bydate.tar.xz] [--repeat 5]

Both produce the same tokens (maximal runs of letters and digits, lower-cased), and the run stops if their
vocabularies differ. With Porter stems the peer gets a cached PyStemmer call per token as its analyzer.
Without the corpus the standard library's docstrings are used. Medians over the repeats, alternating.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import time
from functools import lru_cache, partial
from pathlib import Path

import sklearn
import Stemmer
from sklearn.feature_extraction.text import TfidfVectorizer

import lapwing.corpus
from lapwing.text import TextSettings, design

PATTERN = r"[^\W_]+"


def documents(name: str) -> list[str]:
    folder = os.environ.get("LAPWING_CORPORA")
    if folder is None or not (Path(folder) / name).exists():
        print("LAPWING_CORPORA has no", name, "- using the standard library's docstrings")
        return list(lapwing.corpus.stdlib_docstrings().documents)
    return list(lapwing.corpus.read(Path(folder) / name).part("train").documents)


def ours(texts: list[str], stemmer: str) -> list[str]:
    return list(design(texts, TextSettings(stop_words="none", stemmer=stemmer)).feature_names)


def plain_peer(texts: list[str]) -> list[str]:
    vectorizer = TfidfVectorizer(token_pattern=PATTERN, sublinear_tf=True)
    vectorizer.fit_transform(texts)
    return list(vectorizer.get_feature_names_out())


def stemming_peer(texts: list[str]) -> list[str]:
    stem = lru_cache(maxsize=None)(Stemmer.Stemmer("porter").stemWord)
    find = re.compile(PATTERN).findall
    vectorizer = TfidfVectorizer(analyzer=lambda text: [stem(t) for t in find(text.lower())], sublinear_tf=True)
    vectorizer.fit_transform(texts)
    return list(vectorizer.get_feature_names_out())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="20news-bydate.tar.xz")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    texts = documents(options.corpus)
    size = sum(map(len, texts)) / 1e6
    print(f"{len(texts)} documents, {size:.1f} million characters; Python {platform.python_version()}, "
          f"scikit-learn {sklearn.__version__}, {platform.machine()}")  # fmt: skip
    print(f"{'':<10}{'lapwing':>16}{'scikit-learn':>16}{'ratio':>8}")
    for name, stemmer, peer in (("words", "none", plain_peer), ("stems", "porter", stemming_peer)):
        if set(ours(texts, stemmer)) != set(peer(texts)) - {""}:  # some stems come out empty; we drop them
            raise SystemExit(f"{name}: the two do not produce the same terms")
        seconds: dict[str, list[float]] = {"ours": [], "peer": []}
        for _ in range(options.repeat):
            for who, run in (("ours", partial(ours, texts, stemmer)), ("peer", partial(peer, texts))):
                start = time.perf_counter()
                run()
                seconds[who].append(time.perf_counter() - start)
        a, b = (statistics.median(seconds[who]) for who in ("ours", "peer"))
        print(f"{name:<10}{len(texts) / a:>11.0f}/s{'':>3}{len(texts) / b:>11.0f}/s{'':>3}{b / a:>7.1f}x")


if __name__ == "__main__":
    main()
