"""Sources that state or hold more than they should: each ends in a sentence, soon, and in little memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import resource
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from cli.run import Command

from adversary.past import TARS, sources
from lapwing import corpus
from lapwing.cli._options import Size
from lapwing.corpus import streams
from lapwing.errors import CorpusError, SettingsError

MEGABYTE = 10**6


@pytest.mark.parametrize("name", sources())
def test_what_once_failed_is_read_or_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(sources()[name])
    with suppress(CorpusError):
        corpus.read(tmp_path / name)


@pytest.mark.parametrize("kind", TARS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_tars_that_state_too_much(kind: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(pack(TARS[kind]))
    with pytest.raises(CorpusError, match=r"a\.tar"):
        corpus.read(path)


def test_a_long_name_and_an_ordinary_pax_header_are_read(tmp_path: Path) -> None:
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        with tarfile.open(tmp_path / "a.tar", "w", format=form) as archive:
            for label in ("ä" * 150, "b" * 150):
                one = tarfile.TarInfo(f"{label}/1.txt")
                one.size, one.mtime = 3, 1234567890.123456789  # type: ignore[assignment]
                archive.addfile(one, io.BytesIO(label[:1].encode().ljust(3)))
        assert corpus.read(tmp_path / "a.tar").labels == [("b" * 150,), ("ä" * 150,)]


TAG = b'<REUTERS NEWID="1" TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET">'
LINES = {
    "jsonl": b'{"text": "%s", "label": "x"}\n',
    "csv": b"%s,x\n",
    "tsv": b"%s\tx\n",
    "svmlight": b"1 %s\n",
    "smart": b".I 9\n.W\n%s\n",
    "reuters": TAG + b"<TEXT>%s</TEXT></REUTERS>\n",
}
GOOD = {name: line % (b"1:1" if name == "svmlight" else b"oil") for name, line in LINES.items()}
HEADER = {"csv": b"text,label\n", "tsv": b"text\tlabel\n"}


@pytest.mark.parametrize("format", LINES)
@pytest.mark.parametrize("ended", [True, False])
def test_a_document_that_is_too_long(format: str, ended: bool, tmp_path: Path) -> None:
    """It is a broken record with the flag that lifts the bound; with skip_bad the others are read."""
    long = LINES[format] % (b" ".join(b"%d:1" % i for i in range(3000)) if format == "svmlight" else b"a" * 12_000)
    content = HEADER.get(format, b"") + GOOD[format] * 2 + (long if ended else long.rstrip()[:11_000])
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(content + (GOOD[format] * 2 if ended else b"")))
    with pytest.raises(CorpusError, match="--max-document"):
        corpus.read(path, format, max_document=10_000, labels_required=False)
    read = corpus.read(path, format, max_document=10_000, labels_required=False, skip_bad=True)
    assert len(read) == (4 if ended else 2)
    assert read.skipped == 1
    if ended:
        assert len(corpus.read(path, format, labels_required=False)) == 5


def test_rows_of_many_lines_and_records_of_many_lines(tmp_path: Path) -> None:
    rows = tmp_path / "a.csv"
    rows.write_bytes(b'text,label\noil,x\n"' + b"a\n" * 10_000)
    records = tmp_path / "a.smart"
    records.write_bytes(b".I 1\n.W\n" + b"a\n" * 10_000 + b".I 2\n.W\noil\n")
    for path in (rows, records):
        with pytest.raises(CorpusError, match="--max-document"):
            corpus.read(path, max_document=10_000)
    assert corpus.read(records, max_document=10_000, skip_bad=True).ids == ["2"]


def test_a_file_that_is_a_document(tmp_path: Path) -> None:
    for label, size in (("a", 10_000), ("b", 10_001)):
        (tmp_path / "d" / label).mkdir(parents=True)
        (tmp_path / "d" / label / "1.txt").write_bytes(b"x" * size)
    with pytest.raises(CorpusError, match="--max-document"):
        corpus.read(tmp_path / "d", max_document=10_000)
    assert corpus.read(tmp_path / "d", max_document=10_000, skip_bad=True).labels == [("a",)]


def test_lines_of_standard_input(run: Command, trained: Path) -> None:
    given = b"oil\n" + b"a" * 5000 + b"\ncorn\n"
    ran = run("classify", trained, "--max-document", "1KB", stdin=given)
    assert ran.code == 2
    assert "line 2" in ran.complaint
    ran = run("classify", trained, "--max-document", "1KB", "--skip-bad", "--json", stdin=given)
    assert ['"id": "1"' in line or '"id": "3"' in line for line in ran.lines] == [True, True]


def test_a_small_file_with_a_line_of_gigabytes_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(b"text,label\n")
        for _ in range(400):
            stream.write(b"a" * MEGABYTE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CorpusError, match="--max-document"):
        corpus.read(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # kilobytes


def test_expansion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above what is worth the question, at every level and for all of a zip archive together."""
    monkeypatch.setattr(streams, "UNCHECKED", MEGABYTE)
    lines = b'{"text": "oil oil oil", "label": "x"}\n' * 60_000  # 2.3 MB
    inside = tmp_path / "inside.tar"
    with tarfile.open(inside, "w") as archive:
        one = tarfile.TarInfo("a.jsonl.gz")
        one.size = len(gzip.compress(lines, mtime=0))
        archive.addfile(one, io.BytesIO(gzip.compress(lines, mtime=0)))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archived:
        for k in range(3):
            archived.writestr(f"{k}.jsonl", lines[: len(lines) // 3])
    for name, pack in (("a.gz", gzip.compress), ("a.bz2", bz2.compress), ("a.xz", lzma.compress)):
        (tmp_path / name).write_bytes(pack(lines))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.jsonl.gz").write_bytes(gzip.compress(lines))
    for name in ("a.gz", "a.bz2", "a.xz", "a.zip", "inside.tar", "folder"):
        with pytest.raises(CorpusError, match="--max-expansion"):
            corpus.read(tmp_path / name, max_expansion=20)
        assert len(corpus.read(tmp_path / name, max_expansion=1e9)) >= 59_999
    with open(tmp_path / "a.gz", "rb") as stream, pytest.raises(CorpusError, match="--max-expansion"):
        corpus.read(stream, max_expansion=20)


@pytest.mark.parametrize("given", ["64MB", "64 mb", "64000000", "0.064GB", "64M", 64_000_000])
def test_sizes(given: object) -> None:
    assert Size().convert(given, None, None) == 64 * MEGABYTE


@pytest.mark.parametrize("given", ["", "0", "-1", "MB", "1e99", "9" * 50, "1.5.2MB", "nan", "64XB", "999999999999TB"])
def test_sizes_that_are_none(given: str, run: Command, trained: Path) -> None:
    assert run("classify", trained, "--max-document", given).code == 2


@pytest.mark.parametrize("option", [{"max_document": 0}, {"max_expansion": float("nan")}, {"max_document": 2**70}])
def test_settings(option: dict[str, float], tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        corpus.read(tmp_path, **option)


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for label in "ab":
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.txt").write_text(f"oil {label}")
    os.mkfifo(tmp_path / "a" / "2.txt")
    assert len(corpus.read(tmp_path)) == 2
    assert "a/2.txt" in caplog.text
