from __future__ import annotations

import sysconfig
from collections import Counter
from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.errors import CorpusError


def test_stdlib_docstrings() -> None:
    demo = corpus.stdlib_docstrings()
    sizes = Counter(labels[0] for labels in demo.labels)
    assert {"asyncio", "email", "xml", "tkinter"} <= set(sizes)
    assert min(sizes.values()) >= 40
    assert demo.exclusive
    assert all(len(labels) == 1 for labels in demo.labels)
    assert len(set(demo.ids)) == len(set(demo.documents)) == len(demo) > 2000
    assert list(demo.ids) == sorted(demo.ids)
    assert all(i.partition(".")[0] == labels[0] for i, labels in zip(demo.ids, demo.labels, strict=True))
    assert 0.2 < len(demo.part("test")) / len(demo) < 0.3
    assert min(len(text.split()) for text in demo.documents) >= 3


def test_a_python_without_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (")
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    with pytest.raises(CorpusError, match="sources"):
        corpus.stdlib_docstrings()
