"""The machine code of a kernel, and with it every bit of a model, does not depend on what was compiled before it.

Reuters' `fit_kkt` differed by 1.4e-16 where one kernel was compiled after another with which it shares parts, and not
by itself: of a function that several kernels define the linker keeps one copy, the first, and each was optimised for
its own kernel. And a part that did not say how its sums are taken took it from the first that called it: after a ridge,
weights differed by 1e-14.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")

MODULE = """
from lapwing.kernels._jit import REASSOCIATING, kernel, part

@part
def deepest(n):
    return 1.0 if n < 2 else n * deepest(n - 1)  # calls itself, so that it is not written into its callers

@part
def shared(x):
    return x[0] + deepest(x.size)

@kernel
def first(x):
    return 2.0 * shared(x)

@kernel
def second(x):
    return 3.0 * shared(x)

@kernel
def outer(x):
    return first(x) + shared(x)

@part
def total(x):
    found = 0.0
    for one in x:
        found += one
    return found

def loose(x):
    return 2.0 * total(x)

loose = part(loose, fastmath=REASSOCIATING)

@kernel
def loosely(x):
    return loose(x)

@kernel
def strictly(x):
    return total(x)
"""
X = np.ones(3)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module above, with nothing of it compiled."""
    names = []
    monkeypatch.syspath_prepend(tmp_path)

    def module() -> Any:
        names.append(f"some_kernels_{len(names)}")
        (tmp_path / f"{names[-1]}.py").write_text(MODULE)
        importlib.invalidate_caches()
        return importlib.import_module(names[-1])

    yield module
    for name in names:
        del sys.modules[name]


def defined(kernel: Any) -> set[str]:
    """The functions that other code may find in what the kernel was compiled to."""
    (compiled,) = kernel.overloads.values()
    return {f.name for f in compiled.library.get_defined_functions() if f.linkage.name not in ("internal", "private")}


def code(kernel: Any) -> list[str]:
    """The instructions: names are numbered as they come up, and said in data, too."""
    (assembly,) = kernel.inspect_asm().values()
    return [re.sub(r"_ZN\w+", "", line) for line in assembly.splitlines() if re.match(r"\t[^.]", line)]


def test_no_kernel_defines_what_another_defines(fresh: Callable[[], Any]) -> None:
    module = fresh()
    assert (module.first(X), module.second(X), module.outer(X)) == (14.0, 21.0, 21.0)
    names = [defined(kernel) for kernel in (module.first, module.second, module.outer)]
    assert all(names)
    assert sum(map(len, names)) == len(set.union(*names))
    assert not any("deepest" in name or "shared" in name for name in set.union(*names))


@pytest.mark.parametrize("name", ["first", "second", "outer", "loosely", "strictly"])
def test_code_is_the_same_whatever_was_compiled_before(fresh: Callable[[], Any], name: str) -> None:
    alone, company = fresh(), fresh()
    for other in ("outer", "second", "first", "loosely", "strictly"):
        if name != "loosely" or other != "loosely":
            getattr(company, other)(X)
    assert getattr(alone, name)(X) == getattr(company, name)(X)
    assert len(code(getattr(alone, name))) > 20
    assert code(getattr(alone, name)) == code(getattr(company, name))
