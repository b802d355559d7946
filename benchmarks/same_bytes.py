"""The same model to the byte: in memory, from shards on disk, and on a cluster of 1, 2 and 3 local worker processes.

    LAPWING_CORPORA=… .venv/bin/python benchmarks/same_bytes.py [demo 20news reuters yso] [memory shards 1 2 3]

On a cluster the documents are on disk, too, so that the text stage runs on the workers, which map what it makes. The
subject headings (yso) are trained with the preset many-labels, the others with the defaults.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import lzma
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import _corpora
from subjects import settings_of

from lapwing.corpus import Corpus, read, stdlib_docstrings
from lapwing.engine import connect
from lapwing.formats.model_file import to_bytes
from lapwing.shards.folder import WorkFolder
from lapwing.training import TrainSettings, train

LINES = 100_000  # of yso-finna-en
CORPORA = ["demo", "20news", "reuters", "yso"]
WAYS: list[str | int] = ["memory", "shards", 1, 2, 3]
OPTIONS = ("label_words", "stop_words", "ratio", "variance")  # of benchmarks/subjects.py, none of which is given
LITTLE = 1 << 28  # bytes of memory, in which no corpus is kept: all go to disk


def main() -> None:
    names = [name for name in sys.argv[1:] if name in CORPORA] or CORPORA
    ways = [way for way in WAYS if str(way) in sys.argv[1:]] or WAYS
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            compare(name, ways, Path(folder))


def compare(name: str, ways: list[str | int], folder: Path) -> None:
    data, settings = corpus_of(name, folder)
    seen: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for way in ways:
        begin = time.perf_counter()
        digest = hashlib.sha256(to_bytes(trained(data, settings, way, folder))).hexdigest()
        label = f"{way} workers" if isinstance(way, int) else way
        seen[label], seconds[label] = digest, time.perf_counter() - begin
        print(f"{name:8} {label:10} {digest[:16]} {seconds[label]:7.1f} s", flush=True)
    print(f"{name}: {'the same bytes' if len(set(seen.values())) == 1 else 'DIFFERENT BYTES'}", flush=True)


def corpus_of(name: str, folder: Path) -> tuple[Path, TrainSettings]:
    plain = TrainSettings(n_jobs=-1)
    if name == "demo":
        return _demo(folder / "demo.jsonl"), plain
    if name == "yso":
        some = folder / "yso.jsonl"
        with lzma.open(_corpora.path("yso-finna-en.jsonl.xz"), "rt", encoding="utf-8") as stream, some.open("w") as out:
            out.writelines(itertools.islice(stream, LINES))
        return some, replace(settings_of(argparse.Namespace(preset="many-labels", **dict.fromkeys(OPTIONS))), n_jobs=-1)
    return _corpora.path({"20news": "20news-bydate.tar.xz", "reuters": "reuters21578.tar.xz"}[name]), plain


def _demo(path: Path) -> Path:
    import json

    corpus = stdlib_docstrings()
    rows = zip(corpus.documents, corpus.labels, corpus.split, strict=True)
    path.write_text("".join(json.dumps({"text": t, "label": k[0], "split": s or None}) + "\n" for t, k, s in rows))
    return path


def trained(data: Path, settings: TrainSettings, way: str | int, folder: Path) -> Any:
    if way == "memory":
        return train(training_part(read(data)), settings)
    work = WorkFolder(folder / "work", str(way), LITTLE)
    client = connect("local", workers=way) if isinstance(way, int) else None
    try:
        return train(training_part(read(data, work=work)), settings, client=client)
    finally:
        work.clear()
        if client is not None:
            client.cluster.close()
            client.close()


def training_part(corpus: Corpus) -> Corpus:
    return corpus.part("train") if corpus.has_splits else corpus


if __name__ == "__main__":
    main()
