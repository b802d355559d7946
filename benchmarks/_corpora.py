"""Corpora from the folder that LAPWING_CORPORA names."""

from __future__ import annotations

import os
from pathlib import Path


def path(name: str) -> Path:
    folder = os.environ.get("LAPWING_CORPORA")
    if folder is None or not (Path(folder) / name).exists():
        raise SystemExit(f"set LAPWING_CORPORA to the folder that holds {name}")
    return Path(folder) / name
