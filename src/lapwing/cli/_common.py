"""What the commands share: options for reading, progress, tables, JSON."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lapwing.errors import ConvergenceWarning

if TYPE_CHECKING:
    from rich.console import Console

    from lapwing.corpus import Corpus

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("auto", "jsonl", "csv", "tsv", "folder", "reuters", "rcv1", "smart", "svmlight")


def set_up_logging(debug: bool) -> None:
    """The package speaks through `logging` and `warnings`; the command puts both on stderr."""
    logging.basicConfig(format="lapwing: %(message)s", level=logging.DEBUG if debug else logging.WARNING)
    if debug:
        logging.getLogger("numba").setLevel(logging.INFO)
    plain = warnings.showwarning

    def show(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
        if issubclass(category, ConvergenceWarning):
            click.echo(f"lapwing: {message}", err=True)
        else:
            plain(message, category, *rest, **named)

    warnings.showwarning = show


_READING = [
    click.option("--format", "format_", type=click.Choice(FORMATS), default="auto", show_default=True,
                 help="How DATA is to be read."),
    click.option("--encoding", help="Text encoding; UTF-8 unless the format has its own."),
    click.option("--text-column", help="Column (name or number) or JSON key of the text."),
    click.option("--label-column", help="Column (name or number) or JSON key of the label."),
    click.option("--label-separator", help="What separates several labels in one cell."),
    click.option("--no-header", is_flag=True, help="The first row of a CSV or TSV file is data."),
    click.option("--qrels", help="RCV1: the file with the topics of each document."),
    click.option("--reuters-split", type=click.Choice(["modapte", "modlewis", "modhayes"]), default="modapte",
                 show_default=True, help="Reuters-21578: which split."),
    click.option("--smart-require", default="", help="SMART records: fields that must not be empty, such as TWM."),
    click.option("--skip-bad", is_flag=True, help="Go on after a broken record, and count them."),
]  # fmt: skip


def reading_options(function: F) -> F:
    """Adds the options of `lapwing.corpus.read`, gathered into one argument `reading`."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        reading = {
            name: kwargs.pop(name)
            for name in ("encoding", "text_column", "label_column", "label_separator", "qrels",
                         "reuters_split", "smart_require", "skip_bad")
        }  # fmt: skip
        reading["header"] = not kwargs.pop("no_header")
        for name in ("text_column", "label_column"):
            if reading[name] is not None and reading[name].isdigit():
                reading[name] = int(reading[name])
        reading["format"] = kwargs.pop("format_")
        return function(*args, reading=reading, **kwargs)

    for option in reversed(_READING):
        wrapper = option(wrapper)
    return wrapper  # type: ignore[return-value]


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def print_json(value: Any) -> None:
    click.echo(json.dumps(_finite(value), ensure_ascii=False))


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: null and a string."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value


def console(stderr: bool = False) -> Console:
    """A rich console; outside a terminal as wide as its content needs."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else 200, highlight=False, soft_wrap=not stream.isatty())


def split_part(corpus: Corpus, split: str | None, default: str) -> Corpus:
    """The part asked for; without asking the default part of a corpus that has splits, else all of it."""
    return corpus.part(split or (default if corpus.has_splits else "all"))


class Progress:
    """A bar per stage on a terminal; elsewhere one plain line when a stage is done."""

    def __init__(self, quiet: bool = False) -> None:
        self.bars: Any = None
        self.quiet = quiet
        self.stages: dict[str, list[float]] = {}
        self.tasks: dict[str, Any] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        state = self.stages.setdefault(stage, [0, time.perf_counter()])
        state[0] += done
        if self.bars is not None:
            if stage not in self.tasks:
                self.tasks[stage] = self.bars.add_task(stage, total=total)
            self.bars.update(self.tasks[stage], advance=done)
        elif state[0] == total and not self.quiet:
            click.echo(f"{stage}: {total}, {time.perf_counter() - state[1]:.1f} s", err=True)


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress]:
    progress = Progress(quiet)
    if quiet or not sys.stderr.isatty():
        yield progress
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console(stderr=True), transient=True) as bars:
        progress.bars = bars
        yield progress


def announce_compiling() -> None:
    """Say so where the kernels are not in the cache yet: the first training takes some seconds longer."""
    from lapwing.kernels.descent import fit

    try:
        from pathlib import Path

        cached = any(Path(fit.stats.cache_path).glob("descent.fit-*.nbi"))  # type: ignore[attr-defined]
    except (AttributeError, OSError, TypeError):
        return
    if not cached:
        click.echo("first training in this environment: compiling kernels, some 15 seconds, once", err=True)


def percent(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f}"
