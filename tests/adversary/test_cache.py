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

from lapwing.kernels import _numba

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


ALIASED = """
from lapwing.kernels._jit import kernel
from lapwing.kernels.loss import dot as product

@kernel
def fit(x):
    return product(x, x)
"""


def test_an_edit_of_any_file_of_the_folder_is_noticed_by_every_kernel(tmp_path: Path) -> None:
    """Parts of other modules are compiled into a kernel, under whatever name it imports them."""
    here = Path(_numba.HERE)
    folder = Path(shutil.copytree(here, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__")))
    script = (
        "import sys; from pathlib import Path; from lapwing.kernels import _numba\n"
        "_numba.HERE = Path(sys.argv[1]); print(_numba.stamp_of(Path(sys.argv[2])))\n"
    )

    def stamp(of: Path) -> str:
        line = [sys.executable, "-c", script, str(folder), str(of)]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()

    kernels = [folder / name for name in ("newton.py", "rare.py", "ridge.py")]
    before = [stamp(of) for of in kernels]
    assert before == [stamp(of) for of in kernels]
    for edited in ("loss.py", "rare_documents.py", "tokens.py"):
        with (folder / edited).open("a") as lines:
            lines.write("# changed\n")
        after = [stamp(of) for of in kernels]
        assert all(old != new for old, new in zip(before, after, strict=True)), edited
        before = after


def test_a_part_imported_under_another_name_is_compiled_anew(tmp_path: Path) -> None:
    """The result of a kernel after an edit in a module from which it imports `a as b`, with the same cache folder."""
    package = Path(_numba.HERE).parents[1]
    copy = Path(shutil.copytree(package, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__")))
    (copy / "lapwing/kernels/aliased.py").write_text(ALIASED)
    script = "import numpy as np; from lapwing.kernels.aliased import fit; print(fit(np.full(3, 2.0)))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(copy)}

    def result() -> float:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    assert result() == 12.0
    loss = copy / "lapwing/kernels/loss.py"
    loss.write_text(loss.read_text().replace("total += a[i] * b[i]", "total += 5.0 * a[i] * b[i]"))
    assert result() == 60.0


RENAMED = """
import logging; logging.basicConfig(format='said: %(message)s')
import {module} as module
{edit}
import numpy as np
import scipy.sparse as sp
from lapwing.kernels.loss import scores
from lapwing.kernels.nouns import Matrix, Sparse
X = sp.csr_matrix(np.eye(2)); Y = X.tocsc()
matrix = Matrix(Sparse(Y.indptr, Y.indices, Y.data), Sparse(X.indptr, X.indices, X.data), np.array([0.0, 0.0, 1.0]))
print(scores(matrix, np.array([1.0, 2.0, 3.0])).tolist())
"""
RENAMES = {
    "a class": ("numba.core.codegen", "del module.JITCodeLibrary"),
    "a method of the cache": ("numba.core.caching", "del module.IndexDataCacheFile._load_data"),
    "what the cache keeps": ("numba.core.caching", "module.FunctionCache._impl_class = None"),
    "an attribute of libraries": (
        "numba.core.codegen",
        "init = module.CPUCodeLibrary.__init__\n"
        "def new(self, *rest):\n"
        "    init(self, *rest)\n"
        "    self._linked = self.__dict__.pop('_linking_libraries')\n"
        "module.CPUCodeLibrary.__init__ = new\n"
        "module.CPUCodeLibrary.add_linking_library = lambda self, library: self._linked.append(library)\n"
        "source = module.CPUCodeLibrary.finalize\n"
        "def finalize(self):\n"
        "    self._linking_libraries = self._linked\n"
        "    source(self)\n"
        "    del self._linking_libraries\n"
        "module.CPUCodeLibrary.finalize = finalize",
    ),
}


@pytest.mark.parametrize("name", RENAMES)
def test_another_numba_is_slower_and_no_failure(name: str, tmp_path: Path) -> None:
    """Where a name inside Numba is another than the one lapwing uses, kernels are compiled by Numba alone."""
    module, edit = RENAMES[name]
    done = subprocess.run(
        [sys.executable, "-c", RENAMED.format(module=module, edit=edit)],
        capture_output=True, text=True, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "[4.0, 5.0]"), done.stderr
    assert "said: " in done.stderr


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
