from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli.run import Command, Ran, in_process, new_process

TOPICS = {
    "energy": "oil gas barrel crude pipeline refinery",
    "grain": "wheat corn harvest bushel farm crop",
    "money": "bank rate currency dollar interest loan",
}
COMMON = "prices market year company report growth week agreement".split()


def documents() -> Iterator[dict[str, Any]]:
    """Label sets: none, one or two topics; every third document is for testing. `rare` is in one part only."""
    draw = random.Random(3)
    for i in range(90):
        labels = draw.sample(sorted(TOPICS), k=draw.choice([0, 1, 1, 1, 2]))
        words = draw.choices(COMMON, k=6)
        for label in labels:
            words += draw.choices(TOPICS[label].split(), k=4)
        draw.shuffle(words)
        if i == 1:
            labels = [*labels, "rare"]
        yield {"id": f"d{i}", "text": " ".join(words), "labels": labels, "split": "test" if i % 3 == 0 else "train"}


@dataclass(frozen=True)
class Done:
    """A finished run: what it printed, and its folder."""

    ran: Ran
    folder: Path
    results: dict[str, Any]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "topics.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in documents()), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def done(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """`lapwing reproduce glm07` on the small corpus, from start to end."""
    folder = tmp_path_factory.mktemp("out") / "glm07"
    ran = new_process("reproduce", "glm07", "--data", corpus, "-o", folder, "--jobs", "2")
    assert ran.code == 0, ran.err
    return Done(ran, folder, json.loads((folder / "results.json").read_text(encoding="utf-8")))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[Command]:
    """Run a command in this process."""
    yield from in_process(monkeypatch, capfdbinary)
