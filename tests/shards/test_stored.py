"""Training from shards on disk: the same bytes as in memory, whatever the blocks, and nothing believed unchecked."""

from __future__ import annotations

import errno
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.corpus import Corpus, read, spill
from lapwing.corpus.demo import stdlib_docstrings
from lapwing.errors import InputError, SettingsError
from lapwing.formats.model_file import to_bytes
from lapwing.shards import folder as shards_folder
from lapwing.shards import matrix as shards_matrix
from lapwing.shards.folder import WorkFolder
from lapwing.shards.matrix import StoredMatrix
from lapwing.shards.texts import StoredTexts
from lapwing.solvers.problem import Problem
from lapwing.solvers.rare import RareSolver
from lapwing.stats.priors import as_prior
from lapwing.text import TextSettings, design
from lapwing.text import stored as text_stored
from lapwing.text.stored import stored_design
from lapwing.training import TrainSettings, train
from lapwing.training import rare as training_rare


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    whole = stdlib_docstrings()
    corpus = whole.select(range(0, len(whole), 3))
    path = tmp_path_factory.mktemp("demo") / "demo.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for text, labels, split in zip(corpus.documents, corpus.labels, corpus.split, strict=True):
            stream.write(json.dumps({"text": text, "label": labels[0], "split": split or "train"}) + "\n")
    return path


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "fits", lambda memory, characters, documents: characters < 50_000)


def spilled(path: Path, work: Path, memory: int = 1 << 22) -> Corpus:
    corpus = read(path, work=WorkFolder(work, "key", memory))
    assert isinstance(corpus.documents, StoredTexts)
    return corpus


def test_a_corpus_on_disk_is_what_it_is_in_memory(demo: Path, tmp_path: Path) -> None:
    there, here = spilled(demo, tmp_path / "work"), read(demo)
    for name in ("documents", "labels", "ids", "split"):
        assert list(getattr(there, name)) == list(getattr(here, name))
    assert (there.exclusive, there.source, there.fields) == (here.exclusive, here.source, here.fields)
    some = np.array([5, 3, 700])
    assert list(there.select(some).documents) == list(here.select(some).documents)
    assert there.documents[3:9:2] == here.documents[3:9:2]
    assert list(there.part("train").labels) == list(here.part("train").labels)


@pytest.mark.parametrize(
    "settings",
    [
        TextSettings(),
        TextSettings(min_df=3, tf="raw", cosine=False, stop_words="smart"),
        TextSettings(tokens="char", char_ngrams=(1, 3)),
    ],
)
def test_the_same_matrix(demo: Path, tmp_path: Path, settings: TextSettings) -> None:
    there, here = spilled(demo, tmp_path / "work"), read(demo)
    named = ["zzz", "the"]
    features, expected = (
        stored_design(there.documents, settings, named=named),
        design(here.documents, settings, named=named),
    )
    assert isinstance(features.matrix, StoredMatrix)
    assert list(features.feature_names) == list(expected.feature_names)
    assert features.weighting is not None
    assert expected.weighting is not None
    assert np.array_equal(features.weighting.document_frequency, expected.weighting.document_frequency)
    for ours, other in ((features.matrix, expected.matrix), (features.matrix.tocsc(), expected.matrix.tocsc())):
        for part in ("indptr", "indices", "data"):
            assert np.array_equal(getattr(ours, part), getattr(other, part))
    again = pickle.loads(pickle.dumps(features.matrix))
    assert again.folder.path == features.matrix.folder.path
    assert (again != expected.matrix).nnz == 0


@pytest.mark.parametrize("case", ["elastic net", "gaussian", "rare", "thresholds"])
def test_the_same_model(demo: Path, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "elastic net": TrainSettings(n_jobs=2),
        "gaussian": TrainSettings(prior="gaussian", variance=1.0, calibrate=False),
        "rare": TrainSettings(variance="norm", calibrate=False),
        "thresholds": TrainSettings(prior="laplace", variance="norm", threshold_data="train", class_weight="balanced"),
    }[case]
    if case == "rare":
        monkeypatch.setattr(training_rare, "LEAST", 100)
        monkeypatch.setattr(training_rare, "SHARE", 0.5)
    there, here = spilled(demo, tmp_path / "work").part("train"), read(demo).part("train")
    assert to_bytes(train(there, settings)) == to_bytes(train(here, settings))


def test_rare_categories_are_fitted_alike_elsewhere(demo: Path, tmp_path: Path) -> None:
    """As a worker of a cluster has it: from the same files, or from the numbers themselves."""
    matrix = stored_design(spilled(demo, tmp_path / "work").documents, TextSettings()).matrix
    positives, result = np.arange(0, 60, 2), []
    for X in (matrix, sp.csr_matrix(matrix)):
        problem = Problem(X)
        solver = RareSolver(problem, np.ones(X.shape[0]))
        arrays = problem.merge(as_prior("laplace").compile(3.0, X.shape[1]))
        for one in (solver, pickle.loads(pickle.dumps(solver))):
            fit = one.fit(positives, arrays)
            result.append((fit.columns.tolist(), fit.weights.tolist(), fit.intercept, fit.gap))
    assert result[0][0]
    assert all(one == result[0] for one in result)


def test_what_would_copy_the_matrix_is_refused(demo: Path, tmp_path: Path) -> None:
    corpus = spilled(demo, tmp_path / "work").part("train")
    with pytest.raises(SettingsError, match="standardize needs all documents in memory"):
        train(corpus, TrainSettings(standardize=True))


def test_what_was_stopped_goes_on(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the texts, nothing is read again; of the blocks, only those that were not counted."""
    corpus = spilled(demo, tmp_path / "work")
    counted: list[int] = []
    count = text_stored.count_block

    def stop_at_the_third(shared: Any, block: Any, **how: Any) -> Any:
        counted.append(block[0])
        if len(counted) == 3:
            raise KeyboardInterrupt
        return count(shared, block, **how)

    monkeypatch.setattr(text_stored, "count_block", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        stored_design(corpus.documents, TextSettings())
    corpus.documents.folder.close()
    again = read("nowhere", work=WorkFolder(tmp_path / "work", "key", 1 << 22))
    features = stored_design(again.documents, TextSettings())
    assert counted == list(range(3)) + list(range(2, len(set(counted))))
    assert (features.matrix != design(read(demo).documents, TextSettings()).matrix).nnz == 0
    again.documents.folder.close()
    assert WorkFolder(tmp_path / "work", "another key").open().files == {}


@pytest.mark.parametrize("name", ["texts", "terms-1", "matrix.rows.data", "matrix.columns.indices"])
def test_an_altered_shard_is_refused(demo: Path, tmp_path: Path, name: str) -> None:
    corpus = spilled(demo, tmp_path / "work")
    stored_design(corpus.documents, TextSettings())
    corpus.documents.folder.close()
    path = tmp_path / "work" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    work = WorkFolder(tmp_path / "work", "key", 1 << 22)
    with pytest.raises(InputError, match=f"the shard .*{name} is not what was written"):
        stored_design(read(demo, work=work).documents, TextSettings()).matrix.tocsc()


def test_a_shard_altered_after_this_process_wrote_it_is_refused(tmp_path: Path) -> None:
    folder = WorkFolder(tmp_path / "work", "key").open()
    folder.put("numbers", {"numbers": np.arange(1000.0)})
    path = tmp_path / "work" / "numbers"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"the shard .*numbers is not what was written"):
        folder.get("numbers")
    folder.close()


def test_a_full_disk_is_a_sentence_and_loses_nothing(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = spilled(demo, tmp_path / "work")
    append, room = shards_folder.ShardWriter.append, [300_000]

    def full(self: Any, content: Any) -> None:
        room[0] -= len(content) if isinstance(content, bytes) else content.nbytes
        if room[0] < 0:
            self._stream = FullDisk()
        append(self, content)

    monkeypatch.setattr(shards_folder.ShardWriter, "append", full)
    with pytest.raises(InputError, match=r"the disk of .*work is full; make room"):
        stored_design(corpus.documents, TextSettings())
    monkeypatch.undo()
    assert "counts-0" in corpus.documents.folder
    assert not list((tmp_path / "work").glob("*.part"))
    assert stored_design(corpus.documents, TextSettings()).matrix.nnz > 0


class FullDisk:
    def write(self, content: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        pass


def test_a_folder_is_for_one_run_and_of_ours(tmp_path: Path) -> None:
    ours = WorkFolder(tmp_path / "work").open()
    with ours.write("x"):
        pass
    with pytest.raises(InputError, match="another run is using"):
        WorkFolder(tmp_path / "work").open()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "precious").write_text("")
    with pytest.raises(InputError, match="no work folder of lapwing's"):
        WorkFolder(tmp_path / "theirs").open()


@pytest.mark.parametrize("case", ["elastic net", "gaussian", "rare"])
def test_more_entries_than_32_bits_count(
    demo: Path, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few enough bits for this corpus to have too many: pointers are wide, and the model is the same."""
    settings = {
        "elastic net": TrainSettings(),
        "gaussian": TrainSettings(prior="gaussian", variance=1.0, calibrate=False),
        "rare": TrainSettings(variance="norm", calibrate=False),
    }[case]
    if case == "rare":
        monkeypatch.setattr(training_rare, "LEAST", 100)
        monkeypatch.setattr(training_rare, "SHARE", 0.5)
    curvature: str | int = "diagonal" if case == "rare" else 2
    expected = to_bytes(train(read(demo).part("train"), settings, curvature=curvature))
    monkeypatch.setattr(shards_matrix, "MOST", 1000)
    there = spilled(demo, tmp_path / "work").part("train")
    matrix = stored_design(there.documents, TextSettings()).matrix
    assert matrix.indptr.dtype == matrix.tocsc().indptr.dtype == Problem(matrix).matrix.rows.indptr.dtype == np.int64
    assert matrix.indices.dtype == Problem(matrix).matrix.columns.indices.dtype == np.int32
    assert to_bytes(train(there, settings, curvature=curvature)) == expected


def test_too_many_entries_to_send_are_refused(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards_matrix, "MOST", 1000)
    matrix = stored_design(spilled(demo, tmp_path / "work").documents, TextSettings()).matrix
    monkeypatch.setattr(shards_matrix, "BY_VALUE", [True])
    with pytest.raises(InputError, match="let the workers see the folder"):
        pickle.dumps(matrix)
