"""Corpora from the folder that LAPWING_CORPORA names."""

from __future__ import annotations

import io
import os
import re
import tarfile
from datetime import datetime
from pathlib import Path


def path(name: str) -> Path:
    folder = os.environ.get("LAPWING_CORPORA")
    if folder is None or not (Path(folder) / name).exists():
        raise SystemExit(f"set LAPWING_CORPORA to the folder that holds {name}")
    return Path(folder) / name


def reuters_dates() -> dict[str, datetime]:
    """NEWID → when it was sent; where the header has no date that can be read, that of the document before."""
    rows: dict[str, datetime] = {}
    with tarfile.open(path("reuters21578.tar.xz")) as archive:
        members = sorted((m for m in archive.getmembers() if m.name.endswith(".sgm")), key=lambda m: m.name)
        last = datetime(1987, 2, 26)
        for member in members:
            stream = archive.extractfile(member)
            assert stream is not None
            text = io.TextIOWrapper(stream, "latin-1").read()
            for head in re.finditer(r'<REUTERS[^>]*NEWID="(\d+)"[^>]*>(.{0,80})', text, re.DOTALL):
                day = re.search(r"(\d+-[A-Z]{3}-\d{4} \d\d:\d\d)", head[2])
                last = datetime.strptime(day[1], "%d-%b-%Y %H:%M") if day else last
                rows[head[1]] = last
    return rows
