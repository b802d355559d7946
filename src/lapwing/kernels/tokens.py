"""Cut texts into tokens and count them, document by document."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel

WORD, CHAR, READY = 0, 1, 2
_SEPARATOR, _LETTER, _DIGIT, _SINGLE, _MARK, _IGNORABLE, _SPACE = range(7)
_SHIFT = 21
_LOW = (1 << _SHIFT) - 1


@kernel
def _mix(h, code):
    """FNV-1a, a code point at a time."""
    return (h ^ np.uint64(code)) * np.uint64(1099511628211)


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

    Returns (chars, ends, hashes, last): token k is chars[ends[k-1]:ends[k]] (from 0 for the first), and
    document i has the tokens last[i] to last[i+1].
    """
    seed = np.uint64(14695981039346656037)
    last_word_class = _DIGIT if digits else _LETTER
    chars = np.empty(codes.size + 1, np.int32)
    ends = np.empty(codes.size + 1, np.int32)
    hashes = np.empty(codes.size + 1, np.uint64)
    last = np.zeros(starts.size, np.int64)
    top = 0  # end of the characters written
    open_at = 0  # where the token being read starts; it is empty while open_at == top
    n_tokens = 0
    h = seed
    for doc in range(starts.size - 1):
        blank_before = False
        single_before = False
        for i in range(starts[doc], starts[doc + 1]):
            entry = fold[codes[i]]
            token_class = entry >> _SHIFT
            code = entry & _LOW
            if mode == WORD and token_class <= _DIGIT and not single_before:
                # The common case without a branch to mispredict: write first, then count it or not.
                inside = (token_class >= _LETTER) & (token_class <= last_word_class)
                chars[top] = code
                ends[n_tokens] = top
                hashes[n_tokens] = h
                h = _mix(h, code) if inside else seed
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
                ends[n_tokens], hashes[n_tokens] = top, h
                n_tokens += 1
                open_at, h = top, seed
            if written:
                chars[top] = code
                top += 1
                h = _mix(h, code)
        if top > open_at:
            ends[n_tokens], hashes[n_tokens] = top, h
            n_tokens += 1
            open_at, h = top, seed
        last[doc + 1] = n_tokens
    return chars[:top], ends[:n_tokens], hashes[:n_tokens], last


@kernel
def _insert(slots, hashes, term):
    """Put a term that is not there yet into the open-addressing table."""
    mask = np.uint64(slots.size - 1)
    at = (hashes[term] ^ (hashes[term] >> np.uint64(29))) & mask
    while slots[at] >= 0:
        at = (at + np.uint64(1)) & mask
    slots[at] = term


@kernel
def _find(slots, hashes, h, spelling, term_ptr, chars, first, size):
    """The term spelled chars[first:first+size], or -1."""
    mask = np.uint64(slots.size - 1)
    at = (h ^ (h >> np.uint64(29))) & mask
    while slots[at] >= 0:
        term = slots[at]
        if hashes[term] == h and term_ptr[term + 1] - term_ptr[term] == size:
            k, base = 0, term_ptr[term]
            while k < size and spelling[base + k] == chars[first + k]:
                k += 1
            if k == size:
                return term
        at = (at + np.uint64(1)) & mask
    return np.int32(-1)


@kernel
def count(chars, ends, token_hashes, last, n_terms, spelling, term_ptr, hashes, slots):
    """Count the distinct tokens of every document, from what `cut` returns, adding to a table of terms.

    Term t is spelling[term_ptr[t]:term_ptr[t+1]], in order of first appearance. `spelling`, `term_ptr` and
    `hashes` have room for all of `chars` and `ends`; `slots` (a power of two in size) is replaced as it fills.

    Returns (n_terms, slots, indptr, terms, counts): document i has terms[indptr[i]:indptr[i+1]], each with
    its count.
    """
    n = last.size - 1
    seen_in = np.full(n_terms + ends.size, -1, np.int32)  # the document a term was last seen in,
    place = np.empty(n_terms + ends.size, np.int32)  # and its place there
    terms = np.empty(ends.size, np.int32)
    counts = np.empty(ends.size, np.int32)
    indptr = np.zeros(n + 1, np.int64)
    nnz = 0
    first = 0
    for doc in range(n):
        for token in range(last[doc], last[doc + 1]):
            size = ends[token] - first
            h = token_hashes[token]
            term = _find(slots, hashes, h, spelling, term_ptr, chars, first, size)
            if term < 0:
                term = np.int32(n_terms)
                hashes[term] = h
                base = term_ptr[term]
                for k in range(size):
                    spelling[base + k] = chars[first + k]
                term_ptr[term + 1] = base + size
                n_terms += 1
                if 2 * n_terms > slots.size:
                    slots = np.full(2 * slots.size, -1, np.int32)
                    for t in range(n_terms):
                        _insert(slots, hashes, t)
                else:
                    _insert(slots, hashes, term)
            if seen_in[term] == doc:
                counts[place[term]] += 1
            else:
                seen_in[term], place[term] = doc, nnz
                terms[nnz], counts[nnz] = term, 1
                nnz += 1
            first = ends[token]
        indptr[doc + 1] = nnz
    return n_terms, slots, indptr, terms[:nnz], counts[:nnz]
