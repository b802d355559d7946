"""Run the code of every notebook in examples/, cell after cell; Jupyter is not needed.

A notebook whose corpus is not in the folder that LAPWING_CORPORA names is left out by name.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def cells(notebook: Path) -> list[str]:
    record = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in record["cells"] if cell["cell_type"] == "code"]


def missing(notebook: Path) -> list[str]:
    folder = Path(os.environ.get("LAPWING_CORPORA", "corpora"))
    named = re.findall(r'corpora / "([^"]+)"', "\n".join(cells(notebook)))
    return [name for name in named if not (folder / name).exists()]


def main() -> int:
    for notebook in sorted(EXAMPLES.glob("*.ipynb")):
        if absent := missing(notebook):
            print(f"{notebook.name}: left out, {', '.join(absent)} is not there")
            continue
        names: dict[str, object] = {"__name__": "__main__"}
        began = time.perf_counter()
        for number, cell in enumerate(cells(notebook), 1):
            exec(compile(cell, f"{notebook.name}, cell {number}", "exec"), names)
        print(f"{notebook.name}: {time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
