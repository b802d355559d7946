"""Numba's files on disk: empty, truncated, altered, unwritable; no run stops, and each says so once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numba
import pytest
from cli.run import new_process

from lapwing.kernels import _cache

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")

CODE = (
    "import logging; logging.basicConfig(format='said: %(message)s')\n"
    "import numpy as np\n"
    "from lapwing.kernels.loss import feasible_scale\n"
    "at = lambda value: np.full(1, value)\n"
    "from lapwing.kernels.nouns import PriorArrays\n"
    "print(feasible_scale(at(4.0), PriorArrays(at(0.0), at(2.0), at(0.0), at(-np.inf), at(np.inf))))\n"
)


def run(folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env={**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    )
    return done.returncode, done.stdout.strip(), done.stderr


def altered(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "short by a byte": lambda content: content[:-1],
    "altered": altered,
    "zeros": lambda content: bytes(len(content)),
    "text": lambda content: b"not what you think\n",
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    assert run(folder)[:2] == (0, "0.5")
    return folder


def files(folder: Path, suffix: str) -> list[Path]:
    return [path for path in folder.rglob(f"*{suffix}") if path.name.startswith("loss.feasible_scale")]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_files_are_passed_by_and_replaced(compiled: Path, damage: str, suffix: str, tmp_path: Path) -> None:
    compiled = Path(shutil.copytree(compiled, tmp_path / "copy"))
    result = files(compiled, suffix)
    assert result
    for path in result:
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    code, out, said = run(compiled)
    assert (code, out) == (0, "0.5"), said
    if (damage, suffix) not in {("short by a byte", ".nbi"), ("altered", ".nbi")}:  # which may change nothing
        assert said.count("said: compiled kernels in") == 1
    code, out, said = run(compiled)
    assert (code, out, said) == (0, "0.5", "")  # mended


def test_no_room_for_the_cache(tmp_path: Path) -> None:
    """As on a full disk: the folder is there, and nothing can be written into it."""
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n" + CODE
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    ignore = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    done = subprocess.run([sys.executable, "-c", ignore + code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout.strip()) == (0, "0.5"), done.stderr
    assert done.stderr.count("said: compiled kernels in") == 1


def test_a_kernel_is_stale_when_a_part_of_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of other modules are compiled into a kernel, and Numba looks at the file of the kernel alone."""
    monkeypatch.setattr(_cache, "HERE", tmp_path)
    (tmp_path / "a.py").write_text("from lapwing.kernels.b import (\n    one,\n)\n")
    (tmp_path / "b.py").write_text("from lapwing.kernels import c, d\nfrom lapwing.kernels.b import one\n")
    (tmp_path / "c.py").write_text("")
    (tmp_path / "other.py").write_text("")
    _cache.stamp_of.cache_clear()
    before = _cache.stamp_of(tmp_path / "a.py")
    assert [name for name, *_ in before] == ["a.py", "b.py", "c.py"]
    (tmp_path / "c.py").write_text("# changed")
    _cache.stamp_of.cache_clear()
    assert _cache.stamp_of(tmp_path / "a.py") != before
    _cache.stamp_of.cache_clear()


def test_damage_is_no_interruption(news: Path, tmp_path: Path) -> None:
    """click takes any EOFError for someone who ends the input, and the command said "interrupted"."""
    script = (
        "import lapwing.corpus.pipeline as p, sys\n"
        "def fail(*a, **k): raise EOFError('Ran out of input')\n"
        "p.detect = fail\n"
        "from lapwing.cli import main; main(sys.argv[1:])\n"
    )
    line = [sys.executable, "-c", script, "train", str(news), "-o", str(tmp_path / "m")]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Ran out of input" in done.stderr
    assert "interrupted" not in done.stderr
    assert new_process("--help").code == 0
