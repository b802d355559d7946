"""Documents in batches, and to numbered tokens by the kernel, on one thread or several: nothing loops over tokens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from lapwing.errors import InputError
from lapwing.text.listed import listed
from lapwing.text.order import Placed, in_order, merge_tokens, merged, names, spelled, without_empty
from lapwing.text.rows import Block, in_threads
from lapwing.text.settings import TextSettings
from lapwing.text.stemming import in_kernel, stems_of, terms_of
from lapwing.text.table import token_table

BATCH_CHARACTERS = 1 << 18  # of a call of the kernel: they stay in the cache
SMALL = 1 << 23  # entries that arrays may have room for ahead
PLAIN_CHARACTERS = 2_000_000  # below this plain Python is done before the kernels are loaded


class Tokens(NamedTuple):
    """The tokens of documents, distinct and sorted by code point; and the documents, those of a thread in a block."""

    tokens: Sequence[str]
    blocks: list[Block]


def in_batches(
    documents: Iterable[str],
    settings: TextSettings,
    method: str,
    progress: Callable[[int], None] | None = None,
    plain_below: int | None = None,
) -> tuple[Iterator[list[str]], bool]:
    """Documents in batches, and whether plain Python is to read them: what `method` "auto" decides by their size."""
    plain_below = PLAIN_CHARACTERS if plain_below is None else plain_below
    batches = _batches(documents, settings, progress)
    if method == "auto":
        head: list[list[str]] = []
        while sum(len(text) for batch in head for text in batch) < plain_below:
            more = list(islice(batches, 1))
            if not more:
                return iter(head), True
            head += more
        return chain(head, batches), False
    return batches, method == "plain"


def _batches(
    documents: Iterable[str], settings: TextSettings, progress: Callable[[int], None] | None
) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    as_it_is = settings.cut is None and not settings.strip_html
    for i, document in enumerate(documents):
        if not isinstance(document, str):
            raise InputError(f"document {i} must be a string, got {type(document).__name__}")
        text = document if as_it_is else settings.prepared(document)
        batch.append(text)
        size += len(text)
        if size >= BATCH_CHARACTERS:
            yield batch
            if progress is not None:
                progress(len(batch))
            batch, size = [], 0
    yield batch
    if progress is not None:
        progress(len(batch))


def read_tokens(batches: Iterable[list[str]], settings: TextSettings, *, counting: bool, n_jobs: int = 1) -> Tokens:
    """The tokens of every document, counted or one after the other."""
    return _read(batches, [TextReader(settings, counting) for _ in range(n_jobs)])


def read_terms(batches: Iterable[list[str]], settings: TextSettings, *, counting: bool, n_jobs: int = 1) -> Tokens:
    """The same with terms in place of tokens; stop words have negative places."""
    if in_kernel(settings):
        return _read(batches, [_StemmingReader(settings, counting) for _ in range(n_jobs)])
    read = read_tokens(batches, settings, counting=counting, n_jobs=n_jobs)
    terms, term_of = terms_of(read.tokens, settings)
    return Tokens(terms, [block._replace(place=term_of[block.place]) for block in read.blocks])


def _read(batches: Iterable[list[str]], readers: Sequence[TextReader]) -> Tokens:
    """Each thread has a reader with a table of its own; what comes out does not depend on them."""
    n_jobs = len(readers)
    if n_jobs == 1:
        for i, batch in enumerate(batches):
            readers[0].take(i, batch)
        tokens, places = without_empty(readers[0].in_order())
    else:
        source = _Shared(batches)
        with in_threads(n_jobs) as run:
            try:
                lists = list(run(lambda reader: reader.take_all(source), readers))
            finally:
                source.stop()
            tokens, places = without_empty(merged(lists, merge_tokens, run))
    names = _listed(tokens, n_jobs)
    sizes = dict(sorted((i, len(ends) - 1) for reader in readers for i, ends in reader.batches))
    first = np.cumsum([0, *sizes.values()])
    return Tokens(names, [reader.block(place, first) for reader, place in zip(readers, places, strict=True)])


def _listed(tokens: Sequence[np.ndarray], n_jobs: int) -> Sequence[str]:
    """Tokens in order, as order.py has them, as strings."""
    _, _, order, spelling, ends = tokens
    return listed(len(order), lambda first, past: names(spelled(order[first:past], spelling, ends)), n_jobs)


class _Shared:
    """Batches with their numbers, for several threads to take the next of: one reads while others count."""

    def __init__(self, batches: Iterable[list[str]]) -> None:
        self._batches = enumerate(batches)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        while True:
            with self._lock:
                try:
                    one = next(self._batches)
                except BaseException as error:
                    self._batches = iter(())  # type: ignore[assignment]
                    if isinstance(error, StopIteration):
                        return
                    raise
            yield one

    def stop(self) -> None:
        with self._lock:
            self._batches = iter(())  # type: ignore[assignment]


class TextReader:
    """A table of tokens, and what was read with it: batches, each with the ends of its documents among the entries."""

    def __init__(self, settings: TextSettings, counting: bool) -> None:
        from lapwing.kernels import tokens as kernels

        mode = {"word": kernels.WORD, "char": kernels.CHAR, "ready": kernels.READY}[settings.tokens]
        self.how, self.counting = (token_table(settings.table).fold, mode, settings.digits, counting), counting
        self.batches: list[tuple[int, np.ndarray]] = []
        self.known = _Known(0, np.empty(0, np.uint8), np.zeros(1, np.int64), np.zeros((1 << 12, 4), np.uint64))
        self.used, self.numbers, self.counts = 0, np.empty(0, np.int32), np.empty(0, np.int32)

    def begin(self) -> None:
        """Documents anew, with the tokens that are known."""
        self.used, self.batches = 0, []

    def take_all(self, source: _Shared) -> Placed:
        for i, batch in source:
            self.take(i, batch)
        return self.in_order()

    def in_order(self) -> Placed:
        return in_order(self.known.n, self.known.spelling, self.known.ends)

    @property
    def ends(self) -> np.ndarray:
        """Of all documents that it read."""
        return np.concatenate([np.zeros(1, np.int64), *(ends[1:] for _, ends in self.batches)])

    def block(self, place: np.ndarray, first: np.ndarray) -> Block:
        """All that it read: its tokens are at these places, and batch i begins with document first[i]."""
        documents = [np.arange(*first[i : i + 2]) for i, _ in self.batches]
        return Block(self.ends, self.numbers, self.counts, place, np.concatenate([np.zeros(0, np.int64), *documents]))

    def take(self, i: int, batch: list[str]) -> None:
        from lapwing.kernels.tokens import read

        parts = [text.encode("utf-8", "surrogatepass") for text in batch]
        data, starts = np.frombuffer(b"".join(parts), np.uint8), np.zeros(len(batch) + 1, np.int64)
        np.cumsum(list(map(len, parts)), out=starts[1:])
        self.known = _with_room(self.known, 3 * data.size // 2, data.size)
        self.numbers = larger(self.numbers, self.used, data.size)
        if self.counting:
            self.counts = larger(self.counts, self.used, data.size)
        n, table, ends = read(data, starts, *self.how, *self.known, self.used, self.numbers, self.counts)
        self.known, self.used = self.known._replace(n=n, table=table), int(ends[-1])
        self.batches.append((i, ends))


class _StemmingReader(TextReader):
    """Its tokens are in order by what becomes of them."""

    def __init__(self, settings: TextSettings, counting: bool) -> None:
        super().__init__(settings, counting)
        self.settings = settings

    def in_order(self) -> Placed:
        return in_order(self.known.n, *stems_of(*self.known[:3], self.settings), distinct=False)


class _Known(NamedTuple):
    """Distinct tokens, as kernels/tokens.py has them: token t is spelling[ends[t]:ends[t+1]]."""

    n: int
    spelling: np.ndarray
    ends: np.ndarray
    table: np.ndarray


def _with_room(known: _Known, letters: int, tokens: int) -> _Known:
    spelling = larger(known.spelling, int(known.ends[known.n]), letters)
    return known._replace(spelling=spelling, ends=larger(known.ends, known.n + 1, tokens))


def larger(array: np.ndarray, used: int, more: int) -> np.ndarray:
    """The array, or one with the same beginning and room for `more` after what is used.

    It grows fast while it is small: what is not written to takes no memory, and what is there is seldom copied.
    """
    if used + more <= array.size:
        return array
    roomier = np.empty(used + more + max(used // 2, min(7 * used, SMALL)), dtype=array.dtype)
    roomier[:used] = array[:used]
    return roomier
