"""The built-in demo corpus: the docstrings of Python's standard library, by the package they come from.

Every Python has it, so a first try needs no data. The sources are parsed, never imported.
"""

from __future__ import annotations

import ast
import os
import sysconfig
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator

import numpy as np

from lapwing.corpus.document import Corpus
from lapwing.errors import CorpusError

MIN_WORDS = 3
MIN_DOCUMENTS = 40
# Not the library itself: installed packages, tests, data, build files. Top-level modules with a leading
# underscore are left out too: they are the insides of others (_pyio of io).
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "lib2to3", "turtledemo"}
LEFT_OUT |= {"__pycache__", "lib-dynload", "ensurepip", "pydoc_data", "__phello__", "config"}


def stdlib_docstrings() -> Corpus:
    """Docstrings of the standard library's modules, classes and functions, labelled by package.

    Only packages with at least 40 distinct docstrings count. A quarter of the documents, chosen by a
    hash of the id, is the test part, so most documents keep their part from one Python to the next.
    """
    root = sysconfig.get_paths()["stdlib"]
    documents: dict[str, tuple[str, str]] = {}
    texts: set[str] = set()
    for label, name, text in _docstrings(root):
        if text not in texts and name not in documents:
            documents[name] = (label, text)
            texts.add(text)
    sizes = Counter(label for label, _ in documents.values())
    kept = sorted((name, *rest) for name, rest in documents.items() if sizes[rest[0]] >= MIN_DOCUMENTS)
    if not kept:
        raise CorpusError(
            "expected the sources (.py files) of the standard library, found none; "
            "this Python comes without them, so give a corpus of your own",
            root,
        )
    return Corpus(
        name="stdlib-docstrings",
        kind="text",
        documents=[text for _, _, text in kept],
        labels=[(label,) for _, label, _ in kept],
        ids=[name for name, _, _ in kept],
        exclusive=True,
        split=["test" if zlib.crc32(name.encode()) % 4 == 0 else "train" for name, _, _ in kept],
        weights=np.ones(len(kept)),
        source={"format": "stdlib-docstrings", "path": ""},
    )


def _docstrings(root: str) -> Iterator[tuple[str, str, str]]:
    """(package, qualified name, docstring) of everything documented below `root`, in a fixed order."""
    for path in _sources(root):
        module = path[: -len(".py")].replace(os.sep, ".").removesuffix(".__init__")
        tree = None if module.startswith("_") else _parsed(os.path.join(root, path))
        if tree is not None:
            for name, text in _documented(tree, module):
                if len(text.split()) >= MIN_WORDS:
                    yield module.partition(".")[0], name, text


def _sources(root: str) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(n for n in folders if n not in LEFT_OUT and not n.startswith((".", "config-")))
        for file in sorted(files):
            if file.endswith(".py") and not file.startswith(("_sysconfigdata", "test_")):
                yield os.path.relpath(os.path.join(folder, file), root)


def _parsed(path: str) -> ast.Module | None:
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in the library's own strings
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _documented(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Names and docstrings of a module or class, and of the classes and functions inside."""
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        text = ast.get_docstring(node)
        if text:
            yield name, text
    for child in getattr(node, "body", []):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from _documented(child, f"{name}.{child.name}")
        elif isinstance(child, (ast.If, ast.Try)):
            yield from _documented(child, name)
