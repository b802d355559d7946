"""The versioned token table: for every code point its class and its lower case.

One table serves the kernel, plain Python and the page, so that all of them cut a text alike whatever
the Unicode data of the Python at hand. A model names the version it was trained with.

letter, digit   a word is a run of these (digits may be told to separate)
single          a letter of a script without spaces between words: a token of its own
mark            belongs to the token before it, starts none
ignorable       invisible; dropped wherever it stands
space           white space, and lone surrogates
separator       all the rest

From version 2 on it also has a bound on the letters of a word that is stemmed: some stemmers take the square of them.
From version 3 on full-width letters and digits, as East Asian texts have them, are those of ASCII.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files

import numpy as np

from lapwing.errors import SettingsError

SEPARATOR, LETTER, DIGIT, SINGLE, MARK, IGNORABLE, SPACE = range(7)
CODE_POINTS = 0x110000
CLASS_SHIFT = 21  # a code point takes 21 bits; the class stands above them
CURRENT_VERSION = 3


@dataclass(frozen=True)
class TokenTable:
    version: int
    runs: tuple[tuple[int, int, int], ...]  # first, last, class; what is in no run separates
    lower: dict[int, int]
    longest_stemmed: int | None = None  # letters; a longer word stays as it is

    @cached_property
    def fold(self) -> np.ndarray:
        """class << CLASS_SHIFT | lower case, for every code point: what the kernel reads."""
        fold = np.arange(CODE_POINTS, dtype=np.int32)
        codes = np.fromiter(self.lower, dtype=np.int64, count=len(self.lower))
        fold[codes] = np.fromiter(self.lower.values(), dtype=np.int32, count=len(self.lower))
        for first, last, token_class in self.runs:
            fold[first : last + 1] |= token_class << CLASS_SHIFT
        return fold

    def class_of(self, letter: str) -> int:
        return int(self.fold[ord(letter)]) >> CLASS_SHIFT

    def members(self, *classes: int) -> str:
        """The code points of some classes, as the inside of a regular expression's [...]."""
        return "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b, c in self.runs if c in classes)


@lru_cache(maxsize=4)
def token_table(version: int = CURRENT_VERSION) -> TokenTable:
    source = files("lapwing.text") / "data" / f"token-table-{version}.json"
    if not 1 <= version <= CURRENT_VERSION:
        raise SettingsError(f"token table {version} is not part of this lapwing; a newer release may have it")
    table = json.loads(source.read_text(encoding="ascii"))
    if "like" in table:  # an earlier version, but for what is said here
        earlier = token_table(table["like"])
        shifted = {first + i: to + i for first, last, to in table.get("shifted", ()) for i in range(last - first + 1)}
        longest = table.get("longest_stemmed", earlier.longest_stemmed)
        return TokenTable(version, earlier.runs, earlier.lower | shifted, longest)
    return TokenTable(version, tuple(map(tuple, table["runs"])), dict(table["lower"]))
