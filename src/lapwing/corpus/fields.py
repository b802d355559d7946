"""The small values of a record, as every reader understands them: labels, split, weight."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

LABEL_NAMES = ("label", "labels", "category", "class", "target")
SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "development": "validation",
}


class BadRecord(Exception):
    """What is wrong with a record, for the reader to say where it stands."""


def sound(text: str) -> str:
    """`text` with lone surrogates, which no encoding can write again, replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def label_name(value: Any) -> str:
    """A label as a string: 3 and 3.0 are "3", True is "true"."""
    if isinstance(value, str):
        return sound(value.strip())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    raise BadRecord(f"expected a label that is a string, number or true/false, got {short(value)}")


QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")

TUPLE = re.compile(r"""\(\)|set\(\)|(?!\{[^:]*['"]\s*:)[({]\s*['"].*['"],?\s*[)}]""", re.DOTALL)
NUMBERS = re.compile(r"\[[-\d\s]+\]")  # as NumPy writes them
ESCAPED = re.compile(r"\\(?:x([\da-f]{2})|u([\da-f]{4})|U(00(?:0[\da-f]|10)[\da-f]{4})|(.))", re.DOTALL)  # by Python


def is_list(cell: str) -> bool:
    """Whether a cell is a list as JSON, Python and NumPy write it: `["a", "b"]`, `['a' 'b']`; or a tuple or set."""
    return (cell.startswith("[") and cell.endswith("]")) or TUPLE.fullmatch(cell) is not None


def several_labels(cell: str, separator: str) -> list[Any]:
    """The labels in a cell: what stands between separators, or in a list."""
    cell = cell.strip()
    if not is_list(cell):
        return cell.split(separator)
    with suppress(ValueError, RecursionError):
        items: list[Any] = json.loads(cell)
        return items
    quoted = [ESCAPED.sub(_unescaped, one or other) for one, other in QUOTED.findall(cell)]
    return quoted or cell.removeprefix("set")[1:-1].split(None if NUMBERS.fullmatch(cell) else separator)


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    return chr(int(code, 16)) if code else {"n": "\n", "t": "\t", "r": "\r"}.get(escape[4], escape[4])


def label_set(labels: Iterable[str]) -> tuple[str, ...]:
    """Distinct labels, sorted, empty ones dropped."""
    return tuple(sorted({label for label in labels if label}))


def split_name(value: Any) -> str:
    """train, validation or test from its usual spellings; "" for none."""
    if value is None or value == "":
        return ""
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in SPLIT_WORDS:
        raise BadRecord(f"expected split train, validation, test or nothing, got {short(value)}")
    return SPLIT_WORDS[word]


def split_of_folder(name: str) -> str:
    """The split a folder is named for: `train`, `20news-bydate-train`; "" for other names."""
    return SPLIT_WORDS.get(re.split(r"[-_.]", name.lower())[-1], "")


def split_of_folders(names: Sequence[str]) -> str:
    """The split that the nearest of these folders is named for, of which the last is the nearest."""
    return next((split for split in map(split_of_folder, reversed(names)) if split), "")


def split_of_file(name: str) -> str:
    """The split a file is named for: `train.csv`, `lyrl2004_tokens_test_pt0.dat`; "" for other names."""
    words = [SPLIT_WORDS[word] for word in re.split(r"[-_.]", name.lower()) if word in SPLIT_WORDS]
    return words[-1] if words else ""


def _float(value: Any) -> float:
    """A number as other programs read it, too; ValueError and the like for what is none."""
    if isinstance(value, str) and "_" in value:
        raise ValueError("1_000 is a number to Python only")
    return float(value)


def weight_value(value: Any) -> float:
    if value is None or value == "":
        return 1.0
    try:
        weight = _float(value)
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if isinstance(value, bool) or not math.isfinite(weight) or weight < 0:
        raise BadRecord(f"expected a weight that is a number >= 0, got {short(value)}")
    return weight


def number_value(value: Any, column: str) -> float | None:
    """A number; None where it is not known."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = _float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if math.isinf(number):
        raise BadRecord(f"expected a number under {column!r}, or nothing where it is not known, got {short(value)}")
    return None if math.isnan(number) else number


def level_value(value: Any, column: str) -> str | None:
    """What a categorical column holds, as a label is spelled; None where it is not known."""
    if value is None or value != value:
        return None
    try:
        return label_name(value) or None
    except BadRecord:
        raise BadRecord(f"expected a string, a number or true/false under {column!r}, got {short(value)}") from None


def short(value: Any) -> str:
    """`value` for an error message, however long it is."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # an integer of more digits than Python prints; deep nesting
        shown = f"a huge {type(value).__name__}"
    return shown if len(shown) <= 60 else shown[:57] + "..."


def bare(uri: str) -> str:
    """A URI without the angle brackets around it."""
    uri = uri.strip()
    return uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri
