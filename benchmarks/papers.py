"""reproduce on collections that cannot be had here, by generated files of their form and size: time and memory.

    python benchmarks/papers.py [rcv1] [ohsumed] [folders] [--scale 0.01] [--quick] [--keep FOLDER]

What is measured is the command from start to end, in a process of its own; its figures are of drawn words and mean
nothing. --scale 1 is the whole size, 804,414 documents of RCV1. --quick takes every tenth category.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import _generator as generator

RUNS = {
    "rcv1": (generator.write_rcv1, ["glm07", "--rcv1"]),
    "ohsumed": (generator.write_ohsumed_smart, ["glm07", "--ohsumed"]),
    "folders": (generator.write_ohsumed_folders, ["aagbd11", "--ohsumed"]),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="*", choices=[*RUNS, []], default=[])
    parser.add_argument("--scale", type=float, default=0.01, help="share of the collection's documents")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for the files, which are made once")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        for name in options.runs or RUNS:
            write, command = RUNS[name]
            place = folder / f"{name}-{options.scale:g}"
            if not place.exists():
                begun = place.with_name(f"{place.name}.part")
                write(begun, options.scale)
                begun.rename(place)
            size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6
            out = folder / f"out-{name}"
            line = [sys.executable, "-m", "lapwing", "reproduce", *command, str(place), "-o", str(out)]
            start = time.perf_counter()
            quick = ["--quick"] if options.quick else []
            _, status, used = os.wait4(subprocess.Popen([*line, *quick], stdout=subprocess.DEVNULL).pid, 0)
            print(json.dumps({
                "run": name, "scale": options.scale, "quick": options.quick, "ended": os.waitstatus_to_exitcode(status),
                "megabytes": round(size, 1), "seconds": round(time.perf_counter() - start, 1),
                "cpu_seconds": round(used.ru_utime, 1), "peak_mb": round(used.ru_maxrss / 1024),
            }), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
