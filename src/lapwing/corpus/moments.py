"""When documents were written: the dates of a whole column, read by the one form that all of them have.

Numbers (years, Unix timestamps, a spreadsheet's days) sort as numbers; dates become ISO 8601, those with a zone in UTC.
Nothing is sorted as text, where March comes after April.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from lapwing.corpus.fields import short
from lapwing.errors import InputError

ISO = "ISO 8601"
DAYS = (
    "%d %b %Y", "%b %d %Y", "%Y %b %d", "%d %b %y", "%b %Y", "%m/%Y", "%m.%Y", "%Y-%m", "%Y/%m", "%Y%m%d", "%d%m%Y",
    "%m%d%Y", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y",
    *(day.replace("-", sep) for sep in "-/"
      for day in ("%Y-%m-%d", "%d-%m-%Y", "%m-%d-%Y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d")),
)  # fmt: skip
CLOCKS = ("", *(f" {clock}{z}" for clock in ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
                for z in ("", " %z")))  # fmt: skip
FORMS = (ISO, *(day + clock for day in DAYS for clock in CLOCKS))
WORDS = {"%d": "DD", "%m": "MM", "%b": "Mon", "%Y": "YYYY", "%y": "YY", "%I": "hh", "%p": "AM", "%z": "+hhmm"}
ADVICE = "write dates as 2026-03-25 (ISO 8601), or give numbers"
# "Wednesday, 25th of March 2026 10:15Z" → "25 Mar 2026 10:15 +0000"
PLAINER = [(re.compile(pattern, re.IGNORECASE), plain) for pattern, plain in (
    ("(?<=[a-z]{3})[a-z]+", ""),
    (r"\b(mon|tue|wed|thu|fri|sat|sun|of)\b|(?<=\d)(st|nd|rd|th)\b|,|(?<=[a-z])[-.]|[-.](?=\s?[a-z])", " "),
    (r"(:[\d.]+)\s*(?:UTC|GMT|Z)$", r"\1+0000"),
    (r"(:[\d.]+)\s*([+-]\d\d:?\d\d)$", r"\1 \2"),
)]  # fmt: skip


def moments(values: Iterable[str]) -> tuple[list[Any], str]:
    """Numbers or ISO 8601 strings, which sort in the order of time, and in words how they were read.

    InputError where no form is that of all, or two are and give other dates.
    """
    values, forms = [value.strip().rstrip("/") for value in values], list(FORMS)
    for value in dict.fromkeys(values):
        left = [form for form in forms if _moment(value, form) is not None]
        if not left:
            numbers = [_number(value) for value in values]
            if None not in numbers:
                return numbers, "numbers"
            seen = "dates or numbers" if len(forms) == len(FORMS) else f"dates such as {short(values[0])}"
            raise InputError(f"expected {seen}, all in one form, got {short(value)}; {ADVICE}")
        forms = left
    read: dict[str, list[Any]] = {_in_words(form): [_moment(value, form) for value in values] for form in forms}
    if len(set(map(tuple, read.values()))) > 1:
        raise InputError(f"{short(values[0])} and all other dates may be {' or '.join(read)}; {ADVICE}")
    how, dates = next(iter(read.items()))
    zoned = {date.tzinfo is not None: value for date, value in zip(dates, values, strict=True)}
    if len(zoned) > 1:
        raise InputError(
            f"{short(zoned[True])} has a time zone, {short(zoned[False])} has none: give it to all or none"
        )
    return [date.isoformat() for date in dates], how


def _in_words(form: str) -> str:
    return re.sub("%.", lambda part: WORDS.get(part[0], 2 * part[0][1].lower()), form)


def _number(value: str) -> float | None:
    try:
        return number if math.isfinite(number := float(value)) else None
    except ValueError:
        return None


@lru_cache(maxsize=1 << 16)
def _moment(value: str, form: str) -> datetime | None:
    """By one form, in UTC where it has a zone."""
    if value.isdigit() and (form == ISO or len(value) != 8):
        return None
    try:
        date = datetime.fromisoformat(value) if form == ISO else datetime.strptime(_plain(value), form)
        return date.astimezone(UTC) if date.tzinfo else date
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=1)
def _plain(value: str) -> str:
    for pattern, plain in PLAINER:
        value = pattern.sub(plain, value)
    return value.strip()
