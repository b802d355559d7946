"""Porter's stemmer (1980), as Snowball has it, over the UTF-8 bytes of many words: PyStemmer's "porter" to the letter.

A `y` that is a consonant is written Y meanwhile. p1 and p2 are where R1 and R2 begin, after the first and the second
consonant that follows a vowel: an ending that begins there or later is in R1 (Porter's m > 0) or in R2 (m > 1).
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part

_E, _I, _L, _S, _T, _Y, _CONSONANT_Y = (np.uint8(ord(letter)) for letter in "eilstyY")
_VOWEL, _LONG = 1, 2  # after a consonant of the second kind no e is missed
_KIND = np.array([_VOWEL if chr(b) in "aeiouy" else _LONG if chr(b) in "wxY" else 0 for b in range(256)], np.uint8)


# Endings, step by step, and what becomes of them: of those that a word has the longest counts.
_STEPS = (
    ("sses ss", "ies i", "ss ss", "s"),
    ("eed ee", "ed", "ing"),
    ("at ate", "bl ble", "iz ize", *(f"{c}{c} {c}" for c in "bdfgmnprt")),
    (
        "tional tion", "enci ence", "anci ance", "abli able", "entli ent", "eli e", "izer ize", "ization ize",
        "ational ate", "ation ate", "ator ate", "alli al", "alism al", "aliti al", "fulness ful", "ousli ous",
        "ousness ous", "iveness ive", "iviti ive", "biliti ble",
    ),
    ("alize al", "icate ic", "iciti ic", "ical ic", "ative", "ful", "ness"),
    (
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism", "ate", "iti",
        "ous", "ive", "ize", "ion",
    ),
)  # fmt: skip
_PAIRS = [pair for step in _STEPS for pair in sorted((c.partition(" ")[::2] for c in step), key=lambda p: -len(p[0]))]
_FIRST = np.cumsum([0, *map(len, _STEPS)])  # of each step, among all
_ENDING = np.array([int.from_bytes(old.encode(), "big") for old, _ in _PAIRS], np.uint64)
_BITS = np.array([(1 << 8 * len(old)) - 1 for old, _ in _PAIRS], np.uint64)
_SIZE = np.array([len(old) for old, _ in _PAIRS])
_NEW = np.array([list(new.encode().ljust(4, b"\0")) for _, new in _PAIRS], np.uint8)
_EED, _ION = (next(k for k, (old, _) in enumerate(_PAIRS) if old == which) for which in ("eed", "ion"))


@part
def _vowel(letter):
    return _KIND[letter] == _VOWEL


@part
def _has_vowel(word, n):
    for k in range(n):
        if _vowel(word[k]):
            return True
    return False


@part
def _after_consonant(word, n, k):
    """Past the first consonant that follows the first vowel from k on; n where there is none."""
    while k < n and not _vowel(word[k]):
        k += 1
    while k < n and _vowel(word[k]):
        k += 1
    if k < n:
        k += 1
    while k < n and word[k] & 0xC0 == 0x80:  # a letter of several bytes
        k += 1
    return k


@part
def _ends_short(word, n):
    """Whether it ends in a consonant, a vowel, and a consonant that is none of w, x, y."""
    k = n - 1
    while k > 0 and word[k] & 0xC0 == 0x80:
        k -= 1
    return k >= 2 and not _vowel(word[k - 2]) and _vowel(word[k - 1]) and _KIND[word[k]] == 0


@part
def _found(word, n, step):
    """The number of the longest ending of a step that the word has, -1 for none."""
    tail = np.uint64(0)
    for k in range(max(n - 8, 0), n):
        tail = tail << np.uint64(8) | np.uint64(word[k])
    for k in range(_FIRST[step], _FIRST[step + 1]):
        if tail & _BITS[k] == _ENDING[k]:
            return k
    return -1


@part
def _replaced(word, n, k):
    """The word with what becomes of ending k; returns its length."""
    n -= _SIZE[k]
    for c in range(4):
        if _NEW[k, c] != 0:
            word[n] = _NEW[k, c]
            n += 1
    return n


@part
def _without_ed(word, n, p1):
    """Step 1b."""
    k = _found(word, n, 1)
    if k == _EED:
        return n - 1 if n - 3 >= p1 else n
    if k < 0 or not _has_vowel(word, n - _SIZE[k]):
        return n
    n -= _SIZE[k]
    k = _found(word, n, 2)
    if k >= 0:
        return _replaced(word, n, k)
    if n == p1 and _ends_short(word, n):
        word[n] = _E
        n += 1
    return n


@part
def _stem(word, n):
    """Make the first n bytes of `word`, which has room for one more, their stem; returns its length."""
    for k in range(n):
        if word[k] == _Y and (k == 0 or _vowel(word[k - 1])):
            word[k] = _CONSONANT_Y
    p1 = _after_consonant(word, n, 0)
    p2 = _after_consonant(word, n, p1)
    k = _found(word, n, 0)
    if k >= 0:
        n = _replaced(word, n, k)
    n = _without_ed(word, n, p1)
    if n > 0 and (word[n - 1] == _Y or word[n - 1] == _CONSONANT_Y) and _has_vowel(word, n - 1):
        word[n - 1] = _I
    for step in range(3, 6):
        k = _found(word, n, step)
        begin = n - _SIZE[k]
        if k >= 0 and begin >= (p2 if step == 5 else p1):
            if k != _ION or (begin > 0 and (word[begin - 1] == _S or word[begin - 1] == _T)):
                n = _replaced(word, n, k)
    if n > 0 and word[n - 1] == _E and (n - 1 >= p2 or (n - 1 >= p1 and not _ends_short(word, n - 1))):
        n -= 1
    if n > 1 and word[n - 1] == _L and n - 1 >= p2 and word[n - 2] == _L:
        n -= 1
    for k in range(n):
        if word[k] == _CONSONANT_Y:
            word[k] = _Y
    return n


@kernel
def stems(chars, ends, left_out, longest):
    """Words to their stems, word t in chars[ends[t]:ends[t+1]].

    left_out  (n,) bool: words of which nothing is left
    longest   words of more letters stay as they are

    Returns (stems, ends), in the same manner.
    """
    n = ends.size - 1
    out, past = np.empty(chars.size + 2, np.uint8), np.empty(n + 1, np.int64)
    past[0] = top = np.int64(0)
    for t in range(n):
        if not left_out[t]:
            letters = size = np.int64(0)
            for k in range(ends[t], ends[t + 1]):
                out[top + size] = chars[k]
                letters += chars[k] & 0xC0 != 0x80
                size += 1
            if letters <= longest:
                size = _stem(out[top:], size)
            top += size
        past[t + 1] = top
    return out[:top], past
