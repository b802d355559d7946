"""What was understood is said, and what looks like a mistake of reading is remarked on."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.corpus import overview
from lapwing.corpus.fields import label_name, label_set, several_labels
from lapwing.corpus.overview import check_labelled
from lapwing.errors import CorpusError, SettingsError

FILMS = (
    'text,genre\none,"Comedy,Drama"\ntwo,Comedy\nthree,Drama\nfour,"Drama,Horror"\nfive,Horror\nsix,horror \n'
    'seven,"Comedy,Horror"\none,Drama\n"  ",Drama\n'
)


def write(path: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def read(tmp_path: Path, content: str, **options: object) -> corpus.Corpus:
    (tmp_path / "films.csv").write_text(content, encoding="utf-8")
    return corpus.read(tmp_path / "films.csv", **options)


def test_counts(tmp_path: Path) -> None:
    said = overview(read(tmp_path, FILMS))
    assert (said.documents, said.exclusive, said.encoding, said.format) == (9, True, "UTF-8", "csv")
    assert next(iter(said.classes.items())) == ("Drama", 3)
    assert (said.empty, said.repeated, said.contradicting, said.unlabelled) == (1, 1, 1, 0)
    assert said.to_dict()["classes"]["horror"] == 1
    assert said.lines()[0] == "9 documents of films.csv, read as csv, UTF-8"


def test_several_labels_in_one_cell_are_remarked_on_with_the_option_that_splits_them(tmp_path: Path) -> None:
    (joined,) = [line for line in overview(read(tmp_path, FILMS)).remarks if "several in one" in line]
    assert joined == (
        "3 of 7 labels, such as 'Comedy,Drama', look like several in one: --label-separator ',' makes 4 of them"
    )
    split = overview(read(tmp_path, FILMS, label_separator=","))
    assert not split.exclusive
    assert "3 have several" in split.reason
    assert not any("several in one" in line for line in split.remarks)


@pytest.mark.parametrize(
    "cell",
    [
        '["Comedy", "Drama"]',
        "['Comedy', 'Drama']",
        "['Comedy' 'Drama']",
        "[Comedy, Drama]",
        "('Comedy', 'Drama')",
        "{'Drama', 'Comedy'}",
    ],
)
def test_lists_in_a_cell_are_remarked_on_and_taken_apart(cell: str, tmp_path: Path) -> None:
    rows = [("a", cell), ("b", cell.replace("Drama", "caf\\u00e9" if '"' in cell else "café")), ("c", "[]")]
    with (tmp_path / "lists.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    (said,) = [line for line in overview(corpus.read(tmp_path / "lists.csv")).remarks if "lists" in line]
    assert "--label-separator ','" in said
    lists = corpus.read(tmp_path / "lists.csv", label_separator=",")
    assert lists.labels == [("Comedy", "Drama"), ("Comedy", "café"), ()]
    assert not lists.exclusive


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        (r"['a\xa0b', 'it\'s', 'c\\d']", ("a\xa0b", r"c\d", "it's")),
        ("[10 2\n 3]", ("10", "2", "3")),
        ("('a',)", ("a",)),
        ("set()", ()),
        ("()", ()),
        ("(a), b", ("(a)", "b")),
        ('{"a": "b"}', ('{"a": "b"}',)),
    ],
)
def test_lists_as_python_and_numpy_write_them(cell: str, labels: tuple[str, ...]) -> None:
    assert label_set(map(label_name, several_labels(cell, ","))) == labels


@pytest.mark.parametrize("cell", ["[[1]]", '[{"a": 1}]', "[" * 5000 + "]" * 5000])
def test_lists_of_something_else_are_broken_records_or_names(cell: str, tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text(f'text,label\na,"{cell.replace(chr(34), chr(34) * 2)}"\n')
    with suppress(CorpusError):
        assert corpus.read(tmp_path / "lists.csv", label_separator=",").labels[0]


def test_ordinary_names_are_not_taken_for_several(tmp_path: Path) -> None:
    rows = "".join(f"text {i},{name}\n" for i, name in enumerate(["rock/pop", "comp.sys/x", "jazz", "talk"] * 3))
    assert overview(read(tmp_path, f"text,label\n{rows}")).remarks == ()


def test_labels_that_differ_only_in_case_or_blanks(tmp_path: Path) -> None:
    (alike,) = [line for line in overview(read(tmp_path, FILMS)).remarks if "case or blanks" in line]
    assert "'Horror' (1) and 'horror' (1)" in alike
    same = "text,label\na,caf\u00e9\nb,cafe\u0301\nc,bar\nd,bar\u200b\n"
    (alike,) = overview(read(tmp_path, same)).remarks
    assert alike.count(" and ") == 2


def test_lists_of_exactly_one_label_are_remarked_on(tmp_path: Path) -> None:
    path = write(tmp_path, {"a.jsonl": b'{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": ["y"]}\n'})
    said = overview(corpus.read(path / "a.jsonl"))
    assert not said.exclusive
    assert any("exactly one label" in line for line in said.remarks)


def test_no_labels_lists_the_columns(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"columns text, genre, year: .*label_column"):
        check_labelled(read(tmp_path, "text,genre,year\na,Drama,1999\n"))
    path = write(tmp_path, {"a.jsonl": b'{"text": "a", "topic": "x"}\n'})
    with pytest.raises(CorpusError, match=r"columns text, topic"):
        overview(corpus.read(path / "a.jsonl", label_column="subject"))


GERMAN = "Müller größere Straße für die Bürger, schöne Grüße über öffentliche Häuser und Gärten. " * 5
RUSSIAN = "Центральный банк повысил ставку, рубль укрепился, нефть подорожала на мировом рынке. " * 5
CHINESE = "中国人民银行宣布提高利率，人民币汇率上升，石油价格上涨。经济学家表示市场反应积极。" * 5


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [(GERMAN, "cp1252", "cp125"), (RUSSIAN, "cp1251", "cp1251"), (CHINESE, "gb18030", "gb18030")],
)
def test_files_in_another_encoding_are_an_error_that_names_it(
    text: str, encoding: str, named: str, tmp_path: Path
) -> None:
    files = {f"{c}/{c}{i}.txt": text.encode(encoding) for c in "ab" for i in range(3)} | {"a/9.txt": b"plain"}
    with pytest.raises(CorpusError, match=rf"6 of 7 files that are not; they may be .*{named}.*--encoding"):
        corpus.read(write(tmp_path, files))
    assert corpus.read(tmp_path, encoding=encoding).documents.count(text) == 6


def test_a_table_in_another_encoding_names_it(tmp_path: Path) -> None:
    path = write(tmp_path, {"a.csv": f"text,label\n{CHINESE.replace(',', ' ')},x\n".encode("gb18030")})
    with pytest.raises(CorpusError, match=r"line 2: expected UTF-8.*gb18030"):
        corpus.read(path / "a.csv")


WEB = {
    "course/cornell/1.html": b"one",
    "course/texas/2.html": b"two",
    "faculty/cornell/3.html": b"three",
    "faculty/texas/4.html": b"four",
    "README": b"about",
}


def labels(path: Path, **options: object) -> dict[str, tuple[str, ...]]:
    data = corpus.read(path, **options)
    assert data.exclusive
    return dict(zip(data.documents, data.labels, strict=True))


def test_the_class_may_be_any_folder_of_the_path(tmp_path: Path) -> None:
    path = write(tmp_path / "web", WEB)
    kinds = {"one": ("course",), "two": ("course",), "three": ("faculty",), "four": ("faculty",)}
    places = {"one": ("cornell",), "two": ("texas",), "three": ("cornell",), "four": ("texas",)}
    assert labels(path) == labels(path, folder_level=-1) == labels(path, folder_level=2) == places
    assert labels(path, folder_level=1) == labels(path, folder_level=-2) == kinds
    assert labels(path, label_from="^([a-z]+)/") == labels(path, label_from="(?P<label>course|faculty)") == kinds


def test_folders_in_folders_are_remarked_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {f"{a}/{b}/{a}{b}{i}": b"text" for a in "xy" for b in ("p", "q", "r") for i in range(2)}
    path = write(tmp_path, {name.replace("/p/", f"/p{name[0]}/"): text for name, text in files.items()})
    corpus.read(path)
    assert "the 4 innermost folders; folder_level=1 (--folder-level 1) takes the 2 outermost, x, y" in caplog.text
    caplog.clear()
    corpus.read(path, folder_level=-1)
    assert not caplog.text


def test_levels_are_the_same_in_an_archive_and_below_splits(tmp_path: Path) -> None:
    import tarfile

    path = write(tmp_path / "web", {f"{split}/{name}": text + split.encode() for name, text in WEB.items()
                                    if "/" in name for split in ("train", "test")})  # fmt: skip
    with tarfile.open(tmp_path / "web.tar", "w") as archive:
        archive.add(path, "web")
    for source in (path, tmp_path / "web.tar"):
        data = corpus.read(source, folder_level=1)
        assert data.categories() == ["course", "faculty"]
        assert sorted(set(data.split)) == ["test", "train"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"folder_level": 0}, SettingsError, "folder_level must be 1 or more"),
        ({"folder_level": 7}, CorpusError, r"7 folders above them, found none among 5"),
        ({"label_from": "("}, SettingsError, "label_from must be a regular expression"),
        ({"label_from": "^(zebra)/"}, CorpusError, "match label_from, found none"),
        ({"label_from": "a", "folder_level": 1}, SettingsError, "no place beside label_from"),
    ],
)
def test_levels_and_patterns_that_cannot_be(
    options: dict[str, object], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        corpus.read(write(tmp_path, WEB), **options)
