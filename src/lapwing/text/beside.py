"""Columns beside the text: numbers centred and scaled, and what is one of several a column each.

Their features stand after those of the text, named in brackets: `[price]`, `[source=web]`. A number that is not known
counts as the mean, and a value that training did not see is none of those it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Record
from lapwing.errors import InputError
from lapwing.text.design import Design, Weighting
from lapwing.text.lookup import Result, copied
from lapwing.text.rows import stacked

MOST_LEVELS = 1000  # of a categorical column; one with more is rather a text or a number


@dataclass(frozen=True)
class Beside:
    """numeric: name → (mean, scale); categorical: name → levels, sorted; text: the column of the text, for records."""

    numeric: dict[str, tuple[float, float]]
    categorical: dict[str, tuple[str, ...]]
    text: str = "text"

    @property
    def columns(self) -> list[str]:
        return [*self.numeric, *self.categorical]

    @cached_property
    def feature_names(self) -> list[str]:
        levels = [f"[{name}={level}]" for name, known in self.categorical.items() for level in known]
        return [f"[{name}]" for name in self.numeric] + levels

    @cached_property
    def _place(self) -> dict[tuple[str, str], int]:
        pairs = ((name, level) for name, known in self.categorical.items() for level in known)
        return {pair: j for j, pair in enumerate(pairs, len(self.numeric))}

    @classmethod
    def learn(
        cls, records: Sequence[Record], numeric: Sequence[str], categorical: Sequence[str], text: str = "text"
    ) -> Beside:
        """Means, scales and levels of the training documents."""
        scales = {}
        for name in numeric:
            known = [float(value) for one in records if (value := one.values.get(name)) is not None]
            if not known:
                raise InputError(f"expected numbers under {name!r}, found none; leave it out of the numeric columns")
            mean = float(np.mean(known))
            deviation = float(np.sqrt(np.mean((np.array(known) - mean) ** 2)))
            scales[name] = (mean, deviation if deviation > 1e-12 * abs(mean) else 1.0)
        levels = {}
        for name in categorical:
            levels[name] = tuple(sorted({str(value) for one in records if (value := one.values.get(name)) is not None}))
            if len(levels[name]) > MOST_LEVELS:
                raise InputError(
                    f"expected at most {MOST_LEVELS} different values under {name!r}, found {len(levels[name])}; is it "
                    "a number (--numeric) or a text?"
                )
        return cls(scales, levels, text)

    def records(self, documents: Any) -> list[Record]:
        """Records as they are; of mappings and frames those of the model's columns."""
        if hasattr(documents, "columns"):
            names = [self.text, *self.columns]
            if lacking := [name for name in names if name not in list(documents.columns)]:
                there = ", ".join(map(str, documents.columns))
                raise InputError(f"expected a column {lacking[0]!r}, got a frame of {there}")
            columns = (documents[name].to_list() for name in names)
            documents = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return [one if isinstance(one, Record) else self._record(i, one) for i, one in enumerate(documents)]

    def _record(self, i: int, one: Any) -> Record:
        from lapwing.corpus.fields import BadRecord, level_value, number_value

        if not isinstance(one, Mapping) or not isinstance(one.get(self.text), str):
            raise InputError(
                f"the model reads {', '.join(self.columns)} beside the text; document {i} must be a mapping with these "
                f"and the text under {self.text!r}, got {type(one).__name__}"
            )
        try:
            values: dict[str, Any] = {name: number_value(one.get(name), name) for name in self.numeric}
            values |= {name: level_value(one.get(name), name) for name in self.categorical}
        except BadRecord as error:
            raise InputError(f"document {i}: {error}") from None
        return Record(one[self.text], values)

    def row(self, record: Record) -> tuple[list[int], list[float]]:
        """Columns, from 0, and values."""
        columns, values = [], []
        for j, (name, (mean, scale)) in enumerate(self.numeric.items()):
            number = record.values.get(name)
            if number is not None and (value := (float(number) - mean) / scale) != 0.0:
                columns.append(j)
                values.append(value)
        for name in self.categorical:
            place = self._place.get((name, str(record.values.get(name))))
            if place is not None and record.values.get(name) is not None:
                columns.append(place)
                values.append(1.0)
        return columns, values

    def matrix(self, records: Sequence[Record]) -> sp.csr_matrix:
        rows = [self.row(record) for record in records]
        columns, values = (np.array([one for row in rows for one in row[k]]) for k in (0, 1))
        ends = np.cumsum([0, *(len(row[0]) for row in rows)], dtype=np.int32)
        shape = (len(rows), len(self.feature_names))
        return sp.csr_matrix((values.astype(np.float64), columns.astype(np.int32), ends), shape=shape)


@dataclass(frozen=True, eq=False)
class WithColumns(Weighting):
    """A weighting of texts, and the columns beside them after its own."""

    beside: Beside

    @cached_property
    def feature_names(self) -> list[str]:
        return [*super().feature_names, *self.beside.feature_names]

    def texts(self, documents: Any) -> list[Record]:
        return self.beside.records(documents)

    def each(
        self, documents: Iterable[Any], use: Callable[[sp.csr_matrix], Result], *, method: str = "auto", n_jobs: int = 1
    ) -> Iterable[Result]:
        records = self.texts(documents)
        text = stacked(super().each(records, copied, method=method, n_jobs=n_jobs))
        return [use(joined(text, self.beside.matrix(records)))]

    def rows(self, documents: Any) -> list[tuple[list[int], list[float]]] | None:
        if not isinstance(documents, list | tuple):
            return None
        records = self.texts(documents)
        rows, width = super().rows(records), len(self.columns)
        if rows is None:
            return None
        more = [self.beside.row(record) for record in records]
        return [([*a, *(width + j for j in c)], [*b, *d]) for (a, b), (c, d) in zip(rows, more, strict=True)]


def joined(text: sp.csr_matrix, beside: sp.csr_matrix) -> sp.csr_matrix:
    matrix = sp.hstack([text, beside], format="csr")
    matrix.sort_indices()
    return sp.csr_matrix(matrix)


def with_columns(plain: Design, records: Sequence[Record], beside: Beside) -> Design:
    """The design of texts with the columns beside them."""
    old = plain.weighting
    assert old is not None
    weighting = WithColumns(old.settings, old.terms, old.document_frequency, old.n_documents, old.columns, beside)
    return Design(joined(plain.matrix, beside.matrix(records)), weighting.feature_names, weighting)
