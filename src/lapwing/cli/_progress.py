"""How far the work has come, on stderr."""

from __future__ import annotations

import sys
import threading
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
        else:
            self.say_if_silent()

    def say_if_silent(self) -> None:
        """A line where nothing was said for a while: also in the middle of one long fit."""
        now = time.perf_counter()
        if self.quiet or self.bars is not None or self.stage is None or now - self.said < SILENCE:
            return
        self.said, spent = now, now - self.began
        count = f"{self.done} of {self.total}, " if self.total else ""
        if 0 < self.done < self.total:
            left = spent / self.done * (self.total - self.done)
            rest = f"about {left / 60:.0f} min left" if left > 90 else f"about {left:.0f} s left"
        else:
            rest = f"{spent:.0f} s so far"
        echo(f"{self.stage}: {count}{rest}", err=True)

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
def _heartbeat(progress: Progress) -> Iterator[None]:
    """Look every few seconds whether a word is due."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(SILENCE / 10):
            progress.say_if_silent()

    thread = threading.Thread(target=beat, name="lapwing-progress", daemon=True)
    if not progress.quiet:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if thread.ident is not None:
            thread.join()


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress]:
    progress = Progress(quiet)
    if quiet or not sys.stderr.isatty():
        with _heartbeat(progress):
            yield progress
        progress.end()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    remaining = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), remaining)
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        progress.bars = bars
        yield progress
        progress.end()


def announce_compiling() -> None:
    """Say so when the first kernel turns out not to be in the cache: the first training takes some seconds longer."""
    from lapwing.kernels._jit import when_compiling

    when_compiling(lambda: echo("first training of this kind here: compiling kernels, once", err=True))
