from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# The same draws in every run, so that what fails is due to the change at hand; `make fuzz` draws others.
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.register_profile("fresh", derandomize=False, print_blob=True)
hypothesis.settings.load_profile("same")


@pytest.fixture(scope="session")
def real() -> Callable[[str], Path]:
    """The path of a real corpus, or a skip that says why."""

    def find(name: str) -> Path:
        folder = os.environ.get("LAPWING_CORPORA")
        if not folder:
            pytest.skip("LAPWING_CORPORA does not name a folder of corpora")
        path = Path(folder) / name
        if not path.exists():
            pytest.skip(f"{name} is not in the folder LAPWING_CORPORA names")
        return path

    return find


@pytest.fixture(scope="session", autouse=True)
def _same_day() -> None:
    """Model files carry the day of their training; a test must not depend on midnight."""
    os.environ["SOURCE_DATE_EPOCH"] = "1700000000"


@pytest.fixture(scope="module", params=["small", "large", "wide"])
def size(request: pytest.FixtureRequest) -> Iterator[None]:
    """Which kernel fits depends on size: small matrices as they come, as if large and sparse, and as if of very many
    features."""
    with pytest.MonkeyPatch.context() as patched:
        if request.param != "small":
            patched.setattr("lapwing.solvers.newton.SMALL", -1)
            patched.setattr("lapwing.solvers.dense.MOST", -1)
            patched.setattr("lapwing.solvers.dense.WIDEST", -1)
        if request.param == "wide":
            patched.setattr("lapwing.solvers.newton.DENSE", 1)
        yield


@pytest.fixture(scope="session")
def archive(real: Callable[[str], Path]) -> Path:
    """Reuters-21578."""
    return real("reuters21578.tar.xz")


@pytest.fixture(scope="session")
def trained(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """What `lapwing train` said of Reuters-21578, and the model it wrote."""
    path = tmp_path_factory.mktemp("reuters") / "reuters.lapwing"
    line = [sys.executable, "-m", "lapwing", "train", str(archive), "-o", str(path), "--json"]
    return json.loads(subprocess.run(line, check=True, capture_output=True).stdout), path


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright, or a skip that says why.

    For one module at a time: while it is there an event loop runs in this thread, and others could not run theirs.
    """
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium on this machine")
    quiet = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*quiet.split(), "--no-first-run"])
        yield browser
        browser.close()
