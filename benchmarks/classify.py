"""`lapwing classify` of a large file, from start to exit: MB/s and the most memory it took.

    python benchmarks/classify.py [--mb 500] [--length 200]

The model is of the standard library's docstrings, 45 classes, at a fixed variance. The file has a text per line: words
of the docstrings, drawn as often as they stand there. Answers go nowhere, so that no disk is timed but the one read.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import lapwing.corpus


def write(path: Path, words: np.ndarray, size: int, length: int) -> int:
    """Lines of about `length` words, `size` bytes of them; returns how many."""
    rng, written, lines = np.random.default_rng(0), 0, 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            for text in rng.choice(words, (1000, length)).tolist():
                written += file.write(" ".join(text) + "\n")
                lines += 1
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=500)
    parser.add_argument("--length", type=int, default=200, help="words of a text")
    options = parser.parse_args()
    corpus = lapwing.corpus.stdlib_docstrings()
    words = np.array(" ".join(corpus.documents).split())
    model = lapwing.TextClassifier(variance=30.0, calibrate=False).fit(
        corpus.documents, [one for (one,) in corpus.labels]
    )
    with tempfile.TemporaryDirectory() as folder:
        data, saved = Path(folder) / "texts.txt", Path(folder) / "model.lapwing"
        model.save(saved)
        lines = write(data, words, options.mb * 1_000_000, options.length)
        size = data.stat().st_size / 1e6
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "lapwing", "classify", str(saved), str(data), "--format", "text"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - start
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{lines:,} texts, {size:.0f} MB: {seconds:.1f} s, {size / seconds:.1f} MB/s, {most:.0f} MB at most")


if __name__ == "__main__":
    main()
