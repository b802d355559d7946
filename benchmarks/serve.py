"""Requests per second and latency of `lapwing serve`, beside scikit-learn behind the same FastAPI and the same guard.

    LAPWING_CORPORA=… python benchmarks/serve.py [--seconds 8] [--quick]

Both serve the 90 ModApte categories of Reuters-21578: ours a norm-based lasso, theirs a TfidfVectorizer
and a OneVsRestClassifier of logistic regressions. Single test documents are posted over loopback by 1 client and by
16; a request per core is counted by the processor time of the server, so the client beside it does not matter. Then
640 clients where 32 are admitted: every answer is compared with what the model says of that client's text.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import statistics
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import _corpora as corpora
import numpy as np

import lapwing.corpus
from lapwing.serve import ServeSettings
from lapwing.serve.run import listen, serve
from lapwing.serve.store import Served

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, eq=False)
class Peer(Served):
    """A scikit-learn pipeline that answers for a model, which the application still asks what kind it is."""

    pipeline: Any = None
    classes: tuple[str, ...] = ()

    @property
    def labels(self) -> list[str]:  # type: ignore[override]
        return list(self.classes)

    @property
    def reads_text(self) -> bool:
        return True

    def classify(self, documents: Any) -> tuple[np.ndarray, np.ndarray]:
        proba = self.pipeline.predict_proba(documents)
        return proba, proba > 0.5


@dataclass
class OneModel:
    """What the application needs of a store."""

    first: Served
    models: dict[str, Served] = field(default_factory=dict)

    def get(self, name: str | None) -> Served:
        return self.first


def ninety() -> tuple[Any, Any]:
    """Training and test part of ModApte, labels that occur in both."""
    path = corpora.path("reuters21578.tar.xz")
    corpus = lapwing.corpus.read(path)
    both = set(corpus.part("train").categories()) & set(corpus.part("test").categories())
    corpus = lapwing.corpus.read(path, categories=sorted(both))
    return corpus.part("train"), corpus.part("test")


def ours(train: Any) -> Served:
    from lapwing_papers.settings import training

    return Served("ours", lapwing.train(train, training(n_jobs=-1)))


def theirs(train: Any, mine: Served) -> Served:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MultiLabelBinarizer

    labels = MultiLabelBinarizer()
    indicator = labels.fit_transform(train.labels)
    vectors = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    pipeline = make_pipeline(vectors, OneVsRestClassifier(LogisticRegression(C=100.0, solver="liblinear")))
    pipeline.fit(train.documents, indicator)
    return Peer("theirs", mine.model, pipeline=pipeline, classes=tuple(labels.classes_))


class Server:
    """A server in a forked process."""

    def __init__(self, served: Served, concurrency: int) -> None:
        settings = ServeSettings(port=0, concurrency=concurrency, reload_every=0)
        listener = listen(settings)
        self.port = listener.getsockname()[1]
        store: Any = OneModel(served, {served.name: served})
        fork = multiprocessing.get_context("fork")
        self.process = fork.Process(target=serve, args=(store, settings, listener))
        self.process.start()
        listener.close()
        asyncio.run(self._up())

    async def _up(self) -> None:
        for _ in range(200):
            try:
                await asyncio.open_connection("127.0.0.1", self.port)
                return
            except OSError:
                await asyncio.sleep(0.05)
        sys.exit("the server did not start")

    @property
    def cpu(self) -> float:
        """Seconds of processor time."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / TICKS

    @property
    def memory(self) -> float:
        """Megabytes resident."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()


def request(text: str) -> bytes:
    body = json.dumps({"text": text}).encode()
    head = (
        "POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    )
    return head.format(len(body)).encode() + body


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, content: bytes) -> tuple[int, bytes, bool]:
    """Status, body, and whether the connection is left open."""
    writer.write(content)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return int(head[9:12]), await reader.readexactly(length), b"connection: close" not in head.lower()


async def load(port: int, contents: list[bytes], clients: int, seconds: float, check: Any = None) -> dict[str, Any]:
    """Closed loop: every client sends its next text when it has the answer to the last."""
    spent: list[float] = []
    codes: dict[int, int] = {}
    lost = wrong = 0
    until = time.perf_counter() + seconds

    async def client(k: int) -> None:
        nonlocal lost, wrong
        stream = None
        turn = k
        while time.perf_counter() < until:
            if stream is None:
                stream = await asyncio.open_connection("127.0.0.1", port)
            start = time.perf_counter()
            which = turn % len(contents)
            try:
                code, body, open_ = await ask(*stream, contents[which])
            except (OSError, asyncio.IncompleteReadError):
                lost += 1
                stream = None
                continue
            spent.append(time.perf_counter() - start)
            codes[code] = codes.get(code, 0) + 1
            if code == 200 and check is not None:
                wrong += not check(which, body)
            if not open_:
                stream[1].close()
                stream = None
            turn += clients

    await asyncio.gather(*(client(k) for k in range(clients)))
    return {"spent": spent, "codes": codes, "lost": lost, "wrong": wrong}


def measured(name: str, served: Served, texts: list[str], seconds: float) -> float:
    """Prints a line per number of clients; requests per processor second of the server."""
    contents = [request(text) for text in texts]
    server = Server(served, concurrency=32)
    per_core = 0.0
    try:
        asyncio.run(load(server.port, contents, 1, 1.0))
        for clients in (1, 16):
            before, start = server.cpu, time.perf_counter()
            result = asyncio.run(load(server.port, contents, clients, seconds))
            took, cpu, n = time.perf_counter() - start, server.cpu - before, len(result["spent"])
            assert set(result["codes"]) == {200}
            ms = sorted(1000 * one for one in result["spent"])
            per_core = n / cpu
            print(f"{name:<14}{clients:>4} clients {n / took:9.0f} requests/s {per_core:9.0f} per core"
                  f"   p50 {statistics.median(ms):7.2f} ms   p99 {ms[int(0.99 * n)]:7.2f} ms")  # fmt: skip
    finally:
        server.stop()
    start = time.process_time()
    for text in texts:
        served.classify([text])
    own = (time.process_time() - start) / len(texts)
    print(f"{name:<14}{1000 * own:17.2f} ms a text in the model: {100 * own * per_core:.0f} % of the server's time")
    return per_core


def overload(served: Served, texts: list[str], seconds: float) -> None:
    """Twenty times more clients than are admitted."""
    proba, _ = served.classify(texts)

    def check(which: int, body: bytes) -> bool:
        output = json.loads(body)["results"][0]["probabilities"]
        return all(output[label] == value for label, value in zip(served.labels, proba[which].tolist(), strict=True))

    server = Server(served, concurrency=32)
    try:
        contents = [request(text) for text in texts]
        asyncio.run(load(server.port, contents, 1, 0.5))
        before = server.memory
        output = asyncio.run(load(server.port, contents, 640, seconds, check))
        print(f"640 clients that never pause, 32 admitted, {seconds:g} s: {output['codes']}, {output['lost']} lost, "
              f"{output['wrong']} wrong; "
              f"memory {before:.0f} MB before, {server.memory:.0f} MB after")  # fmt: skip
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=8.0, help="per measurement")
    parser.add_argument("--quick", action="store_true", help="one second each, to try it out")
    options = parser.parse_args()
    seconds = 1.0 if options.quick else options.seconds
    releases = ", ".join(f"{name} {version(name)}" for name in ("scikit-learn", "fastapi", "uvicorn"))
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {releases}")
    train, test = ninety()
    texts = list(test.documents[:500])
    mine = ours(train)
    other = theirs(train, mine)
    ratio = measured("lapwing", mine, texts, seconds) / measured("scikit-learn", other, texts, seconds)
    print(f"lapwing answers {ratio:.1f} times as many requests per core")
    overload(mine, texts, seconds)


if __name__ == "__main__":
    main()
