"""A mail message: its headers and its text, in time linear in its length.

The standard library takes a message apart (`policy.compat32`). Headers are decoded here: its own parser of them
(`policy.default`) takes quadratic time and memory on many encoded words or parameters, and recurses on parentheses.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from html import unescape
from quopri import decodestring
from typing import Any

from lapwing.corpus.encodings import decoded_as

LONGEST_HEADER = 1_000_000  # characters; lists of recipients have some ten thousand
MARKUP = re.compile(r"<(script|style)\b[^<>]*>.*?(?:</\1[^<>]*>|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)
ENCODED = re.compile(r"=\?([^?\s]{1,50})\?([qb])\?([^?]*)\?=", re.IGNORECASE)  # RFC 2047
COMMENT = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))|\([^()]*\)|[\r\n]', re.DOTALL)


def message(content: bytes, encoding: str = "utf-8") -> tuple[Mapping[str, list[str]], str]:
    """Headers by their names in small letters; subject and body. ValueError for nonsense.

    `encoding` is that of bytes whose charset is not named, not known, or another than was named.
    """
    from email import message_from_bytes, policy

    try:
        parsed: Any = message_from_bytes(content, policy=policy.compat32.clone(message_factory=_message_class()))
        for part in parsed.walk():
            if any(len(value) > LONGEST_HEADER for _, value in part.raw_items()):
                raise ValueError(f"a header of more than {LONGEST_HEADER:,} characters")
        body = _body(parsed, encoding)
    except RecursionError:
        raise ValueError("parts nested too deep") from None
    headers: dict[str, list[str]] = {}
    for name, value in parsed.raw_items():
        headers.setdefault(name.lower(), []).append(decoded(value, encoding))
    return headers, "\n\n".join(part.strip() for part in (headers.get("subject", [""])[0], body) if part.strip())


@cache
def _message_class() -> Any:
    from email.message import Message
    from email.utils import collapse_rfc2231_value

    class MimePart(Message):
        """Python's own, of the policy `compat32`, which takes headers of MIME to be without comments and folds, and to
        be valid; a parameter that cannot be read is not there."""

        def get(self, name: str, failobj: Any = None) -> Any:
            value = super().get(name, failobj)
            if value is failobj or not name.lower().startswith("content-"):
                return value
            return COMMENT.sub(r"\1", str(value)).strip()

        def get_param(self, param: str, failobj: Any = None, header: str = "content-type", unquote: bool = True) -> Any:
            try:
                value = super().get_param(param, failobj, header, unquote)
                return collapse_rfc2231_value(value) if isinstance(value, tuple) else value
            except (ValueError, TypeError):
                return failobj

    return MimePart


def _body(part: Any, encoding: str) -> str:
    """What a mail program shows first: of alternatives the plain one, else the one in HTML; no attachments."""
    kind = part.get_content_type()
    if not part.is_multipart():
        without_parts = part.get_content_maintype() == "multipart"  # its boundary is missing or never comes
        text = _content(part, encoding) if without_parts or kind in ("text/plain", "text/html") else ""
        return unescape(MARKUP.sub(" ", text)) if kind == "text/html" else text
    parts = [one for one in part.get_payload() if one.get_content_disposition() != "attachment"]
    if part.get_content_maintype() == "multipart" and kind != "multipart/digest":  # whose messages are its body
        parts = [one for one in parts if one.get_content_maintype() != "message"]
    if kind == "multipart/alternative":
        parts.sort(key=lambda one: one.get_content_type() != "text/plain")
    texts = (text.strip() for one in parts if (text := _body(one, encoding)).strip())
    return next(texts, "") if kind == "multipart/alternative" else "\n\n".join(texts)


def decoded(value: str, encoding: str = "utf-8") -> str:
    """A header without folds, its encoded words as what they stand for; letters may be cut in two between words."""
    line = decoded_as(value.encode("utf-8", "surrogateescape"), "utf-8", encoding)
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
    return "".join(decoded_as(bytes(data), charset or "utf-8", encoding) for charset, data in parts).strip()


def _bytes(kind: str, text: str) -> bytes:
    data = text.encode("ascii", "replace")
    if kind in "qQ":
        return decodestring(data, header=True)
    data = re.sub(rb"[^A-Za-z0-9+/]", b"", data.partition(b"=")[0])
    data = data[: len(data) - (len(data) % 4 == 1)]  # a letter alone is the beginning of a byte
    return b64decode(data + b"=" * (-len(data) % 4))


def _content(part: Any, encoding: str) -> str:
    data = part.get_payload(decode=True)
    return decoded_as(data, str(part.get_content_charset() or ""), encoding) if isinstance(data, bytes) else ""
