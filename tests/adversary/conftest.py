from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import build
from cli.run import Command, in_process


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[Command]:
    """Run a command in this process: run("inspect", model, stdin=b"...") gives its exit code and output."""
    yield from in_process(monkeypatch, capfdbinary)


@pytest.fixture(scope="session")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JSON lines of three exclusive classes, with splits."""
    path = tmp_path_factory.mktemp("news") / "news.jsonl"
    path.write_bytes(build.jsonl(build.documents()))
    return path


@pytest.fixture(scope="session")
def trained(news: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the training part of `news`."""
    return build.train(news, tmp_path_factory.mktemp("model") / "news.lapwing")
