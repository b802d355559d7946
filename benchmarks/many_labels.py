"""Labels by the hundred thousand: `lapwing train` on generated documents, its time and its memory, or what it says.

    python benchmarks/many_labels.py [labels] [classes] [softmax] [--labels 100000] [--classes 20000]

labels   100,000 labels, two documents for each on average, two labels per document
classes  20,000 exclusive classes of two documents each
softmax  the same classes in one softmax, which does not fit: a sentence before the work
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WORDS, LENGTH = 50_000, 12


def write(path: Path, labels: int, documents: int, per_document: int) -> None:
    """Every label has three words of its own, of which its documents have one or two among common ones."""
    rng = np.random.default_rng(0)
    names = rng.permutation(documents * per_document) % labels
    common = np.minimum(rng.zipf(1.3, (documents, LENGTH)), WORDS)
    own = rng.integers(WORDS, size=(labels, 3))
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            chosen = names[number * per_document : (number + 1) * per_document]
            words = [f"w{word}" for word in common[number]]
            words += [f"w{own[label, rng.integers(3)]}" for label in np.repeat(chosen, 2)]
            held = [f"l{label}" for label in sorted(set(chosen.tolist()))]
            one = {"label": held[0]} if per_document == 1 else {"labels": held}
            print(json.dumps({"text": " ".join(words), **one}), file=file)


def train(data: Path, *options: str) -> None:
    output = data.with_suffix(".lapwing")
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "lapwing", "train", str(data), "-o", str(output), *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    assert child.stdout is not None
    said = child.stdout.read().splitlines()
    _, status, used = os.wait4(child.pid, 0)
    print("\n".join(f"    {line[:200]}" for line in said))
    size = f"{output.stat().st_size / 1e6:,.1f} MB" if output.exists() else "none"
    print(
        f"  exit {os.waitstatus_to_exitcode(status)}, {time.perf_counter() - began:,.0f} s by the clock, "
        f"{used.ru_utime + used.ru_stime:,.0f} s of processors, {used.ru_maxrss / 2**20:.2f} GiB at most; "
        f"model: {size}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["labels", "classes", "softmax"], default=[])
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=20_000)
    given = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        many, classes = Path(folder) / "labels.jsonl", Path(folder) / "classes.jsonl"
        for what in given.what or ["labels", "classes", "softmax"]:
            print(f"{what}:", flush=True)
            if what == "labels":
                write(many, given.labels, given.labels, 2)
                train(many)
            else:
                write(classes, given.classes, 2 * given.classes, 1)
                train(classes, *(["--multi-class", "multinomial"] if what == "softmax" else []))


if __name__ == "__main__":
    main()
