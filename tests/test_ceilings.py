"""What a reader has to carry, counted over the syntax trees of `src`: ceilings that may only fall.

A change that lowers a number lowers its ceiling here. A change that would raise one finds another way.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from lapwing.text.settings import TextSettings
from lapwing.training.settings import TrainSettings

SOURCE = Path(__file__).resolve().parents[1] / "src"
INSIDES = re.compile(r"(numba\.(core|np|cpython)|llvmlite)\b")  # of Numba, which promises nothing about them
Function = ast.FunctionDef | ast.AsyncFunctionDef

CEILINGS = {
    "lines of src": 47_860,
    "functions over 60 lines": 18,
    "functions of more than 8 arguments": 79,
    "class names used twice": 8,
    "attributes of other libraries replaced": 0,
    "objects given another class": 0,
    "imports of Numba's and llvmlite's insides": 15,
    "modules of kernels": 43,
    "numeric constants in kernels, solvers and training": 227,
    "files that name a parameter of training, in the median": 5,
}


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def nodes() -> Iterator[ast.AST]:
    for tree in trees().values():
        yield from ast.walk(tree)


def lines_of_source() -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in trees())


def long_functions() -> int:
    functions = (node for node in nodes() if isinstance(node, Function))
    return sum((node.end_lineno or 0) - node.lineno >= 60 for node in functions)


def wide_functions() -> int:
    """But for the signatures that scripts/signatures.py makes from the table of parameters."""
    written = (tree for path, tree in trees().items() if path.name != "_signatures.py")
    signatures = (node.args for tree in written for node in ast.walk(tree) if isinstance(node, Function))
    return sum(len(one.posonlyargs + one.args + one.kwonlyargs) > 8 for one in signatures)


def shared_class_names() -> int:
    return sum(count > 1 for count in Counter(node.name for node in nodes() if isinstance(node, ast.ClassDef)).values())


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name here, and full name, of everything that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.partition(".")[0], alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def assigned_attributes() -> Iterator[tuple[Path, ast.Attribute]]:
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield path, node


def replaced_attributes() -> int:
    foreign = {path: {here for here, whole in imported(tree) if INSIDES.match(whole)} for path, tree in trees().items()}
    found = (
        ast.unparse(node)
        for path, node in assigned_attributes()
        if ast.unparse(node).partition(".")[0] in foreign[path]
    )
    return len(set(found))


def changed_classes() -> int:
    return sum(node.attr == "__class__" for _, node in assigned_attributes())


def inside_imports() -> int:
    return sum(bool(INSIDES.match(whole)) for tree in trees().values() for _, whole in imported(tree))


def kernel_modules() -> int:
    return len(list((SOURCE / "lapwing" / "kernels").glob("*.py")))


def numeric_constants() -> int:
    rooms = (SOURCE / "lapwing" / room for room in ("kernels", "solvers", "training"))
    statements = (node for room in rooms for path in room.rglob("*.py") for node in trees()[path].body)
    values = (node.value for node in statements if isinstance(node, ast.Assign | ast.AnnAssign) and node.value)
    return sum(any(is_number(part) for part in ast.walk(value)) for value in values)


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def files_per_parameter() -> float:
    """Files in which a field of the settings is an argument, a keyword of a call or a field of a class."""
    named = [set(named_in(tree)) for tree in trees().values()]
    parameters = [field.name for kind in (TrainSettings, TextSettings) for field in dataclasses.fields(kind)]
    return median(sum(name in file for file in named) for name in parameters)


def named_in(tree: ast.Module) -> Iterator[str | None]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.keyword):
            yield node.arg
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


COUNTS = {
    "lines of src": lines_of_source,
    "functions over 60 lines": long_functions,
    "functions of more than 8 arguments": wide_functions,
    "class names used twice": shared_class_names,
    "attributes of other libraries replaced": replaced_attributes,
    "objects given another class": changed_classes,
    "imports of Numba's and llvmlite's insides": inside_imports,
    "modules of kernels": kernel_modules,
    "numeric constants in kernels, solvers and training": numeric_constants,
    "files that name a parameter of training, in the median": files_per_parameter,
}


@pytest.mark.parametrize("name", COUNTS)
def test_no_count_rises(name: str) -> None:
    assert COUNTS[name]() <= CEILINGS[name]


def test_every_ceiling_is_counted() -> None:
    assert set(COUNTS) == set(CEILINGS)
