"""A cluster that fails in every way it can: nothing is lost, and the model has the same bytes at the end.

    LAPWING_CORPORA=… .venv/bin/python benchmarks/faults.py [killed scheduler memory shard]

killed      a worker of two is killed (SIGKILL) every few seconds, ten times
scheduler   the scheduler is killed in the middle of `lapwing train --cluster`: a clear end; a new one, and it goes on
memory      workers with too little memory: a sentence, not a hang
shard       a shard that workers map, altered on disk: refused by its checksum
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import _corpora

from lapwing.corpus import read
from lapwing.engine import connect
from lapwing.errors import LapwingError
from lapwing.formats.model_file import to_bytes
from lapwing.shards.folder import WorkFolder
from lapwing.training import TrainSettings, make_design, train

KILLS, EVERY = 10, 3.0
SETTINGS = TrainSettings(variance="norm", calibrate=False)


def corpus(work: WorkFolder | None = None) -> Any:
    return read(_corpora.path("reuters21578.tar.xz"), work=work).part("train")


def close(client: Any) -> None:
    client.cluster.close()
    client.close()


def killed(folder: Path) -> None:
    client = connect("local", workers=2)
    done = threading.Event()
    count = [0]

    def kill() -> None:
        while count[0] < KILLS and not done.wait(EVERY):
            pids = {worker["pid"] for worker in client.run(_about).values()}
            if pids:
                os.kill(random.choice(sorted(pids)), signal.SIGKILL)
                count[0] += 1

    killer = threading.Thread(target=kill)
    killer.start()
    result = to_bytes(train(corpus(), SETTINGS, client=client))
    done.set()
    killer.join()
    close(client)
    print(f"killed: {count[0]} workers; the same bytes: {result == to_bytes(train(corpus(), SETTINGS))}")


def _about() -> dict[str, int]:
    return {"pid": os.getpid()}


def scheduler(folder: Path) -> None:
    there, output = folder / "scheduler.json", folder / "m"
    dask = [sys.executable, "-m", "dask"]
    command = [
        sys.executable, "-m", "lapwing", "train", str(_corpora.path("reuters21578.tar.xz")), "-o", str(output),
        "--variance", "norm", "--no-calibrate", "--cluster", str(there),
    ]  # fmt: skip

    def start() -> list[subprocess.Popen[bytes]]:
        there.unlink(missing_ok=True)
        first = [*dask, "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(there)]
        more = [*dask, "worker", "--scheduler-file", str(there), "--nthreads", "1", "--no-dashboard"]
        return [subprocess.Popen(one, cwd=folder, stderr=subprocess.DEVNULL) for one in (first, more, more)]

    started = start()
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    checkpoint = Path(f"{output}.checkpoint")
    while run.poll() is None and (not checkpoint.exists() or checkpoint.stat().st_size < 20_000):
        time.sleep(0.05)
    started[0].kill()
    said = run.communicate()[1].strip().splitlines()[-1]
    for one in started:
        one.kill()
        one.wait()
    print(f"scheduler: exit code {run.returncode}, {said!r}")
    started = start()
    again = subprocess.run(command, capture_output=True, text=True)
    for one in started:
        one.kill()
        one.wait()
    went_on = [line for line in again.stderr.splitlines() if "going on" in line]
    command[command.index("-o") + 1] = str(folder / "here")
    subprocess.run(command[:-2], capture_output=True, check=True)
    same = output.read_bytes() == (folder / "here").read_bytes()
    print(f"scheduler: {went_on or again.stderr[-300:]}; the same bytes: {same}")


def memory(folder: Path) -> None:
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=1, threads_per_worker=1, memory_limit="160MB", dashboard_address=":0")
    client = Client(cluster)
    begin = time.perf_counter()
    try:
        train(corpus(), SETTINGS, client=client)
        print("memory: it was enough")
    except LapwingError as error:
        print(f"memory: after {time.perf_counter() - begin:.0f} s, {error}")
    close(client)


def shard(folder: Path) -> None:
    client = connect("local", workers=2)
    work = WorkFolder(folder / "work", memory=1 << 28)
    data = corpus(work)
    make_design(data, SETTINGS)
    path = folder / "work" / "matrix.rows.data"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    try:
        train(data, SETTINGS, client=client)
        print("shard: NOT REFUSED")
    except LapwingError as error:
        print(f"shard: {error}")
    work.clear()
    close(client)


def main() -> None:
    ways = {"killed": killed, "scheduler": scheduler, "memory": memory, "shard": shard}
    for name in sys.argv[1:] or list(ways):
        with tempfile.TemporaryDirectory() as folder:
            ways[name](Path(folder))


if __name__ == "__main__":
    main()
