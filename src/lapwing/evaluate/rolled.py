"""Labels with broader ones in their names, `science/physics`, judged at every level.

A decision for science/chemistry where science/physics was right is wrong at the second level and right at the first.
At each level every label is cut to so many parts; one with fewer stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from lapwing.errors import InputError

Sets = Sequence[tuple[Hashable, ...]]


def roll_up(truth: Sets, predicted: Iterable[Any], separator: str) -> list[dict[str, Any]]:
    """F1 over the labels that occur at every level, from the broadest to the labels themselves.

    predicted   a tuple of labels per document, or one label

    >>> roll_up([("a/x",), ("a/y",)], [("a/x",), ("a/x",)], "/")[0]["micro_f1"]
    1.0
    """
    chosen = [one if isinstance(one, tuple) else (one,) for one in predicted]
    depth = max((str(label).count(separator) for labels in truth for label in labels), default=0) + 1
    if depth == 1:
        raise InputError(
            f"expected labels of several levels, and none has {separator!r} in it; name what separates them"
        )
    return [
        _judged(level, *(_cut(sets, level, separator) for sets in (truth, chosen))) for level in range(1, depth + 1)
    ]


def _cut(sets: Sets, level: int, separator: str) -> list[set[str]]:
    return [{separator.join(str(label).split(separator)[:level]) for label in labels} for labels in sets]


def _judged(level: int, truth: list[set[str]], chosen: list[set[str]]) -> dict[str, Any]:
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for true, mine in zip(truth, chosen, strict=True):
        right.update(true & mine)
        wrong.update(mine - true)
        missed.update(true - mine)
    occur = sorted(set().union(*truth)) if truth else []
    scores = [2 * right[label] / (2 * right[label] + wrong[label] + missed[label]) for label in occur]
    tp, errors = sum(right[one] for one in occur), sum(wrong[one] + missed[one] for one in occur)
    return {
        "level": level,
        "labels": len(occur),
        "macro_f1": sum(scores) / len(scores) if scores else float("nan"),
        "micro_f1": 2 * tp / (2 * tp + errors) if occur else float("nan"),
    }
