"""Compiled kernels are kept where that is possible, and nothing stops where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from lapwing.kernels.loss import penalty_at


def test_without_a_place_to_cache_kernels_are_compiled_in_memory(tmp_path: Path) -> None:
    code = (
        "import numba.core.caching as c\n"
        "for name in ('_UserProvidedCacheLocator', '_InTreeCacheLocator', '_InTreeCacheLocatorFsAgnostic',"
        " '_UserWideCacheLocator', '_IPythonCacheLocator', '_ZipCacheLocator'):\n"
        "    kind = getattr(c, name, None)\n"
        "    if kind is not None:\n"
        "        kind.from_function = classmethod(lambda cls, *a: None)\n"
        "import numpy as np\n"
        "from lapwing.kernels.loss import feasible_scale\n"
        "at = lambda value: np.full(1, value)\n"
        "from lapwing.kernels.nouns import PriorArrays\n"
        "print(feasible_scale(at(4.0), PriorArrays(at(0.0), at(2.0), at(0.0), at(-np.inf), at(np.inf))))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0.5"


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_part_of_kernels_refuses_to_be_called_from_python() -> None:
    with pytest.raises(TypeError, match="penalty_at is a part of kernels"):
        penalty_at(None, 0, 1.0)
