"""How far the work has come, on stderr."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from lapwing.cli._output import echo

SILENCE = 30.0  # seconds without a word where there is no bar


class Progress:
    """A bar per stage on a terminal; elsewhere a plain line when a stage is done, and every half minute before.

    Stages follow one another: when the next begins, the last is done.
    """

    doing: ClassVar[str] = ""  # the stage that a command is at, for whoever must say where it stopped

    def __init__(self, quiet: bool = False) -> None:
        self.bars: Any = None
        self.quiet = quiet
        self.stage: str | None = None
        self.total = 0
        self.done = 0
        self.began = self.said = 0.0
        self.task: Any = None

    def begin(self, stage: str, total: int | None = None) -> None:
        """Start a stage; without a total the bar only shows that something goes on."""
        self.end()
        self.stage, self.total, self.done = stage, total or 0, 0
        Progress.doing = stage
        self.began = self.said = time.perf_counter()
        if self.bars is not None:
            self.task = self.bars.add_task(stage, total=total)

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self.stage:
            self.begin(stage, total)
        self.done += done
        if self.bars is not None:
            self.bars.update(self.task, advance=done)
        elif not self.quiet and time.perf_counter() - self.said > SILENCE:
            self._say_how_long()

    def _say_how_long(self) -> None:
        self.said = time.perf_counter()
        spent = self.said - self.began
        left = spent / self.done * (self.total - self.done) if self.done else math.inf
        rest = f"about {left / 60:.0f} min left" if left > 90 else f"about {left:.0f} s left"
        echo(f"{self.stage}: {self.done} of {self.total}" + (f", {rest}" if self.done else ""), err=True)

    def end(self, total: int | None = None) -> None:
        """The current stage, if any, is done."""
        if self.stage is None:
            return
        total = self.total if total is None else total
        if self.bars is not None:
            self.bars.update(self.task, total=total, completed=total)
        elif not self.quiet:
            echo(f"{self.stage}: {total}, {time.perf_counter() - self.began:.1f} s", err=True)
        self.stage = None


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress]:
    progress = Progress(quiet)
    if quiet or not sys.stderr.isatty():
        yield progress
        progress.end()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    remaining = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), remaining)
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        progress.bars = bars
        yield progress
        progress.end()


def announce_compiling() -> None:
    """Say so when the first kernel turns out not to be in the cache: the first training takes some seconds longer."""
    from lapwing.kernels._jit import when_compiling

    when_compiling(lambda: echo("first training of this kind here: compiling kernels, once", err=True))
