"""RIS: the fields of library catalogues, and records that are not whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.errors import CorpusError

from .build import RIS

Write = Callable[[str, bytes | str], Path]


def test_fields(write: Write) -> None:
    read = corpus.read(write("library.ris", RIS))
    assert read.ids == ["zot-1", "10.1000/182"]
    assert read.documents == ["Wheat harvests\nThey were good,\nvery good.", "Oil prices"]
    assert read.labels == [("agriculture", "wheat"), ("energy", "trade")]
    assert not read.exclusive
    assert corpus.read(write("export.txt", RIS)).labels == read.labels


def test_options_name_fields(write: Write) -> None:
    path = write("library.ris", RIS)
    read = corpus.read(path, label_column="C1", text_column="TI", time_column="PY")
    assert read.labels == [("included",), ("excluded",)]
    assert read.exclusive
    assert read.documents == ["Wheat harvests", "Oil prices"]
    assert read.times is not None
    assert [str(time)[:4] for time in read.times] == ["1987", "1999"]
    cells = RIS.replace(b"KW  - wheat\nKW  - agriculture", b"KW  - wheat; agriculture")
    assert corpus.read(write("b.ris", cells), label_separator=";").labels[0] == ("agriculture", "wheat")


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ("TY  - JOUR\nTI  - a\nER  - \nTY  - JOUR\nTI  - b\n", 4, "end of the file"),
        ("TY  - JOUR\nTI  - b\nTY  - JOUR\nTI  - a\nER  - \n", 1, "found the next one"),
        ("TY  - JOUR\nTI  - a\nER  - \nTI  - b\nER  - \n", 4, "begin with TY"),
        ("TY  - JOUR\nTI  - a\nER  - \nstray\nER  - \n", 4, "begin with TY"),
        ("TY  - JOUR\nTI  - a\nER  - \nTY  - JOUR\nAU  - b\nER  - \n", 4, "expected a string under 'text'"),
        (b"TY  - JOUR\nTI  - a\nER  - \nTY  - JOUR\nTI  - caf\xe9\nER  - \n", 4, "encoding"),
        ("TY  - JOUR\nTI  - a\nER  - \nTY  - JOUR\nTI  - " + 100 * "b" + "\nER  - \n", 4, "at most 60 characters"),
    ],
)
def test_broken_records(data: bytes | str, line: int, message: str, write: Write) -> None:
    path = write("a.ris", data)
    with pytest.raises(CorpusError, match=message) as caught:
        corpus.read(path, max_document=60)
    assert caught.value.line == line
    kept = corpus.read(path, max_document=60, skip_bad=True)
    assert kept.documents == ["a"]
    assert kept.skipped == 1
