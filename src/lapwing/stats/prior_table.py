"""What is known before training: a prior of its own for any feature, for all categories or for one.

A row says of one coefficient: the mode it is drawn to, the variance, and optionally a sign. Everything else
keeps the base prior. Variances are absolute, or multiples of the global one ("2x"), or "idf": the multiple
IDF², scaled to 1 on average, with which a rare word may weigh as much as if its values had been multiplied by
their IDF. Variance inf leaves the coefficient to the data; variance 0 fixes it at its mode.

A sign bounds the coefficient at 0. Where that is also its mode the prior is the one-sided exponential of
GLM07 section 7, and since all its mass is on one side, λ = √(1/v).
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from lapwing.errors import InputError, PriorError
from lapwing.stats.objective import PriorArrays
from lapwing.stats.priors import Columns, Prior, as_prior, check_variance
from lapwing.text import TextSettings, count_terms, tokenize
from lapwing.text.spans import bag_spans

INTERCEPT = "(intercept)"
OTHERS = "*"  # every feature that has no row of its own
NO_ROOM = 1e-8  # a standard deviation of less than this times the mode fixes the coefficient
MODE = 20.0  # of words named in advance
SIGNS = {
    0: ("", "0", "free", "none"),
    1: ("+", "1", "+1", ">=0", ">= 0", "≥0", "≥ 0", "positive"),
    -1: ("-", "-1", "−", "<=0", "<= 0", "≤0", "≤ 0", "negative"),
}
_SIGN = {word: sign for sign, words in SIGNS.items() for word in words}


@dataclass(frozen=True)
class Row:
    """The prior of one feature.

    feature         its name; `INTERCEPT`; or `OTHERS`
    category        the category it is for; None for all
    variance, unit  absolute (unit ""), a multiple of the global variance ("x"), or of it and IDF² ("idf")
    lower, upper    bounds of the coefficient
    phrase          `feature` is running text, and the row is for each of its terms; of several categories that name
                    a term each has its share of the mode
    unseen          that no training document has the feature is no mistake
    where           where it was read, for messages
    """

    feature: str
    category: Hashable | None = None
    mode: float = 0.0
    variance: float = 1.0
    unit: str = "x"
    lower: float = -math.inf
    upper: float = math.inf
    phrase: bool = False
    unseen: bool = False
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.feature:
            raise self.error("expected the name of a feature, got nothing")
        if not math.isfinite(self.mode):
            raise self.error(f"expected a finite mode, got {self.mode!r}")
        if not self.variance >= 0.0:
            raise self.error(f"expected a variance of 0 or more, or inf, got {self.variance!r}")
        if not self.lower <= self.mode <= self.upper:
            sign = ">= 0" if self.mode < self.lower else "<= 0"
            raise self.error(f"the mode {self.mode:g} contradicts the sign {sign}; change one of them")
        if self.unit == "idf" and self.feature == INTERCEPT:
            raise self.error("the intercept has no document frequency; give its variance as a number")

    def error(self, message: str) -> PriorError:
        return PriorError(f"{self.where or f'the prior of {self.feature!r}'}: {message}")

    @property
    def says(self) -> tuple[float, float, str, float, float]:
        return self.mode, self.variance, self.unit, self.lower, self.upper

    @property
    def mirrored(self) -> Row:
        """The same said of the opposite class, where one row of weights speaks for both."""
        return replace(self, mode=-self.mode or 0.0, lower=-self.upper, upper=-self.lower)

    def __str__(self) -> str:
        """As a line of a prior file."""
        variance = "idf" if self.unit == "idf" else f"{self.variance!r}{self.unit}"
        sign = "+" if math.isfinite(self.lower) else "-" if math.isfinite(self.upper) else "0"
        cells = [self.feature, repr(self.mode), variance, sign]
        return "\t".join(cells if self.category is None else [*cells, str(self.category)])


def row(
    feature: object,
    mode: object = 0.0,
    variance: object = "1x",
    sign: object = 0,
    category: Hashable | None = None,
    *,
    phrase: bool = False,
    unseen: bool = False,
    where: str = "",
) -> Row:
    """A row from what people write: variance 2, "2", "2x", "inf" or "idf"; sign "+", ">=0", 1, "-", "free" …"""
    name = str(feature)
    here = f"{where or f'the prior of {name!r}'}: "
    amount, unit = _variance(variance, here)
    side = _sign(sign, here)
    return Row(
        name, category, _number(mode, "a mode", here), amount, unit,
        0.0 if side > 0 else -math.inf, 0.0 if side < 0 else math.inf, phrase, unseen, where,
    )  # fmt: skip


def _absent(value: object) -> bool:
    """None, an empty cell, or what a data frame has there."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def as_float(value: object) -> float:
    """As float() does, but for truth values and for 1_000."""
    if isinstance(value, bool) or "_" in str(value):
        raise ValueError(value)
    return float(value)  # type: ignore[arg-type]


def _number(value: object, what: str, here: str) -> float:
    if _absent(value):
        return 0.0
    try:
        return as_float(value)
    except (TypeError, ValueError):
        raise PriorError(f"{here}expected {what}, a number, got {value!r}") from None


def _variance(value: object, here: str) -> tuple[float, str]:
    if _absent(value):
        return 1.0, "x"
    text = str(value).strip()
    if text == "idf":
        return 1.0, "idf"
    amount, unit = (text[:-1], "x") if text.endswith("x") else (text, "")
    try:
        return as_float(amount if isinstance(value, str) else value), unit
    except ValueError:
        raise PriorError(
            f"{here}expected a variance such as 2 (absolute), 2x (times the global one), inf or idf, got {value!r}"
        ) from None


def _sign(value: object, here: str) -> int:
    if _absent(value):
        return 0
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip().lower()
    if text not in _SIGN:
        raise PriorError(f"{here}expected a sign of +, - or 0 (free), got {value!r}")
    return _SIGN[text]


@dataclass(frozen=True)
class PriorTable(Prior):
    """Rows of prior knowledge over a base prior.

    rows    a mapping of feature, or (category, feature), to a mode or to a mapping with any of mode, variance
            and sign; a data frame, or a list of mappings, with a column feature and any of mode, variance,
            sign and category; the path of a prior file (see `lapwing.priors.read`); or `Row` objects
    base    the prior of everything else, and the shape of all: "laplace", "gaussian", "elasticnet" or an object
    strict  whether a row that can have no effect, since training never saw its feature or has no such
            category, is an error. Features with a mode other than 0 need not be seen: they enter the model

    >>> table = PriorTable({"wheat": {"mode": 1.0, "variance": "2x", "sign": "+"}, ("grain", "corn"): 0.5})
    >>> [str(row).split("\\t") for row in table.rows]
    [['wheat', '1.0', '2.0x', '+'], ['corn', '0.5', '1.0x', '0', 'grain']]
    """

    name: ClassVar[str] = "table"
    rows: Any
    base: Any = "laplace"
    strict: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(_rows(self.rows)))
        object.__setattr__(self, "base", as_prior(self.base))
        if isinstance(self.base, PriorTable):
            raise PriorError("the base of a table must be a prior for all features, got another table; add them")

    @property
    def shape(self) -> Prior:
        base: Prior = self.base
        return base

    def __add__(self, other: PriorTable) -> PriorTable:
        """The rows of both; two that contradict each other are an error when they are put to use."""
        return PriorTable(self.rows + other.rows, self.base, self.strict and other.strict)

    def over(self, base: str | Prior) -> PriorTable:
        """The same rows over another base."""
        return PriorTable(self.rows, base, self.strict)

    def has_intercept(self) -> bool:
        return any(r.feature == INTERCEPT for r in self.rows)

    def in_terms(self, text: TextSettings | None) -> PriorTable:
        """Features as the text stage spells them, phrases taken apart; None for a model of vectors."""
        plain = [r for r in self.rows if r.feature not in (INTERCEPT, OTHERS)]
        terms = dict(zip(map(id, plain), _terms(plain, text), strict=True))
        named = Counter(term for _, term in {(r.category, t) for r in plain if r.phrase for t in terms[id(r)]})
        rows: list[Row] = []
        for r in self.rows:
            if id(r) not in terms:
                rows.append(r)
            elif r.phrase:
                if self.strict and not terms[id(r)]:
                    raise r.error(f"expected words, got {r.feature[:60]!r}, of which the text stage leaves none")
                rows += [replace(r, feature=t, mode=r.mode / named[t], phrase=False) for t in terms[id(r)]]
            elif len(terms[id(r)]) == 1:
                rows.append(replace(r, feature=terms[id(r)][0]))
            else:
                raise r.error(_no_term(r.feature, terms[id(r)], text))
        distinct: dict[tuple[str, Hashable], Row] = {}
        for r in rows:
            before = distinct.setdefault((r.feature, r.category), r)
            if before.says != r.says:
                raise r.error(f"{r.feature!r} has another prior already ({before.where or before}); keep one of them")
        return PriorTable(tuple(distinct.values()), self.base, self.strict)

    @property
    def insisting(self) -> list[str]:
        """Features that enter the model even if training never saw them: those with a mode other than 0."""
        named = (r.feature for r in self.rows if r.mode != 0.0 and r.feature not in (INTERCEPT, OTHERS))
        return sorted(set(named))

    def check(self, names: Iterable[str], classes: Sequence[Hashable]) -> None:
        """Every row must be about a feature and a category that there is."""
        known = {INTERCEPT, OTHERS, *names}
        labels = {str(label) for label in classes}
        for r in self.rows if self.strict else ():
            if r.feature not in known and not r.unseen:
                raise r.error(f"no training document has the feature {r.feature!r}; correct it or take it out")
            if r.category is not None and str(r.category) not in labels:
                raise r.error(f"{r.category!r} is no category of the training data; correct it or take it out")

    def check_insisting(self, names: Iterable[str]) -> None:
        """In a matrix of given columns every feature that insists must be one of them."""
        known = {INTERCEPT, OTHERS, *names}
        for r in self.rows:
            if r.mode != 0.0 and r.feature not in known:
                raise r.error(f"the matrix has no feature {r.feature!r}; give its columns' names as feature_names")

    def kinds(self, columns: Columns) -> np.ndarray:
        """(d,) the same number for features with the same priors in every category: those may share a column."""
        said: dict[str, list[tuple[Any, ...]]] = {}
        for r in self.rows:
            said.setdefault(r.feature, []).append((str(r.category), *r.says))
        kinds = np.zeros(len(columns.names), dtype=np.int64)
        numbers: dict[tuple[Any, ...], int] = {}
        for feature, parts in said.items():
            if feature in columns.index:
                kinds[columns.index[feature]] = numbers.setdefault(tuple(sorted(parts)), len(numbers) + 1)
        return kinds

    def bind(self, columns: Columns, category: Hashable, opposite: Hashable | None = None) -> Prior:
        """The prior of one category over these columns.

        `opposite` is the other of two exclusive classes: what is said of it holds with the sign turned.
        """
        return _Bound(self.base, columns, {r.feature: r for r in self.of_category(category, opposite).rows})

    def of_category(self, category: Hashable, opposite: Hashable | None = None) -> PriorTable:
        """What the table says of one category, as if it said it of all."""
        general: dict[str, Row] = {}
        own: dict[str, Row] = {}
        for r in self.rows:
            if r.category is None:
                general[r.feature] = r
            elif str(r.category) == str(category):
                _put(own, r)
            elif opposite is not None and str(r.category) == str(opposite):
                _put(own, r.mirrored)
        return replace(self, rows=tuple(replace(r, category=None) for r in {**general, **own}.values()))

    def compile(self, variance: float, n_features: int, intercept_variance: float | None = None) -> PriorArrays:
        raise PriorError("a table of priors needs the names of the features; bind it to columns first")


def _put(own: dict[str, Row], r: Row) -> None:
    before = own.setdefault(r.feature, r)
    if before.says != r.says:
        raise r.error(f"this contradicts what {before.where or before} says of {r.feature!r}; keep one of them")


@dataclass(frozen=True, eq=False)
class _Bound(Prior):
    """A table for one category, over columns that are known."""

    base: Prior
    columns: Columns
    rows: Mapping[str, Row]

    @property
    def shape(self) -> Prior:
        return self.base

    def compile(self, variance: float, n_features: int, intercept_variance: float | None = None) -> PriorArrays:
        check_variance(variance)
        size = n_features + 1
        if n_features != len(self.columns.names):
            raise InputError(f"the prior is bound to {len(self.columns.names)} features, got {n_features}")
        mode, variances = np.zeros(size), np.full(size, float(variance))
        lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
        if intercept_variance is not None:
            variances[-1] = check_variance(intercept_variance, "intercept_variance", allow_infinite=True)
        for at, r in self._places():
            multiple = {"": 1.0, "x": variance}.get(r.unit)
            factor = self.columns.idf_squared[at] * variance if multiple is None else multiple
            mode[at], lower[at], upper[at] = r.mode, r.lower, r.upper
            variances[at] = r.variance * factor
        one_sided = (lower == mode) ^ (upper == mode)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            l1 = self.base.strengths(np.where(one_sided, 2.0 * variances, variances))[0]
            l2 = self.base.strengths(variances)[1]
            # A deviation that rounding of the mode swallows leaves no room at all.
            fixed = ~np.isfinite(l1) | ~np.isfinite(l2) | (variances <= (NO_ROOM * mode) ** 2)
        l1[fixed] = l2[fixed] = 0.0
        reach = self.base.reach(variances)
        lower, upper = np.maximum(lower, mode - reach), np.minimum(upper, mode + reach)
        return PriorArrays(mode, l1, l2, np.where(fixed, mode, lower), np.where(fixed, mode, upper))

    def where(self, feature: str) -> str:
        place = self.rows[feature].where if feature in self.rows else ""
        return f"{place}: " if place else ""

    def _places(self) -> Iterator[tuple[Any, Row]]:
        """(coordinates, row), the one for all others first."""
        if OTHERS in self.rows:
            yield slice(0, len(self.columns.names)), self.rows[OTHERS]
        for name, r in self.rows.items():
            if name == INTERCEPT:
                yield -1, r
            elif name in self.columns.index:
                yield self.columns.index[name], r


def _rows(given: Any) -> Iterator[Row]:
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # a data frame, of whichever library
        given = given.to_dict("records")
    if isinstance(given, Mapping):
        for key, said in given.items():
            category, feature = key if isinstance(key, tuple) else (None, key)
            cells = said if isinstance(said, Mapping) else {"mode": said}
            yield _from_cells({"feature": feature, "category": category, **cells}, f"the prior of {feature!r}")
        return
    if isinstance(given, str | os.PathLike):
        from lapwing.stats.prior_files import read

        given = read(given).rows
    if not isinstance(given, Iterable):
        raise PriorError(f"expected a mapping, a data frame, rows or the path of a file, got {given!r}")
    for number, item in enumerate(given, 1):
        if isinstance(item, Row):
            yield item
        elif isinstance(item, Mapping):
            yield _from_cells(item, f"row {number} of the priors")
        else:
            raise PriorError(f"row {number} of the priors: expected a mapping with a feature in it, got {item!r}")


def _from_cells(cells: Mapping[Any, Any], where: str) -> Row:
    allowed = ("feature", "mode", "variance", "sign", "category")
    if unknown := [key for key in cells if key not in allowed]:
        raise PriorError(f"{where}: expected {', '.join(allowed)}, got {unknown[0]!r}")
    if _absent(cells.get("feature")):
        raise PriorError(f"{where}: expected the name of a feature, got nothing")
    category = cells.get("category")
    return row(
        cells["feature"], cells.get("mode"), cells.get("variance"), cells.get("sign"),
        None if _absent(category) else category, where=where,
    )  # fmt: skip


def _terms(rows: Sequence[Row], text: TextSettings | None) -> list[list[str]]:
    """The distinct terms of each row's feature. Features of vectors are as they are, with blanks between them."""
    if text is None:
        return [r.feature.split() if r.phrase else [r.feature] for r in rows]
    if text.is_bag:
        return [_words_of(r.feature, text) if r.phrase else _whole(r.feature, text) for r in rows]
    counts = count_terms([r.feature for r in rows], text, method="plain")
    ends = counts.matrix.indptr.tolist()
    columns = counts.matrix.indices.tolist()
    return [[counts.terms[j] for j in columns[a:b]] for a, b in pairwise(ends)]


def _words_of(feature: str, text: TextSettings) -> list[str]:
    """The single words of running text: which of them belong together it does not say."""
    return count_terms([feature], replace(text, word_ngrams=(1, 1)), method="plain").terms


def _whole(feature: str, text: TextSettings) -> list[str]:
    """The one n-gram that all of the feature is; where it is none, all that are in it."""
    if text.char_ngrams:  # as models name them, blanks included
        shortest, longest = text.char_ngrams
        name = feature
        if text.tokens != "ready":
            name = "".join(tokenize(feature, replace(text, tokens="char", char_ngrams=None)))
        return [name] if shortest <= len(name) <= longest else []
    spans = list(bag_spans(feature, text))
    ends = min((start for start, _, _ in spans), default=0), max((end for _, end, _ in spans), default=0)
    return [name for *span, name in spans if tuple(span) == ends] or sorted({name for _, _, name in spans})


def _no_term(feature: str, terms: list[str], text: TextSettings | None) -> str:
    if terms:
        return f"expected one word, got {feature!r}, which is {len(terms)} to the model: {', '.join(terms)}"
    if text is not None and any(token in text.stop_set for token in tokenize(feature, text)):
        return f"{feature!r} is a stop word and never part of a document; take it out"
    return f"expected a word, got {feature!r}, in which the text stage finds none"


# Ready-made


def from_words(
    words: Mapping[Hashable, str | Iterable[str]],
    *,
    mode: float = MODE,
    variance: object = "1x",
    sign: object = 0,
    base: str | Prior = "laplace",
    strict: bool = True,
    where: Mapping[Hashable, str] | None = None,
) -> PriorTable:
    """These words speak for this category: the prior of each of them has this mode, variance and sign.

    Words are lists, or running text such as a description, from which stop words are left out. A word that is
    named for several categories tells less: its mode is shared between them. A category that training does not
    have, or all of whose words are stop words, is an error unless `strict` is False.

    The default mode suits documents of norm 1, as the text stage makes them, where a telling word has a value of
    0.1 to 0.3: one of them then moves the log-odds by 2 to 6.

    >>> table = from_words({"grain": ["wheat", "corn"], "crude": "oil, petroleum and its products"})
    >>> [str(row.feature) for row in table.rows]
    ['wheat corn', 'oil, petroleum and its products']
    """
    rows = []
    for category, said in words.items():
        text = said if isinstance(said, str) else " ".join(map(str, said))
        if text.strip():
            place = (where or {}).get(category, f"the words of {category!r}")
            rows.append(row(text, mode, variance, sign, category, phrase=True, unseen=True, where=place))
    return PriorTable(tuple(rows), base, strict)


def from_names(
    categories: Iterable[Hashable], descriptions: Mapping[Hashable, str] | None = None, **options: Any
) -> PriorTable:
    """`from_words`, not strict, with the categories' names, taken apart at punctuation, and their descriptions."""
    texts = descriptions or {}
    words = {c: f"{_spaced(str(c))} {texts.get(c, '')}" for c in categories}
    return from_words(words, **{"strict": False, **options})


def _spaced(name: str) -> str:
    return "".join(letter if letter.isalnum() else " " for letter in name)


def by_group(
    groups: Mapping[str, Hashable], variances: Mapping[Hashable, object], base: str | Prior = "laplace"
) -> PriorTable:
    """A variance for every group of features: absolute, or a multiple of the global one, such as "0.1x".

    groups      feature → its group; features of no group keep the global variance
    variances   group → variance

    >>> table = by_group({"wheat": "title", "corn": "title", "the": "body"}, {"title": "4x", "body": 0.5})
    >>> [str(row).split("\\t")[::2] for row in table.rows]
    [['wheat', '4.0x'], ['corn', '4.0x'], ['the', '0.5']]
    """
    if unknown := sorted({str(group) for group in groups.values() if group not in variances}):
        raise PriorError(f"expected a variance for every group, found none for {', '.join(unknown)}")
    return PriorTable(tuple(row(name, variance=variances[group]) for name, group in groups.items()), base)


def by_idf(base: str | Prior = "laplace") -> PriorTable:
    """Rare words with larger variances, IDF² times the global one, in place of values multiplied by IDF."""
    return PriorTable((row(OTHERS, variance="idf"),), base)
