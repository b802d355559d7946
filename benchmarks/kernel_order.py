"""Is a model the same to the last byte, whatever was compiled before it?

    python benchmarks/kernel_order.py [DATA] [--documents 1500] [--ngrams]

Trains DATA (the docstrings of the demo, unless given) twice, each time in a new process without any compiled kernel:
alone, and after models of other kinds (n-grams, softmax, probit, or words where n-grams are asked for) in the same
process. Says which parts differ, if any do, and then ends with 1.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

OTHERS = [["--multi-class", "multinomial"], ["--link", "probit"], ["--prior", "gaussian"]]
SCRIPT = """
import json, sys
from lapwing.cli import main
for line in json.loads(sys.argv[1]):
    try:
        main(line)
    except SystemExit as ended:
        assert ended.code == 0, line
"""


def train(lines: list[list[str]], folder: Path) -> None:
    """All of them in one process, with nothing compiled."""
    import json

    with tempfile.TemporaryDirectory(dir=folder) as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "SOURCE_DATE_EPOCH": "1"}
        subprocess.run([sys.executable, "-c", SCRIPT, json.dumps(lines)], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?")
    parser.add_argument("--documents", type=int, default=1500, help="of the demo's, so many")
    parser.add_argument("--ngrams", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = folder / "small.jsonl"
        _demo(small, 200)
        data = options.data
        if data is None:
            data = str(folder / "demo.jsonl")
            _demo(Path(data), options.documents)
        own, other = ([], ["--ngrams", "word"]) if not options.ngrams else (["--ngrams", "word"], [])
        files = [folder / "alone.lapwing", folder / "after.lapwing"]
        line = ["train", data, *own, "-o"]
        train([[*line, str(files[0])]], folder)
        before = [["train", str(small), *one, "-o", str(folder / "other.lapwing")] for one in [other, *OTHERS]]
        train([*before, [*line, str(files[1])]], folder)
        sums = [hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files]
        for part in _different(*files):
            print(part)
        print(f"alone {sums[0]}, after {len(before)} others {sums[1]}: {'same' if sums[0] == sums[1] else 'DIFFERENT'}")
    return int(sums[0] != sums[1])


def _different(first: Path, second: Path) -> list[str]:
    """Tensors and entries of provenance that are not the same."""
    from safetensors.numpy import load

    import lapwing

    one, two = load(first.read_bytes()), load(second.read_bytes())
    parts = [name for name in one if name not in two or one[name].tobytes() != two[name].tobytes()]
    about = [lapwing.load(path).provenance for path in (first, second)]
    return parts + [f"provenance: {name}" for name in about[0] if about[0][name] != about[1].get(name)]


def _demo(path: Path, documents: int) -> None:
    import json

    from lapwing.corpus import stdlib_docstrings

    corpus = stdlib_docstrings()
    rows = list(zip(corpus.documents, corpus.labels, strict=True))
    step = max(len(rows) // documents, 1)
    path.write_text("".join(json.dumps({"text": text, "label": one}) + "\n" for text, (one,) in rows[::step]))


if __name__ == "__main__":
    sys.exit(main())
