from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes | str], Path]:
    """Write a file below tmp_path and return its path."""

    def write(name: str, data: bytes | str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write


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
