from __future__ import annotations

from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.corpus import Corpus
from lapwing.corpus.overview import overview
from lapwing.errors import CorpusError

from .build import Files, folder, packed


def labels_of(read: Corpus) -> dict[str, tuple[str, ...]]:
    return dict(zip(read.ids, read.labels, strict=True))


def test_class_is_the_parent_and_splits_lie_above(tmp_path: Path) -> None:
    files = {
        "README": b"about",
        "news-train/x/1": b"a",
        "news-train/y/2": b"b",
        "news-test/x/3": b"c",
        "dev/deep/y/4": b"d",
        "dev/notes.txt": b"above the classes",
    }
    read = corpus.read(folder(tmp_path, files))
    assert labels_of(read) == {"1": ("x",), "2": ("y",), "3": ("x",), "4": ("y",)}
    assert dict(zip(read.ids, read.split, strict=True)) == {
        "1": "train",
        "2": "train",
        "3": "test",
        "4": "validation",
    }
    assert read.exclusive


def test_same_name_and_content_is_one_document_with_several_labels(tmp_path: Path) -> None:
    files = {"C01/7": b"heart", "C04/7": b"heart", "C04/8": b"lung", "C05/8": b"bone"}
    read = corpus.read(folder(tmp_path, files))
    assert labels_of(read) == {"7": ("C01", "C04"), "C04/8": ("C04",), "C05/8": ("C05",)}
    assert not read.exclusive


@pytest.mark.parametrize("names", ["numbered", "own"])
@pytest.mark.parametrize("content", [b"ok", b"", b" \n"])
def test_one_equal_text_in_two_folders_leaves_classes_exclusive(tmp_path: Path, names: str, content: bytes) -> None:
    """Whether every folder counts from 1, or the two files alone share a name."""
    files = {
        f"{label}/{i if names == 'numbered' else f'{label}{i}'}.txt": f"{label} {i}".encode()
        for label in "ab"
        for i in range(19)
    }
    read = corpus.read(folder(tmp_path, files | {"a/19.txt": content, "b/19.txt": content}))
    assert read.exclusive
    assert len(read) == 40
    said = [line for line in overview(read).lines() if line.startswith("!")]
    assert len(said) == bool(content.strip())
    assert all("text of another one and other labels: 1;" in line for line in said)


def test_same_name_and_content_in_two_splits_is_two_documents(tmp_path: Path) -> None:
    files = {"train/x/1": b"a", "test/x/1": b"a", "train/y/1": b"b"}
    read = corpus.read(folder(tmp_path, files))
    assert read.ids == ["test/x/1", "train/x/1", "y/1"]
    assert read.exclusive


def test_same_class_name_in_two_places(tmp_path: Path) -> None:
    read = corpus.read(folder(tmp_path, {"a/x/1": b"a", "b/x/1": b"a", "b/y/1": b"a"}))
    assert labels_of(read) == {"a/x/1": ("x",), "b/x/1": ("x", "y")}


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.gz"])
def test_archive_of_copies(suffix: str, tmp_path: Path) -> None:
    files: Files = {"d/y/1": b"same", "d/x/1": b"same", "d/x/2": b"other"}
    (tmp_path / f"a{suffix}").write_bytes(packed(files, suffix))
    assert labels_of(corpus.read(tmp_path / f"a{suffix}")) == {"1": ("x", "y"), "2": ("x",)}


def test_ids_do_not_depend_on_a_folder_on_top(tmp_path: Path) -> None:
    files = {"a/x/1": b"a", "b/x/1": b"a", "b/y/2": b"a"}
    (tmp_path / "a.zip").write_bytes(packed({f"top/{name}": data for name, data in files.items()}, ".zip"))
    plain = corpus.read(folder(tmp_path / "plain", files))
    assert corpus.read(tmp_path / "a.zip").ids == plain.ids == ["a/x/1", "b/x/1", "2"]


def test_ids_are_unique(tmp_path: Path) -> None:
    files = {
        f"{s}/{g}/{c}/{n}": f"{s}{g}{c}{n}".encode()
        for s in ("train", "test")
        for g in "gh"
        for c in "xy"
        for n in "12"
    }
    read = corpus.read(folder(tmp_path, files))
    assert len(set(read.ids)) == len(read) == len(files)


def test_encodings(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {
        "x/1": "é".encode(),
        "x/2": "é".encode("latin-1"),
        "y/3": b"\xef\xbb\xbfbom",
        "y/4": b"nul \0 kept",
    }
    root = folder(tmp_path, files)
    assert corpus.read(root).documents == ["é", "é", "bom", "nul \0 kept"]
    assert "1 documents are not valid UTF-8 and were read as latin-1" in caplog.text
    with pytest.raises(CorpusError, match=r"2, line 1: expected utf-8.*latin-1"):
        corpus.read(root, encoding="utf-8")
    assert corpus.read(root, encoding="utf-8", skip_bad=True).skipped == 1


def test_a_document_in_utf8_among_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = folder(tmp_path, {"x/1": "中文".encode("gb18030"), "y/2": "\u3000中".encode()})
    assert corpus.read(root, encoding="gb18030").documents == ["中文", "\u3000中"]
    assert "read as UTF-8" in caplog.text


def test_no_class_folders(tmp_path: Path) -> None:
    flat = folder(tmp_path / "flat", {"1.txt": b"one, two", "2.txt": b"three, four"})
    with pytest.raises(CorpusError, match="folder for each class"):
        corpus.read(flat)
    assert corpus.read(flat, labels_required=False).labels == [(), ()]
    only_splits = folder(tmp_path / "splits", {"train/1": b"one", "test/2": b"two"})
    with pytest.raises(CorpusError, match="only the splits test, train"):
        corpus.read(only_splits)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no files"):
        corpus.read(tmp_path)
    folder(tmp_path, {".hidden/x/1": b"a", ".DS_Store": b"b"})
    with pytest.raises(CorpusError, match="no files"):
        corpus.read(tmp_path)


def test_one_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    with pytest.raises(CorpusError, match="got one file"):
        corpus.read(tmp_path / "a", "folder")
    one = corpus.read(tmp_path / "a", "folder", labels_required=False)  # where no class is needed it is a document
    assert (one.documents, one.ids, one.labels) == (["text"], ["a"], [()])


def test_broken_member_is_skipped(tmp_path: Path) -> None:
    root = folder(tmp_path, {"x/1": b"a" * 100, "y/2": b"b" * 100}, ".gz")
    path = root / "x" / "1.gz"
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(CorpusError, match=r"1\.gz"):
        corpus.read(root)
    kept = corpus.read(root, skip_bad=True)
    assert kept.ids == ["2"]
    assert kept.skipped == 1
