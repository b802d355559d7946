"""A mail message: its headers and its text, in time linear in its length.

The standard library takes a message apart (`policy.compat32`). Headers are decoded here: its own parser of them
(`policy.default`) takes quadratic time and memory on many encoded words or parameters, and recurses on parentheses.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from html import unescape
from quopri import decodestring
from typing import Any

LONGEST_HEADER = 1_000_000  # characters; lists of recipients have some ten thousand
MARKUP = re.compile(r"<(script|style)\b[^<>]*>.*?(?:</\1[^<>]*>|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)
ENCODED = re.compile(r"=\?([^?\s]{1,50})\?([qb])\?([^?]*)\?=", re.IGNORECASE)  # RFC 2047
NOT_TEXT = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"}  # slow, or codes and no charset


def message(content: bytes) -> tuple[Mapping[str, str], str]:
    """Headers by their names in small letters, the first of each; subject and body. ValueError for nonsense."""
    from email import message_from_bytes, policy

    try:
        parsed: Any = message_from_bytes(content, policy=policy.compat32)
        parts = [part for part in parsed.walk() if not part.is_multipart()]
    except RecursionError:
        raise ValueError("parts nested too deep") from None
    for part in (parsed, *parts):
        if any(len(value) > LONGEST_HEADER for _, value in part.raw_items()):
            raise ValueError(f"a header of more than {LONGEST_HEADER:,} characters")
    headers: dict[str, str] = {}
    for name, value in parsed.raw_items():
        headers.setdefault(name.lower(), value)
    headers = {name: decoded(value) for name, value in headers.items()}
    parts = [part for part in parts if part.get_content_disposition() != "attachment"]
    plain = [_content(part) for part in parts if part.get_content_type() == "text/plain"]
    if not any(map(str.strip, plain)):
        plain = [unescape(MARKUP.sub(" ", _content(part))) for part in parts if part.get_content_type() == "text/html"]
    return headers, "\n\n".join(part.strip() for part in (headers.get("subject", ""), *plain) if part.strip())


def decoded(value: str) -> str:
    """A header without folds, its encoded words as what they stand for; letters may be cut in two between words."""
    line = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    line = re.sub(r"\r?\n", "", line)
    parts: list[tuple[str, bytearray]] = []  # charset, "" for plain text in UTF-8; bytes
    end = 0
    for word in ENCODED.finditer(line):
        between = line[end : word.start()]
        if between.strip() or not parts or not parts[-1][0]:  # blanks between two encoded words mean nothing
            parts.append(("", bytearray(between.encode())))
        charset = word[1].partition("*")[0].lower()
        if not parts[-1][0] or parts[-1][0] != charset:
            parts.append((charset, bytearray()))
        parts[-1][1].extend(_bytes(word[2], word[3]))
        end = word.end()
    parts.append(("", bytearray(line[end:].encode())))
    return "".join(_text(bytes(data), charset) for charset, data in parts).strip()


def _bytes(kind: str, text: str) -> bytes:
    data = text.encode("ascii", "replace")
    return decodestring(data, header=True) if kind in "qQ" else b64decode(data + b"=" * (-len(data) % 4))


def _content(part: Any) -> str:
    data = part.get_payload(decode=True)
    return _text(data, str(part.get_content_charset() or "")) if isinstance(data, bytes) else ""


def _text(data: bytes, charset: str) -> str:
    """UTF-8 where the charset is not known."""
    try:
        return data.decode("utf-8" if charset.replace("-", "_") in NOT_TEXT else charset or "utf-8", "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")
