"""`lapwing warm-up`: the next training compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

TEXTS = [("corn and wheat fell", "grain"), ("oil and gas rose", "energy")] * 12
WARM_UP = (
    "import sys, lapwing.corpus as corpus\n"
    "corpus.stdlib_docstrings = lambda: corpus.read(sys.argv[1])\n"
    "from lapwing.cli import main\n"
    "main(['warm-up', 'sparse'])\n"
)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_the_next_training_compiles_nothing(tmp_path: Path) -> None:
    data = tmp_path / "news.jsonl"
    data.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in TEXTS))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}

    def run(*line: str) -> str:
        done = subprocess.run([sys.executable, *line], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert run("-c", WARM_UP, str(data)).startswith("sparse: ")
    assert list((tmp_path / "kernels").rglob("*.nbc"))
    assert "compiling kernels" not in run("-m", "lapwing", "train", str(data), "-o", str(tmp_path / "m.lapwing"))
