"""Tokens in plain Python: the same cut as kernels/tokens.py, for small inputs and for explanations.

Folding maps one code point to one, so a place in the folded text is a place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from lapwing.text.table import DIGIT, IGNORABLE, LETTER, MARK, SINGLE, SPACE, token_table

if TYPE_CHECKING:
    from lapwing.text.settings import TextSettings


@lru_cache(maxsize=16)
def _pattern(version: int, mode: str, digits: bool) -> re.Pattern[str]:
    table = token_table(version)
    ignorable = table.members(IGNORABLE)
    space = table.members(SPACE)
    if mode == "ready":
        return re.compile(f"[^{space}]+")
    if mode == "char":
        return re.compile(f"[{space}][{space}{ignorable}]*|[^{space}{ignorable}]")
    inside = table.members(LETTER, DIGIT) if digits else table.members(LETTER)
    extend = table.members(MARK) + ignorable
    return re.compile(f"[{inside}][{inside}{extend}]*|[{table.members(SINGLE)}][{extend}]*")


@lru_cache(maxsize=4)
def _ignorable(version: int) -> re.Pattern[str]:
    return re.compile(f"[{token_table(version).members(IGNORABLE)}]")


def token_spans(text: str, settings: TextSettings) -> Iterator[tuple[int, int, str]]:
    """(start, end, token) of every token, in the order of the text."""
    pattern = _pattern(settings.table, settings.tokens, settings.digits)
    if settings.tokens == "ready":
        yield from ((*m.span(), m.group()) for m in pattern.finditer(text))
        return
    folded = text.translate(token_table(settings.table).lower)
    invisible = _ignorable(settings.table)
    clean = invisible.search(folded) is None
    for match in pattern.finditer(folded):
        token = match.group()
        if settings.tokens == "char" and len(token) and (len(token) > 1 or token.isspace() or _surrogate(token)):
            token = " "
        yield (*match.span(), token if clean else invisible.sub("", token))


def _surrogate(token: str) -> bool:
    return "\ud800" <= token <= "\udfff"


def tokenize(text: str, settings: TextSettings) -> list[str]:
    """The tokens of a text, in order."""
    return [token for _, _, token in token_spans(text, settings)]


class _Text(HTMLParser):
    """Keeps what a reader would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden += tag in ("script", "style")
        self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style") and self.hidden > 0
        self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.pieces.append(data)


def strip_html(text: str) -> str:
    """The text without its markup; elements separate words."""
    parser = _Text()
    parser.feed(text)
    parser.close()
    return "".join(parser.pieces)
