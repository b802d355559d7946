"""Tokens in plain Python: the same cut as kernels/tokens.py, for small inputs and for explanations.

Folding maps one code point to one, so a place in the folded text is a place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
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
        return re.compile(f"([{space}][{space}{ignorable}]*)|[^{space}{ignorable}]")
    inside = table.members(LETTER, DIGIT) if digits else table.members(LETTER)
    extend = table.members(MARK) + ignorable
    return re.compile(f"[{inside}][{inside}{extend}]*|[{table.members(SINGLE)}][{extend}]*")


@lru_cache(maxsize=8)
def _ascii_words(version: int, digits: bool) -> dict[int, str]:
    """For `translate`: words of ASCII, which has neither marks nor singles nor ignorables, with blanks between them."""
    table, is_inside = token_table(version), {LETTER, DIGIT} if digits else {LETTER}
    letters = map(chr, range(128))
    return {ord(one): one.translate(table.lower) if table.class_of(one) in is_inside else " " for one in letters}


@lru_cache(maxsize=4)
def _ignorable(version: int) -> re.Pattern[str]:
    return re.compile(f"[{token_table(version).members(IGNORABLE)}]")


def token_spans(text: str, settings: TextSettings) -> Iterator[tuple[int, int, str]]:
    """(start, end, token) of every token, in the order of the text."""
    if settings.cut is not None:
        yield from _found(text, settings.cut(text))
        return
    pattern = _pattern(settings.table, settings.tokens, settings.digits)
    if settings.tokens == "ready":
        yield from ((*m.span(), m.group()) for m in pattern.finditer(text))
        return
    folded = text.translate(token_table(settings.table).lower)
    invisible = _ignorable(settings.table)
    clean = invisible.search(folded) is None
    for match in pattern.finditer(folded):
        token = " " if match.lastindex else match.group()  # the one group is a run of white space
        yield (*match.span(), token if clean else invisible.sub("", token))


def _found(text: str, tokens: list[str]) -> Iterator[tuple[int, int, str]]:
    """Where tokens that others cut stand: each after the one before it, nowhere if the text has it not like this."""
    past = 0
    for token in tokens:
        start = text.find(token, past)
        if start >= 0:
            past = start + len(token)
        yield (start, past, token) if start >= 0 else (past, past, token)


def tokenize(text: str, settings: TextSettings) -> list[str]:
    """The tokens of a text, in order."""
    pattern = _pattern(settings.table, settings.tokens, settings.digits)
    if settings.tokens == "ready":
        return pattern.findall(text)
    if settings.tokens == "word":
        if text.isascii():
            return text.translate(_ascii_words(settings.table, settings.digits)).split()
        folded = text.translate(token_table(settings.table).lower)
        if _ignorable(settings.table).search(folded) is None:
            return pattern.findall(folded)
    return [token for _, _, token in token_spans(text, settings)]


# Comments; scripts and styles with all they hold; tags, with quotes heeded where they pair. An unclosed
# comment or script hides the rest; a tag cannot pass the next <, so an unclosed one stays and time is linear.
_MARKUP = re.compile(
    r"""<!--.*?(?:-->|\Z)
    |<(script|style)(?:\s[^<>]*)?(?<!/)>.*?(?:</\1[^<>]*>|\Z)
    |<[a-z/!?](?:[^<>"']|"[^"<]*"|'[^'<]*')*+>
    |<[a-z/!?][^<>]*>""",
    re.ASCII | re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def strip_html(text: str) -> str:
    """What a reader would see of the text; elements separate words.

    The standard library's parser is not used: what it returns changes from one Python release to the next,
    it takes quadratic time on unclosed tags, and some of its releases refuse `<![`.
    """
    return unescape(_numbers(_MARKUP.sub(" ", text)))


_ZEROS = re.compile(r"&#0+(?=[0-9])")
_TOO_LARGE = re.compile(r"&#[0-9]{8,};?")


def _numbers(text: str) -> str:
    """Numbers of more digits than any code point as unescape reads short ones: Python refuses to read 5,000 digits."""
    return _TOO_LARGE.sub("\ufffd", _ZEROS.sub("&#", text)) if "&#" in text else text
