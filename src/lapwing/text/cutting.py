"""Tokens cut by others: by a function of one's own, or by a library for languages without blanks between words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any, cast

from lapwing.errors import InputError, SettingsError
from lapwing.text.table import DIGIT, LETTER, MARK, SINGLE, token_table


@dataclass(frozen=True)
class Cutter:
    """Texts to tokens, which are counted as they come. The name travels in the model file; the function cannot."""

    name: str
    function: Callable[[str], Iterable[str]] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, value: Any) -> Cutter:
        """A cutter, a function, or a name: of a library, or of a function that is not at hand."""
        if isinstance(value, Cutter):
            return value
        if callable(value):
            module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", type(value).__qualname__)
            return cls(f"{module}.{name}" if module else name, value)
        if not isinstance(value, str):
            raise SettingsError(f"tokens must be cut by a function or by one of {', '.join(LIBRARIES)}; got {value!r}")
        return cls(value, LIBRARIES.get(value))

    def __call__(self, text: str) -> list[str]:
        if self.function is None:
            raise InputError(
                f"the model's tokens are cut by {self.name}, which no file can hold; give the function: "
                "lapwing.load(path, tokens=function)"
            )
        return list(self.function(text))

    def between_blanks(self, text: str) -> str:
        """The tokens with a blank between them, as tokens="ready" reads them."""
        tokens = self(text)
        for token in tokens:
            if not isinstance(token, str) or not token or token.split() != [token]:
                raise InputError(f"expected tokens without white space from {self.name}, got {token!r}")
        return " ".join(tokens)


@lru_cache(maxsize=1)
def _jieba() -> Callable[[str], Iterable[str]]:
    """jieba3's cut, or that of jieba, which it took over: they are the same."""
    with suppress(ImportError):
        return cast(Callable[[str], Iterable[str]], import_module("jieba3").jieba3().cut_text)
    try:
        jieba = import_module("jieba")
    except ImportError as error:
        raise InputError(
            'the words of this model are cut by jieba, which is not installed; pip install "lapwing[chinese]"'
        ) from error
    tokenizer = jieba.Tokenizer()
    # As jieba does it, without the copy that it keeps in a folder that anyone may write to.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return cast(Callable[[str], Iterable[str]], tokenizer.cut)


def cut_by_jieba(text: str) -> list[str]:
    """Words as jieba finds them, lower-cased by the token table; what has neither letters nor digits is left out."""
    table = token_table(2)  # whatever comes later: models know what cuts their words by its name
    words = _jieba()(text.translate(table.lower))
    return [word for word in words if word and all(table.class_of(c) in (LETTER, DIGIT, SINGLE, MARK) for c in word)]


LIBRARIES: dict[str, Callable[[str], Iterable[str]]] = {"jieba": cut_by_jieba}
