"""Documents in batches, their distinct tokens by number, and tokens to terms: stop words and stems per distinct token.

Nothing here loops over tokens in Python but for inputs too small to be worth loading Numba for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, pairwise

import numpy as np

from lapwing.errors import InputError
from lapwing.text.settings import TextSettings
from lapwing.text.table import token_table
from lapwing.text.tokens import strip_html

BATCH_CHARACTERS = 1 << 19  # a batch in the kernels takes some forty bytes per character
PLAIN_CHARACTERS = 400_000  # below this plain Python is done before Numba is loaded


def in_batches(
    documents: Iterable[str], settings: TextSettings, method: str, progress: Callable[[int], None] | None
) -> tuple[Iterator[list[str]], bool]:
    """Documents in batches, and whether plain Python is to read them: what `method` "auto" decides by their size."""
    batches = _batches(documents, settings, progress)
    if method == "auto":
        head = list(islice(batches, 1))
        method = "plain" if sum(map(len, head[0] if head else ())) < PLAIN_CHARACTERS else "kernel"
        batches = chain(head, batches)
    return batches, method == "plain"


def _batches(
    documents: Iterable[str], settings: TextSettings, progress: Callable[[int], None] | None
) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for i, document in enumerate(documents):
        if not isinstance(document, str):
            raise InputError(f"document {i} must be a string, got {type(document).__name__}")
        text = strip_html(document) if settings.strip_html and settings.tokens != "ready" else document
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


def tokens_by_kernel(batches: Iterable[list[str]], settings: TextSettings, take: Callable[..., int]) -> list[str]:
    """The distinct tokens, in order of first appearance; `take` is given the tokens of every batch.

    It is called with (chars, ends, last, n_terms, spelling, term_ptr, table), see kernels/tokens.py, enters
    new tokens in the table, and returns how many terms there are then.
    """
    from lapwing.kernels import tokens as kernels

    mode = {"word": kernels.WORD, "char": kernels.CHAR, "ready": kernels.READY}[settings.tokens]
    fold = token_table(settings.table).fold
    n_terms = 0
    spelling, term_ptr = np.empty(0, np.int32), np.zeros(1, np.int64)
    table = np.zeros((1 << 12, 4), np.uint64)
    for batch in batches:
        starts = np.zeros(len(batch) + 1, dtype=np.int64)
        np.cumsum([len(d) for d in batch], out=starts[1:])
        codes = np.frombuffer("".join(batch).encode("utf-32-le", "surrogatepass"), dtype=np.int32)
        chars, ends, last = kernels.cut(codes, starts, fold, mode, settings.digits)
        spelling = _with_room(spelling, int(term_ptr[n_terms]), chars.size)
        term_ptr = _with_room(term_ptr, n_terms + 1, ends.size)
        if 2 * (n_terms + ends.size) > len(table):
            table = kernels.enlarged(table, 1 << (2 * (n_terms + ends.size)).bit_length())
        n_terms = take(chars, ends, last, n_terms, spelling, term_ptr, table)
    letters = spelling[: term_ptr[n_terms]].tobytes().decode("utf-32-le")
    return [letters[a:b] for a, b in pairwise(term_ptr[: n_terms + 1].tolist())]


def _with_room(array: np.ndarray, used: int, more: int) -> np.ndarray:
    if used + more <= array.size:
        return array
    larger = np.empty(used + more + used // 2, dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


def terms_of(tokens: list[str], settings: TextSettings) -> tuple[list[str], np.ndarray]:
    """Distinct tokens to sorted terms: the terms, and for each token its term, -1 for a stop word."""
    stems = tokens
    if settings.stems:
        import Stemmer

        stems = Stemmer.Stemmer(settings.stemmer, 0).stemWords(tokens)
    if stop := settings.stop_set:
        stems = ["" if token in stop else stem for token, stem in zip(tokens, stems, strict=True)]
    terms = sorted(set(stems))
    rank = dict(zip(terms, range(len(terms)), strict=True))
    term_of = np.fromiter(map(rank.__getitem__, stems), dtype=np.int32, count=len(stems))
    if terms and not terms[0]:  # what has become the empty string stands first: no term
        return terms[1:], term_of - 1
    return terms, term_of
