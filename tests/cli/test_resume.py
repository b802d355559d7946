"""A training that was killed goes on where it was, and ends with the same model."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.run import Command, new_process
from lapwing.engine import Checkpoint

CATEGORIES = 120


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Label sets of many categories, some of them rare."""
    draw = random.Random(5)
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for _ in range(600):
            labels = {int(CATEGORIES * draw.random() ** 2) for _ in range(3)}
            words = [f"w{(7 * k + draw.randrange(6)) % 400}" for k in labels for _ in range(4)]
            words += [f"w{draw.randrange(400)}" for _ in range(8)]
            stream.write(json.dumps({"text": " ".join(words), "labels": [f"c{k}" for k in sorted(labels)]}) + "\n")
    return path


def arguments(many: Path, output: Path) -> list[object]:
    return ["train", many, "-o", output, "--variance", "cv", "--stop-words", "none", "--jobs", "2"]


def test_killed_in_the_middle(many: Path, tmp_path: Path) -> None:
    straight, output = tmp_path / "straight", tmp_path / "m"
    assert new_process(*arguments(many, straight)).code == 0
    checkpoint = tmp_path / "m.checkpoint"
    command = [sys.executable, "-m", "lapwing", *map(str, arguments(many, output))]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while process.poll() is None and (not checkpoint.exists() or checkpoint.stat().st_size < 2000):
        time.sleep(0.002)
    process.kill()
    assert process.wait() != 0, "it was done before it could be killed"
    assert not output.exists()
    # Another day: the date in the model is that of the start.
    again = new_process(*arguments(many, output), SOURCE_DATE_EPOCH=str(int(os.environ["SOURCE_DATE_EPOCH"]) + 10**6))
    assert again.code == 0
    assert f"of {CATEGORIES} categories" in again.err
    assert output.read_bytes() == straight.read_bytes()
    assert not checkpoint.exists()


def test_other_settings_start_anew(run: Command, many: Path, tmp_path: Path) -> None:
    command = ["train", many, "-o", tmp_path / "m", "--jobs", "1"]
    assert run(*command).code == 0
    expected = (tmp_path / "m").read_bytes()
    (tmp_path / "m.checkpoint").write_bytes(b'{"lapwing checkpoint": 1, "key": "of others", "started": "1999-01-01"}\n')
    again = run(*command)
    assert again.code == 0
    assert "another run" in again.err
    assert (tmp_path / "m").read_bytes() == expected


def test_two_runs_do_not_write_one_model_at_once(run: Command, many: Path, tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "m.checkpoint", "that of the other", "1999-01-01"):
        second = run("train", many, "-o", tmp_path / "m", "--jobs", "1")
        assert second.code == 2
        assert "another run is writing" in second.err
        assert not (tmp_path / "m").exists()
