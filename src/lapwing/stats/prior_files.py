"""Prior knowledge from files: a table of features, words for categories, and BBR's individual priors."""

from __future__ import annotations

import math
import os
import re
from codecs import BOM_UTF8
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace

from lapwing.errors import PriorError
from lapwing.files import read_regular
from lapwing.stats.prior_table import INTERCEPT, MODE, OTHERS, PriorTable, Row, as_float, from_words, row
from lapwing.stats.priors import Laplace, Prior, as_prior

COLUMNS = ("feature", "mode", "variance", "sign", "category")
BLANKS = re.compile(r"[ \t]+")


def read(path: str | os.PathLike[str], base: str | Prior = "laplace") -> PriorTable:
    """A prior file: `feature mode variance sign [category]`, tabs (or, in a line without any, blanks) between.

    Cells from the right may be left out, and are 0, 1x, 0 and all categories; a dot, or nothing between two tabs,
    is such a cell too. A first line that begins with `feature` names the columns, in any order. Lines that begin
    with # are comments. Features: `(intercept)` is the constant, `*` every feature without a line of its own.
    """
    order: tuple[str, ...] = COLUMNS
    rows: list[Row] = []
    header = True
    for where, line in _lines(path):
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else BLANKS.split(line))]
        if header and cells[0].lower() == "feature":
            order = tuple(cell.lower() for cell in cells)
            _check_header(order, where)
            header = False
            continue
        header = False
        if len(cells) > len(order):
            raise PriorError(f"{where}: expected at most {len(order)} cells, {' '.join(order)}, got {len(cells)}")
        said = {name: "" if cell == "." else cell for name, cell in zip(order, cells, strict=False)}
        if not said["feature"]:
            raise PriorError(f"{where}: expected the name of a feature, got nothing")
        rows.append(
            row(said["feature"], said.get("mode"), said.get("variance"), said.get("sign"),
                said.get("category") or None, where=where)
        )  # fmt: skip
    if not rows:
        raise PriorError(f"{path}: expected lines of {' '.join(COLUMNS)}, found none")
    return PriorTable(tuple(rows), base)


def _check_header(order: tuple[str, ...], where: str) -> None:
    for name in order:
        if name not in COLUMNS or order.count(name) > 1:
            raise PriorError(f"{where}: expected columns named {', '.join(COLUMNS)}, each once, got {name!r}")


def read_words(
    path: str | os.PathLike[str],
    *,
    mode: float = MODE,
    variance: object = "1x",
    sign: object = 0,
    base: str | Prior = "laplace",
    strict: bool = True,
) -> PriorTable:
    """Words that speak for categories: lines of a category, a tab (or, without one, a colon), and words."""
    words: dict[Hashable, str | Iterable[str]] = {}
    places: dict[Hashable, str] = {}
    for where, line in _lines(path):
        category, mark, text = line.partition("\t" if "\t" in line else ":")
        category = category.strip()
        if not mark or not category or not text.strip():
            raise PriorError(f"{where}: expected a category, a tab and words, got {line.strip()!r}")
        words[category] = f"{words.get(category, '')} {text.strip()}".strip()
        places.setdefault(category, where)
    if not words:
        raise PriorError(f"{path}: expected lines of a category, a tab and words, found none")
    return from_words(words, mode=mode, variance=variance, sign=sign, base=base, strict=strict, where=places)


def read_bbr(
    path: str | os.PathLike[str], base: str | Prior = "laplace", *, skew: int = 0, topic: str = ""
) -> PriorTable:
    """BBR's and BMR's individual priors: `[class C] feature mode variance [ABS] [skew]`.

    The variance is a multiple of the global one, absolute after BXR's word ABS. Skew 1 or -1 leaves only values
    above, or below, the mode. Feature 0, in BXR's files @constant, is the intercept. Of blocks between `topic
    NAME` and `endoftopic` that of `topic` counts, and lines outside of any block. Later lines replace earlier
    ones; features and classes that training does not have are passed over unless their mode is not 0.

    skew   1 or -1 where all other coefficients, the intercept included, are to be of that sign (--pos, --neg).

    BBR has one λ for all Laplace priors, √(1/v) with --pos or --neg and √(2/v) without, times the feature's own
    factor: a skew in the file alone halves the variance, and a line without one among skewed ones doubles it.
    """
    laplace = isinstance(as_prior(base), Laplace)
    rows: dict[tuple[str, str | None], Row] = {}
    for feature in (OTHERS, INTERCEPT) if skew else ():
        rows[feature, None] = row(feature, sign=skew)
    inside = None
    words: list[str] = []
    for where, line in _lines(path):
        words = line.split()
        if words[0].lower() == "topic":
            inside = words[1] if len(words) > 1 else ""
        elif words[0].lower() == "endoftopic":
            inside = None
        elif inside in (None, topic):
            one = _bbr_row(words, where)
            one_sided = math.isfinite(one.lower) or math.isfinite(one.upper)
            if laplace and one_sided != bool(skew):
                one = replace(one, variance=one.variance * (0.5 if one_sided else 2.0))
            rows[one.feature, one.category] = one  # type: ignore[index]
    if not words:
        raise PriorError(f"{path}: expected lines of `[class C] feature mode variance [skew]`, found none")
    return PriorTable(tuple(rows.values()), base, strict=False)


def _bbr_row(words: list[str], where: str) -> Row:
    shape = f"{where}: expected `[class C] feature mode variance [skew]`, "
    category = None
    if words[0].lower() == "class":
        category, words = (words[1] if len(words) > 1 else None), words[2:]
    if not 3 <= len(words) <= 5:
        raise PriorError(f"{shape}got {len(words)} words")
    feature, mode, variance, *rest = words
    absolute = bool(rest) and rest[0].upper() == "ABS"
    skew = (rest[1:] if absolute else rest) or ["0"]
    try:
        numbers = as_float(mode), as_float(variance), as_float(skew[0])
    except ValueError:
        raise PriorError(f"{shape}got {' '.join(words)!r}") from None
    if len(skew) > 1 or numbers[2] not in (-1.0, 0.0, 1.0):
        raise PriorError(f"{where}: expected a skew of -1, 0 or 1, got {' '.join(skew)!r}")
    if feature.isdecimal():
        feature = str(int(feature))
    return Row(
        INTERCEPT if feature in ("0", "@constant") else feature,
        category, numbers[0], numbers[1], "" if absolute else "x",
        numbers[0] if numbers[2] > 0 else -math.inf, numbers[0] if numbers[2] < 0 else math.inf,
        where=where,
    )  # fmt: skip


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """(where, line) of every line that is neither empty nor a comment."""
    try:
        content = read_regular(path)
    except OSError as error:
        raise PriorError(f"cannot read the prior file {path}: {error.strerror or error}") from error
    for number, raw in enumerate(content.removeprefix(BOM_UTF8).splitlines(), 1):
        try:
            line = raw.decode()
        except UnicodeDecodeError:
            raise PriorError(
                f"{path}, line {number}: expected UTF-8, got {raw[:40]!r}; save the file as that"
            ) from None
        if line.strip() and not line.lstrip().startswith("#"):
            yield f"{path}, line {number}", line
