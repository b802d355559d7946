"""Use an installed lapwing once, as a user would: train, classify, inspect, on a corpus made here.

/path/to/venv/bin/python -I scripts/smoke.py

Runs with the standard library alone, in an empty folder, against the lapwing installed beside the
interpreter. Exits with 1 at the first thing that is not as it should be.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

TOPICS = {
    "grain": "wheat corn harvest tonnes crop barley farmers export silo bushel".split(),
    "money": "bank rate dollar interest currency loan deposit central market yield".split(),
    "ships": "port vessel cargo strike seamen tanker harbour gulf freight hull".split(),
}
COMMON = "the of to and said a in it for on year new company".split()


def corpus(documents: int, seed: int) -> list[dict[str, str]]:
    """Short texts, most words common to all topics, the rest from the document's own."""
    draw = random.Random(seed)
    rows = []
    for number in range(documents):
        label = sorted(TOPICS)[number % len(TOPICS)]
        words = draw.choices(COMMON, k=12) + draw.choices(TOPICS[label], k=6)
        draw.shuffle(words)
        rows.append({"id": f"d{number}", "text": " ".join(words), "label": label})
    return rows


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def lapwing(folder: Path, *arguments: str, expected: int = 0) -> str:
    """Run the command; fail unless it exits as expected. Returns its standard output."""
    command = Path(sys.executable).with_name("lapwing")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    start = time.perf_counter()
    done = subprocess.run(
        [str(command), *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    print(f"lapwing {' '.join(arguments)}: exit {done.returncode}, {time.perf_counter() - start:.1f} s")
    if done.returncode != expected or "Traceback" in done.stderr:
        fail(f"exit code {expected} was expected\n{done.stdout}\n{done.stderr}")
    return done.stdout


def numbers(value: Any, key: str) -> Iterator[float]:
    """Every number stored under `key`, at any depth; a mapping under it counts value by value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.startswith(key):
                leaves = inner.values() if isinstance(inner, dict) else [inner]
                yield from (leaf for leaf in leaves if isinstance(leaf, (int, float)))
            else:
                yield from numbers(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, key)


def fail(message: str) -> NoReturn:
    raise SystemExit(f"smoke test failed: {message}")


def main() -> None:
    import lapwing as package

    if not Path(str(package.__file__)).is_relative_to(sys.prefix):
        fail(f"lapwing was imported from {package.__file__}, not from this environment")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "tiny.jsonl", corpus(90, seed=1))
        new = corpus(30, seed=2)
        write(folder / "new.jsonl", new)

        if "train" not in lapwing(folder, "--help"):
            fail("--help does not name the train command")
        lapwing(folder, "train", "tiny.jsonl", "-o", "tiny.lapwing")
        if not (folder / "tiny.lapwing").stat().st_size:
            fail("train wrote an empty model file")

        lines = lapwing(folder, "classify", "tiny.lapwing", "new.jsonl", "--json").splitlines()
        if len(lines) != len(new):
            fail(f"{len(new)} documents gave {len(lines)} lines")
        for line in lines:
            try:
                probabilities = list(numbers(json.loads(line), "probabilit"))
            except json.JSONDecodeError as error:
                fail(f"classify --json printed a line that is not JSON ({error}): {line}")
            if not probabilities or not all(0.0 <= p <= 1.0 for p in probabilities):
                fail(f"no probability between 0 and 1 in: {line}")

        try:
            described = json.loads(lapwing(folder, "inspect", "tiny.lapwing", "--json"))
        except json.JSONDecodeError as error:
            fail(f"inspect --json printed something that is not JSON: {error}")
        missing = [topic for topic in TOPICS if topic not in json.dumps(described)]
        if missing:
            fail(f"inspect names no category {missing}")

        lapwing(folder, "classify", "tiny.jsonl", "new.jsonl", expected=2)  # not a model file
    print(f"smoke test passed: lapwing {package.__version__}")


if __name__ == "__main__":
    main()
