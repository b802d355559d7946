"""Write the signatures of the estimators from the table of parameters: `python scripts/signatures.py`.

They are explicit, as scikit-learn and editors want them, and stand in one file that is made whole:
src/lapwing/estimators/_signatures.py. A test compares it with what this would write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from pathlib import Path
from textwrap import indent, wrap
from types import MappingProxyType
from typing import Any, NamedTuple

from lapwing.params import (
    CrossValidationParameters,
    NgramParameters,
    TextParameters,
    TrainParameters,
    about,
)

TARGET = Path(__file__).resolve().parents[1] / "src" / "lapwing" / "estimators" / "_signatures.py"
HEAD = '''"""Signatures of the estimators, made by scripts/signatures.py from the table of parameters. Do not edit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.selection import Utility
    from lapwing.stats.priors import Prior

# fmt: off


def _keep(estimator: object, given: dict[str, Any]) -> None:
    """The arguments as attributes, unchanged, as scikit-learn asks of an estimator."""
    vars(estimator).update({name: value for name, value in given.items() if name not in ("self", "__class__")})
'''
TEXT, NGRAMS, CV, TRAIN = TextParameters, NgramParameters, CrossValidationParameters, TrainParameters
COLUMNS = {"text_column": ("str", "text"), "numeric": ("Sequence[str]", ()), "categorical": ("Sequence[str]", ())}
CUT_BY = "str | Callable[[str], Iterable[str]]"


class Signature(NamedTuple):
    """Tables whose parameters an estimator has, but for some; those with another type or default; those of its own.

    positional   the first may be given without its name
    """

    tables: tuple[type[Any], ...]
    without: str
    other: Mapping[str, tuple[str, Any]] = MappingProxyType({})
    own: Mapping[str, tuple[str, Any]] = MappingProxyType({})
    positional: bool = False


NOT_OF_MAP = "label_words method alpha hessian max_gap"
SIGNATURES = {
    "LogTfidfVectorizer": Signature((TEXT,), "max_gap", {"tokens": (CUT_BY, "word")}),
    "TextClassifier": Signature((TEXT, TRAIN), NOT_OF_MAP, {"tokens": (CUT_BY, "word")}, COLUMNS),
    "MAPClassifier": Signature((TRAIN,), NOT_OF_MAP, positional=True),
    "SelectedRidgeClassifier": Signature(
        (TRAIN,), "prior label_words multi_class reference_class method solver max_features"
    ),
    "NgramClassifier": Signature(
        (TEXT, NGRAMS, TRAIN),
        "word_ngrams char_ngrams min_df tf idf cosine prior label_words link multi_class reference_class method alpha "
        "hessian standardize max_features select_features feature_score",
        {"stemmer": ("str", "none"), "solver": ("str", "exact")},
    ),
}


def parameters(signature: Signature) -> Iterator[tuple[str, str, Any]]:
    """Names, types and defaults."""
    for name, (kind, default) in signature.own.items():
        yield name, kind, default
    for one in (one for table in signature.tables for one in _flat(table)):
        name = about(one).name or one.name
        if name in signature.without.split():
            continue
        kind, default = signature.other.get(name, (str(one.type), None if name == "n_jobs" else one.default))
        yield name, kind.replace("tuple[str, ...]", "Sequence[str]"), default


def _flat(table: type[Any]) -> Iterator[Field[Any]]:
    """Those of cross-validation stand behind those it is for."""
    for one in fields(table):
        if about(one).single:
            yield one
        if one.name == "calibrate":
            yield from _flat(CV)


def text() -> str:
    return HEAD + "".join(map(_class, SIGNATURES, SIGNATURES.values()))


def _class(name: str, signature: Signature) -> str:
    """One line break is where a line is full, none inside a parameter."""
    listed = [f"{one}: {kind} = {_literal(default)}" for one, kind, default in parameters(signature)]
    listed.insert(int(signature.positional), "*")
    words = (f"{one},".replace(" ", "\0") for one in ["self", *listed])
    lines = "\n".join(wrap(" ".join(words), 112, break_long_words=False, break_on_hyphens=False)).replace("\0", " ")
    body = f"def __init__(\n{indent(lines, '    ')}\n) -> None:\n    _keep(self, locals())\n"
    return f"\n\nclass {name}Parameters:\n{indent(body, '    ')}"


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
