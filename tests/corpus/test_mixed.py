"""Collections of several kinds of files: all of them are read, or it is said which are not, or they are refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.errors import CorpusError

from .build import ARCHIVES, CORPORA, MBOX, Files, folder, packed

MAIL = b"Subject: offer\nContent-Type: text/plain; charset=latin-1\n\nBuy caf\xe9 now\n"
TEXTS: Files = {f"{label}/{i}.txt": f"{label} {i}".encode() for label in ("ham", "spam") for i in range(30)}


def office(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "<?xml version='1.0'?><x>words</x>")
    return out.getvalue()


XLSX = office("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml", "xl/worksheets/sheet1.xml")
DOCX = office("[Content_Types].xml", "word/document.xml")
ODS = office("mimetype", "content.xml", "META-INF/manifest.xml")
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"
CONTAINERS = {
    "news.xlsx": (XLSX, "a spreadsheet: save the sheet as CSV"),
    "news.docx": (DOCX, "word processor: save it as plain text"),
    "news.ods": (ODS, "a spreadsheet"),
    "news.pdf": (PDF, "a PDF: take its text out"),
    "news.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a spreadsheet"),
    "news.sqlite": (b"SQLite format 3\0" + bytes(100), "a database: write the table as CSV"),
    "news.7z": (b"7z\xbc\xaf\x27\x1c" + bytes(100), "an archive: unpack it"),
    "news.png": (b"\x89PNG\r\n\x1a\n" + bytes(100), "no text"),
    "news.rtf": (b"{\\rtf1\\ansi words}", "word processor"),
    "news.pkl": (b"\x80\x04\x95\x10\0\0\0\0\0\0\0", "data frame"),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_file_that_holds_no_plain_text_is_refused(name: str, tmp_path: Path) -> None:
    content, says = CONTAINERS[name]
    for renamed, said in ((name, says), ("news.csv", "expected texts or a table, got"), ("news", "got")):
        path = tmp_path / renamed
        path.write_bytes(content)
        for options in ({}, {"format": "csv"}, {"format": "folder"}, {"text_column": "headline"}):
            with pytest.raises(CorpusError, match=said):
                corpus.read(path, **options)
        with pytest.raises(CorpusError, match=said):
            corpus.read(io.BytesIO(content) if renamed == "news" else path, labels_required=False)


@pytest.mark.parametrize("name", [name for name in CONTAINERS if name != "news.7z"])
def test_a_name_alone_refuses_what_no_format_is_given_for(name: str, tmp_path: Path) -> None:
    """Some programs write tables in plain text under names of spreadsheets."""
    path = tmp_path / name
    path.write_text("text,label\na,x\n")
    with pytest.raises(CorpusError, match="name the format"):
        corpus.read(path)
    assert corpus.read(path, "csv").labels == [("x",)]


@pytest.mark.parametrize("name", CONTAINERS)
def test_one_among_texts_is_left_out_with_a_remark(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read = corpus.read(folder(tmp_path, TEXTS | {f"ham/{name}": CONTAINERS[name][0]}))
    assert len(read) == 60
    assert f"! {tmp_path.name}: 1 files hold no plain text and are left out; ham/{name} is" in caplog.text


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_an_archive_among_texts_is_no_document(suffix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    inner = packed({"old/1.txt": b"old"}, suffix)
    assert len(corpus.read(folder(tmp_path, TEXTS | {f"ham/old{suffix}": inner}))) == 60
    assert f"ham/old{suffix} is an archive: unpack it" in caplog.text


def test_a_folder_of_them_is_refused(tmp_path: Path) -> None:
    files = {f"{label}/{i}.pdf": PDF + f"{label}{i}".encode() for label in "ab" for i in range(5)}
    with pytest.raises(CorpusError, match=r"found 10 files that hold none; a/0.pdf is a PDF"):
        corpus.read(folder(tmp_path, files))


@pytest.mark.parametrize("where", ["spam/offer.eml", "ham/offer.eml", "other/offer.eml"])
@pytest.mark.parametrize("suffix", ["", *ARCHIVES])
def test_mail_among_texts_discards_none(where: str, suffix: str, tmp_path: Path) -> None:
    files = TEXTS | {where: MAIL, "spam/second.eml": MAIL, "README": b"about"}
    if suffix:
        (tmp_path / f"d{suffix}").write_bytes(packed(files, suffix))
    read = corpus.read(tmp_path / f"d{suffix}" if suffix else folder(tmp_path, files))
    assert len(read) == 62
    assert read.exclusive
    label = where.partition("/")[0]
    texts = dict(zip(read.ids, zip(read.documents, read.labels, strict=True), strict=True))
    assert texts["offer.eml"] == ("offer\n\nBuy café now", (label,))
    assert {name: texts.get(name) for name in ("ham/7.txt", "spam/7.txt")} == {
        "ham/7.txt": ("ham 7", ("ham",)),
        "spam/7.txt": ("spam 7", ("spam",)),
    }


def test_levels_of_folders_with_mail_inside(tmp_path: Path) -> None:
    files = {
        f"{a}/{b}/{i}.{end}": MAIL.replace(b"\xe9", f"e {a}{b}".encode())
        for a in "xy"
        for b in "uv"
        for i, end in enumerate(("eml", "txt"))
    }
    read = corpus.read(folder(tmp_path, files), folder_level=1)
    assert read.categories() == ["x", "y"]
    assert sum(text.startswith("offer") for text in read.documents) == 4


def test_an_mbox_of_a_class(tmp_path: Path) -> None:
    read = corpus.read(folder(tmp_path, TEXTS | {"spam/old.mbox": MBOX}))
    assert len(read) == 62
    assert [labels for name, labels in zip(read.ids, read.labels, strict=True) if "@" in name] == [("spam",)] * 2


@pytest.mark.parametrize("format", ["parquet", "arrow", "reuters", "rcv1", "smart"])
def test_one_file_of_a_format_among_texts_in_folders_is_refused(format: str, tmp_path: Path) -> None:
    name, content = next(iter(CORPORA[format].items()))
    for where in (name, f"spam/{name}", f"other/{name}"):
        root = folder(tmp_path / where.replace("/", "-"), TEXTS | {where: content})
        with pytest.raises(CorpusError, match=rf"found {where} and 60 others, such as ham/0.txt.*--format"):
            corpus.read(root)
        assert len(corpus.read(root, "folder").ids) >= 59


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_one_file_of_a_format_among_many_texts_is_refused(format: str, tmp_path: Path) -> None:
    name, content = next(iter(CORPORA[format].items()))
    root = folder(tmp_path, {f"{i}.txt": b"words" for i in range(11)} | {name: content})
    with pytest.raises(CorpusError, match=rf"found {name} and 11 others, such as 0.txt"):
        corpus.read(root)


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_a_few_files_beside_a_table_are_named(format: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    name, content = next(iter(CORPORA[format].items()))
    read = corpus.read(folder(tmp_path, {"LICENSE": b"mine", "columns.txt": b"two", name: content}))
    assert len(read) == 2
    assert f"! {tmp_path.name}: 1 files are not .{format} and are no documents: columns.txt" in caplog.text


def test_what_datasets_writes_beside_its_tables_is_no_remark(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = CORPORA["arrow"]["news.arrow"]
    files = {"dataset_dict.json": b"{}"}
    for part in ("train", "test"):
        files |= {f"{part}/data-00000-of-00001.arrow": content, f"{part}/dataset_info.json": b"{}"}
        files |= {f"{part}/state.json": b"{}"}
    assert len(corpus.read(folder(tmp_path, files))) == 4
    assert not caplog.text


@pytest.mark.parametrize("count", [1, 5, 6])
def test_files_above_class_folders_are_named(count: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {f"stray{i}.txt": b"stray" for i in range(count)}
    assert len(corpus.read(folder(tmp_path, TEXTS | files | {"README.md": b"about"}))) == 60
    assert (
        f"! {tmp_path.name}: {count} files lie above the class folders and are no documents: stray0.txt" in caplog.text
    )
    assert "README" not in caplog.text


@pytest.mark.parametrize("name", ["ham/more.csv", "spam/more.jsonl", "other/more.tsv"])
def test_a_table_among_texts_is_one_text_and_a_remark(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(corpus.read(folder(tmp_path, TEXTS | {name: b"text,label\na,x\n"}))) == 61
    assert f"! {tmp_path.name}: 1 files with names of other formats are one text each: {name}" in caplog.text


def test_subjects_beside_one_text_make_no_corpus_of_annif(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read = corpus.read(folder(tmp_path, TEXTS | {"ham/3.key": b"x\n"}))
    assert read.source["format"] == "folder"
    assert len(read) == 61


def test_an_mbox_with_what_its_exporter_writes_beside_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {"Mail/All.mbox": MBOX, "Mail/User/settings.json": b"{}", "browser.html": b"<html>"}
    read = corpus.read(folder(tmp_path, files))
    assert read.labels == [("All",)] * 2
    assert "2 files are not .mbox and are no documents: Mail/User/settings.json, browser.html" in caplog.text


def test_a_table_below_its_notes_is_a_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {"data/train.csv": b"text,label\na,x\nb,y\n", "columns.txt": b"two"}
    assert corpus.read(folder(tmp_path / "one", files)).labels == [("x",), ("y",)]
    assert "1 files are not .csv and are no documents: columns.txt" in caplog.text
    index = {f"{label}/index.csv": b"text,label\na,x\n" for label in ("ham", "spam")}
    assert len(corpus.read(folder(tmp_path / "two", TEXTS | index)).ids) == 62


def test_other_files_of_a_corpus_of_annif_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {"a.txt": b"one", "a.tsv": b"<http://example.org/1>\tx\n", "notes.md": b"more", "b.pdf": PDF}
    assert corpus.read(folder(tmp_path, files)).documents == ["one"]
    assert "2 files are neither texts nor their subjects and are no documents: b.pdf, notes.md" in caplog.text
    (tmp_path / "a.txt").write_bytes(PDF)
    with pytest.raises(CorpusError, match=r"a\.txt: expected a text, got a PDF"):
        corpus.read(tmp_path)
