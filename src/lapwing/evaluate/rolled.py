"""Labels with broader ones above them, judged at every level: those of a hierarchy, or as `science/physics` has in its
name.

A decision for science/chemistry where science/physics was right is wrong at the second level and right at the first.
At each level every label counts as those above it of that level; one that is no deeper stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from lapwing.corpus.hierarchy import Hierarchy
from lapwing.errors import InputError

Sets = Sequence[tuple[Hashable, ...]]


def roll_up(truth: Sets, predicted: Iterable[Any], broader: Hierarchy | str) -> list[dict[str, Any]]:
    """F1 over the labels that occur at every level, from the broadest to the labels themselves.

    predicted   a tuple of labels per document, or one label
    broader     what is above which, or what separates it in names

    >>> roll_up([("a/x",), ("a/y",)], [("a/x",), ("a/x",)], "/")[0]["micro_f1"]
    1.0
    """
    chosen = [one if isinstance(one, tuple) else (one,) for one in predicted]
    occur = {label for sets in (truth, chosen) for labels in sets for label in labels}
    if isinstance(broader, str):
        broader = Hierarchy.by_name(occur, broader)
    depth = max((broader.level(label) for labels in truth for label in labels), default=1)
    if depth == 1:
        raise InputError("expected labels with broader ones above them, and none of the documents' labels has any")
    levels = []
    for level in range(1, depth + 1):
        counts_as = {label: broader.at(label, level) for label in occur}
        sets = ([set().union(*(counts_as[label] for label in labels)) for labels in some] for some in (truth, chosen))
        levels.append(_judged(level, *sets))
    return levels


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
