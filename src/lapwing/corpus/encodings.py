"""What encoding bytes that are not UTF-8 may be in: a guess for a person to judge, never acted upon.

And which of Python's codecs a charset means by any of the names that mailers and browsers give it.
"""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

MOST = 3  # encodings that are named
# What the same bytes mean for people: charset-normalizer gives the narrowest that fits.
WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "iso8859_1": "latin-1"}

NOT_TEXT = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"}  # slow, or codes and no charset

# https://encoding.spec.whatwg.org/#names-and-labels, of which Python does not know all.
SYSTEMATIC = (
    (re.compile(r"(?:cs)?iso-?8859-?(\d\d?)(?:-?[ei])?"), r"iso8859-\1"),  # implicit or explicit directions
    (re.compile(r"(?:x-)?(?:windows|dos|ibm|cp|ms)-?(\d+)"), r"cp\1"),
    (re.compile(r"(?:x-|cs)+(.+)"), r"\1"),
)
LABELS = {
    label: codec
    for codec, labels in {
        "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
        "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
        "utf-16-be": "unicodefffe",
        "iso8859-7": "sun_eu_greek",
        "iso8859-8": "logical visual",
        "iso8859-15": "csisolatin9",
        "koi8-r": "koi koi8",
        "koi8-u": "koi8-ru",
        "mac-roman": "mac",
        "mac-cyrillic": "x-mac-ukrainian",
        "gb2312": "gb_2312 gb_2312-80",
        "big5": "cn-big5",
        "euc-jp": "cseucpkdfmtjapanese",
        "cp932": "windows-31j",
        "cp949": "csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601",
    }.items()
    for label in labels.split()
}


MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
         codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip
HIGH = re.compile(rb"[\0-\x1f]")  # high bytes of most alphabets in UTF-16
NO_BLANK = re.compile(rb"[\0-\x08\x0e-\x1f]")


def wide_encoding(head: bytes) -> str:
    """UTF-16 or UTF-32, by a byte order mark or since every other byte is no character of its own; "" for others."""
    if name := next((name for mark, name in MARKS.items() if head.startswith(mark)), ""):
        return name
    first, second, third, fourth = (head[place::4] for place in range(4))
    if len(head) < 4:
        return ""  # a letter, whatever follows it, proves nothing
    if len(fourth) > 1 and not fourth.strip(b"\0") and not third.strip(b"\0\1\2") and first.strip(b"\0"):
        return "utf-32-le"
    if len(fourth) > 1 and fourth.strip(b"\0") and not first.strip(b"\0") and not second.strip(b"\0\1\2"):
        return "utf-32-be"
    even, odd = head[::2], head[1::2]
    for name, high, low in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if (
            NO_BLANK.search(high)
            and 0.9 * len(high) <= len(HIGH.findall(high))
            and 2 * len(HIGH.findall(low)) <= len(low)
        ):
            return name
    return ""


CONTROLS = re.compile(rb"[\x80-\x9f]")  # in ISO 8859-1; in Windows-1252 quotes, dashes and letters


@lru_cache(256)
def codec_of(charset: str) -> str:
    """Python's name for a charset; "" where there is none."""
    charset = charset.strip().lower()
    others = (pattern.sub(new, charset) for pattern, new in SYSTEMATIC if pattern.fullmatch(charset))
    for name in (charset, LABELS.get(charset, charset), *others):
        try:
            codec = codecs.lookup(name).name
            bytes(4).decode(codec)  # lookup() also knows codecs that are no text encodings, such as "hex"
            return "" if codec.replace("-", "_") in NOT_TEXT else codec
        except (LookupError, ValueError):
            continue
    return ""


def decoded_as(data: bytes, charset: str, otherwise: str) -> str:
    """By the charset that is named, by the wider one that is often meant, or by the other; else with U+FFFD in it."""
    named = codec_of(charset)
    windows = "cp1252" if named == "iso8859-1" and CONTROLS.search(data) else ""  # as browsers and mail programs do
    attempts = [name for name in (windows, named, WIDER.get(named), otherwise) if name]
    for name in attempts:
        try:
            return data.decode(name)
        except ValueError:
            continue
    return data.decode(attempts[0], "replace")


def likely_encodings(samples: Iterable[bytes]) -> list[str]:
    """The likeliest encodings of these texts, best first; those of several samples that fit most of them."""
    from charset_normalizer import from_bytes

    votes: defaultdict[str, float] = defaultdict(float)
    for sample in samples:
        names = [WIDER.get(match.encoding, match.encoding) for match in from_bytes(sample)]
        for rank, name in enumerate(dict.fromkeys(names)):
            votes[name] += 1 / (1 + rank)
    best = sorted(votes, key=lambda name: (-votes[name], name))
    return [name for name in best if name not in ("utf_8", "ascii")][:MOST]


def encoding_advice(samples: Iterable[bytes]) -> str:
    """The rest of a sentence on bytes in another encoding than was expected: what to do."""
    names = likely_encodings(samples)
    if not names:
        return "name the right encoding (--encoding latin-1, say)"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
    return f"they may be {listed}: name the right one with encoding (--encoding {names[0]})"
