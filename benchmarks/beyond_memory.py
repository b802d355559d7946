"""Text that is larger than the memory allowed: trained on under a limit that the system enforces.

    .venv/bin/python benchmarks/beyond_memory.py --size 5GB --memory 1GB --folder /somewhere/with/40GB

The corpus is generated and seeded: words with Zipfian frequencies, five classes that speak some words of their own more
often, a tenth of the labels wrong. `lapwing train` runs as a process of its own under RLIMIT_DATA, which bounds what it
may write to and not what it maps from disk; its anonymous memory is watched besides. Then the same without shards
(a bound of --memory that is never reached), under the same limit, which has to fail.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

WORDS, OWN, SHARE, CLASSES, NOISE = 400_000, 60, 0.02, 5, 0.1
LENGTH = 800  # words of a document, on average
AT_A_TIME = 500  # documents


def size(text: str) -> int:
    number, unit = text.upper().removesuffix("B"), 1
    for letter, factor in (("K", 10**3), ("M", 10**6), ("G", 10**9)):
        if number.endswith(letter):
            number, unit = number[:-1], factor
    return int(float(number) * unit)


def spelled(number: int) -> str:
    """Pronounceable and distinct: a word for every number, frequent ones short."""
    letters = ""
    while True:
        number, syllable = divmod(number, 100)
        letters = "bcdfghjklmnprstvwxyz"[syllable // 5] + "aeiou"[syllable % 5] + letters
        if number == 0:
            return letters + "q"  # no stemmer takes that off
        number -= 1


def generate(path: Path, total: int, seed: int = 0) -> int:
    """Write about `total` bytes of JSON lines; returns the number of documents."""
    rng = np.random.default_rng(seed)
    words = np.array([spelled(k) for k in range(WORDS)], dtype=object)
    cumulated = np.cumsum(1.0 / (np.arange(WORDS) + 2.7))
    own = rng.permutation(np.arange(200, 200 + 20 * CLASSES * OWN))[: CLASSES * OWN].reshape(CLASSES, OWN)
    written = documents = 0
    with path.open("w", encoding="ascii") as stream:
        while written < total:
            lengths = rng.poisson(LENGTH, AT_A_TIME)
            ends = np.cumsum(lengths)
            topic = rng.integers(0, CLASSES, AT_A_TIME)
            drawn = np.searchsorted(cumulated, rng.random(ends[-1]) * cumulated[-1])
            special = np.flatnonzero(rng.random(ends[-1]) < SHARE)
            of = topic[np.searchsorted(ends, special, side="right")]
            drawn[special] = own[of, rng.integers(0, OWN, len(special))]
            label = np.where(rng.random(AT_A_TIME) < NOISE, rng.integers(0, CLASSES, AT_A_TIME), topic)
            text = words[drawn].tolist()
            lines = [
                f'{{"text": "{" ".join(text[a:b])}", "label": "class {k}"}}\n'
                for a, b, k in zip([0, *ends[:-1].tolist()], ends.tolist(), label.tolist(), strict=True)
            ]
            written += stream.write("".join(lines))
            documents += AT_A_TIME
    return documents


def watched(command: list[str], limit: int | None) -> tuple[int, float, dict[str, int], str, str]:
    """(exit code, seconds, the most it had of some kinds of memory, stdout, stderr) of a process under the limit."""

    def bounded() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    start, peak = time.perf_counter(), dict.fromkeys(("RssAnon", "VmRSS", "VmData"), 0)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=bounded
    ) as process:
        while process.poll() is None:
            try:
                for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                    name, _, value = line.partition(":")
                    if name in peak:
                        peak[name] = max(peak[name], 1024 * int(value.split()[0]))
            except OSError:
                break
            time.sleep(0.05)
        out, err = process.communicate()
    return process.returncode, time.perf_counter() - start, peak, out, err


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=size, default=size("200MB"))
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--folder", type=Path, required=True, help="with room for about eight times the size")
    parser.add_argument("--variance", default="1e-4", help="of the Laplace prior, for about as many words as matter")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--keep", action="store_true", help="keep the corpus for another run")
    parser.add_argument("--without", action="store_true", help="also measure memory without shards and without a limit")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    corpus = given.folder / f"zipf-{given.size}.jsonl"
    if not corpus.exists():
        begin = time.perf_counter()
        documents = generate(corpus, given.size)
        seconds, written = time.perf_counter() - begin, corpus.stat().st_size
        print(f"{documents:,} documents, {written / 1e9:.2f} GB, generated in {seconds:.0f} s")
    command = [
        sys.executable, "-m", "lapwing", "train", str(corpus), "-o", str(given.folder / "model.lapwing"), "--json",
        "--prior", "laplace", "--variance", given.variance, "--no-calibrate", "--jobs", given.jobs,
    ]  # fmt: skip
    limit = size(given.memory)
    cases: list[tuple[str, list[str], int | None]] = [("shards", ["--memory", given.memory], limit)]
    cases.append(("in memory", ["--memory", "1000GB"], limit))
    if given.without:
        cases.append(("in memory, no limit", ["--memory", "1000GB"], None))
    models = {}
    for name, more, bound in cases:
        before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        code, seconds, peak, out, err = watched(command + more, bound)
        busy = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before
        said = json.loads(out) if code == 0 else {}
        print(f"{name}: exit code {code} after {seconds:.0f} s, {busy:.0f} s of CPU, limit {bound}")
        print("  largest " + ", ".join(f"{what} {value / 1e6:,.0f} MB" for what, value in peak.items()))
        if said:
            models[name] = (given.folder / "model.lapwing").read_bytes()
            kept = said["features_per_category"]
            print(f"  {said['documents']:,} documents, {said['features']:,} features, {kept} kept")
            print(f"  largest relative gap {said['largest_relative_gap']:.1e}, converged {said['converged']}")
        else:
            print(f"  {err.strip().splitlines()[-1] if err.strip() else 'no word'}")
    if len(models) > 1:
        print("the same model bytes:", len(set(models.values())) == 1)
    if not given.keep:
        corpus.unlink()


if __name__ == "__main__":
    main()
