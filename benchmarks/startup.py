"""From start to exit: `lapwing train` on a hundred documents, first in an environment and later.

    python benchmarks/startup.py [--repeat 3]

A new environment is one whose cache of compiled kernels is empty: each round begins with an empty folder in
NUMBA_CACHE_DIR. Budget: the first run at most 15 s over a later one; later ones at most 3 s. `--help` and
`classify`, which load no kernels, are timed beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lapwing.corpus


def seconds(arguments: list[str], cache: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "lapwing", *arguments],
        check=True,
        capture_output=True,
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
    )
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    corpus = lapwing.corpus.stdlib_docstrings()
    spent: dict[str, list[float]] = {"first": [], "later": [], "help": [], "classify": []}
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "hundred.jsonl", str(Path(folder) / "m.lapwing")
        lines = (
            {"text": corpus.documents[i], "label": corpus.labels[i][0]}
            for i in range(0, len(corpus), len(corpus) // 100)
        )
        data.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
        for k in range(repeat):
            cache = str(Path(folder) / f"cache{k}")
            os.mkdir(cache)
            train = ["train", str(data), "-o", model]
            spent["first"].append(seconds(train, cache))
            spent["later"] += [seconds(train, cache) for _ in range(3)]
            spent["help"].append(seconds(["--help"], cache))
            spent["classify"].append(seconds(["classify", model, str(data)], cache))
    for name, values in spent.items():
        print(f"{name:<10}{statistics.median(values):6.2f} s  (median of {len(values)})")
    over = statistics.median(spent["first"]) - statistics.median(spent["later"])
    print(f"compiling {over:6.2f} s  (first over later)")


if __name__ == "__main__":
    main()
