"""Run the command: in this process, where its parts can be seen, or in a new one."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lapwing.cli import main


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def complaint(self) -> str:
        """The one sentence on stderr, which is not a traceback."""
        lines = self.err.splitlines()
        said = [line for line in lines if line.startswith("lapwing: ")]
        assert len(said) == 1, self.err
        assert lines[-1] == said[0], self.err
        assert "Traceback" not in self.err
        return said[0].removeprefix("lapwing: ")


Command = Callable[..., Ran]


def in_process(monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]) -> Iterator[Command]:
    root = logging.getLogger()
    handlers, level, show = root.handlers[:], root.level, warnings.showwarning

    def ended(code: int) -> None:  # as a command ends while threads run: here these may be of other tests
        raise SystemExit(code)

    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capture.readouterr()
        with monkeypatch.context() as patched:
            patched.setattr(os, "_exit", ended)
            with pytest.raises(SystemExit) as exit:
                main([str(argument) for argument in arguments])
        out, err = capture.readouterr()
        code = exit.value.code
        assert isinstance(code, int)
        return Ran(code, out.decode(), err.decode())

    yield run
    root.handlers[:], warnings.showwarning = handlers, show
    root.setLevel(level)


def new_process(*arguments: object, stdin: bytes | None = b"", **environment: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "lapwing", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
