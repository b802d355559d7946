"""Print the lowest versions a wheel says it works with, as a requirements file.

python scripts/lowest.py dist/lapwing-0.2.0-py3-none-any.whl

Each `Requires-Dist: name>=X` of the wheel (extras aside) becomes `name==X`; one without a lower bound is
an error, since nobody could tell what it was tried with.
"""

from __future__ import annotations

import sys
import zipfile
from email.parser import HeaderParser

from packaging.requirements import Requirement


def lowest(requirement: Requirement) -> str:
    bounds = [clause.version for clause in requirement.specifier if clause.operator == ">="]
    if len(bounds) != 1:
        raise SystemExit(f"expected one lower bound (name>=X), got '{requirement}'; add it to pyproject.toml")
    return f"{requirement.name}=={bounds[0]}"


def requirements(wheel: str) -> list[Requirement]:
    """What the wheel needs here, without its extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = HeaderParser().parsestr(archive.read(name).decode("utf-8"))
    required = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    return [r for r in required if r.marker is None or r.marker.evaluate({"extra": ""})]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python scripts/lowest.py WHEEL")
    print("\n".join(lowest(requirement) for requirement in requirements(sys.argv[1])))
