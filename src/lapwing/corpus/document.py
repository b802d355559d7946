"""The two values that leave this room: a `Document` while streaming, a `Corpus` when all are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from lapwing.errors import CorpusError

if TYPE_CHECKING:
    import scipy.sparse as sp  # for its name only: importing it takes longer than reading a small corpus

SPLITS = ("train", "validation", "test")
Kind = Literal["text", "tokens", "vectors"]


class Record(str):
    """A text with the values of other columns beside it, by name: a number or None, or a string or None."""

    values: Mapping[str, float | str | None]

    def __new__(cls, text: str, values: Mapping[str, float | str | None]) -> Self:
        record = super().__new__(cls, text)
        record.values = values
        return record

    def __getnewargs__(self) -> Any:
        return str(self), self.values


class SingleLabels(Sequence[tuple[Any, ...]]):
    """One label for each of many documents, as tuples when they are looked at.

    classes   those that occur, rising
    numbers   (n,) the class of every document, by its number
    """

    def __init__(self, classes: Sequence[Any], numbers: np.ndarray) -> None:
        self.classes, self.numbers = [(label,) for label in classes], numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        some = self.numbers[index]
        return [self.classes[k] for k in some.tolist()] if isinstance(index, slice) else self.classes[some]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return map(self.classes.__getitem__, self.numbers.tolist())

    def take(self, index: np.ndarray) -> list[tuple[Any, ...]]:
        return [self.classes[k] for k in self.numbers[index].tolist()]


class Document(NamedTuple):
    """One document on its way in.

    `content` is the text, a `Record` where other columns were asked for; for kind "tokens" the ready-made
    tokens joined by spaces; for kind "vectors" a pair (feature ids, values) of equally long lists. `split`
    is one of SPLITS, or "" for a document that belongs to none. `time` and `group` are "" unless a column
    of them was named.
    """

    id: str
    content: str | tuple[list[int], list[float]]
    labels: tuple[str, ...]
    split: str = ""
    weight: float = 1.0
    time: str = ""
    group: str = ""


@dataclass(frozen=True)
class Corpus:
    """Documents with their label sets. Row i of everything belongs to document i.

    documents   list of texts; for kind "tokens" ready-made tokens joined by spaces (they are not
                tokenised, stopped or stemmed again); for kind "vectors" a CSR matrix
    labels      one tuple of distinct labels per document, empty where it has none
    exclusive   True where every document has exactly one label by the nature of the source; parts of it (a test
                part, say) may have no labels at all
    split       one of SPLITS or "" per document; all "" where the source has no splits
    weights     how many times each document counts
    groups      documents that belong together, by a name; None for none
    times       when each document was written, in whatever sorts in that order; None where it is not known
    encoding    how the bytes were read, "" where there were none
    fields      the columns or keys of the source, where it has names for them
    numeric, categorical   columns whose values stand beside the text: its documents are then `Record`s
    text_column  the name of the column that holds the text, where there are others
    """

    name: str
    kind: Kind
    documents: Sequence[str] | sp.csr_matrix
    labels: Sequence[tuple[str, ...]]
    ids: Sequence[str]
    exclusive: bool
    split: Sequence[str]
    weights: np.ndarray
    feature_names: Sequence[str] | None = None
    skipped: int = 0
    source: dict[str, str] = field(default_factory=dict)
    groups: Sequence[str] | None = None
    times: Sequence[Any] | None = None
    encoding: str = ""
    fields: Sequence[str] = ()
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text_column: str = "text"

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_splits(self) -> bool:
        return any(self.split)

    def categories(self) -> list[str]:
        """The labels that occur, sorted."""
        return sorted({label for labels in self.labels for label in labels})

    def select(self, rows: Iterable[int]) -> Corpus:
        """The documents at `rows`, in that order."""
        index = np.fromiter(rows, dtype=np.int64)
        if self.kind == "vectors":
            documents: Sequence[str] | sp.csr_matrix = self.documents[index]  # type: ignore
        else:
            documents = taken(self.documents, index)
        return replace(
            self,
            documents=documents,
            labels=taken(self.labels, index),
            ids=taken(self.ids, index),
            split=taken(self.split, index),
            weights=self.weights[index],
            groups=None if self.groups is None else taken(self.groups, index),
            times=None if self.times is None else taken(self.times, index),
        )

    def part(self, split: str) -> Corpus:
        """The documents of one split; of all splits together for "all"."""
        if split == "all":
            return self
        rows = [i for i, s in enumerate(self.split) if s == split]
        if not rows:
            present = ", ".join(sorted({s for s in self.split if s})) or "none"
            raise CorpusError(f"expected documents of split {split!r}, found splits: {present}", self.name)
        return self.select(rows)


def taken(values: Any, index: np.ndarray) -> Any:
    """Those at `index`, in that order: of what is on disk without reading it."""
    return values.take(index) if hasattr(values, "take") else [values[i] for i in index]
