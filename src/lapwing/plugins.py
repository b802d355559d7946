"""Parts that stand in packages of their own, found by entry points; any package may add some (docs/extend.md).

    lapwing.readers      a class derived from `lapwing.corpus.reader.Reader`, under the name of its format
    lapwing.records      a function that gives a JSON record of another tool's form as a plain one
    lapwing.commands     a click command, under its name
    lapwing.exporters    a function from a model to the text or bytes of a file, under the name of its form
    lapwing.solvers      a function that fits as `lapwing.solvers.newton.fit` does, under its name

Entry points are read on first use, and a part is imported when it is needed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
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
    try:
        return plugins(group)[name].load()
    except Exception as error:  # whatever the package does when it is imported
        package = plugins(group)[name].value
        raise LapwingError(f"{name!r} of lapwing.{group} cannot be loaded from {package}: {error}") from error


def working(group: str) -> Iterator[tuple[str, Any]]:
    """All parts of a group with their names; one that cannot be loaded is a warning, and left out."""
    for name in plugins(group):
        try:
            yield name, plugin(group, name)
        except LapwingError as error:
            log.warning("%s", error)
