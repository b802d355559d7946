"""From start to exit: `lapwing train`, first in an environment and later, for every kind of kernels.

    python benchmarks/startup.py [kind …] [--repeat 3]

small      a hundred documents, default settings
demo       the built-in corpus, default settings: its size calls for another kernel
gaussian   a hundred documents, --prior gaussian
softmax    a hundred documents, --multi-class multinomial; softmax-ridge: the same with --prior gaussian
ngrams     a hundred documents, --ngrams word

A new environment is one whose cache of compiled kernels is empty: each round begins with an empty folder in
NUMBA_CACHE_DIR. Budget: the first run at most 8 s over a later one. `--help` and `classify`, which load no kernels, are
timed beside them. Seconds are on the clock; those of the processor, all threads together, stand beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lapwing.corpus

KINDS: dict[str, tuple[str, ...]] = {
    "small": (),
    "demo": (),
    "gaussian": ("--prior", "gaussian"),
    "softmax": ("--multi-class", "multinomial"),
    "softmax-ridge": ("--multi-class", "multinomial", "--prior", "gaussian"),
    "ngrams": ("--ngrams", "word"),
}


def seconds(arguments: list[str], cache: str) -> tuple[float, float]:
    """On the clock, and of the processor."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "lapwing", *arguments],
        check=True,
        capture_output=True,
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def middle(times: list[tuple[float, float]]) -> tuple[float, float]:
    clock, processor = zip(*times, strict=True)
    return statistics.median(clock), statistics.median(processor)


def line(name: str, times: list[tuple[float, float]]) -> tuple[float, float]:
    clock, processor = middle(times)
    print(f"{name:<24}{clock:6.2f} s {processor:8.2f} s of CPU  (median of {len(times)})", flush=True)
    return clock, processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], default=[])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    corpus = lapwing.corpus.stdlib_docstrings()
    lines = [json.dumps({"text": corpus.documents[i], "label": corpus.labels[i][0]}) for i in range(len(corpus))]
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "m.lapwing")
        for kind in options.kinds or KINDS:
            data = Path(folder) / "documents.jsonl"
            data.write_text("\n".join(lines if kind == "demo" else lines[:: len(lines) // 100]), encoding="utf-8")
            train = ["train", str(data), "-o", model, *KINDS[kind]]
            first, later = [], []
            for k in range(options.repeat):
                cache = str(Path(folder) / f"{kind}{k}")
                os.mkdir(cache)
                first.append(seconds(train, cache))
                later.append(seconds(train, cache))
            begun, then = line(f"{kind}, first", first), line(f"{kind}, later", later)
            print(
                f"{'  first over later':<24}{begun[0] - then[0]:6.2f} s {begun[1] - then[1]:8.2f} s of CPU", flush=True
            )
        line("classify", [seconds(["classify", model, str(data)], folder) for _ in range(3)])
        line("--help", [seconds(["--help"], folder) for _ in range(3)])


if __name__ == "__main__":
    main()
