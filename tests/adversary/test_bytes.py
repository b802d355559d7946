"""The machine code of a kernel, and with it every bit of a model, does not depend on what was compiled before it.

Reuters' `fit_kkt` differed by 1.4e-16 where one kernel was compiled after another with which it shares parts, and not
by itself: what Numba makes of a part depends on for whom it was made first.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")

MODULE = """
from lapwing.kernels._jit import kernel, part

@part
def shared(x):
    return x + 1.0

@kernel
def first(x):
    return 2.0 * shared(x)

@kernel
def second(x):
    return 3.0 * shared(x)

@kernel
def outer(x):
    return first(x) + shared(x)
"""


class Compiled(numba.core.event.Listener):
    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event: Any) -> None:
        self.names.append(event.data["dispatcher"].__name__)

    def on_end(self, event: Any) -> None:
        pass


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "some_kernels.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("some_kernels")
    del sys.modules["some_kernels"]


def test_every_kernel_has_parts_of_its_own(module: Any) -> None:
    for name, answer, wanted in (
        ("first", 4.0, ["first", "shared"]),
        ("second", 6.0, ["second", "shared"]),
        ("outer", 6.0, ["first", "outer", "shared"]),  # another kernel is a part as well
    ):
        with numba.core.event.install_listener("numba:compile", Compiled()) as seen:
            assert getattr(module, name)(1.0) == answer
        assert sorted(set(seen.names)) == wanted
    with numba.core.event.install_listener("numba:compile", Compiled()) as seen:
        assert (module.first(1.0), module.second(1.0), module.outer(1.0)) == (4.0, 6.0, 6.0)
    assert seen.names == []
