"""When documents were written: the dates of a whole column, read by the one form that all of them have.

Numbers (years, Unix timestamps, a spreadsheet's days) sort as numbers; dates become ISO 8601, those with a zone in UTC.
Nothing is sorted as text, where March comes after April.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from lapwing.corpus.fields import short
from lapwing.errors import InputError

DAYS = (
    "%d %b %Y", "%b %d %Y", "%Y %b %d", "%d %b %y", "%b %Y", "%m/%Y", "%m.%Y", "%Y-%m", "%Y/%m", "%Y%m%d", "%d%m%Y",
    "%m%d%Y", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%Y-%m-%d", "%d-%m-%Y", "%m-%d-%Y", "%d-%m-%y", "%m-%d-%y",
    "%y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%y/%m/%d",
)  # fmt: skip
CLOCKS = (" %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
FORMS = ("ISO", *DAYS, *(day + clock + zone for day in DAYS for clock in CLOCKS for zone in ("", " %z")))
NUMBER = re.compile(r"[+-]?\d*\.?\d+(e[+-]?\d+)?", re.IGNORECASE)
ADVICE = "write dates as 2026-03-25 (ISO 8601), or give numbers"


def moments(values: Iterable[str]) -> tuple[list[Any], str]:
    """Numbers or ISO 8601 strings, which sort in the order of time, and in words how they were read.

    InputError where no form is that of all, or two are and give other dates.
    """
    values, forms = [value.strip().rstrip("/") for value in values], list(FORMS)
    for value in dict.fromkeys(values):
        if not (left := [form for form in forms if _moment(value, form) is not None]):
            if all(map(NUMBER.fullmatch, values)):
                return list(map(float, values)), "numbers"
            seen = "dates or numbers" if len(forms) == len(FORMS) else f"dates such as {short(values[0])}"
            raise InputError(f"expected {seen}, all in one form, got {short(value)}; {ADVICE}")
        forms = left
    read = [[_moment(value, form) for value in values] for form in forms]
    doubtful = [(value, may) for value, *may in zip(values, *read, strict=True) if len(set(may)) > 1]
    if doubtful:
        may = " or ".join(sorted({f"{date:%Y-%m-%d}" for date in doubtful[0][1]}))
        raise InputError(f"{short(doubtful[0][0])} may be {may}, and no other date says which; {ADVICE}")
    zoned = {date is not None and date.tzinfo is not None: value for date, value in zip(read[0], values, strict=True)}
    if len(zoned) > 1:
        raise InputError(
            f"{short(zoned[True])} has a time zone, {short(zoned[False])} has none: give it to all or none"
        )
    dates = [date.isoformat() for date in read[0] if date is not None]
    return dates, f"dates, {short(values[0])} as {dates[0][:10]}"


@lru_cache(maxsize=1 << 16)
def _moment(value: str, form: str) -> datetime | None:
    """By one form, in UTC where it has a zone."""
    if value.isdigit() and (form == "ISO" or len(value) != 8):
        return None
    try:
        date = datetime.fromisoformat(value) if form == "ISO" else datetime.strptime(_plain(value), form)
        return date.astimezone(UTC) if date.tzinfo else date
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=1)
def _plain(value: str) -> str:
    """ "Wednesday, 25th of March 2026 10:15Z" as "25 Mar 2026 10:15 +0000"."""
    value = re.sub("(?<=[a-z]{3})[a-z]+", "", value.lower())
    value = re.sub(r"\b(mon|tue|wed|thu|fri|sat|sun|of)\b|(?<=\d)(st|nd|rd|th)\b|,", " ", value)
    value = re.sub(r"(?<=[a-z])[-.]|[-.](?=\s?[a-z])", " ", value)
    value = re.sub(r"(:[\d.]+)\s*(?:utc|gmt|z)$", r"\1 +0000", value)
    return re.sub(r"(:[\d.]+)\s*([+-]\d\d:?\d\d)$", r"\1 \2", value).strip()
