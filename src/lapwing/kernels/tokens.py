"""Cut texts into tokens and count them, document by document."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part

WORD, CHAR, READY = 0, 1, 2
_SEPARATOR, _LETTER, _DIGIT, _SINGLE, _MARK, _IGNORABLE, _SPACE = range(7)
_SHIFT = 21
_PLAIN = 1 << _SEPARATOR | 1 << _LETTER | 1 << _DIGIT | 1 << _SPACE  # classes that need no context
_LOW = (1 << _SHIFT) - 1


_SEED = np.uint64(14695981039346656037)
_PRIME = np.uint64(1099511628211)
_SPELLED_OUT = 9  # so many code points from 1 to 127 fit a key with seven bits each
_HASHED = np.uint64(1 << 63)
KEY, TERM, PLACE, SPARE = range(4)  # the columns of a table of terms
_AHEAD = 64


@part
def _key(chars, first, end):
    """What a token is looked up by: its spelling itself where that fits, else a hash, marked as one."""
    packed, h, seen = np.uint64(0), _SEED, np.int32(0)
    for k in range(first, end):
        code = chars[k]
        packed = (packed << np.uint64(7)) | np.uint64(code)
        h = (h ^ np.uint64(code)) * _PRIME  # FNV-1a
        seen |= code if code > 0 else 128  # a leading NUL would not show in the spelling
    return packed if seen < 128 and end - first <= _SPELLED_OUT else h | _HASHED


@kernel
def cut(codes, starts, fold, mode, digits):
    """Cut every document into tokens.

    codes   (m,) int32   the code points of all documents, one after the other
    starts  (n+1,) int64 document i is codes[starts[i]:starts[i+1]]
    fold    class << 21 | lower case, for every code point (see text/table.py)
    mode    WORD: runs of letters and digits, a `single` alone, marks joined to what precedes them;
            CHAR: every code point, a run of white space counting as one blank;
            READY: what stands between white space, as it is
    digits  whether digits are part of words

    Returns (chars, ends, last): token k is chars[ends[k-1]:ends[k]] (from 0 for the first), and
    document i has the tokens last[i] to last[i+1].
    """
    last_word_class = _DIGIT if digits else _LETTER
    chars = np.empty(codes.size + 1, np.int32)
    ends = np.empty(codes.size + 1, np.int32)
    last = np.zeros(starts.size, np.int64)
    top = 0  # end of the characters written
    open_at = 0  # where the token being read starts; it is empty while open_at == top
    n_tokens = 0
    for doc in range(starts.size - 1):
        blank_before = False
        single_before = False
        for i in range(starts[doc], starts[doc + 1]):
            entry = fold[codes[i]]
            token_class = entry >> _SHIFT
            code = entry & _LOW
            if mode == WORD and not single_before and (_PLAIN >> token_class) & 1:
                # The common case without a branch to mispredict: write first, then count it or not.
                inside = (token_class >= _LETTER) & (token_class <= last_word_class)
                chars[top] = code
                ends[n_tokens] = top
                n_tokens += (top > open_at) & (not inside)
                top += inside
                open_at = open_at if inside else top
                continue
            joins = False  # whether this code point continues the token being read
            written = True
            if mode == READY:
                written = joins = token_class != _SPACE
                code = codes[i]
            elif token_class == _IGNORABLE:
                continue
            elif mode == CHAR:
                if token_class == _SPACE:
                    written = not blank_before
                    code = np.int32(32)
                blank_before = token_class == _SPACE
            elif token_class == _MARK:
                joins = True
                written = top > open_at
            elif token_class == _SINGLE:
                single_before = True
            else:
                written = (token_class >= _LETTER) & (token_class <= last_word_class)
                single_before = False
            if not joins and top > open_at:
                ends[n_tokens] = open_at = top
                n_tokens += 1
            if written:
                chars[top] = code
                top += 1
        if top > open_at:
            ends[n_tokens] = open_at = top
            n_tokens += 1
        last[doc + 1] = n_tokens
    return chars[:top], ends[:n_tokens], last


@part
def _slot(key, size):
    """Where the search for a key starts in a table of `size` slots, a power of two."""
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(size - 1))


@part
def _same(chars, first, size, spelling, start, end):
    """Whether two spellings are the same."""
    if end - start != size:
        return False
    for k in range(size):
        if spelling[start + k] != chars[first + k]:
            return False
    return True


@kernel
def enlarged(table, slots):
    """The same entries in a table of `slots` slots."""
    larger = np.zeros((slots, table.shape[1]), np.uint64)
    for old in range(table.shape[0]):
        if table[old, TERM] != 0:
            at = _slot(table[old, KEY], slots)
            while larger[at, TERM] != 0:
                at = (at + 1) & (slots - 1)
            for k in range(table.shape[1]):
                larger[at, k] = table[old, k]
    return larger


@part
def _entry(key, chars, first, end, n_terms, spelling, term_ptr, table):
    """Where a token stands in the table of terms, entered as a new one if it is; and the number of terms."""
    slots = table.shape[0]
    at = _slot(key, slots)
    while table[at, TERM] != 0:
        if table[at, KEY] == key:
            known = np.int64(table[at, TERM]) - 1
            if key < _HASHED or _same(chars, first, end - first, spelling, term_ptr[known], term_ptr[known + 1]):
                return at, n_terms
        at = (at + 1) & (slots - 1)
    base = term_ptr[n_terms]
    for k in range(first, end):
        spelling[base + k - first] = chars[k]
    n_terms += 1
    term_ptr[n_terms] = base + end - first
    table[at, KEY], table[at, TERM], table[at, PLACE] = key, n_terms, 0
    return at, n_terms


@kernel
def count(chars, ends, last, before, n_terms, spelling, term_ptr, table):
    """Count the distinct tokens of every document, from what `cut` returns, adding to a table of terms.

    table     (slots, 4) uint64, slots a power of two, with room: KEY; TERM, the term's number plus 1;
              PLACE, where it was last counted. One entry is one line of the processor's cache
    before    how many entries earlier calls have returned: places go on from there
    Term t is spelling[term_ptr[t]:term_ptr[t+1]], in order of first appearance; both have room.

    Returns (n_terms, indptr, terms, counts): document i has terms[indptr[i]:indptr[i+1]], each with its count.
    """
    n, slots = last.size - 1, table.shape[0]
    terms = np.empty(ends.size, np.int32)
    counts = np.empty(ends.size, np.int32)
    indptr = np.zeros(n + 1, np.int64)
    keys = np.empty(_AHEAD, np.uint64)
    nnz = first = ahead = np.int64(0)  # a literal would have what is called with it compiled twice
    touched = np.uint64(0)
    for doc in range(n):
        first_here = np.uint64(before + nnz)
        for token in range(last[doc], last[doc + 1]):
            if token % _AHEAD == 0:
                # Keys of the next tokens, each slot touched: memory answers many such loads at a time.
                for k in range(min(_AHEAD, ends.size - token)):
                    end = ends[token + k]
                    keys[k] = _key(chars, ahead, end)
                    touched ^= table[_slot(keys[k], slots), TERM]
                    ahead = end
            end = ends[token]
            at, n_terms = _entry(keys[token % _AHEAD], chars, first, end, n_terms, spelling, term_ptr, table)
            if table[at, PLACE] > first_here:  # places count from 1: this document has the term already
                counts[np.int64(table[at, PLACE]) - before - 1] += 1
            else:
                terms[nnz], counts[nnz] = np.int64(table[at, TERM]) - 1, 1
                nnz += 1
                table[at, PLACE] = before + nnz
            first = end
        indptr[doc + 1] = nnz
    table[0, SPARE] = touched  # so that touching is not optimised away
    return n_terms, indptr, terms[:nnz], counts[:nnz]


@kernel
def number(chars, ends, n_terms, spelling, term_ptr, table):
    """The term of every token, from what `cut` returns, adding to a table of terms as `count` does.

    Returns (n_terms, terms).
    """
    terms = np.empty(ends.size, np.int32)
    first = np.int64(0)
    for token in range(ends.size):
        end = ends[token]
        key = _key(chars, first, end)
        at, n_terms = _entry(key, chars, first, end, n_terms, spelling, term_ptr, table)
        terms[token] = np.int64(table[at, TERM]) - 1
        first = end
    return n_terms, terms
