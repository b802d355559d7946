"""Run the numerical tests with the arithmetic of other processors: OpenBLAS's kernels, and code for a generic one.

Sums and products round differently there, so a test that holds on one processor only fails here. What this processor
cannot run is named and left out.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOLVERS = ("tests/solvers", "tests/stats")  # they call OpenBLAS; kernels never do
KERNELS = ("tests/kernels", "tests/solvers/test_every_solver.py")  # compiled anew for a generic processor
# The instructions that OpenBLAS's kernels for each processor use, as Linux names them.
INSTRUCTIONS = {
    "Haswell": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd"},
    "Zen": {"avx2", "fma"},
    "Nehalem": {"sse4_2"},
}


def available() -> set[str]:
    """The instructions of this processor; empty where they are not known."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    return set(next((line.partition(":")[2] for line in text.splitlines() if line.startswith("flags")), "").split())


def run_tests(name: str, tests: list[str], **variables: str) -> bool:
    print(f"-- {name}: {' '.join(f'{key}={value}' for key, value in variables.items())}", flush=True)
    start = time.monotonic()
    line = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "auto",
        "--dist",
        "loadfile",
        "--max-worker-restart",
        "0",
        *tests,
    ]
    passed = subprocess.run(line, env={**os.environ, **variables}).returncode == 0
    print(f"-- {name}: {'passed' if passed else 'FAILED'}, {time.monotonic() - start:.0f} s", flush=True)
    return passed


def main() -> int:
    chosen, flags = sys.argv[1:], available()
    passed = []
    for name, needed in INSTRUCTIONS.items():
        if missing := sorted(needed - flags):
            print(f"-- {name}: skipped, {platform.machine()} processor without {', '.join(missing)}")
        else:
            passed.append(run_tests(name, chosen or list(SOLVERS), OPENBLAS_CORETYPE=name))
    with tempfile.TemporaryDirectory() as folder:
        tests = chosen or list(KERNELS)
        passed.append(run_tests("generic", tests, NUMBA_CPU_NAME="generic", NUMBA_CACHE_DIR=folder))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
