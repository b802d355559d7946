"""Parts that stand in packages of their own, found by entry points; any package may add some (docs/extend.md).

    lapwing.readers        a class derived from `lapwing.corpus.reader.Reader`, under the name of its format
    lapwing.records        a function (record, key of the text, key of the label or None) that gives a JSON record of
                           another tool's form as a plain one, and where its labels come from, a set of words
    lapwing.vocabularies   a function (path, language) that reads a vocabulary, under the ending of its file
    lapwing.commands       a click command, under its name
    lapwing.exporters      a function from a model to the text or bytes of a file, under the name of its form
    lapwing.solvers        a function that fits as `lapwing.solvers.newton.fit` does, under its name
    lapwing.methods        a function of a model, which is then a method of it (lapwing registers its own)

Entry points are read on first use, and a part is imported when it is needed.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any

from lapwing.errors import LapwingError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger(__name__)


@cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group such as "readers", in the order of their names; none is imported."""
    from importlib.metadata import entry_points  # takes as long to import as the command to start

    return {point.name: point for point in sorted(entry_points(group=f"lapwing.{group}"), key=lambda point: point.name)}


@cache
def plugin(group: str, name: str) -> Any:
    point = plugins(group)[name]
    try:
        return point.load()
    except Exception as error:  # whatever the package does when it is imported
        raise LapwingError(f"{name!r} of lapwing.{group} cannot be loaded from {point.value}: {error}") from error


@cache
def working(group: str) -> dict[str, Any]:
    """All parts of a group by name; one that cannot be loaded is a warning, and left out."""
    parts = {}
    for name in plugins(group):
        try:
            parts[name] = plugin(group, name)
        except LapwingError as error:
            log.warning("%s", error)
    return parts
