"""What `lapwing train` goes through on 100 documents: functions and files of lapwing, and the calls on top of a kernel.

    python scripts/hops.py [--ways] [--functions]

Counted is the second training of this process, which compiles nothing. The depth is that of the longest chain of
lapwing's functions from `fit_categories` to a kernel, both included. Comprehensions and lambdas are not counted: some
versions of Python make functions of them and others none. --ways prints every chain to a kernel and its length,
--functions every function.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from numba.extending import is_jitted

import lapwing
from lapwing.cli import main as command

SOURCE = Path(lapwing.__file__).resolve().parents[1]
FIRST = "fit_categories"
DOCUMENTS = 100


def write_corpus(path: Path) -> None:
    """Every n-th documented function of the built-in corpus."""
    corpus = lapwing.corpus.stdlib_docstrings()
    step = len(corpus) // DOCUMENTS
    rows = zip(corpus.documents[::step][:DOCUMENTS], corpus.labels[::step], strict=False)
    path.write_text("".join(json.dumps({"text": text, "labels": [*labels]}) + "\n" for text, labels in rows))


def train(folder: Path) -> None:
    output = folder / "model.lapwing"
    output.unlink(missing_ok=True)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        command(["train", str(folder / "corpus.jsonl"), "-o", str(output), "--jobs", "1"])
    assert output.exists()


def full_name(code: CodeType) -> str:
    return f"{Path(code.co_filename).relative_to(SOURCE)}:{code.co_qualname}"


class Profile:
    """Functions of lapwing that were called, and the chains of them from `FIRST` to a kernel."""

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()
        self.chains: set[tuple[str, ...]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)) and not code.co_name.startswith("<"):
            self.functions.add(code)

    def watched(self, kernel: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A kernel that notes from where it is called."""

        def call(*arguments: Any) -> Any:
            chain, frame = [name], sys._getframe(1)
            while frame is not None:
                code = frame.f_code
                if code.co_filename.startswith(str(SOURCE)) and not code.co_name.startswith("<"):
                    chain.append(full_name(code))
                    if code.co_name == FIRST:
                        self.chains.add(tuple(reversed(chain)))
                        break
                frame = frame.f_back  # type: ignore[assignment]
            return kernel(*arguments)

        return call

    def watch_kernels(self) -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith("lapwing."):
                for attribute, value in list(vars(module).items()):
                    if is_jitted(value):
                        setattr(module, attribute, self.watched(value, f"{name}.{attribute}"))


def main() -> None:
    profile = Profile()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder / "corpus.jsonl")
        train(folder)
        profile.watch_kernels()
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            train(folder)
        finally:
            sys.setprofile(None)
    if "--ways" in sys.argv:
        for chain in sorted(profile.chains, key=len):
            print(len(chain), *chain, sep="\n    ")
    if "--functions" in sys.argv:
        print(
            *sorted(f"{Path(c.co_filename).relative_to(SOURCE)}:{c.co_qualname}" for c in profile.functions), sep="\n"
        )
    files = {code.co_filename for code in profile.functions}
    depth = max(map(len, profile.chains), default=0)
    print(f"{len(profile.functions)} functions in {len(files)} files; {depth} hops from {FIRST} to a kernel")


if __name__ == "__main__":
    main()
