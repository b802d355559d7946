"""Corpora as Annif has them."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from lapwing import corpus
from lapwing.errors import CorpusError, InputError
from lapwing_formats.annif import write_folder, write_lines

from .build import folder

ONE, TWO = "http://example.org/1", "http://example.org/2"
FILES = {
    "a.txt": b"\xef\xbb\xbflight\nand shade",
    "a.tsv": f"<{ONE}>\tlight\n\n<{TWO}>\toptics\n".encode(),
    "b.txt": b"optics",
    "b.key": b"optics\nlight, visible\n",
    "c.txt": b"not indexed",
    "d.txt": b"both",
    "d.tsv": f"<{TWO}>\n".encode(),
    "d.key": b"ignored\n",
}


def test_lines(tmp_path: Path) -> None:
    content = f"Light \u2013 a primer\t<{TWO}> <{ONE}>\n\nNothing\t\n".encode()
    (tmp_path / "titles.tsv").write_bytes(content)
    (tmp_path / "titles.tsv.gz").write_bytes(gzip.compress(content))
    for name in ("titles.tsv", "titles.tsv.gz"):
        read = corpus.read(tmp_path / name)
        assert read.source["format"] == "annif"
        assert read.documents == ["Light \u2013 a primer", "Nothing"]
        assert read.labels == [(ONE, TWO), ()]
        assert not read.exclusive
    (tmp_path / "bad.tsv").write_text(f"one\t<{ONE}>\ntwo\n")
    with pytest.raises(CorpusError, match="line 2: expected a text, a tab and its subjects"):
        corpus.read(tmp_path / "bad.tsv")
    assert len(list(corpus.stream(tmp_path / "bad.tsv", labels_required=False))) == 2


def test_uris_without_blanks_between_them_are_not_one(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"light\t<{ONE}>\nshade\t<{ONE}>,<{TWO}>\n")
    with pytest.raises(CorpusError, match="line 2: expected blanks between <URIs>"):
        corpus.read(tmp_path / "a.tsv")


def test_a_table_with_names_is_still_one(tmp_path: Path) -> None:
    (tmp_path / "news.tsv").write_text("text\tlabel\nwheat\tgrain\noil\tenergy\n")
    assert corpus.read(tmp_path / "news.tsv").source["format"] == "tsv"


def archived(names: list[str]) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in names:
            info = tarfile.TarInfo(f"docs/{name}")
            info.size = len(FILES[name])
            tar.addfile(info, io.BytesIO(FILES[name]))
    out.seek(0)
    return out


def test_full_texts_in_any_order(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    for given in (tmp_path, archived(sorted(FILES)), archived(sorted(FILES, reverse=True))):
        read = corpus.read(given)
        assert read.source["format"] == "annif"
        rows = dict(zip(read.documents, read.labels, strict=True))
        assert rows == {"light\nand shade": (ONE, TWO), "optics": ("light, visible", "optics"), "both": (TWO,)}
    texts = {document.content for document in corpus.stream(tmp_path, labels_required=False)}
    assert texts == {"light\nand shade", "optics", "not indexed", "both"}


def test_full_texts_in_folders_of_a_split(tmp_path: Path) -> None:
    files = {f"{split}/a.{end}": b"light\n" for split in ("train", "test") for end in ("txt", "key")}
    read = corpus.read(folder(tmp_path, files))
    assert read.split == ["test", "train"]
    with tarfile.open(tmp_path / "d.tar", "w") as archive:
        archive.add(tmp_path / "test", "d/test")
        archive.add(tmp_path / "train", "d/train")
    assert corpus.read(tmp_path / "d.tar").ids == read.ids == ["test/a.txt", "train/a.txt"]


@pytest.mark.parametrize("name", ["out.tsv", "out.tsv.gz", "out"])
def test_what_is_written_comes_back(tmp_path: Path, name: str) -> None:
    texts, labels = ["light\tand shade", "optics", ""], [("light", "optics"), ("optics",), ()]
    uris = {"light": ONE, "optics": TWO}
    (write_lines if ".tsv" in name else write_folder)(tmp_path / name, texts, labels, uris)
    read = corpus.read(tmp_path / name)
    assert read.labels == [(ONE, TWO), (TWO,), ()]
    assert read.documents == (["light and shade", "optics", ""] if ".tsv" in name else texts)
    (tmp_path / "old.tsv").write_text("old")
    with pytest.raises(InputError, match="'light' has none"):
        write_lines(tmp_path / "old.tsv", texts, labels)
    assert (tmp_path / "old.tsv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "old.tsv"])
    if name == "out":
        with pytest.raises(InputError, match="empty folder"):
            write_folder(tmp_path / name, texts, labels, uris)


@pytest.mark.parametrize("broken", ["a.tsv", "a.txt"])
@pytest.mark.parametrize("order", [sorted, lambda names: sorted(names, reverse=True)])
def test_half_a_document_is_none(tmp_path: Path, broken: str, order: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A text whose subjects cannot be read is no text without subjects."""
    files = FILES | {broken: b"<http://example.org/\xff>\n"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in order(files):
            info = tarfile.TarInfo(name)
            info.size = len(files[name])
            tar.addfile(info, io.BytesIO(files[name]))
    with pytest.raises(CorpusError, match=rf"{broken}: expected utf-8"):
        corpus.read(io.BytesIO(out.getvalue()))
    kept = corpus.read(io.BytesIO(out.getvalue()), skip_bad=True)
    assert sorted(kept.documents) == ["both", "optics"]
    assert all(kept.labels)
    assert "a.txt" in caplog.text
