"""Mail that is no mail: each message is read or refused, in time linear in its length, and takes no other with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.errors import CorpusError
from lapwing_formats.mime import message

HTML = b"Content-Type: text/html\n\n"


def nested(depth: int) -> bytes:
    return b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (i, i) for i in range(depth))


# What took minutes, gigabytes or ended in RecursionError.
LONG = {
    "scripts that do not end": HTML + b"<script " * 50_000 + b"<style>" * 50_000,
    "encoded words": b"Subject: " + b"=?utf-8?q?a?= " * 20_000 + b"\n\nhi",
    "encoded words that do not end": b"Subject: " + b"=?utf-8?q?" * 20_000 + b"\n\nhi",
    "parameters": b"Content-Type: text/plain" + b"".join(b"; a*%d*=x" % i for i in range(5000)) + b"\n\nhi",
    "comments": b"Message-ID: " + b"(" * 20_000 + b"\nContent-Type: " + b"(" * 20_000 + b"\n\nhi",
    "punycode": b"Content-Type: text/plain; charset=punycode\n\n" + b"a-" + b"z" * 200_000,
}


@pytest.mark.parametrize("content", LONG.values(), ids=LONG)
def test_what_is_long_is_read(content: bytes) -> None:
    assert isinstance(message(content)[1], str)


@pytest.mark.parametrize("content", [nested(2000), b"Content-Type: message/rfc822\n\n" * 2000], ids=["mixed", "rfc822"])
def test_deep_nesting_is_a_broken_record(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "some.mbox"
    path.write_bytes(b"From a\nSubject: fine\n\nx\n\nFrom b\n" + content + b"\n\nhi\n\nFrom c\nSubject: too\n\ny\n")
    with pytest.raises(CorpusError, match=r"line 2: expected a mail message, got one .*nested too deep"):
        corpus.read(path, labels_required=False)
    assert corpus.read(path, labels_required=False, skip_bad=True).documents == ["fine\n\nx", "too\n\ny"]


@pytest.mark.parametrize("date", ["31 Dec 9999 23:59:59 -2359", "99 Foo", ""])
def test_dates_that_are_none(tmp_path: Path, date: str) -> None:
    path = tmp_path / "some.mbox"
    path.write_text(f"From a\nDate: {date}\n\nx\n")
    with pytest.raises(CorpusError, match="the header Date holds no date"):
        corpus.read(path, labels_required=False, time_column="Date")


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        ("plain", "plain"),
        ("=?utf-8?q?caf=C3=A9_au?= lait", "café au lait"),
        ("a =?iso-8859-1?Q?=E9?= =?utf-8?B?w7w=?= b", "a éü b"),
        ("=?utf-8?b?4pk=?=\n =?utf-8?b?pQ==?=", "♥"),  # cut in the middle of a letter
        ("=?utf-8*de?q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
        ("=?no-such?q?x?= =?utf-8?b?*?=", "x"),
        ("long\n folded", "long folded"),
    ],
)
def test_subjects(header: str, subject: str) -> None:
    assert message(f"Subject: {header}\n\n".encode())[0]["subject"] == [subject]


@pytest.mark.parametrize("charset", ["hex", "idna", "undefined", "no-such", "\0", "unicode_escape", "utf-8"])
def test_a_charset_that_is_none_is_utf_8(charset: str) -> None:
    assert message(f'Content-Type: text/plain; charset="{charset}"\n\ncafé \\ud800\n'.encode())[1] == "café \\ud800"
