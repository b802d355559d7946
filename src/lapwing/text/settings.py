"""What is done to a text on its way to a vector, and nothing else: it travels in the model file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from lapwing.errors import SettingsError
from lapwing.text.table import CURRENT_VERSION, token_table

TOKENS = ("word", "char", "ready")
TF = ("log", "raw", "binary")


@dataclass(frozen=True)
class TextSettings:
    """GLM07 section 5.1 by default: SMART stop list, Porter stems, log TF x IDF, cosine norm.

    tokens      "word", "char", or "ready": tokens between blanks, neither folded, stopped nor stemmed
    digits      whether digits are part of words
    strip_html  whether markup is removed first
    stop_words  "smart", "none", or the words themselves; for words only, as is
    stemmer     a Snowball algorithm by name, or "none"
    tf          "log": 1 + ln n(i,j); "raw": n(i,j); "binary": 1
    idf         whether to multiply by ln((|D|+1)/(n(j)+1))
    cosine      whether to divide by the Euclidean norm over all terms of the document
    min_df      terms in fewer training documents get no column; they still count in the norm
    table       version of the token table
    ngrams      whether terms are n-grams, of which some were chosen; 1 where a document has them
    """

    tokens: str = "word"
    digits: bool = True
    strip_html: bool = False
    stop_words: str | tuple[str, ...] = "smart"
    stemmer: str = "porter"
    tf: str = "log"
    idf: bool = True
    cosine: bool = True
    min_df: int = 1
    table: int = CURRENT_VERSION
    ngrams: bool = False

    def __post_init__(self) -> None:
        _one_of("tokens", self.tokens, TOKENS)
        _one_of("tf", self.tf, TF)
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
        for name in ("min_df", "table"):
            value = getattr(self, name)
            if isinstance(value, np.integer):  # as grid searches give them
                object.__setattr__(self, name, value := int(value))
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingsError(f"{name} must be a whole number of 1 or more, got {value!r}")
        token_table(self.table)

    @property
    def stems(self) -> bool:
        """Whether tokens are stemmed: words are, single characters and ready-made tokens are not."""
        return self.tokens == "word" and self.stemmer != "none"

    @cached_property
    def stop_set(self) -> frozenset[str]:
        """Every token of every entry of the stop list: "don't" stops "don" and "t"."""
        from lapwing.text.tokens import tokenize

        if self.tokens != "word" or self.stop_words == "none":
            return frozenset()
        words = smart_stop_words() if self.stop_words == "smart" else self.stop_words
        return frozenset(token for word in words for token in tokenize(word, self))

    def to_dict(self) -> dict[str, Any]:
        record = asdict(self)
        if not self.ngrams:
            del record["ngrams"]  # as in files from before there were any
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
