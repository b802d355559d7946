from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real() -> Callable[[str], Path]:
    """The path of a real corpus, or a skip that says why."""

    def find(name: str) -> Path:
        folder = os.environ.get("LAPWING_CORPORA")
        if not folder:
            pytest.skip("LAPWING_CORPORA does not name a folder of corpora")
        path = Path(folder) / name
        if not path.exists():
            pytest.skip(f"{name} is not in the folder LAPWING_CORPORA names")
        return path

    return find


@pytest.fixture(scope="session", autouse=True)
def _same_day() -> None:
    """Model files carry the day of their training; a test must not depend on midnight."""
    os.environ["SOURCE_DATE_EPOCH"] = "1700000000"
