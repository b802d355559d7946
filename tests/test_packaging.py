"""The package as it is shipped: its version, its licence, what it must not contain, and its front page."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import lapwing

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SOURCES = sorted((ROOT / "src").rglob("*.py"))

# Each of these can run code that a file brought along.
UNSAFE_MODULES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve"}
UNSAFE_CALLS = {"joblib.load", "pandas.read_pickle", "torch.load"}


def declared_version() -> str:
    source = (ROOT / PYPROJECT["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    result = re.findall(r'^__version__ = "([^"]+)"$', source, flags=re.MULTILINE)
    assert len(result) == 1, "the version is one plain line, which the build reads"
    return result[0]


def test_the_version_is_stated_once_and_everywhere_the_same() -> None:
    version = declared_version()
    assert lapwing.__version__ == version
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited[1] == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_installed_version_is_the_one_in_the_tree() -> None:
    try:
        installed = importlib.metadata.version("lapwing")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("run from the tree alone: nothing is installed that could disagree")
    assert installed == declared_version(), "installed before the version changed; remove .venv/.installed"


def test_every_dependency_has_a_lower_bound_that_can_be_installed() -> None:
    for requirement in PYPROJECT["project"]["dependencies"]:
        assert re.fullmatch(r"[A-Za-z-]+>=\d+(\.\d+)+(,<\d+(\.\d+)+)?", requirement), requirement


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "src" / "lapwing" / "py.typed").is_file()


def imported_names(tree: ast.AST) -> dict[str, str]:
    """What each name bound by an import stands for: `import numpy as np` gives np -> numpy."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    """`np.load` as `numpy.load`; "" for what is not a plain dotted name."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        prefix = dotted(node.value, names)
        return f"{prefix}.{node.attr}" if prefix else ""
    return ""


def unsafe_uses(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    names = imported_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        else:
            modules = []
        yield from (f"imports {m}" for m in modules if m.split(".")[0] in UNSAFE_MODULES)
        if not isinstance(node, ast.Call):
            continue
        called = dotted(node.func, names)
        if called in UNSAFE_CALLS:
            yield f"calls {called}"
        if called in {"importlib.import_module", "__import__"} and node.args:
            module = node.args[0]
            if isinstance(module, ast.Constant) and str(module.value).split(".")[0] in UNSAFE_MODULES:
                yield f"imports {module.value}"
        for keyword in node.keywords:
            safe = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            if keyword.arg == "allow_pickle" and not safe:
                yield f"calls {called} with allow_pickle"


def test_no_pickle_in_the_package() -> None:
    assert SOURCES
    rows = [
        f"{path.relative_to(ROOT)} {use}" for path in SOURCES for use in unsafe_uses(path.read_text(encoding="utf-8"))
    ]
    assert rows == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import pickle as p",
        "def f():\n    from pickle import loads",
        "import joblib\njoblib.load('m')",
        "from joblib import load as read\nread('m')",
        "import numpy as np\nnp.load('m', allow_pickle=True)",
        "import numpy\nflag = True\nnumpy.load('m', allow_pickle=flag)",
        "import importlib\nimportlib.import_module('pickle')",
    ],
)
def test_the_search_for_pickle_finds_it(source: str) -> None:
    assert list(unsafe_uses(source))


@pytest.mark.parametrize(
    "source",
    [
        "import json",
        "from . import pickle_free",
        "import numpy as np\nnp.load('m', allow_pickle=False)",
    ],
)
def test_the_search_for_pickle_leaves_the_rest_alone(source: str) -> None:
    assert not list(unsafe_uses(source))


def test_the_front_page_is_short_and_shows_both_commands() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 110
    for command in ("make demo", "make test"):
        assert any(command in line for line in lines), f"README.md does not show '{command}'"


def test_the_image_runs_without_root_and_only_what_there_is() -> None:
    """Built where there is a daemon; here its last stage is read: who runs it, and whether the command takes it."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    last = lines[max(i for i, line in enumerate(lines) if line.startswith("FROM ")) :]
    users = [line.split()[1] for line in last if line.startswith("USER ")]
    assert users == ["10001:10001"]
    assert not any(line.startswith(("RUN ", "ADD ")) for line in last)
    entry = json.loads(next(line.removeprefix("ENTRYPOINT ") for line in last if line.startswith("ENTRYPOINT ")))
    from lapwing.cli.serve import command

    flags = {flag for parameter in command.params for flag in parameter.opts}
    assert entry[:2] == ["lapwing", "serve"]
    assert {word for word in entry[2:] if word.startswith("--")} <= flags
    copied = [
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]
    assert all((ROOT / name).exists() for name in copied)


def test_classifiers_are_known_and_say_what_is_tested() -> None:
    listed = PYPROJECT["project"]["classifiers"]
    assert listed == sorted(listed)
    assert "Typing :: Typed" in listed
    lowest = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {lowest}" in listed


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_whole_and_small(path: Path) -> None:
    """`.ci/run` runs them (scripts/examples.py)."""
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["nbformat"] == 4
    for cell in record["cells"]:
        if cell["cell_type"] == "code":
            compile("".join(cell["source"]), path.name, "exec")
            assert cell["outputs"] is not None
    assert path.stat().st_size < 100_000
