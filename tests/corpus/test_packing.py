"""Every format gives the same corpus plain, compressed, in a folder and in every kind of archive."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from lapwing import corpus
from lapwing.corpus import Corpus
from lapwing.corpus.streams import damaged
from lapwing.errors import CorpusError

from .build import ARCHIVES, COMPRESS, CORPORA, folder, packed


def same(a: Corpus, b: Corpus) -> None:
    assert list(a.ids) == list(b.ids)
    assert list(a.labels) == list(b.labels)
    assert list(a.split) == list(b.split)
    assert (a.kind, a.exclusive, a.feature_names) == (b.kind, b.exclusive, b.feature_names)
    np.testing.assert_array_equal(a.weights, b.weights)
    if a.kind == "vectors":
        np.testing.assert_array_equal(a.documents.toarray(), b.documents.toarray())
    else:
        assert list(a.documents) == list(b.documents)


@pytest.mark.parametrize("format", CORPORA)
@pytest.mark.parametrize("compression", [c for c in COMPRESS if c])
def test_folder_of_compressed_files(format: str, compression: str, tmp_path: Path) -> None:
    plain = corpus.read(folder(tmp_path / "plain", CORPORA[format]))
    assert plain.source["format"] == format
    same(plain, corpus.read(folder(tmp_path / "small", CORPORA[format], compression)))


@pytest.mark.parametrize("format", CORPORA)
@pytest.mark.parametrize("suffix", ARCHIVES)
def test_archive_in_any_order(format: str, suffix: str, tmp_path: Path) -> None:
    plain = corpus.read(folder(tmp_path / "plain", CORPORA[format]))
    backwards = {f"./{name}": CORPORA[format][name] for name in reversed(CORPORA[format])}
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(packed({**backwards, "__MACOSX/._x": b"\0", "y/.DS_Store": b"\0"}, suffix))
    read = corpus.read(path)
    same(plain, read)
    assert read.name == "corpus"
    assert read.source == {"format": format, "path": f"corpus{suffix}"}


@pytest.mark.parametrize("format", [f for f in CORPORA if f not in ("folder", "rcv1")])
@pytest.mark.parametrize("compression", COMPRESS)
def test_single_file_and_stream(format: str, compression: str, tmp_path: Path) -> None:
    name, data = next(iter(CORPORA[format].items()))
    path = tmp_path / (name + compression)
    path.write_bytes(COMPRESS[compression](data))
    read = corpus.read(path)
    assert read.source["format"] == format
    assert read.name == name
    streamed = corpus.stream(io.BytesIO(path.read_bytes()), format)
    assert streamed.name == "stream"
    assert [d.labels for d in streamed] == list(read.labels)


def test_compression_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    path = tmp_path / "news.jsonl"
    path.write_bytes(COMPRESS[".xz"](CORPORA["jsonl"]["news.jsonl"]))
    assert len(corpus.read(path)) == 2
    (tmp_path / "plain.jsonl.gz").write_bytes(CORPORA["jsonl"]["news.jsonl"])
    assert len(corpus.read(tmp_path / "plain.jsonl.gz")) == 2


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_archive_from_a_stream(suffix: str, tmp_path: Path) -> None:
    files = CORPORA["folder"]
    read = corpus.read(io.BytesIO(packed(files, suffix)))
    same(corpus.read(folder(tmp_path / "plain", files)), read)


def test_streaming_leaves_the_given_stream_open() -> None:
    given = io.BytesIO(CORPORA["jsonl"]["news.jsonl"])
    documents = corpus.stream(given)
    assert documents.kind == "text"
    assert documents.format == "jsonl"
    assert len(list(documents)) == 2
    assert not given.closed


def test_last_of_two_tar_members_of_one_name_counts(tmp_path: Path) -> None:
    archive = packed({"x/1": b"old", "./x/1": b"new", "y/2": b"z"}, ".tar")
    (tmp_path / "a.tar").write_bytes(archive)
    assert corpus.read(tmp_path / "a.tar").documents == ["new", "z"]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_truncated_compressed_file(suffix: str, tmp_path: Path) -> None:
    lines = b"".join(b'{"text": "%d %d", "label": "x"}\n' % (i, i * 7919 % 10007) for i in range(60_000))
    data = COMPRESS[suffix](lines)
    path = tmp_path / f"news.jsonl{suffix}"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(CorpusError, match=r"news.jsonl.*truncated or damaged"):
        corpus.read(path)
    if suffix != ".bz2":  # bzip2 has nothing to give before its first large block is complete
        kept = corpus.read(path, skip_bad=True)
        assert len(kept) > 10_000
        assert kept.skipped in (1, 2)


def test_truncated_tar(tmp_path: Path) -> None:
    files = {f"{'xy'[i % 2]}/{i}": b"text " * 500 for i in range(20)}
    data = packed(files, ".tar")
    path = tmp_path / "a.tar"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(CorpusError, match=r"a.tar"):
        corpus.read(path)
    kept = corpus.read(path, skip_bad=True)
    assert 5 < len(kept) < 15
    assert kept.skipped >= 1


@pytest.mark.parametrize("packing", ["", ".gz", ".xz"])
def test_a_tar_cut_between_two_members(tmp_path: Path, packing: str) -> None:
    """Without the blocks of zeros that every tar program writes, nothing says that a download came to its end."""
    whole = packed({f"{'xy'[i % 2]}/{i}": b"text %d" % i for i in range(6)}, ".tar")
    path = tmp_path / f"a.tar{packing}"
    pack = COMPRESS.get(packing, bytes)
    for members in range(1, 7):
        path.write_bytes(pack(whole[: 1024 * members]))
        with pytest.raises(CorpusError, match=r"a\.tar.*its end is not marked"):
            corpus.read(path)
        if members > 1:
            kept = corpus.read(path, skip_bad=True)
            assert (len(kept), kept.skipped) == (members, 1)
    for zeros in (512, 1024, 10240):  # GNU tar takes a single block for the end, with a remark
        path.write_bytes(pack(whole[: 1024 * 6] + bytes(zeros)))
        assert len(corpus.read(path)) == 6


def test_broken_tar_header_is_not_taken_for_the_end(tmp_path: Path) -> None:
    data = bytearray(packed({"x/1": b"a", "y/2": b"b", "y/3": b"c"}, ".tar"))
    data[2 * 1024 + 150] ^= 255  # in the checksum of the third header
    (tmp_path / "a.tar").write_bytes(data)
    with pytest.raises(CorpusError, match="header"):
        corpus.read(tmp_path / "a.tar")


def test_damaged_and_encrypted_zip(tmp_path: Path) -> None:
    data = packed({"x/1": b"a" * 100, "y/2": b"b"}, ".zip")
    (tmp_path / "cut.zip").write_bytes(data[:-30])
    with pytest.raises(CorpusError, match=r"cut\.zip"):
        corpus.read(tmp_path / "cut.zip")
    locked = bytearray(data)
    for at in range(len(locked)):
        if locked[at : at + 4] == b"PK\x01\x02":
            locked[at + 8] |= 1  # the flag for encryption
        if locked[at : at + 4] == b"PK\x03\x04":
            locked[at + 6] |= 1
    (tmp_path / "locked.zip").write_bytes(locked)
    with pytest.raises(CorpusError, match="encrypted"):
        corpus.read(tmp_path / "locked.zip")


def test_paths_that_climb_out_of_the_archive_write_nothing(tmp_path: Path) -> None:
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr("../../x/1", "a")
        zipped.writestr("/y/2", "b")
    assert corpus.read(path).categories() == ["x", "y"]
    assert [p.name for p in tmp_path.iterdir()] == ["evil.zip"]


def test_too_little_memory_is_not_called_damage() -> None:
    assert "not enough memory to read it; allow less (--memory)" in str(damaged(MemoryError(), "big.jsonl"))
