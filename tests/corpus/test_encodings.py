"""UTF-16 and UTF-32, by a byte order mark and without one: known for what they are, and never letters between zeros."""

from __future__ import annotations

import codecs
import json
import random
from contextlib import suppress
from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.corpus.encodings import wide_encoding
from lapwing.errors import CorpusError

WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
MARKS = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE,
         "utf-32-le": codecs.BOM_UTF32_LE, "utf-32-be": codecs.BOM_UTF32_BE}  # fmt: skip
TEXTS = {
    "English": "Wheat prices rose, and corn fell.",
    "French": "Le blé a été vendu à l'étranger.",
    "Russian": "Цены на пшеницу выросли.",
    "Greek": "Οι τιμές του σιταριού αυξήθηκαν.",
    "Hebrew": "מחירי החיטה עלו היום",
    "Arabic": "ارتفعت أسعار القمح اليوم",
    "Hindi": "गेहूं की कीमतें बढ़ीं आज",
    "Tamil": "கோதுமை விலை உயர்ந்தது இன்று",
    "Kannada": "ಗೋಧಿ ಬೆಲೆ ಏರಿದೆ ಇಂದು",
    "Thai": "ราคาข้าวสาลี สูงขึ้น",
    "Georgian": "ხორბლის ფასი გაიზარდა დღეს",
}
CJK = {"Chinese": "小麦价格上涨。今天", "Japanese": "小麦の価格が上がりました", "Korean": "밀 가격이 올랐다"}


@pytest.mark.parametrize("mark", [True, False])
@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("language", TEXTS)
def test_wide_encodings_are_known(language: str, encoding: str, mark: bool, tmp_path: Path) -> None:
    text = TEXTS[language]
    rows = [{"text": text, "label": "x"}, {"text": f"{text} {text}", "label": "y"}]
    contents = {
        "a.csv": f'text,label\n"{text}",x\n"{text} {text}",y\n',
        "a.tsv": f"text\tlabel\r\n{text}\tx\r\n{text} {text}\ty\r\n",
        "a.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
        "a.json": json.dumps(rows, ensure_ascii=False, indent=1),
        "a.txt": f"__label__x {text}\n__label__y {text} {text}\n",
        "table.txt": f"text\tlabel\r\n{text}\tx\r\n{text} {text}\ty\r\n",
    }
    for name, content in contents.items():
        path = tmp_path / name
        path.write_bytes((MARKS[encoding] if mark else b"") + content.encode(encoding))
        read = corpus.read(path)
        assert read.documents == [text, f"{text} {text}"], name
        assert read.labels == [("x",), ("y",)]
        assert read.encoding == (encoding[:6] if mark else encoding)
    for label in "xy":
        (tmp_path / "d" / label).mkdir(parents=True)
        (tmp_path / "d" / label / f"{label}1").write_bytes((MARKS[encoding] if mark else b"") + text.encode(encoding))
        (tmp_path / "d" / label / f"{label}2").write_text(f"{label} {text}", encoding="utf-8")
    assert sorted(corpus.read(tmp_path / "d").documents) == sorted([text, text, f"x {text}", f"y {text}"])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("language", CJK)
def test_where_they_cannot_be_known_they_are_refused(language: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"text,label\n{CJK[language]},x\n".encode(encoding))
    with suppress(CorpusError):
        assert corpus.read(path).documents == [CJK[language]]


def test_other_texts_are_not_taken_for_them() -> None:
    dice = random.Random(1)
    ordinary = [
        b"",
        b"a",
        b"ab",
        b"a\n",
        b"a\nb\nc\nd\n",
        b"\n\n\n\n",
        b"nul \0 kept",
        b"one\0two",
        b"6 \0\0",
        b"6\0",
        b"a\tb\n1\t2\n" * 9,
    ]
    ordinary += [text.encode() for text in (*TEXTS.values(), *CJK.values())]
    ordinary += [bytes(dice.choices(range(32, 256), k=dice.randrange(200))) for _ in range(500)]
    ordinary += [b"\0\0\0\0", bytes(100)]
    assert [head for head in ordinary if wide_encoding(head)] == []


LINES = {
    "a.csv": "text,label\none,x\ntwo,y\n",
    "a.jsonl": '{"text": "one", "label": "x"}\n{"text": "two", "label": "y"}\n',
    "a.txt": "__label__x one\n__label__y two\n",
    "a.ris": "TY  - JOUR\nTI  - one\nKW  - x\nER  - \nTY  - JOUR\nTI  - two\nKW  - y\nER  - \n",
    "a.tsv": "one\t<x>\ntwo\t<y>\n",
    "a.smart": ".I 1\n.T\none\n.M\nx.\n.I 2\n.T\ntwo\n.M\ny.\n",
    "a.mbox": "From a Mon Jan  5 10:00:00 1998\nX-Is: x\n\none\nFrom b Mon Jan  5 10:00:00 1998\nX-Is: y\n\ntwo\n",
}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", LINES)
def test_lines_end_in_any_way(name: str, end: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(LINES[name].replace("\n", end).encode())
    read = corpus.read(tmp_path / name, **({"label_column": "X-Is"} if name == "a.mbox" else {}))
    assert read.documents == ["one", "two"]
    assert read.labels == [("x",), ("y",)]


def test_a_blank_that_does_not_break_is_part_of_a_label(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("__label__crude\u00a0oil __label__x rose\n", encoding="utf-8")
    read = corpus.read(tmp_path / "a.txt")
    assert (read.documents, read.labels) == (["rose"], [("crude\u00a0oil", "x")])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_mail_in_utf16(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes("Subject: offer\n\nBuy café now\n".encode(encoding))
    assert corpus.read(tmp_path / "a.eml", labels_required=False).documents == ["offer\n\nBuy café now"]
