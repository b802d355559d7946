"""Labels with broader ones above them: by a file of pairs, by a vocabulary in SKOS, or by their own names.

A label may have several broader ones, and no label stands above itself. Its level is 1 where nothing is above it, else
one more than the deepest of its broader ones, so that whatever is above a label is of a lower level.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lapwing.errors import CorpusError, InputError, some
from lapwing.files import read_regular
from lapwing.plugins import plugin, plugins


@dataclass(frozen=True)
class Hierarchy:
    """above   of every label that has any, the next broader ones

    >>> tree = Hierarchy.of([("optics", "physics"), ("physics", "science")])
    >>> tree.broader("optics")
    ('physics', 'science')
    >>> tree.level("optics")
    3
    """

    above: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Hierarchy:
        """From (narrower, broader)."""
        above: dict[str, dict[str, None]] = {}
        for narrower, broader in pairs:
            above.setdefault(narrower, {})[broader] = None
        hierarchy = cls({label: tuple(some) for label, some in above.items()})
        _ = hierarchy._levels  # a circle is found here
        return hierarchy

    @classmethod
    def read(cls, path: str | os.PathLike[str], language: str | None = None) -> Hierarchy:
        """Lines of a label, a tab and a broader one; or SKOS, in which labels are known by URI and by name."""
        form = Path(path).suffix.lower().removeprefix(".")
        if form in plugins("vocabularies"):
            vocabulary = plugin("vocabularies", form)(path, language)
            label = vocabulary.labels
            names = [(label[a], label[b]) for a, b in vocabulary.broader if a in label and b in label]
            pairs: Iterable[tuple[str, str]] = (*vocabulary.broader, *names)
        else:
            pairs = _read_pairs(Path(path))
        try:
            return cls.of(pairs)
        except InputError as error:
            raise CorpusError(str(error), str(path)) from error

    @classmethod
    def by_name(cls, labels: Iterable[Hashable], separator: str) -> Hierarchy:
        """What stands before the last separator in a name is above it, as science is above science/physics."""
        pairs = {}
        for label in labels:
            parts = str(label).split(separator)
            for count in range(len(parts), 1, -1):
                pairs[separator.join(parts[:count])] = separator.join(parts[: count - 1])
        if not pairs:
            raise InputError(
                f"expected labels of several levels, and none has {separator!r} in it; name what separates them"
            )
        return cls.of(pairs.items())

    def broader(self, label: Hashable) -> tuple[str, ...]:
        """All that is above a label, the nearest first."""
        ancestors: dict[str, None] = {}
        here: Sequence[str] = (str(label),)
        while here:
            here = [one for label in here for one in self.above.get(label, ()) if one not in ancestors]
            ancestors.update(dict.fromkeys(here))
        return tuple(ancestors)

    def level(self, label: Hashable) -> int:
        return self._levels.get(str(label), 1)

    def at(self, label: Hashable, level: int) -> set[str]:
        """What a label counts as at a level: those above it that are of this level; itself where it is no deeper."""
        if self.level(label) <= level:
            return {str(label)}
        return {one for one in self.broader(label) if self.level(one) == level}

    def added(self, labels: Iterable[tuple[Hashable, float]]) -> list[tuple[Hashable, float]]:
        """Labels with probabilities, and all that is above them: at least as probable as the most probable below.

        The most probable first, and of equal ones the narrower.
        """
        best: dict[Hashable, float] = {}
        for label, probability in labels:
            for one in (label, *self.broader(label)):
                best[one] = max(best.get(one, 0.0), probability)
        return sorted(best.items(), key=lambda item: (-item[1], -self.level(item[0])))

    def check(self, labels: Sequence[Hashable], where: str) -> None:
        """Some of the labels must be in it."""
        known = {str(label) for label in labels}
        if known.isdisjoint(self.above):
            raise InputError(
                f"{where}: expected broader labels of the model's categories ({some(labels, 3)}), found them of "
                f"{some(list(self.above), 3)}; name categories as the model does"
            )

    @cached_property
    def _levels(self) -> dict[str, int]:
        """Depth first, without recursion: a chain may be longer than Python's stack."""
        levels: dict[str, int] = {}
        for start in self.above:
            path: dict[str, Iterator[str]] = {}
            if start not in levels:
                path[start] = iter(self.above[start])
            while path:
                label, rest = next(reversed(path.items()))
                ahead = next((one for one in rest if one not in levels), None)
                if ahead is None:
                    path.popitem()
                    levels[label] = 1 + max((levels[one] for one in self.above.get(label, ())), default=0)
                elif ahead in path:
                    circle = [*list(path)[list(path).index(ahead) :], ahead]
                    raise InputError(
                        f"expected no label above itself, found {' below '.join(circle)}; remove one of these pairs"
                    )
                else:
                    path[ahead] = iter(self.above.get(ahead, ()))
        return levels


def _read_pairs(path: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = read_regular(path).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"expected a text file in UTF-8; {error}", str(path)) from error
    any_pair = False
    for number, line in enumerate(lines, 1):
        parts = [part.strip() for part in line.split("\t")]
        if not line.strip():
            continue
        if len(parts) != 2 or not all(parts):
            raise CorpusError(
                f"expected a label, a tab and a broader one, got {line.strip()[:60]!r}", str(path), number
            )
        any_pair = True
        yield parts[0], parts[1]
    if not any_pair:
        raise CorpusError("expected lines of a label, a tab and a broader one, and found none", str(path))
