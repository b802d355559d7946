"""What is done to a text on its way to a vector, and nothing else: it travels in the model file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from lapwing.errors import SettingsError
from lapwing.params import TextParameters, checked, described, parameter
from lapwing.text.cutting import LIBRARIES, Cutter
from lapwing.text.table import CURRENT_VERSION, token_table

TOKENS = ("word", "char", "ready")
MOST_WORDS, MOST_CHARACTERS = 3, 6  # of an n-gram: so many fit a key of kernels/bags.py, whatever they are


@described
@dataclass(frozen=True)
class TextSettings(TextParameters):
    """What is done to a text. GLM07 section 5.1 by default, but for its stop list: Porter stems, log TF x IDF, norm."""

    table: int = parameter(CURRENT_VERSION, python="version of the token table", least=1)
    ngrams: bool = parameter(
        False, python="whether terms are n-grams, of which some were chosen; 1 where a document has them"
    )
    cut: Cutter | None = parameter(None, python="what cuts texts into ready tokens; given as `tokens`")

    def __post_init__(self) -> None:
        given: Any = self.tokens
        if callable(given) or given in LIBRARIES or self.cut is not None:
            object.__setattr__(self, "cut", Cutter.of(given if self.cut is None else self.cut))
            object.__setattr__(self, "tokens", "ready")
        checked(self)
        _one_of("tokens", self.tokens, (*TOKENS, *LIBRARIES))
        if isinstance(self.stop_words, str):
            _one_of("stop_words", self.stop_words, ("smart", "none"))
        else:
            object.__setattr__(self, "stop_words", tuple(self.stop_words))
            if not all(isinstance(word, str) for word in self.stop_words):
                raise SettingsError("stop_words must be 'smart', 'none' or a list of strings")
        if self.stemmer != "none":
            _one_of("stemmer", self.stemmer, ("none", *stemmer_names()))
        for name in ("digits", "strip_html", "idf", "cosine", "ngrams"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"{name} must be True or False, got {getattr(self, name)!r}")
        token_table(self.table)
        self._check_lengths()

    def _check_lengths(self) -> None:
        for name, most in (("word_ngrams", MOST_WORDS), ("char_ngrams", MOST_CHARACTERS)):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, _lengths(name, value, most))
        if self.char_ngrams and self.word_ngrams != (1, 1):
            raise SettingsError(
                f"word_ngrams must be (1, 1) beside char_ngrams, which take their place, got {self.word_ngrams}"
            )
        if self.tokens == "char" and self.word_ngrams != (1, 1):
            raise SettingsError(
                f"word_ngrams need words, and tokens are characters; use char_ngrams={self.word_ngrams}"
            )
        if self.ngrams and self.is_bag:
            raise SettingsError("word_ngrams and char_ngrams are all in use; a search for n-grams has none of them")

    @cached_property
    def is_bag(self) -> bool:
        """Whether terms are n-grams, all of them."""
        return self.char_ngrams is not None or self.word_ngrams != (1, 1)

    @cached_property
    def lengths(self) -> tuple[int, int]:
        """Of the n-grams that are terms."""
        return self.char_ngrams or self.word_ngrams

    @cached_property
    def inside_words(self) -> bool:
        """Whether they are n-grams of the characters of each token."""
        return self.char_ngrams is not None and self.tokens != "char"

    @cached_property
    def joint(self) -> str:
        """What stands between the parts of an n-gram's name: nothing where they are characters."""
        return "" if self.tokens == "char" or self.char_ngrams else " "

    @cached_property
    def stems(self) -> bool:
        """Whether tokens are stemmed: words are, single characters and ready-made tokens are not."""
        return self.tokens == "word" and self.stemmer != "none" and not self.char_ngrams

    @cached_property
    def stop_set(self) -> frozenset[str]:
        """Every token of every entry of the stop list: "don't" stops "don" and "t"."""
        from lapwing.text.tokens import tokenize

        if self.tokens != "word" or self.stop_words == "none" or self.char_ngrams:
            return frozenset()
        words = smart_stop_words() if self.stop_words == "smart" else self.stop_words
        return frozenset(token for word in words for token in tokenize(word, self))

    def prepared(self, text: str) -> str:
        """The text as tokens are cut from it: without markup, or cut already with blanks between its tokens."""
        text = self.visible(text)
        return text if self.cut is None else self.cut.between_blanks(text)

    def visible(self, text: str) -> str:
        """The text without markup, where that is asked for."""
        from lapwing.text.tokens import strip_html

        return strip_html(text) if self.strip_html and (self.tokens != "ready" or self.cut) else text

    def to_dict(self) -> dict[str, Any]:
        record = asdict(replace(self, cut=None)) | {"cut": self.cut.name if self.cut else None}
        if self.cut is None:
            del record["cut"]
        if not self.max_gap:
            del record["max_gap"]
        if not self.ngrams:
            del record["ngrams"]  # as in files from before there were any
        for name, default in (("word_ngrams", (1, 1)), ("char_ngrams", None)):
            lengths = record.pop(name)
            if lengths != default:
                record[name] = list(lengths)
        if not isinstance(self.stop_words, str):
            record["stop_words"] = list(self.stop_words)
        return record

    @classmethod
    def for_ngrams(cls, **given: Any) -> TextSettings:
        """The defaults for n-grams: words as they are, neither stopped nor stemmed; present or not."""
        return cls(**{"stop_words": "none", "stemmer": "none", "tf": "binary", "idf": False, "cosine": False, **given})

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> TextSettings:
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(record) - known):
            raise SettingsError(f"unknown text setting {unknown[0]!r}; there are {', '.join(sorted(known))}")
        values = dict(record)
        if isinstance(values.get("stop_words"), list):
            values["stop_words"] = tuple(values["stop_words"])
        return cls(**values)


def _lengths(name: str, value: Any, most: int) -> tuple[int, int]:
    """Two whole numbers, as a tuple of plain ones."""
    pair = tuple(value) if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else ()
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in pair)
    if len(pair) != 2 or not whole or not 1 <= pair[0] <= pair[1] <= most:
        raise SettingsError(f"{name} must be two whole numbers, from 1 to {most}, the smaller first; got {value!r}")
    return int(pair[0]), int(pair[1])


def _one_of(name: str, value: object, allowed: Iterable[str]) -> None:
    if value not in tuple(allowed):
        raise SettingsError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")


@lru_cache(maxsize=1)
def stemmer_names() -> tuple[str, ...]:
    import Stemmer

    return tuple(Stemmer.algorithms())


@lru_cache(maxsize=1)
def smart_stop_words() -> tuple[str, ...]:
    """The SMART system's list of 570 English function words."""
    return tuple((files("lapwing.text") / "data" / "smart.txt").read_text(encoding="ascii").split())
