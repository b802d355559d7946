from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")

from reporting.build import model, promising

from lapwing.formats import save
from lapwing.text import TextSettings
from serve.start import Server


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models: label sets, three classes, two classes, vectors, n-grams, one that makes promises."""
    folder = tmp_path_factory.mktemp("serve")
    save(model(), folder / "sets.lapwing")
    save(model(exclusive=True, seed=8), folder / "three.lapwing")
    save(model(classes=("no", "yes"), exclusive=True), folder / "two.lapwing")
    save(model(weighting=None), folder / "vectors.lapwing")
    save(model(TextSettings.for_ngrams(tokens="char", ngrams=True)), folder / "ngrams.lapwing")
    save(promising(model(exclusive=True, seed=9)), folder / "promising.lapwing")
    return folder


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[Server]:
    names = ("sets", "three", "two", "vectors", "ngrams", "promising")
    with Server(*(folder / f"{name}.lapwing" for name in names)) as running:
        yield running
