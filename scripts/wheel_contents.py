"""Check what a wheel holds: `wheel_contents.py WHEEL`. All of src, metadata and licence, nothing else."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = (
    "lapwing/py.typed",
    "lapwing/text/data/smart.txt",
    "lapwing/reporting/static/page.html",
    "lapwing/reporting/static/shell.html",
    "lapwing/reporting/static/snowball/LICENSE.txt",
    "lapwing_exports/standalone.py",
)


def main(wheel: str) -> int:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    source = ROOT / "src"
    files = (path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    wanted = {path.relative_to(source).as_posix() for path in files}
    packed = {name for name in names if ".dist-info/" not in name}
    wrong = {
        "missing": sorted(wanted - packed),
        "too many": sorted(packed - wanted),
        "needed": [name for name in NEEDED if name not in names],
        "no licence": [] if any(name.endswith("licenses/LICENSE") for name in names) else [wheel],
    }
    for what, those in wrong.items():
        for name in those:
            print(f"{what}: {name}")
    print(f"{len(names)} files, {Path(wheel).stat().st_size / 1e6:.1f} MB")
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
