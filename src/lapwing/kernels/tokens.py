"""Cut texts into tokens and count them, document by document, in one pass over their bytes in UTF-8.

A token is looked up by two words of 64 bits. The first has its first eight bytes, from the top; the second the next
seven and, lowest, how many there are: up to fifteen bytes the words are the token, and sort as it does. Of a longer
token the second word is a hash, LONG below, and the spelling decides.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part
from lapwing.kernels._table import FIRST, PLACE, SECOND, TERM, slot, table_with_room
from lapwing.kernels._words import MANY, in_order, letters, load, lowered, others, prefetch, store, zeros
from lapwing.kernels._words import digits as digits_of

WORD, CHAR, READY = 0, 1, 2
_INSIDE, _OTHER = 256, 512  # of a byte: part of a token, as its low byte is; or its code point must be looked at
_SEPARATOR, _LETTER, _DIGIT, _SINGLE, _MARK, _IGNORABLE, _SPACE = range(7)
_SHIFT = 21
_LOW = (1 << _SHIFT) - 1

LONG = np.uint64(255)
_CHUNK = 256  # tokens that are looked up together: memory answers many such loads at a time
_PRIME = np.uint64(1099511628211)


@part
def _hash(chars, start, end):
    """Of a long token: FNV-1a, the lowest byte LONG."""
    h = np.uint64(14695981039346656037)
    for k in range(start, end):
        h = (h ^ np.uint64(chars[k])) * _PRIME
    return h | LONG


@part
def _key(chars, start, end):
    """The two words a token is looked up by."""
    size = end - start
    first = second = np.uint64(0)
    for k in range(min(size, 8)):
        first |= np.uint64(chars[start + k]) << np.uint64(56 - 8 * k)
    if size > 15:
        return first, _hash(chars, start, end)
    for k in range(8, size):
        second |= np.uint64(chars[start + k]) << np.uint64(120 - 8 * k)
    return first, second | np.uint64(size)


@part
def _same(chars, start, end, spelling, begin, past):
    """Whether two spellings are the same."""
    if end - start != past - begin:
        return False
    for k in range(end - start):
        if spelling[begin + k] != chars[start + k]:
            return False
    return True


@part
def _entry(at, first, second, chars, start, end, n_terms, spelling, term_ptr, table):
    """Where a token stands in the table, entered as a new one if it is; and the number of terms."""
    slots = table.shape[0]
    while table[at, TERM] != 0:
        if table[at, FIRST] == first and table[at, SECOND] == second:
            known = np.int64(table[at, TERM]) - 1
            short = (second & LONG) != LONG
            if short or _same(chars, start, end, spelling, term_ptr[known], term_ptr[known + 1]):
                return at, n_terms
        at = (at + 1) & (slots - 1)
    base = term_ptr[n_terms]
    for k in range(end - start):
        spelling[base + k] = chars[start + k]
    n_terms += 1
    term_ptr[n_terms] = base + end - start
    table[at, FIRST], table[at, SECOND], table[at, TERM], table[at, PLACE] = first, second, n_terms, 0
    return at, n_terms


@part
def _decoded(data, i):
    """The code point that begins at a byte of 128 or more, or less; and where the next one begins."""
    b = np.int64(data[i])
    if b < 0x80:
        return b, i + 1
    second = np.int64(data[i + 1]) & 0x3F
    if b < 0xE0:
        return (b & 0x1F) << 6 | second, i + 2
    third = np.int64(data[i + 2]) & 0x3F
    if b < 0xF0:
        return (b & 0x0F) << 12 | second << 6 | third, i + 3
    return (b & 0x07) << 18 | second << 12 | third << 6 | (np.int64(data[i + 3]) & 0x3F), i + 4


@part
def _encoded(code, chars, top):
    """Writes a code point; returns where the next one goes."""
    if code < 0x80:
        chars[top] = code
        return top + 1
    if code < 0x800:
        chars[top] = 0xC0 | code >> 6
        chars[top + 1] = 0x80 | (code & 0x3F)
        return top + 2
    if code < 0x10000:
        chars[top] = 0xE0 | code >> 12
        chars[top + 1] = 0x80 | (code >> 6 & 0x3F)
        chars[top + 2] = 0x80 | (code & 0x3F)
        return top + 3
    chars[top] = 0xF0 | code >> 18
    chars[top + 1] = 0x80 | (code >> 12 & 0x3F)
    chars[top + 2] = 0x80 | (code >> 6 & 0x3F)
    chars[top + 3] = 0x80 | (code & 0x3F)
    return top + 4


@part
def _bytes(fold, mode, last_word_class):
    """What each byte is: _INSIDE | its own in a token, 0 where it ends one, _OTHER to look at the code point."""
    byte = np.empty(256, np.uint16)
    for code in range(256):
        byte[code] = _OTHER
    for code in range(0 if mode == CHAR else 128):
        token_class, lower = fold[code] >> _SHIFT, fold[code] & _LOW
        if mode == READY:
            byte[code] = 0 if token_class == _SPACE else _INSIDE | code
        elif token_class in (_LETTER, last_word_class):
            if lower < 128:
                byte[code] = _INSIDE | lower
        elif token_class in (_SEPARATOR, _SPACE, _DIGIT):
            byte[code] = 0
    return byte


@part
def _is_plain(byte, mode, last_word_class):
    """Whether of ASCII just letters and perhaps digits are in words, as `_plain` takes it, and all else ends them."""
    if mode != WORD:
        return False
    for code in range(128):
        lower = code | 32
        wanted = lower >= 97 and lower <= 122
        if code >= 48 and code <= 57:
            lower, wanted = code, last_word_class == _DIGIT
        if byte[code] != (_INSIDE | lower if wanted else 0):
            return False
    return True


@part
def _plain(data, i, end, plain_to, numbers, chars, top, waiting, firsts, seconds, past):
    """Words of up to 15 ASCII letters, each with a byte of ASCII that ends it, one after the other.

    There are MANY + 16 bytes from `plain_to` on. Returns (where the next one begins, top, how many tokens).
    """
    last = min(end, plain_to)
    while i < last and waiting < _CHUNK:
        inside = letters(data, i) | digits_of(data, i) if numbers else letters(data, i)
        known = min(end - i, np.int64(zeros(others(data, i))))  # what comes before that is told by the mask
        at = np.int64(0)
        while waiting < _CHUNK:
            start = at + np.int64(zeros(inside >> np.uint64(at))) if at < MANY else np.int64(MANY)
            if start >= known:
                at = min(start, known)
                break
            size = np.int64(zeros(~(inside >> np.uint64(start))))
            at = start
            if start + size >= known or size > 15:
                break
            word, more = lowered(load(data, i + start)), lowered(load(data, i + start + 8))
            store(chars, top, word)
            store(chars, top + 8, more)
            top += size
            firsts[waiting] = in_order(word, min(size, 8))
            seconds[waiting], past[waiting] = in_order(more, size - 8) | np.uint64(size), top
            waiting += 1
            at += size + 1
        i += at
        if at == 0 or known < MANY:
            break
    return i, top, waiting


@part
def _cut(data, i, end, blank_before, byte, plain_to, fold, mode, last_word_class, chars, firsts, seconds, past):
    """Cut the next tokens of a document, as many as there is room for: token t is chars[past[t-1]:past[t]].

    Up to the byte `plain_to` most words come whole (`_plain`); what does not, letter by letter.

    Returns (where the next one begins, whether white space was read before it, how many tokens).
    """
    numbers = last_word_class == _DIGIT
    top = open_at = waiting = np.int64(0)
    single_before = irregular = False
    first = key = np.uint64(0)
    while waiting < _CHUNK:
        if top == open_at and i < plain_to and not single_before:
            i, top, waiting = _plain(data, i, end, plain_to, numbers, chars, top, waiting, firsts, seconds, past)
            open_at = top
            if waiting == _CHUNK:
                break
        code = -1  # what is written after the token before it is closed
        closes = True
        here, blank_here = i, blank_before
        if i < end:
            entry = byte[data[i]]
            if entry < _OTHER and not single_before:
                i += 1
                if entry >= _INSIDE:
                    chars[top] = entry & 255
                    top += 1
                    key = key << np.uint64(8) | np.uint64(entry & 255)
                    if top - open_at == 8:
                        first, key = key, np.uint64(0)
                    continue
            else:
                plain, i = _decoded(data, i)
                token_class = fold[plain] >> _SHIFT
                lower = fold[plain] & _LOW
                if mode == READY:
                    closes = token_class == _SPACE
                    code = -1 if closes else plain
                elif token_class == _IGNORABLE:
                    continue
                elif mode == CHAR:
                    if token_class != _SPACE:
                        code = lower
                    elif not blank_before:
                        code = 32
                    blank_before = token_class == _SPACE
                elif token_class == _MARK:
                    closes = False
                    code = lower if top > open_at else -1
                else:
                    inside = token_class >= _LETTER and token_class <= last_word_class
                    closes = single_before or not inside
                    single_before = token_class == _SINGLE
                    code = lower if inside or single_before else -1
        if closes and top > open_at:
            size = top - open_at
            if irregular:
                first, second = _key(chars, open_at, top)
            elif size > 15:
                second = _hash(chars, open_at, top)
            elif size < 8:
                first, second = key << np.uint64(64 - 8 * size), np.uint64(size)
            else:  # two shifts, as one by 64 bits is none
                second = key << np.uint64(120 - 8 * size) << np.uint64(8) | np.uint64(size)
            firsts[waiting], seconds[waiting], past[waiting] = first, second, top
            waiting += 1
            open_at = top
            irregular = False
            first = key = np.uint64(0)
            if waiting == _CHUNK and code >= 0:
                return here, blank_here, waiting  # what closed it is read again
        elif here == end:
            break
        if code >= 0:
            top = _encoded(code, chars, top)
            irregular = True
    return i, blank_before, waiting


@part
def _look_up(
    n, chars, firsts, seconds, past, n_terms, spelling, term_ptr, table, counting, before, used, terms, counts
):
    """Count or number the first n tokens of those `_cut` wrote; returns (n_terms, used). All arrays have room."""
    start = np.int64(0)
    places = np.empty(_CHUNK, np.int64)
    for t in range(n):
        places[t] = slot(firsts[t], seconds[t], table.shape[0])
        prefetch(table, places[t])
    for t in range(n):
        first, second, at = firsts[t], seconds[t], places[t]
        if table[at, FIRST] != first or table[at, SECOND] != second or (second & LONG) == LONG:
            at, n_terms = _entry(at, first, second, chars, start, past[t], n_terms, spelling, term_ptr, table)
        start = past[t]
        if counting and table[at, PLACE] > before:  # places count from 1: the document has it already
            counts[np.int64(table[at, PLACE]) - 1] += 1
        else:
            terms[used] = np.int64(table[at, TERM]) - 1
            used += 1
            if counting:
                counts[used - 1], table[at, PLACE] = 1, used
    return n_terms, used


@kernel
def read(data, starts, fold, mode, digits, counting, n_terms, spelling, term_ptr, table, used, terms, counts):
    """Count the distinct tokens of every document, or number all of them, adding to a table of terms.

    data      the UTF-8 bytes of all documents, one after the other; lone surrogates as their three bytes
    starts    (n+1,) int64 document i is data[starts[i]:starts[i+1]]
    fold      class << 21 | lower case, for every code point (see text/table.py)
    mode      WORD: runs of letters and digits, a `single` alone, marks joined to what precedes them;
              CHAR: every code point, a run of white space counting as one blank;
              READY: what stands between white space, as it is
    digits    whether digits are part of words
    table     see _table.py; term t is spelling[term_ptr[t]:term_ptr[t+1]], in order of first appearance
    used      entries of `terms` and `counts` from earlier calls

    There is room for 1.5 times the bytes in `spelling`, and for as many numbers as bytes in the other arrays.

    Returns (n_terms, table, ends), the table with more room where it needed it: document i has
    terms[ends[i]:ends[i+1]], each with its count; where not `counting`, all its tokens in order.
    """
    last_word_class = _DIGIT if digits else _LETTER
    byte = _bytes(fold, mode, last_word_class)
    plain_to = data.size - MANY - 16 if _is_plain(byte, mode, last_word_class) else 0
    chars = np.empty(data.size * 3 // 2 + 16, np.uint8)  # a lower case can be longer: three bytes for two
    firsts, seconds = np.empty(_CHUNK, np.uint64), np.empty(_CHUNK, np.uint64)
    past = np.empty(_CHUNK, np.int64)
    ends = np.empty(starts.size, np.int64)
    ends[0] = used
    for doc in range(starts.size - 1):
        i, before, blank_before = starts[doc], np.uint64(used), False
        while i < starts[doc + 1]:
            i, blank_before, waiting = _cut(
                data, i, starts[doc + 1], blank_before, byte, plain_to, fold, mode, last_word_class, chars, firsts,
                seconds, past,
            )  # fmt: skip
            if waiting == 0:
                break
            table = table_with_room(table, n_terms, waiting)
            n_terms, used = _look_up(
                waiting,
                chars,
                firsts,
                seconds,
                past,
                n_terms,
                spelling,
                term_ptr,
                table,
                counting,
                before,
                used,
                terms,
                counts,
            )
        ends[doc + 1] = used
    return n_terms, table, ends


@part
def _before(first, second, token, other_first, other_second, other, spelling, ends):
    """Negative if a token stands before another by its bytes, 0 if they are the same, positive otherwise."""
    if first != other_first:
        return -1 if first < other_first else 1
    if (second & LONG) != LONG and (other_second & LONG) != LONG:
        return -1 if second < other_second else np.int64(second > other_second)
    start, begin = ends[token], ends[other]
    size, other_size = ends[token + 1] - start, ends[other + 1] - begin
    for k in range(min(size, other_size)):
        if spelling[start + k] != spelling[begin + k]:
            return -1 if spelling[start + k] < spelling[begin + k] else 1
    return size - other_size


@kernel
def merge(firsts, seconds, tokens, other_firsts, other_seconds, others, spelling, ends):
    """Two lists of distinct tokens, each in order, as one.

    firsts, seconds   the keys of the tokens
    tokens, others    int32, token t is spelling[ends[t]:ends[t+1]]

    Returns the same three of all tokens, and the place there of each token of the one list and of the other.
    """
    n, m = firsts.size, other_firsts.size
    first, second, token = np.empty(n + m, np.uint64), np.empty(n + m, np.uint64), np.empty(n + m, np.int32)
    place, other_place = np.empty(n, np.int32), np.empty(m, np.int32)
    a = b = t = np.int64(0)
    while a < n or b < m:
        if a == n or b == m:
            sign = np.int64(a == n) - np.int64(b == m)
        else:
            sign = _before(
                firsts[a], seconds[a], tokens[a], other_firsts[b], other_seconds[b], others[b], spelling, ends
            )
        if sign <= 0:
            first[t], second[t], token[t], place[a] = firsts[a], seconds[a], tokens[a], t
            a += 1
        else:
            first[t], second[t], token[t] = other_firsts[b], other_seconds[b], others[b]
        if sign >= 0:
            other_place[b] = t
            b += 1
        t += 1
    return first[:t], second[:t], token[:t], place, other_place


@kernel
def keys(chars, ends):
    """(first, second): the keys of all tokens, token t in chars[ends[t]:ends[t+1]]."""
    n = ends.size - 1
    firsts, seconds = np.empty(n, np.uint64), np.empty(n, np.uint64)
    for t in range(n):
        firsts[t], seconds[t] = _key(chars, ends[t], ends[t + 1])
    return firsts, seconds


@kernel
def spelled(items, joint, spelling, ends):
    """(n, k) numbers of terms, plus 1, to bytes: those of a row with `joint` between them, up to the first 0; a line
    feed, which no term has, after every row. Term t is spelling[ends[t]:ends[t+1]].
    """
    n, longest = items.shape
    size = n
    for row in range(n):
        for k in range(longest):
            if items[row, k] > 0:
                size += ends[items[row, k]] - ends[items[row, k] - 1] + (k > 0) * joint.size
    out = np.empty(size, np.uint8)
    top = 0
    for row in range(n):
        for k in range(longest):
            if items[row, k] == 0:
                break
            if k > 0:
                for b in joint:
                    out[top] = b
                    top += 1
            for at in range(ends[items[row, k] - 1], ends[items[row, k]]):
                out[top] = spelling[at]
                top += 1
        out[top] = 10
        top += 1
    return out
