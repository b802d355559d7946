"""What training costs, by size: seconds of CPU and bytes on disk at four sizes, and the lines through them.

    .venv/bin/python benchmarks/cost_model.py --folder /somewhere/with/10GB [--sizes 10MB 20MB 40MB 80MB]

From shards throughout, one thread, kernels compiled beforehand. The figures of docs/cost-model.md come from here.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from beyond_memory import generate, size

from lapwing.corpus import overview, read
from lapwing.shards.folder import WorkFolder
from lapwing.training import TrainSettings, make_design, train

LITTLE = 1 << 28  # bytes of memory, in which no corpus is kept


def measure(folder: Path, total: int, settings: TrainSettings) -> dict[str, float]:
    path = folder / "corpus.jsonl"
    generate(path, total)
    written = path.stat().st_size
    work = WorkFolder(folder / "work", memory=LITTLE)
    laps = [time.process_time()]
    corpus = read(path, work=work)
    overview(corpus)
    laps.append(time.process_time())
    matrix = make_design(corpus, settings).matrix
    laps.append(time.process_time())
    result = sum(entry["size"] for name, entry in work.files.items() if name.startswith("matrix."))
    begin = time.process_time()
    model = train(corpus, settings)
    laps.append(time.process_time())
    used = sum(entry["size"] for entry in work.files.values())
    work.clear()
    path.unlink()
    return {
        "megabytes": written / 1e6,
        "documents": len(corpus),
        "entries": matrix.nnz,
        "reading": laps[1] - laps[0],
        "text stage": laps[2] - laps[1],
        "fits": laps[3] - begin,
        "rounds": float(model.fits.rounds.sum()),
        "matrix bytes": result,
        "disk bytes": used,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sizes", type=size, nargs="+", default=[size(f"{k}MB") for k in (10, 20, 40, 80)])
    parser.add_argument("--variance", type=float, default=1e-2)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    settings = TrainSettings(prior="laplace", variance=given.variance, calibrate=False, n_jobs=1)
    measure(given.folder, size("4MB"), settings)  # compiles what is to be compiled
    rows = []
    for total in given.sizes:
        rows.append(one := measure(given.folder, total, settings))
        print(", ".join(f"{name} {value:,.4g}" for name, value in one.items()), flush=True)
    column = {name: np.array([one[name] for one in rows]) for name in rows[0]}
    passes = column["entries"] * column["rounds"]
    for what, cost, by, unit in (
        ("reading", column["reading"], column["megabytes"], "s/MB"),
        ("text stage", column["text stage"], column["megabytes"], "s/MB"),
        ("fits", column["fits"], passes / 1e9, "s per 10⁹ entries and round"),
        ("matrix", column["matrix bytes"], column["entries"], "bytes per entry"),
        ("disk at the end", column["disk bytes"], column["entries"], "bytes per entry"),
    ):
        slope, offset = np.polyfit(by, cost, 1)
        worst = np.max(np.abs(slope * by + offset - cost) / cost)
        print(f"{what}: {slope:.4g} {unit} + {offset:.3g}, off by at most {100 * worst:.0f} %")


if __name__ == "__main__":
    main()
