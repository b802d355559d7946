"""What commands print: tables, lines and JSON."""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def as_json_line(value: Any) -> str:
    """Letters as they are where the output can show them, else escaped."""
    readable = (getattr(sys.stdout, "encoding", None) or "").lower().replace("_", "-").startswith("utf")
    return json.dumps(_finite(value), ensure_ascii=not readable)


def print_json(value: Any) -> None:
    click.echo(as_json_line(value))


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: null and a string."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value


NO_LIMIT = 1 << 16  # columns, where no terminal sets a width


def width() -> int:
    """Columns of the terminal; elsewhere as many as the content needs."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else NO_LIMIT


def show(*parts: RenderableType) -> None:
    """Print one below the other: coloured and as wide as the terminal, elsewhere plain and unpadded.

    Labels and words are never read as markup.
    """
    from rich.console import Console

    plain = {"highlight": False, "markup": False, "emoji": False}
    if sys.stdout.isatty():
        Console(**plain).print(*parts, sep="\n")  # type: ignore[arg-type]
        return
    buffer = io.StringIO()
    console = Console(file=buffer, width=NO_LIMIT, color_system=None, force_terminal=False, **plain)  # type: ignore[arg-type]
    console.print(*parts, sep="\n")
    click.echo("\n".join(line.rstrip() for line in buffer.getvalue().splitlines()))


def table(*columns: str, left: Sequence[int] = (0,)) -> Table:
    """An empty table without lines, numbers to the right; `left` are the columns of words."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        words = number in left
        made.add_column(name, justify="left" if words else "right", no_wrap=not words, overflow="fold")
    return made


def fitting(columns: dict[str, list[str]], spare: Sequence[str]) -> dict[str, list[str]]:
    """Those columns that fit the terminal: of `spare` one after another is left out where they do not."""
    kept = dict(columns)
    for name in spare:
        if sum(2 + max(map(len, (head, *cells))) for head, cells in kept.items()) - 2 <= width():
            break
        del kept[name]
    return kept


def percent(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f}"
