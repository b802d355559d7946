"""What a cluster and shards cost and bring: two workers against one, shards against memory.

    LAPWING_CORPORA=… .venv/bin/python benchmarks/cluster.py [workers shards]

workers   ModApte, --variance cv, on one local worker process and on two: seconds, and how many times as fast
shards    the same in one process, from memory and from shards
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import _corpora

from lapwing.corpus import read
from lapwing.engine import connect
from lapwing.formats.model_file import to_bytes
from lapwing.shards.folder import WorkFolder
from lapwing.training import TrainSettings, train

SETTINGS = TrainSettings(prior="laplace", variance="cv", calibrate=False)


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


def main() -> None:
    ways = {"workers": workers, "shards": shards}
    for name in sys.argv[1:] or list(ways):
        ways[name]()


if __name__ == "__main__":
    main()
