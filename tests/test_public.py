"""What others build on: the public names, what importing costs, and every example in the documentation."""

from __future__ import annotations

import doctest
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import lapwing

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "lapwing"

PUBLIC = {
    "lapwing": [
        "LogTfidfVectorizer",
        "MAPClassifier",
        "NgramClassifier",
        "SelectedRidgeClassifier",
        "TextClassifier",
        "Utility",
        "__version__",
        "certify",
        "compare",
        "corpus",
        "drift",
        "errors",
        "export",
        "load",
        "plots",
        "priors",
        "probability_interval",
        "report",
        "summary",
        "suspects",
        "to_sklearn",
        "train",
        "update",
    ],
    "lapwing.priors": [
        "ElasticNet",
        "Gaussian",
        "INTERCEPT",
        "Jeffreys",
        "Laplace",
        "OTHERS",
        "Prior",
        "PriorTable",
        "by_group",
        "by_idf",
        "from_names",
        "from_words",
        "norm_variance",
        "read",
        "read_bbr",
        "read_words",
    ],
    "lapwing.corpus": [
        "Corpus",
        "Document",
        "FORMATS",
        "Hierarchy",
        "Overview",
        "ReadOptions",
        "Record",
        "SPLITS",
        "Stream",
        "overview",
        "read",
        "stdlib_docstrings",
        "stream",
    ],
}


@pytest.mark.parametrize("name", PUBLIC)
def test_the_list_of_public_names(name: str) -> None:
    module = importlib.import_module(name)
    assert sorted(module.__all__) == PUBLIC[name]
    for public in module.__all__:
        assert getattr(module, public) is not None
    assert set(module.__all__) <= set(dir(module))


def test_errors_are_public() -> None:
    for name in (
        "LapwingError",
        "InputError",
        "CorpusError",
        "ModelFileError",
        "SettingsError",
        "ConvergenceWarning",
    ):
        assert isinstance(getattr(lapwing.errors, name), type)
    assert issubclass(lapwing.errors.InputError, ValueError)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="'no_such_name'"):
        lapwing.no_such_name  # noqa: B018


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_importing_lapwing_loads_nothing_heavy() -> None:
    heavy = {"numba", "sklearn", "scipy", "numpy", "rich", "click", "safetensors"}
    assert not heavy & modules_after("import lapwing")


@pytest.mark.parametrize("statement", ["from lapwing import load", "from lapwing import corpus", "import lapwing.cli"])
def test_loading_a_model_needs_neither_numba_nor_scikit_learn(statement: str) -> None:
    assert not {"numba", "sklearn"} & modules_after(statement)


def test_training_needs_no_scikit_learn() -> None:
    assert "sklearn" not in modules_after("from lapwing import train")


def with_examples() -> list[str]:
    """Modules of the package whose source shows a session."""
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


@pytest.mark.parametrize("name", with_examples())
def test_examples_in_docstrings(name: str) -> None:
    tried = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert tried.attempted > 0
    assert tried.failed == 0


def test_examples_in_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the other pages are run by tests/docs."""
    source = (ROOT / "README.md").read_text(encoding="utf-8")
    # A fence ends a session as an empty line does; left in place it would be read as expected output.
    plain = "\n".join("" if line.startswith("```") else line for line in source.splitlines()) + "\n"
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(plain, {}, "README.md", "README.md", 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
