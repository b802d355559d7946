"""A Dask cluster fits what threads fit, to the byte, whatever becomes of its workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing import MAPClassifier, TextClassifier
from lapwing.cli import _parts
from lapwing.corpus import Corpus, read
from lapwing.engine import Cluster, Threads, connect
from lapwing.engine import cluster as engine_cluster
from lapwing.errors import InputError, LapwingError, SettingsError
from lapwing.formats.model_file import to_bytes
from lapwing.shards.folder import WorkFolder
from lapwing.text import TextSettings
from lapwing.training import NgramSettings, TrainSettings, make_design, train

distributed = pytest.importorskip("distributed", reason="Dask is not installed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    result = connect("local", workers=2)
    yield result
    result.cluster.close()
    result.close()


def corpus(exclusive: bool) -> Corpus:
    rng = np.random.default_rng(3)
    topics = rng.integers(0, 4, 90)
    texts = [" ".join(f"w{t}{k}" for k in rng.integers(0, 9, 5)) + f" c{rng.integers(0, 30)}" for t in topics]
    labels = [(f"t{t}",) if exclusive or i % 7 else () for i, t in enumerate(topics)]
    return Corpus("toy", "text", texts, labels, list(map(str, range(90))), exclusive, [""] * 90, np.ones(90))


CASES: dict[str, TrainSettings] = {
    "elastic net": TrainSettings(),
    "gaussian": TrainSettings(prior="gaussian"),
    "each by itself, thresholds": TrainSettings(prior="laplace", variance="cv", threshold="f1"),
    "selected features": TrainSettings(select_features=12),
    "n-grams": TrainSettings(
        text=TextSettings.for_ngrams(), prior="laplace", ngrams=NgramSettings(max_length=2), variance="pooled"
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_bytes_as_threads(client: Any, case: str) -> None:
    data = corpus(exclusive=case == "gaussian")
    assert to_bytes(train(data, CASES[case], client=client)) == to_bytes(train(data, CASES[case]))


def test_a_dask_array_with_sparse_blocks(client: Any) -> None:
    """The same bits as from the matrix it holds."""
    dask_array = pytest.importorskip("dask.array")
    rng = np.random.default_rng(2)
    X = sp.random(240, 50, 0.2, "csr", random_state=rng)
    y = np.where(X @ rng.normal(size=50) + rng.normal(size=240) > 0.0, 1.0, -1.0)
    blocks = dask_array.from_array(X.toarray(), chunks=(80, 50)).map_blocks(sp.csr_matrix)
    whole = MAPClassifier(variance=1.0, calibrate=False).fit(X, y)
    assert np.array_equal(
        MAPClassifier(variance=1.0, calibrate=False).fit(blocks, y).coef_.toarray(), whole.coef_.toarray()
    )


def test_texts_and_labels_in_bags(client: Any) -> None:
    bag = pytest.importorskip("dask.bag")
    toy = corpus(exclusive=True)
    labels = [one for (one,) in toy.labels]
    texts = bag.from_sequence(toy.documents, npartitions=3)
    result = TextClassifier(variance=1.0, calibrate=False).fit(texts, bag.from_sequence(labels, npartitions=3))
    whole = TextClassifier(variance=1.0, calibrate=False).fit(toy.documents, labels)
    assert np.array_equal(result.coef_.toarray(), whole.coef_.toarray())


@pytest.mark.parametrize("visible", [True, False])
def test_from_shards(client: Any, tmp_path: Path, visible: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text stage too, where workers see the folder; where they do not, what is in it goes to them."""
    toy = corpus(exclusive=True)
    path = tmp_path / "toy.jsonl"
    rows = zip(toy.documents, toy.labels, strict=True)
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, (label,) in rows))
    if not visible:
        monkeypatch.setattr(Cluster, "sees", lambda self, folder: False)
    stored = read(path, work=WorkFolder(tmp_path / "work", memory=1 << 18))
    settings = TrainSettings(variance="norm", calibrate=False)
    assert to_bytes(train(stored, settings, client=client)) == to_bytes(train(read(path), settings))
    stored.documents.folder.clear()  # type: ignore[union-attr]


def test_a_shard_that_was_altered_is_refused_by_the_worker(client: Any, tmp_path: Path) -> None:
    toy = corpus(exclusive=True)
    path = tmp_path / "toy.jsonl"
    rows = zip(toy.documents, toy.labels, strict=True)
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, (label,) in rows))
    stored, settings = read(path, work=WorkFolder(tmp_path / "work", memory=1 << 18)), TrainSettings(variance=1.0)
    make_design(stored, settings)
    altered = tmp_path / "work" / "matrix.rows.data"
    content = bytearray(altered.read_bytes())
    content[80] ^= 1
    altered.write_bytes(content)
    with pytest.raises(InputError, match=r"the shard .*matrix\.rows\.data is not what was written"):
        train(stored, settings, client=client)


def slow(shared: int, item: int) -> tuple[int, int]:
    time.sleep(0.1)
    return shared + item, os.getpid()


def test_workers_that_are_killed_lose_nothing(client: Any) -> None:
    """One after the other, while there is work: what they were at is done again, in order."""
    pids = list(client.run(os.getpid).values())
    kept: list[int] = []

    def kill() -> None:
        for pid in pids:
            time.sleep(0.7)
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = Cluster(client).run_all(slow, 100, list(range(40)), keep=lambda item, _: kept.append(item))
    killer.join()
    assert [value for value, _ in result] == [100 + k for k in range(40)]
    assert sorted(kept) == list(range(40))
    assert len({pid for _, pid in result} - set(pids)) >= 1  # others had to finish it


def failing(shared: int, item: int) -> int:
    raise InputError(f"piece {item} is bad")


def several(shared: tuple[int, int], item: int) -> int:
    return shared[0] + shared[1] + item


def test_what_is_shared_may_be_a_tuple_and_used_again(client: Any) -> None:
    pool, shared = Cluster(client), (1, 2)
    assert [pool.run_all(several, shared, [k]) for k in (3, 4)] == [[6], [7]]


def test_errors_come_back_as_they_are(client: Any) -> None:
    with pytest.raises(InputError, match="piece 0 is bad"):
        Cluster(client).run_all(failing, 1, [0])
    assert Cluster(client).run_all(slow, 1, [1])[0][0] == 2
    assert [value for value, _ in Threads(2).run_all(slow, 1, [1, 2, 3])] == [2, 3, 4]


def deadly(shared: int, item: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_work_that_kills_every_worker_is_given_up(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_cluster, "DEATHS", 1)
    with pytest.raises(LapwingError, match="died at the same piece"):
        Cluster(client).run_all(deadly, 1, [1])


def test_another_release_on_a_worker_is_refused_by_name(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_cluster, "version", lambda name: "0.0.1")
    with pytest.raises(InputError, match=r"the worker tcp://\S+ has lapwing \S+, and 0\.0\.1 is needed"):
        Cluster(client).run_all(slow, 1, [1])


def test_what_cannot_be_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_cluster, "ANSWER", 1)
    with pytest.raises(InputError, match="expected a Dask scheduler at tcp"):
        connect("tcp://127.0.0.1:9")
    with pytest.raises(SettingsError, match="local cluster only"):
        connect("tcp://127.0.0.1:9", workers=2)


@pytest.mark.parametrize("content", [None, "", "[1", "{}", "[]", '{"address": 5}', '{"Client": 1, "address": null}'])
def test_a_json_file_that_is_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None) -> None:
    monkeypatch.setattr(engine_cluster, "ANSWER", 0.3)
    if content is not None:
        (tmp_path / "scheduler.json").write_text(content)
    with pytest.raises(InputError, match=r"the JSON file of a Dask scheduler at .*scheduler\.json, and it"):
        connect(str(tmp_path / "scheduler.json"))


def test_a_local_cluster_listens_on_this_machine_alone(client: Any) -> None:
    psutil = pytest.importorskip("psutil", reason="psutil is not installed")
    one = psutil.Process()
    open_ = [each for process in (one, *one.children(recursive=True)) for each in process.net_connections("inet")]
    listening = [each.laddr for each in open_ if each.status == psutil.CONN_LISTEN]
    assert len(listening) >= 5  # of the scheduler, its dashboard, two workers and those who watch them
    assert {address.ip for address in listening} <= {"127.0.0.1", "::1"}
    assert f":{next(iter(client.scheduler_info()['services'].values()))}/" in client.dashboard_link


def lines_of(shared: str, name: str) -> str:
    return shared + Path(name).read_text()


def test_parts_are_those_of_the_command_wherever_workers_are(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative names: a worker in another folder has other files under them."""
    for folder, text in (("here", "many\n" * 8000), ("elsewhere", "three\n" * 3)):
        (tmp_path / folder / "parts").mkdir(parents=True)
        (tmp_path / folder / "parts" / "a.txt").write_text(text)
    folders = client.run(os.getcwd)
    monkeypatch.chdir(tmp_path / "here")
    client.run(os.chdir, str(tmp_path / "elsewhere"))
    more = (lines_of, "of ", "key", "tsv", Cluster(client))
    try:
        assert _parts.classify_parts("parts/*.txt", "out", *more) == 0
        assert Path("out/a.txt.tsv").read_text() == "of " + "many\n" * 8000
        path = tmp_path / "here" / "parts" / "a.txt"
        content_of = _parts.content_of
        with monkeypatch.context() as patched:  # as if the file were another one at the worker's
            patched.setattr(_parts, "content_of", lambda name: [1, "other"])
            with pytest.raises(InputError, match=r"has 40,000 bytes on the worker tcp://\S+ and 1 where the command"):
                _parts.classify_parts("parts/*.txt", "other", *more)
        with monkeypatch.context() as patched:  # and as if it saw none
            patched.setattr(_parts, "content_of", lambda name: [content_of(name), path.unlink()][0])
            with pytest.raises(InputError, match=r"the worker tcp://\S+ cannot read .*a\.txt: No such file"):
                _parts.classify_parts("parts/*.txt", "none", *more)
    finally:
        client.run(os.chdir, next(iter(folders.values())))


def test_a_scheduler_and_two_workers_started_by_hand(tmp_path: Path) -> None:
    """As docs/cluster.md has it, each in a process of its own."""
    data = tmp_path / "data.csv"
    toy = corpus(exclusive=True)
    data.write_text(
        "text,label\n" + "".join(f"{t},{lab[0]}\n" for t, lab in zip(toy.documents, toy.labels, strict=True))
    )
    there = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    commands = [
        [*dask, "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", there],
        *[[*dask, "worker", "--scheduler-file", there, "--nthreads", "1", "--no-dashboard"]] * 2,
    ]
    started = [subprocess.Popen(one, cwd=tmp_path, stderr=subprocess.DEVNULL) for one in commands]
    try:
        for name, more in (("here", []), ("there", ["--cluster", there])):
            lapwing = [sys.executable, "-m", "lapwing", "train", data, "-o", tmp_path / name, *more]
            ended = subprocess.run(lapwing, capture_output=True, text=True, timeout=300)
            assert ended.returncode == 0, ended.stderr
        assert "cluster of" in ended.stderr
        assert "lapwing:" not in ended.stderr  # what Dask says is not ours
        assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    finally:
        for one in started:
            one.terminate()
        for one in started:
            one.wait(30)
