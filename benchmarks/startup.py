"""From start to exit: `lapwing train` on a hundred documents and on thousands, first in an environment and later.

    python benchmarks/startup.py [--repeat 3]

A new environment is one whose cache of compiled kernels is empty: each round begins with an empty folder in
NUMBA_CACHE_DIR. Budget, a hundred documents: the first run at most 15 s over a later one; later ones at most 3 s.
`--help` and `classify`, which load no kernels, are timed beside them, and training on the whole built-in corpus,
whose size calls for another kernel.
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
    lines = [json.dumps({"text": corpus.documents[i], "label": corpus.labels[i][0]}) for i in range(len(corpus))]
    spent: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "m.lapwing")
        for name, chosen in {"hundred": lines[:: len(lines) // 100], f"all {len(lines)}": lines}.items():
            data = Path(folder) / "documents.jsonl"
            data.write_text("\n".join(chosen), encoding="utf-8")
            train = ["train", str(data), "-o", model]
            for k in range(repeat):
                cache = str(Path(folder) / f"{name}{k}")
                os.mkdir(cache)
                spent.setdefault(f"{name}, first", []).append(seconds(train, cache))
                spent.setdefault(f"{name}, later", []).extend(seconds(train, cache) for _ in range(3))
                spent.setdefault("classify", []).append(seconds(["classify", model, str(data)], cache))
        spent["--help"] = [seconds(["--help"], folder) for _ in range(3)]
    median = {name: statistics.median(values) for name, values in spent.items()}
    for name, values in spent.items():
        print(f"{name:<20}{median[name]:6.2f} s  (median of {len(values)})")
        if name.endswith("later"):
            first = name.removesuffix("later") + "first"
            print(f"{'  first over later':<20}{median[first] - median[name]:6.2f} s")


if __name__ == "__main__":
    main()
