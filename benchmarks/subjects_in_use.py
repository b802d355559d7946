"""A model of twenty thousand subject headings in use: classify, report and serve, beside omikuji and a dense product.

    LAPWING_CORPORA=… python benchmarks/subjects_in_use.py [classify] [report] [serve] [--model FILE] [--lines 100000]
                                                           [--peers PYTHON]

The model is trained on the first --lines lines of yso-finna-en at a variance of 20, unless --model names one that was.

classify   the command with --top 5 on all 65,979 test titles: titles a second of wall and of CPU time, peak memory;
           then, from vectors and on one thread, the first 5 of 5,000 titles: ours, sparse documents times weights with
           their zeros, as many categories at a time as fit in 128 MB, and omikuji's Parabel trained on the same
           vectors in the environment of --peers, an interpreter that has it
report     bytes, and seconds until Chromium has drawn it and until a heading is found by typing; where playwright is
serve      median and 90 % of the milliseconds of a request over loopback, one client, server and client on one core
"""

from __future__ import annotations

import argparse
import http.client
import json
import lzma
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import _corpora
import numpy as np
import scipy.sparse as sp

import lapwing
from lapwing.corpus import read
from lapwing.model import LinearModel

SOME = 5000
HELD = 2**24  # numbers of a dense block of weights: 128 MB
COMMAND = [sys.executable, "-m", "lapwing"]
OMIKUJI = """
import sys, time
import scipy.sparse as sp, omikuji
folder = sys.argv[1]
X = sp.load_npz(folder + "/test.npz")
model = omikuji.Model.train_on_data(folder + "/train.txt", omikuji.Model.default_hyper_param(), n_threads=1)
rows = [list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist())) for a, b in zip(X.indptr, X.indptr[1:])]
for row in rows[:100]:
    model.predict(row, top_k=5)
began = time.process_time()
for row in rows:
    model.predict(row, top_k=5)
print()
print(len(rows) / (time.process_time() - began))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="classify, report, serve; all by default")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--peers", help="an interpreter that has omikuji")
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, lapwing "
          f"{lapwing.__version__}, NumPy {np.__version__}")  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, titles = corpora(folder, options.lines)
        model = options.model
        if model is None:
            model = folder / "subjects.lapwing"
            how = ["--variance", "20", "--no-calibrate", "--jobs", "-1"]
            subprocess.run([*COMMAND, "train", data, "-o", model, *how], check=True, stderr=subprocess.DEVNULL)
        loaded = lapwing.load(model)
        print(
            f"{len(loaded.classes):,} categories, {loaded.weights.nnz:,} weights, {model.stat().st_size / 1e6:.1f} MB"
        )
        parts = options.parts or ["classify", "report", "serve"]
        if "classify" in parts:
            classify(model, titles)
            products(loaded, data, titles, folder, options.peers)
        if "report" in parts:
            report(model, data, folder / "report.html")
        if "serve" in parts:
            serve(model, titles)


def corpora(folder: Path, lines: int) -> tuple[Path, Path]:
    """The first lines, and the test titles of all."""
    data, titles = folder / "some.jsonl", folder / "test.jsonl"
    with (
        lzma.open(_corpora.path("yso-finna-en.jsonl.xz"), "rt", encoding="utf-8") as all_,
        open(data, "w", encoding="utf-8") as some,
        open(titles, "w", encoding="utf-8") as test,
    ):
        for number, line in enumerate(all_):
            if number < lines:
                some.write(line)
            if json.loads(line)["split"] == "test":
                test.write(line)
    return data, titles


def texts_of(titles: Path, most: int | None = None) -> list[str]:
    with open(titles, encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in islice(lines, most)]


def classify(model: Path, titles: Path) -> None:
    count = len(texts_of(titles))
    began = time.perf_counter()
    process = subprocess.Popen([*COMMAND, "classify", model, titles, "--top", "5"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    wall, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
    print(f"classify --top 5: {count:,} titles in {wall:.1f} s, {count / wall:,.0f} a second ({count / cpu:,.0f} a "
          f"second of CPU), peak {used.ru_maxrss / 1024:.0f} MB")  # fmt: skip


def products(model: LinearModel, data: Path, titles: Path, folder: Path, peers: str | None) -> None:
    texts = texts_of(titles, SOME)
    X = model.vectors(texts, method="kernel")
    model.most_probable(X[:10], 5)
    began = time.process_time()
    places, _ = model.most_probable(X, 5)
    print(
        f"the first 5, from vectors: lapwing {SOME / (time.process_time() - began):,.0f} titles a second of CPU", end=""
    )
    few = X[:1000]
    began = time.process_time()
    dense = first_of_dense(model, few)
    print(f", dense product {few.shape[0] / (time.process_time() - began):,.0f}", end="", flush=True)
    assert np.array_equal(dense, places[: few.shape[0]])
    print(f", omikuji {omikuji(model, data, X, folder, peers)}")


def first_of_dense(model: LinearModel, X: sp.csr_matrix) -> np.ndarray:
    scores = np.empty((X.shape[0], len(model.classes)))
    size = max(HELD // model.weights.shape[1], 1)
    for start in range(0, len(model.classes), size):
        rows = slice(start, start + size)
        scores[:, rows] = X @ model.weights[rows].toarray().T
    scores += model.intercepts
    return np.argsort(-scores, axis=1, kind="stable")[:, :5]


def omikuji(model: LinearModel, data: Path, X: sp.csr_matrix, folder: Path, peers: str | None) -> str:
    if peers is None:
        return "left out: --peers names no interpreter that has it"
    part = read(data).part("train")
    number = {label: k for k, label in enumerate(model.classes)}
    matrix = model.vectors(part.documents, method="kernel")
    with open(folder / "train.txt", "w") as file:
        print(*matrix.shape, len(number), file=file)
        for i, labels in enumerate(part.labels):
            a, b = matrix.indptr[i : i + 2]
            pairs = zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist(), strict=True)
            print(",".join(str(number[one]) for one in labels), *(f"{j}:{x:.6g}" for j, x in pairs), file=file)
    sp.save_npz(folder / "test.npz", X)
    done = subprocess.run([peers, "-c", OMIKUJI, folder], capture_output=True, text=True, check=False)
    return (
        f"{float(done.stdout.split()[-1]):,.0f}"
        if done.returncode == 0
        else f"left out: {done.stderr.splitlines()[-1]}"
    )


def report(model: Path, data: Path, path: Path) -> None:
    rows = [*COMMAND, "report", model, data, "-o", path, "--no-path"]
    subprocess.run(rows, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    size = f"report: {path.stat().st_size / 1e6:.1f} MB"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print(f"{size}; playwright is not installed, so it was not opened")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        opened = []
        for _ in range(5):
            page = browser.new_page()
            began = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready=yes]")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")
            opened.append(time.perf_counter() - began)
            if len(opened) < 5:
                page.close()
        began = time.perf_counter()
        page.locator("#category-choice").fill("tropic")
        page.locator("#category-names option").first.wait_for(state="attached")
        result = page.locator("#category-names option").first.get_attribute("value")
        spent = time.perf_counter() - began
        browser.close()
    print(f"{size}, opened in {statistics.median(opened):.2f} s (the slowest of 5: {max(opened):.2f}); {result!r} "
          f"found by typing in {1000 * spent:.0f} ms")  # fmt: skip


def awaited(port: int) -> http.client.HTTPConnection:
    """A connection once the server answers."""
    for _ in range(600):
        client = http.client.HTTPConnection("127.0.0.1", port)
        try:
            client.request("GET", "/health")
            client.getresponse().read()
        except (OSError, http.client.HTTPException):
            client.close()
            time.sleep(0.1)
        else:
            return client
    raise SystemExit("the server did not come up within a minute")


def serve(model: Path, titles: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the server inherits it
    server = subprocess.Popen([*COMMAND, "serve", model, "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        client = awaited(port)
        texts = texts_of(titles, 500)
        for what in ("classify", "explain"):
            spent = []
            for text in texts:
                began = time.perf_counter()
                client.request("POST", f"/v1/{what}", json.dumps({"text": text}), {"content-type": "application/json"})
                answer = client.getresponse()
                answer.read()
                assert answer.status == 200
                spent.append(1000 * (time.perf_counter() - began))
            cut = statistics.quantiles(spent, n=10)
            print(f"serve, {what}: median {statistics.median(spent):.2f} ms, 90 % within {cut[8]:.2f} ms")
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    main()
