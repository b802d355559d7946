"""Mail as the standard library reads it, from messages and mboxes that are unusual and legal."""

from __future__ import annotations

import codecs
import email
import email.policy
import mailbox
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lapwing import corpus
from lapwing.corpus.encodings import codec_of
from lapwing.errors import CorpusError
from lapwing_formats.mime import message

ENVELOPES = [
    "ann@example.org Mon Jan  5 09:00:00 1998",
    "MAILER-DAEMON Fri Jul  8 12:08:34 2011",
    "- Mon Jan 05 09:00:00 2015",
    "1234567890123456789@xxx Mon Jan 05 09:00:00 +0000 2015",
    "ann@example.org Tue Dec 23 13:01:02 EST 1997",
    "ann@example.org  Tue Dec 23 13:01 1997 +0100",
    "ann at example.org  Tue Mar  4 10:00:00 2003",
    '"Ann B. Lee"@example.org Tue Mar  4 10:00:00 2003 remote from uucp',
    "???@??? Tue Mar 04 10:00:00 2003",
    "ann@example.org Tue, 4 Mar 2003 10:00:00 +0100 (CET)",
    "ann@example.org Tue Mar  4 2003 10:00:00",
]


def words(text: str) -> str:
    return " ".join(text.split())


def mails(path: Path, content: bytes, **options: Any) -> list[str]:
    path.write_bytes(content)
    return corpus.read(path, labels_required=False, **options).documents


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_an_mbox_begins_messages_at_lines_with_address_and_date(tmp_path: Path, envelope: str, end: str) -> None:
    one = f"From {envelope}\nSubject: one\n\nFirst paragraph.\n\nFrom here on\nit is another.\nFrom Bob: hi\n"
    two = f"From {envelope}\nSubject: two\n\n>From the start\n"
    expected = ["one\n\nFirst paragraph.\n\nFrom here on\nit is another.\nFrom Bob: hi", "two\n\nFrom the start"]
    for before in ("", "\n", "\ufeff", "\ufeff\n \n"):
        for between in ("", "\n", "\n\n"):
            content = (before + one + between + two).replace("\n", end).encode()
            read = [text.replace("\r\n", "\n") for text in mails(tmp_path / "a.mbox", content)]
            assert read == expected, (before, between)
            assert [text.replace("\r\n", "\n") for text in mails(tmp_path / "Inbox", content, format="mail")] == read
        plain = mailbox.mbox(tmp_path / "b.mbox")
        (tmp_path / "b.mbox").write_bytes((one.replace("\nFrom ", "\n>From ") + "\n" + two).encode())
        assert [words(one) for one in expected] == [
            words(f"{one['subject']} {one.get_payload().replace('>From', 'From')}") for one in plain
        ]


def test_an_mbox_whose_lines_have_no_date(tmp_path: Path) -> None:
    content = b"From ann\nSubject: one\n\nhello\n\nFrom here on\nit goes.\n\nFrom bob\nSubject: two\n\nbye\n"
    assert mails(tmp_path / "a.mbox", content) == ["one\n\nhello\n\nFrom here on\nit goes.", "two\n\nbye"]
    assert mails(tmp_path / "a.mbox", b"From ann\n\nno header\n") == ["no header"]


def test_what_is_no_mbox_is_refused_and_an_empty_one_has_no_messages(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="begins with a line 'From ', got b'Subject: one"):
        mails(tmp_path / "a.mbox", b"Subject: one\n\nhello\n")
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "empty.mbox").write_bytes(b"")
    (tmp_path / "box" / "spam.mbox").write_bytes(f"From {ENVELOPES[0]}\nSubject: x\n\ny\n".encode())
    assert corpus.read(tmp_path / "box").labels == [("spam",)]


PARTS = {
    "plain": b"Content-Type: text/plain\n\nplain words\n",
    "html": b"Content-Type: text/html\n\n<p>html &amp; words</p>\n",
    "blank": b"Content-Type: text/plain\n\n \n",
    "file": b"Content-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\nattached words\n",
    "mail": b"Content-Type: message/rfc822\n\nSubject: attached\n\nof another message\n",
}

PLAIN_AND_HTML = PARTS["plain"], PARTS["html"]


def multipart(kind: str, *parts: bytes) -> bytes:
    boundary = b"b%d" % (sum(map(len, parts)) + len(kind))
    head = b'Content-Type: multipart/%s; boundary="%s"\n\n' % (kind.encode(), boundary)
    return head + b"".join(b"--%s\n%s\n" % (boundary, part) for part in parts) + b"--%s--\n" % boundary


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (multipart("mixed", PARTS["html"], PARTS["plain"]), "html & words plain words"),
        (multipart("mixed", PARTS["blank"], PARTS["html"]), "html & words"),
        (multipart("alternative", PARTS["plain"], PARTS["html"]), "plain words"),
        (multipart("alternative", PARTS["html"], PARTS["plain"]), "plain words"),
        (multipart("alternative", PARTS["blank"], PARTS["html"]), "html & words"),
        (multipart("mixed", multipart("alternative", *PLAIN_AND_HTML), PARTS["html"]), "plain words html & words"),
        (multipart("alternative", PARTS["blank"], multipart("related", PARTS["html"])), "html & words"),
        (multipart("mixed", PARTS["plain"], PARTS["file"], PARTS["mail"]), "plain words"),
        (multipart("digest", PARTS["mail"], b"\nSubject: second\n\nby default\n"), "of another message by default"),
        (PARTS["mail"], "of another message"),
        (b"Content-Type: multipart/mixed\n\nno boundary\n", "no boundary"),
        (b"Content-Type: text/html (so it is)\n\n<b>bold</b>", "bold"),
        (b"Content-Transfer-Encoding:\n base64 (really)\n\naGVsbG8=\n", "hello"),
        (b"Content-Type: text/plain; charset*=us-ascii'en'utf-8\n\ncaf\xc3\xa9", "café"),
    ],
)  # fmt: skip
def test_the_body_is_what_a_mail_program_shows(content: bytes, expected: str) -> None:
    assert words(message(content)[1]) == words(expected)


@pytest.mark.parametrize(
    "header",
    [
        "Subject: =?utf-8?b?a?=",
        "Subject: =?utf-8?b?YQ=b?=",
        "Content-Type: text/plain; charset*=utf-8''x; charset*0=y",
        "Content-Type: text/plain; charset*=\0''abc",
        "Content-Type: text/plain; charset*" + "9" * 5000 + "=b",
        "Content-Type: multipart/mixed; boundary*=a; boundary*0=b",
        "No colon here",
    ],
)
def test_a_malformed_header_stops_nothing(tmp_path: Path, header: str) -> None:
    content = f"From {ENVELOPES[0]}\n{header}\n\nhi\n\nFrom {ENVELOPES[0]}\nSubject: two\n\nho\n"
    first, second = mails(tmp_path / "a.mbox", content.encode())
    assert first.endswith("hi")
    assert second == "two\n\nho"


# Labels of https://encoding.spec.whatwg.org/#names-and-labels after the codec that each stands for.
LABELS = """
utf-8 unicode-1-1-utf-8 utf8 unicode11utf8 unicode20utf8 x-unicode20utf8
cp866 866 csibm866 ibm866
iso8859-2 csisolatin2 iso-8859-2 iso-ir-101 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso8859-3 csisolatin3 iso-8859-3 iso-ir-109 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso8859-4 csisolatin4 iso-8859-4 iso-ir-110 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso8859-5 csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso88595 iso_8859-5 iso_8859-5:1988
iso8859-6 arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i
iso8859-7 csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso88597 iso_8859-7:1987 sun_eu_greek
iso8859-8 csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso88598 visual csiso88598i iso-8859-8-i logical
iso8859-10 csisolatin6 iso-8859-10 iso-ir-157 iso885910 l6 latin6
iso8859-13 iso-8859-13 iso885913
iso8859-14 iso-8859-14 iso885914
iso8859-15 csisolatin9 iso-8859-15 iso885915 iso_8859-15 l9
iso8859-16 iso-8859-16
koi8-r cskoi8r koi koi8 koi8_r
koi8-u koi8-ru
mac-roman csmacintosh mac macintosh x-mac-roman
mac-cyrillic x-mac-cyrillic x-mac-ukrainian
cp874 dos-874 iso-8859-11 iso885911 tis-620 windows-874
cp1250 windows-1250 x-cp1250
cp1251 windows-1251 x-cp1251
cp1252 windows-1252 x-cp1252
cp1253 windows-1253 x-cp1253
cp1254 windows-1254 x-cp1254
cp1255 windows-1255 x-cp1255
cp1256 windows-1256 x-cp1256
cp1257 windows-1257 x-cp1257
cp1258 windows-1258 x-cp1258
iso8859-1 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso88591 iso_8859-1:1987 l1 latin1
iso8859-9 csisolatin5 iso-8859-9 iso-ir-148 iso88599 iso_8859-9:1989 l5 latin5
gb2312 chinese csgb2312 csiso58gb231280 gb_2312 gb_2312-80 iso-ir-58
gbk x-gbk
gb18030 gb18030
big5 cn-big5 csbig5 x-x-big5
euc_jp cseucpkdfmtjapanese euc-jp x-euc-jp
iso2022_jp csiso2022jp iso-2022-jp
shift_jis csshiftjis shift-jis sjis x-sjis
cp932 ms932 ms_kanji windows-31j
euc_kr cseuckr euc-kr korean ks_c_5601-1987 ksc5601
cp949 csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601 windows-949
utf-16-le csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16le
utf-16-be unicodefffe utf-16be
""".strip().splitlines()
SAMPLE = "hello שלום สวัสดี こんにちは 안녕 你好 привет γειά مرحبا żółw"


@pytest.mark.parametrize("line", LABELS, ids=lambda line: line.split()[0])
def test_charsets_by_any_name_that_mailers_use(line: str) -> None:
    codec, *labels = line.split()
    same = "".join(letter for letter in SAMPLE if letter.encode(codec, "ignore"))
    for label in (codec, *labels, labels[0].upper() if labels else codec):
        data = b"Content-Type: text/plain; charset=" + label.encode() + b"\nContent-Transfer-Encoding: base64\n\n"
        assert message(data + codecs.encode(same.encode(codec), "base64"))[1] == same.strip(), label
    assert codec_of("x-unknown") == codec_of("hex") == codec_of("\0") == ""


def test_what_no_charset_fits_is_counted_and_may_be_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = b"Subject: tea\nContent-Type: text/plain; charset=x-none\n\nau caf\xe9\n"
    assert mails(tmp_path / "a.eml", content, format="mail") == ["tea\n\nau caf\ufffd"]
    assert "1 messages hold bytes that are not in the encoding they name" in caplog.text
    assert mails(tmp_path / "a.eml", content, format="mail", encoding="latin-1") == ["tea\n\nau café"]


def test_a_charset_whose_wider_form_was_written() -> None:
    for charset, text in (("gb2312", "镕"), ("shift_jis", "①"), ("euc-kr", "햏")):
        wider = {"gb2312": "gb18030", "shift_jis": "cp932", "euc-kr": "cp949"}[charset]
        data = f"Content-Type: text/plain; charset={charset}\n\n".encode() + text.encode(wider)
        assert message(data)[1] == text
    for data, text in ((b"\x93\x8akoda\x94", "“Škoda”"), (b"\x81\x93", "\x81\x93")):
        assert message(b"Content-Type: text/plain; charset=iso-8859-1\n\n" + data)[1] == text


# Generated messages, beside the standard library's newer policy.

LETTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"))
LINE = st.one_of(
    st.text(LETTERS, max_size=30),
    st.sampled_from(["From here on", "From Bob Mon Jan 5 10:00 on", ">From x", "--b", "", "Subject: no", ".", "=20"]),
)  # fmt: skip
BODY = st.lists(LINE, min_size=1, max_size=4).map(lambda lines: "\n".join([*lines, "end"]))
SUBJECT = st.text(LETTERS, max_size=60)


@st.composite
def letters(draw: Any) -> EmailMessage:
    """One of a plain text or alternatives, with attachments or without."""
    one = EmailMessage(policy=email.policy.default)
    one["Subject"] = draw(SUBJECT)
    cte = st.sampled_from(["base64", "quoted-printable", "8bit"])
    one.set_content(draw(BODY), cte=draw(cte))
    if draw(st.booleans()):
        one.add_alternative("<p>html</p>", subtype="html", cte=draw(cte))
    if draw(st.booleans()):
        one.add_attachment(draw(BODY), filename=draw(st.sampled_from(["a.txt", "é (1).txt"])), cte=draw(cte))
    if draw(st.booleans()):
        other = EmailMessage()
        other["Subject"] = "attached"
        other.set_content("a message")
        one.add_attachment(other)
    return one


def as_email_reads(content: bytes) -> str:
    parsed: Any = email.message_from_bytes(content, policy=email.policy.default)
    return words(f"{parsed['subject']} {parsed.get_body(('plain',)).get_content()}")


EXAMPLES = 200 if settings().derandomize else 2000  # of `make test` and of `make fuzz`
slow = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[*HealthCheck])


@slow
@given(letters(), st.sampled_from([email.policy.default, email.policy.SMTP]))
def test_messages_as_email_reads_them(one: EmailMessage, policy: Any) -> None:
    content = one.as_bytes(policy=policy)
    assert words(message(content)[1]) == as_email_reads(content)


@slow
@given(st.lists(letters(), min_size=1, max_size=4), st.sampled_from(ENVELOPES), st.sampled_from(["", "\n", "\ufeff"]))
def test_mboxes_as_mailbox_reads_them(
    tmp_path_factory: pytest.TempPathFactory, many: list[EmailMessage], envelope: str, before: str
) -> None:
    """mailbox writes the file, quotes what has to be quoted, and finds the same messages in it."""
    folder = tmp_path_factory.mktemp("mbox")
    box = mailbox.mbox(folder / "a.mbox")
    for one in many:
        wrapped = mailbox.mboxMessage(one)
        wrapped.set_from(envelope)
        box.add(wrapped)
    box.flush()
    with_quotes = [box.get_bytes(key) for key in box.keys()]  # noqa: SIM118
    box.close()
    content = before.encode() + (folder / "a.mbox").read_bytes()
    assert list(map(words, mails(folder / "b.mbox", content))) == [
        as_email_reads(one.replace(b"\n>From ", b"\nFrom ")) for one in with_quotes
    ]


@st.composite
def odd_headers(draw: Any) -> bytes:
    """The header of a text in a legal form that few write."""
    charset, label = draw(st.sampled_from([("utf-8", "utf-8"), ("koi8-r", "KOI8-R"), ("iso-8859-8", "iso-8859-8")]))
    blank = st.sampled_from([" ", "\n ", "\t", "  ", " (a comment) ", ""])
    value = draw(st.sampled_from([label, f'"{label}"', label.upper()]))
    parameter = draw(st.sampled_from([f"charset={value}", f"charset*=us-ascii'en'{label}", f"CHARSET={value}"]))
    kind = draw(st.sampled_from(["text/plain", "Text/Plain", "TEXT/PLAIN"]))
    type_ = f"Content-Type:{draw(blank)}{kind}{draw(blank)};{draw(blank)}{parameter}{draw(blank)}"
    cte = f"Content-Transfer-Encoding:{draw(blank)}{draw(st.sampled_from(['base64', 'BASE64', 'Base64']))}{draw(blank)}"
    headers = draw(st.permutations([type_, cte, f"Subject:{draw(blank)}x", "MIME-Version: 1.0"]))
    text = draw(st.sampled_from(["hello", "привет" if charset != "iso-8859-8" else "שלום"]))
    return "\n".join(headers).encode() + b"\n\n" + codecs.encode(text.encode(charset), "base64")


@slow
@given(odd_headers(), st.booleans())
def test_headers_in_forms_that_few_write(content: bytes, crlf: bool) -> None:
    parsed: Any = email.message_from_bytes(content, policy=email.policy.default)
    text = codecs.decode(content.partition(b"\n\n")[2], "base64").decode(parsed.get_content_charset())
    if crlf:
        content = content.replace(b"\n", b"\r\n")
    assert words(message(content)[1]) == words(f"{parsed['subject']} {text}")
