"""What a cluster and shards cost and bring: two workers against one, shards against memory, rows over workers.

    LAPWING_CORPORA=… .venv/bin/python benchmarks/cluster.py [workers shards rows]

workers   ModApte, --variance cv, on one local worker process and on two: seconds, and how many times as fast
shards    the same in one process, from memory and from shards
rows      one category of ModApte with its documents spread over 1, 2 and 3 workers at tol 1e-6, against the fit in
          memory; benchmarks/spread_peers.py has other programs beside it
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import _corpora
import numpy as np

from lapwing.corpus import read
from lapwing.engine import connect
from lapwing.formats.model_file import to_bytes
from lapwing.shards.folder import WorkFolder
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import as_prior
from lapwing.training import TrainSettings, make_design, train
from lapwing.training.spread import fit_rows

SETTINGS = TrainSettings(prior="laplace", variance="cv", calibrate=False)
VARIANCE, DOCUMENTS = 10.0, 2048


def corpus(work: WorkFolder | None = None) -> Any:
    return read(_corpora.path("reuters21578.tar.xz"), work=work).part("train")


def close(client: Any) -> None:
    client.cluster.close()
    client.close()


def workers() -> None:
    data, seconds, result = corpus(), {}, set()
    for count in (1, 2):
        client = connect("local", workers=count)
        small = data.select(range(400))
        train(small, SETTINGS, client=client)  # starts the workers, and loads their kernels
        begin = time.perf_counter()
        result.add(to_bytes(train(data, SETTINGS, client=client)))
        seconds[count] = time.perf_counter() - begin
        close(client)
        print(f"workers: {count}: {seconds[count]:.1f} s", flush=True)
    print(f"workers: two are {seconds[1] / seconds[2]:.2f} times as fast as one; the same bytes: {len(result) == 1}")


def shards() -> None:
    train(corpus().select(range(400)), SETTINGS)
    seconds, entries = {}, set()
    with tempfile.TemporaryDirectory() as folder:
        for way in ("memory", "shards"):
            begin = time.perf_counter()
            work = WorkFolder(Path(folder) / "work", memory=1 << 28) if way == "shards" else None
            entries.add(to_bytes(train(corpus(work), SETTINGS)))
            seconds[way] = time.perf_counter() - begin
            if work is not None:
                work.clear()
            print(f"shards: {way}: {seconds[way]:.1f} s", flush=True)
    print(f"shards: {seconds['shards'] / seconds['memory']:.2f} times memory; the same bytes: {len(entries) == 1}")


def rows() -> None:
    data = corpus()
    X = make_design(data, TrainSettings()).matrix
    y = np.where(["earn" in labels for labels in data.labels], 1.0, -1.0)
    arrays = as_prior("laplace").compile(VARIANCE, X.shape[1])
    begin = time.perf_counter()
    whole = newton.fit(Problem(X), y, np.ones(len(y)), arrays, variance=VARIANCE, tol=1e-6)
    print(f"rows: in memory {time.perf_counter() - begin:.2f} s, {_said(whole)}")
    entries = []
    for count in (1, 2, 3):
        client = connect("local", workers=count)
        fit_rows(X[:400], y[:400], variance=VARIANCE, client=client, documents=200)
        begin = time.perf_counter()
        entries.append(fit_rows(X, y, variance=VARIANCE, client=client, documents=DOCUMENTS))
        print(f"rows: {count} workers {time.perf_counter() - begin:.2f} s, {_said(entries[-1])}", flush=True)
        close(client)
    same = all(np.array_equal(one.weights, entries[0].weights) for one in entries)
    above = entries[0].objective / whole.objective - 1.0
    print(f"rows: the same bits: {same}; {above:.1e} relatively above the fit in memory")


def _said(fit: Any) -> str:
    kept = np.count_nonzero(fit.weights[:-1])
    return f"objective {fit.objective:.6f}, relative gap {fit.relative_gap:.1e}, {fit.rounds} rounds, {kept} kept"


def main() -> None:
    ways = {"workers": workers, "shards": shards, "rows": rows}
    for name in sys.argv[1:] or list(ways):
        ways[name]()


if __name__ == "__main__":
    main()
